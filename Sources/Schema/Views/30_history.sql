-- History: failures, throughput per minute, attempts, handoffs and operations.

CREATE OR REPLACE VIEW haul.failures AS
SELECT g.error, g.host, g.hour, g.jobs, (SELECT o.message FROM haul.outcome o WHERE o.job = g.first_job) AS message,
  g.first_job
FROM (
  SELECT o.error, h.name AS host, date_trunc('hour', o.finished_at) AS hour, count(*) AS jobs, min(o.job) AS first_job
  FROM haul.outcome o JOIN haul.job j ON j.id = o.job JOIN haul.host h ON h.id = j.host
  WHERE o.state = 'failed'
  GROUP BY 1, 2, 3) g;
COMMENT ON VIEW haul.failures IS 'Failed jobs by error class, host and hour.';
COMMENT ON COLUMN haul.failures.error IS 'Error class.';
COMMENT ON COLUMN haul.failures.host IS 'Host of the jobs'' URLs.';
COMMENT ON COLUMN haul.failures.hour IS 'Start of the hour in which the jobs failed.';
COMMENT ON COLUMN haul.failures.jobs IS 'Number of failed jobs.';
COMMENT ON COLUMN haul.failures.message IS 'Error message of the job in the column first_job.';
COMMENT ON COLUMN haul.failures.first_job IS 'Lowest job id among the failed jobs of this row.';

CREATE OR REPLACE VIEW haul.throughput AS
SELECT m.at AS minute, haul.whole(sum(m.completed)) AS completed, haul.whole(sum(m.failed)) AS failed,
  haul.whole(sum(m.cancelled)) AS cancelled, haul.whole(sum(m.bytes)) AS bytes
FROM (
  SELECT n.at, n.completed, n.failed, n.cancelled, n.bytes FROM haul.minute n
  UNION ALL
  SELECT date_trunc('minute', c.at), greatest(c.completed, 0), greatest(c.failed, 0), greatest(c.cancelled, 0),
    greatest(c.bytes, 0)
  FROM haul.batch_change c) m
GROUP BY 1 HAVING sum(m.completed + m.failed + m.cancelled) > 0;
COMMENT ON VIEW haul.throughput IS 'Number of jobs that ended in each minute of the last week.';
COMMENT ON COLUMN haul.throughput.minute IS 'Start of the minute.';
COMMENT ON COLUMN haul.throughput.completed IS 'Number of jobs that completed in this minute.';
COMMENT ON COLUMN haul.throughput.failed IS 'Number of jobs that failed in this minute.';
COMMENT ON COLUMN haul.throughput.cancelled IS 'Number of jobs that were cancelled in this minute.';
COMMENT ON COLUMN haul.throughput.bytes IS 'Total size in bytes of the files that were completed in this minute.';

CREATE OR REPLACE VIEW haul.usage_by_day AS
SELECT n.day, n.kind, nullif(n.name, '') AS name, haul.whole(sum(n.files)) AS files,
  haul.whole(sum(n.failed)) AS failed, haul.whole(sum(n.bytes)) AS bytes, haul.whole(sum(n.fetched)) AS fetched
FROM (
  SELECT u.day, u.kind, u.name, u.files, u.failed, u.bytes, u.fetched FROM haul.usage u
  UNION ALL
  SELECT c.day, c.kind, c.name, c.files, c.failed, c.bytes, c.fetched FROM haul.unfolded_usage(NULL) c) n
GROUP BY n.day, n.kind, n.name;
COMMENT ON VIEW haul.usage_by_day IS
  'Files and bytes of each day in UTC, kept for 400 days, also for jobs that were removed. Each file counts once in '
  'each kind, so read one kind at a time. After 35 days, only the 100 largest names of each kind and day stay, and the '
  'name * has the sum of the others.';
COMMENT ON COLUMN haul.usage_by_day.day IS 'Day in UTC, by the clock of the database.';
COMMENT ON COLUMN haul.usage_by_day.kind IS 'What this row counts: queue, batch, host or worker.';
COMMENT ON COLUMN haul.usage_by_day.name IS
  'Name of the queue, batch or host. For a worker, its id and its machine. NULL = jobs without a batch, or jobs that '
  'failed without a worker. * = all other names of a day that is more than 35 days old.';
COMMENT ON COLUMN haul.usage_by_day.files IS
  'Number of jobs that completed on this day. A job that completes again counts again.';
COMMENT ON COLUMN haul.usage_by_day.failed IS
  'Number of jobs that failed on this day. Attempts that Haul repeats and cancelled jobs do not count.';
COMMENT ON COLUMN haul.usage_by_day.bytes IS 'Total size in bytes of the files that completed on this day.';
COMMENT ON COLUMN haul.usage_by_day.fetched IS
  'Number of bytes received over the network, in all attempts that ended on this day.';

CREATE OR REPLACE VIEW haul.attempts AS
SELECT a.job,
  -- row_number() would number all attempts first if you filter by worker or time.
  (SELECT count(*) FROM haul.attempt e WHERE e.job = a.job AND e.token <= a.token) AS attempt, a.token, a.worker,
    w.machine, a.result,
  a.charged AND NOT a.forgiven AS charged, a.started_at, a.ended_at, a.resumed_at, a.fetched, a.durable, a.changes,
    a.status, a.error, a.message,
  h.name AS host
FROM haul.attempt a LEFT JOIN haul.worker w ON w.id = a.worker
LEFT JOIN haul.job j ON j.id = a.job LEFT JOIN haul.host h ON h.id = coalesce(a.host, j.host);
COMMENT ON VIEW haul.attempts IS
  'One row for each lease that has ended. Queries by job use an index. Queries by worker, time or error read all '
  'rows.';
