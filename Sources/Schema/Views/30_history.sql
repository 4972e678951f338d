-- What has been: failures, a minute's throughput, attempts, and what was handed over.

CREATE OR REPLACE VIEW haul.failures AS
SELECT g.error, g.host, g.hour, g.jobs, (SELECT o.message FROM haul.outcome o WHERE o.job = g.first_job) AS message,
  g.first_job
FROM (
  SELECT o.error, h.name AS host, date_trunc('hour', o.finished_at) AS hour, count(*) AS jobs, min(o.job) AS first_job
  FROM haul.outcome o JOIN haul.job j ON j.id = o.job JOIN haul.host h ON h.id = j.host
  WHERE o.state = 'failed'
  GROUP BY 1, 2, 3) g;
COMMENT ON VIEW haul.failures IS 'Failed jobs by class, host and hour.';
COMMENT ON COLUMN haul.failures.error IS 'Error class.';
COMMENT ON COLUMN haul.failures.host IS 'The origin of their URLs.';
COMMENT ON COLUMN haul.failures.hour IS 'The hour in which they failed.';
COMMENT ON COLUMN haul.failures.jobs IS 'How many.';
COMMENT ON COLUMN haul.failures.message IS 'What went wrong with the first of them, in a sentence.';
COMMENT ON COLUMN haul.failures.first_job IS 'Id of the first of them.';

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
COMMENT ON VIEW haul.throughput IS 'Jobs that ended, by minute, for a week.';
COMMENT ON COLUMN haul.throughput.minute IS 'The minute.';
COMMENT ON COLUMN haul.throughput.completed IS 'Jobs that completed in it.';
COMMENT ON COLUMN haul.throughput.failed IS 'Jobs that failed.';
COMMENT ON COLUMN haul.throughput.cancelled IS 'Jobs that were cancelled.';
COMMENT ON COLUMN haul.throughput.bytes IS 'Lengths of the files that were completed.';

CREATE OR REPLACE VIEW haul.attempts AS
SELECT a.job,
  -- Not row_number(): whoever asks for a worker or a time would have all attempts numbered first.
  (SELECT count(*) FROM haul.attempt e WHERE e.job = a.job AND e.token <= a.token) AS attempt, a.token, a.worker,
    w.machine, a.result,
  a.charged AND NOT a.forgiven AS charged, a.started_at, a.ended_at, a.resumed_at, a.fetched, a.durable, a.changes,
    a.status, a.error, a.message,
  h.name AS host
FROM haul.attempt a LEFT JOIN haul.worker w ON w.id = a.worker
LEFT JOIN haul.job j ON j.id = a.job LEFT JOIN haul.host h ON h.id = coalesce(a.host, j.host);
COMMENT ON VIEW haul.attempts IS
  'History: one row for every lease that has ended. By job it is found at once; by worker, time or error all are '
  'read.';
COMMENT ON COLUMN haul.attempts.job IS 'Id of the job.';
COMMENT ON COLUMN haul.attempts.attempt IS '1 for the first lease of the job, 2 for the second, …';
COMMENT ON COLUMN haul.attempts.token IS 'Fencing token of the lease.';
COMMENT ON COLUMN haul.attempts.worker IS 'Id of the worker that held it.';
COMMENT ON COLUMN haul.attempts.machine IS 'Host name of that worker''s machine.';
COMMENT ON COLUMN haul.attempts.result IS
  'completed, failed, released (by the worker), rescued (from it), cancelled or paused.';
COMMENT ON COLUMN haul.attempts.charged IS 'Whether it counts against the job''s limits.';
COMMENT ON COLUMN haul.attempts.started_at IS 'When the lease began.';
COMMENT ON COLUMN haul.attempts.ended_at IS 'When it ended.';
COMMENT ON COLUMN haul.attempts.resumed_at IS 'Offset at which it went on with earlier work; 0 = from the start.';
COMMENT ON COLUMN haul.attempts.fetched IS
  'Bytes received over the network; for a rescued one, as its worker has reported so far.';