COMMENT ON COLUMN haul.attempts.job IS 'Id of the job.';
COMMENT ON COLUMN haul.attempts.attempt IS '1 for the first lease of the job, 2 for the second, and so on.';
COMMENT ON COLUMN haul.attempts.token IS 'Fencing token: the number of the lease. Later leases have higher numbers.';
COMMENT ON COLUMN haul.attempts.worker IS 'Id of the worker that held the lease.';
COMMENT ON COLUMN haul.attempts.machine IS 'Host name of the machine on which the worker ran.';
COMMENT ON COLUMN haul.attempts.result IS
  'completed, failed, released (the worker returned the job), rescued (the pool took the job from a dead worker), '
  'cancelled or paused.';
COMMENT ON COLUMN haul.attempts.charged IS
  'Whether the attempt counts toward the maximum number of attempts or rescues of the job.';
COMMENT ON COLUMN haul.attempts.started_at IS 'When the lease began.';
COMMENT ON COLUMN haul.attempts.ended_at IS 'When the lease ended.';
COMMENT ON COLUMN haul.attempts.resumed_at IS
  'Number of bytes that earlier attempts had saved when this attempt began; 0 = it started from the first byte.';
COMMENT ON COLUMN haul.attempts.fetched IS
  'Number of bytes received over the network. For a rescued attempt, this is the number that its worker last reported.';
COMMENT ON COLUMN haul.attempts.durable IS 'Number of bytes of the job that were safe on disk when the lease ended.';
COMMENT ON COLUMN haul.attempts.changes IS 'How many times the file on the server changed during the attempt.';
COMMENT ON COLUMN haul.attempts.status IS 'Last HTTP status; NULL = the server did not answer.';
COMMENT ON COLUMN haul.attempts.error IS 'Error class; NULL = the attempt did not fail.';
COMMENT ON COLUMN haul.attempts.message IS 'Error message; NULL = the attempt did not fail.';
COMMENT ON COLUMN haul.attempts.host IS 'Host whose transfer limit applied to the attempt.';

CREATE OR REPLACE VIEW haul.handoffs AS
SELECT p.job, p.worker AS from_worker, n.worker AS to_worker, p.result AS how, p.ended_at AS released_at,
  n.started_at AS taken_at, n.started_at - p.ended_at AS waited, n.resumed_at AS bytes_resumed,
  greatest(p.resumed_at + p.fetched - n.resumed_at, 0) AS bytes_refetched
-- Start from the earlier lease, because few leases end this way and nearly every attempt is the first of its job.
FROM haul.attempt p
CROSS JOIN LATERAL (
  SELECT s.worker, s.started_at, s.resumed_at FROM (
    SELECT a.token, a.worker, a.started_at, a.resumed_at FROM haul.attempt a WHERE a.job = p.job AND a.token > p.token
    UNION ALL
    SELECT l.token, l.worker, l.started_at, l.resumed_at FROM haul.lease l WHERE l.job = p.job AND l.token > p.token) s
  ORDER BY s.token LIMIT 1) n
WHERE p.result IN ('released', 'rescued');
COMMENT ON VIEW haul.handoffs IS 'Jobs that one worker released or lost, and that then continued under a new lease.';
COMMENT ON COLUMN haul.handoffs.job IS 'Id of the job.';
COMMENT ON COLUMN haul.handoffs.from_worker IS 'Id of the worker that had the job.';
COMMENT ON COLUMN haul.handoffs.to_worker IS 'Id of the worker that took the job over.';
COMMENT ON COLUMN haul.handoffs.how IS
  '''released'' (the earlier worker returned the job gracefully) or ''rescued'' (the job was taken from a dead '
  'worker).';
COMMENT ON COLUMN haul.handoffs.released_at IS 'When the earlier lease ended.';
COMMENT ON COLUMN haul.handoffs.taken_at IS 'When the later lease began.';
COMMENT ON COLUMN haul.handoffs.waited IS
  'Time between the end of the earlier lease and the start of the later one. The time until the pool noticed a dead '
  'worker (usually 3 to 15 s) is not included.';
COMMENT ON COLUMN haul.handoffs.bytes_resumed IS 'Number of bytes that did not have to be downloaded again.';
COMMENT ON COLUMN haul.handoffs.bytes_refetched IS
  'Number of bytes that were downloaded twice, according to the last report of the earlier worker.';

CREATE OR REPLACE VIEW haul.operations AS
SELECT o.id, o.at, o.ended_at, o.login, o.action, o.target, o.jobs, o.first_jobs, o.batches
FROM haul.operation o;
COMMENT ON VIEW haul.operations IS
  'The newest 10,000 commands of operators on jobs, queues, hosts or workers. Commands that could have changed jobs '
  'but changed none are left out.';
COMMENT ON COLUMN haul.operations.id IS 'Id of the command. Later commands have higher ids.';
COMMENT ON COLUMN haul.operations.at IS 'When the command began.';
COMMENT ON COLUMN haul.operations.ended_at IS 'When the last step of the command ended.';
COMMENT ON COLUMN haul.operations.login IS 'PostgreSQL login that ran the command.';
COMMENT ON COLUMN haul.operations.action IS 'Name of the command: pause, cancel, retry, drain, host block and so on.';
COMMENT ON COLUMN haul.operations.target IS 'Jobs, queue, host or worker that the command was applied to.';
COMMENT ON COLUMN haul.operations.jobs IS
  'Number of jobs that the command changed; NULL = the command does not apply to jobs.';
COMMENT ON COLUMN haul.operations.first_jobs IS
  'Ids of up to 100 jobs that the command changed. Empty if the command paused or cancelled a whole batch; the '
  'column target then names the batch.';
COMMENT ON COLUMN haul.operations.batches IS
  'Names of the batches that target names. NULL = an earlier version of Haul recorded the command.';