COMMENT ON COLUMN haul.attempts.durable IS 'Durable bytes of the job when it ended.';
COMMENT ON COLUMN haul.attempts.changes IS 'How often the source turned out to have changed.';
COMMENT ON COLUMN haul.attempts.status IS 'The last HTTP status, where there was an answer.';
COMMENT ON COLUMN haul.attempts.error IS 'Error class.';
COMMENT ON COLUMN haul.attempts.message IS 'What went wrong, in a sentence.';
COMMENT ON COLUMN haul.attempts.host IS 'The origin that its job counts against.';

CREATE OR REPLACE VIEW haul.handoffs AS
SELECT p.job, p.worker AS from_worker, n.worker AS to_worker, p.result AS how, p.ended_at AS released_at,
  n.started_at AS taken_at, n.started_at - p.ended_at AS waited, n.resumed_at AS bytes_resumed,
  greatest(p.resumed_at + p.fetched - n.resumed_at, 0) AS bytes_refetched
-- From the earlier lease to the next one: few have ended so, while nearly every attempt is the first of its job.
FROM haul.attempt p
CROSS JOIN LATERAL (
  SELECT s.worker, s.started_at, s.resumed_at FROM (
    SELECT a.token, a.worker, a.started_at, a.resumed_at FROM haul.attempt a WHERE a.job = p.job AND a.token > p.token
    UNION ALL
    SELECT l.token, l.worker, l.started_at, l.resumed_at FROM haul.lease l WHERE l.job = p.job AND l.token > p.token) s
  ORDER BY s.token LIMIT 1) n
WHERE p.result IN ('released', 'rescued');
COMMENT ON VIEW haul.handoffs IS 'Jobs that one worker gave up, or lost, and another went on with.';
COMMENT ON COLUMN haul.handoffs.job IS 'Id of the job.';
COMMENT ON COLUMN haul.handoffs.from_worker IS 'The worker that had it.';
COMMENT ON COLUMN haul.handoffs.to_worker IS 'The worker that took it.';
COMMENT ON COLUMN haul.handoffs.how IS 'released: given up in order; rescued: taken from a dead worker.';
COMMENT ON COLUMN haul.handoffs.released_at IS 'When the earlier lease ended.';
COMMENT ON COLUMN haul.handoffs.taken_at IS 'When the later lease began.';
COMMENT ON COLUMN haul.handoffs.waited IS 'The time between; that a worker is dead is noticed up to 5 s before.';
COMMENT ON COLUMN haul.handoffs.bytes_resumed IS 'Bytes that did not have to be fetched again.';
COMMENT ON COLUMN haul.handoffs.bytes_refetched IS
  'Bytes fetched a second time, as far as the earlier worker had reported them.';

CREATE OR REPLACE VIEW haul.operations AS
SELECT o.id, o.at, o.ended_at, o.login, o.action, o.target, o.jobs FROM haul.operation o;
COMMENT ON VIEW haul.operations IS
  'What operators did: commands that changed jobs, queues, hosts or workers. The newest 10,000 are kept. A command on '
  'jobs is left out if it changed none.';
COMMENT ON COLUMN haul.operations.id IS 'Rises with each command.';
COMMENT ON COLUMN haul.operations.at IS 'When the command began.';
COMMENT ON COLUMN haul.operations.ended_at IS 'When its last step was done.';
COMMENT ON COLUMN haul.operations.login IS 'The PostgreSQL login that gave the command.';
COMMENT ON COLUMN haul.operations.action IS 'The command: pause, cancel, retry, drain, host block and so on.';
COMMENT ON COLUMN haul.operations.target IS 'The jobs, the queue, the host or the worker that it was given.';
COMMENT ON COLUMN haul.operations.jobs IS 'How many jobs it changed; NULL = not a command on jobs.';
