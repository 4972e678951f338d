-- The monitoring interface. Views run with their owner's rights and show no credentials; every SELECT reads a
-- snapshot and takes no lock that a claim waits for. What they show is a contract: columns are added at the end, and none
-- changes its meaning.
--
-- Functions that a view calls run with its reader's rights and search path. So they are RETURN expressions, whose names
-- are looked up once, here: else a reader's own regexp_replace() would be given what redacted() is to hide.

-- A URL for people: no userinfo, values of parameters that sign or authorise blanked.
CREATE OR REPLACE FUNCTION haul.redacted(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT
RETURN regexp_replace(regexp_replace(p_url, '^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#]*@', '\1'),
  '([?&][^=&#]*(?:sig|token|key|secret|pass|pwd|credential|auth|expires|policy|code|hmac|jwt|sid|session)[^=&#]*=)[^&#]*', '\1…', 'gi');

CREATE OR REPLACE VIEW haul.jobs AS
SELECT j.id AS job, q.name AS queue, b.name AS batch, h.name AS host,
  CASE
    WHEN o.job IS NOT NULL THEN o.state
    WHEN l.job IS NOT NULL THEN 'running'
    WHEN s.job IS NOT NULL THEN 'scheduled'
    WHEN d.job IS NOT NULL THEN 'paused'
    WHEN r.instance <> 0 THEN 'interrupted'
    WHEN r.job IS NOT NULL THEN 'queued'
  END::haul.job_state AS state,
  coalesce(r.priority, s.priority, d.priority, l.priority, j.priority) AS priority,
  coalesce(o.path, j.path) AS path, haul.redacted(j.url) AS url, j.submitted_at,
  coalesce(s.run_at, d.run_at) AS run_at, o.finished_at, l.worker, l.token,
  coalesce(o.bytes, greatest(p.bytes, haul.range_bytes(c.durable)), 0) AS bytes, coalesce(o.bytes, p.total, c.length) AS total,
  haul.range_bytes(c.durable) AS durable, o.digest, f.error, f.message,
  CASE WHEN o.job IS NULL THEN (
    SELECT a.error FROM haul.attempt a WHERE a.job = j.id ORDER BY a.token DESC LIMIT 1) END AS last_error, j.options
FROM haul.job j
JOIN haul.queue q ON q.id = j.queue
JOIN haul.host h ON h.id = j.host
LEFT JOIN haul.batch b ON b.id = j.batch
LEFT JOIN haul.outcome o ON o.job = j.id
-- The same row once more, for whoever asks for an error class: its index knows only these.
LEFT JOIN haul.outcome f ON f.job = j.id AND f.state <> 'completed'
LEFT JOIN haul.lease l ON l.job = j.id
LEFT JOIN haul.scheduled s ON s.job = j.id
LEFT JOIN haul.held d ON d.job = j.id
LEFT JOIN haul.ready r ON r.job = j.id
LEFT JOIN haul.checkpoint c ON c.job = j.id
LEFT JOIN haul.progress p ON p.job = l.job AND p.token = l.token;
COMMENT ON VIEW haul.jobs IS 'Every job with its state. On a large pool name a job, batch, queue, host, worker or error class, or use LIMIT: by state alone, millions may be read to find a few. Running ones are in running too.';
COMMENT ON COLUMN haul.jobs.job IS 'Id; grows in the order of submission.';
COMMENT ON COLUMN haul.jobs.queue IS 'Name of its queue.';
COMMENT ON COLUMN haul.jobs.batch IS 'Name it was submitted under, if any.';
COMMENT ON COLUMN haul.jobs.host IS 'The origin its URL points at, with the port when it is not the usual one.';
COMMENT ON COLUMN haul.jobs.state IS 'queued, scheduled, running, interrupted, paused, completed, failed or cancelled.';
COMMENT ON COLUMN haul.jobs.priority IS '0 (first) to 9.';
COMMENT ON COLUMN haul.jobs.path IS 'Where its file ends up, below the root of the store.';
COMMENT ON COLUMN haul.jobs.url IS 'Its URL, with values of signing parameters blanked.';
COMMENT ON COLUMN haul.jobs.submitted_at IS 'When it was submitted.';
COMMENT ON COLUMN haul.jobs.run_at IS 'Not before this time, for a scheduled job.';
COMMENT ON COLUMN haul.jobs.finished_at IS 'When it was completed, failed or cancelled.';
COMMENT ON COLUMN haul.jobs.worker IS 'The worker that runs it now.';
COMMENT ON COLUMN haul.jobs.token IS 'The token of its live lease.';
COMMENT ON COLUMN haul.jobs.bytes IS 'Bytes of the file so far, or in all when completed.';
COMMENT ON COLUMN haul.jobs.total IS 'Complete length in bytes, where known.';
COMMENT ON COLUMN haul.jobs.durable IS 'Bytes that would survive a crash of the worker now.';
COMMENT ON COLUMN haul.jobs.digest IS 'Digest of the finished file, where one was checked or recorded.';
COMMENT ON COLUMN haul.jobs.error IS 'Error class of a failed job.';
COMMENT ON COLUMN haul.jobs.message IS 'What went wrong, in a sentence.';
COMMENT ON COLUMN haul.jobs.last_error IS 'Error class of the last attempt at a job that has not ended, where that failed.';
COMMENT ON COLUMN haul.jobs.options IS 'What it asks for beyond URL and path, its queue''s defaults at submission included.';

CREATE OR REPLACE VIEW haul.running AS
SELECT l.job, l.worker, w.machine, q.name AS queue, h.name AS host, j.path, l.attempt, l.token,
  coalesce(greatest(p.bytes, haul.range_bytes(c.durable)), 0) AS bytes, p.total, haul.range_bytes(c.durable) AS durable, coalesce(p.rate, 0) AS rate,
  CASE WHEN p.rate > 0 THEN make_interval(secs => (p.total - p.bytes) / p.rate) END AS time_left,
  l.started_at, p.updated_at, l.command, b.name AS batch
FROM haul.lease l
JOIN haul.job j ON j.id = l.job
LEFT JOIN haul.batch b ON b.id = j.batch
JOIN haul.queue q ON q.id = l.queue
JOIN haul.host h ON h.id = l.host
JOIN haul.worker w ON w.id = l.worker
LEFT JOIN haul.progress p ON p.job = l.job AND p.token = l.token
LEFT JOIN haul.checkpoint c ON c.job = l.job;
COMMENT ON VIEW haul.running IS 'Jobs under lease now, with progress as of the last heartbeat.';
COMMENT ON COLUMN haul.running.job IS 'Id of the job.';
COMMENT ON COLUMN haul.running.worker IS 'Id of the worker that holds it.';
COMMENT ON COLUMN haul.running.machine IS 'Host name of that worker''s machine.';
COMMENT ON COLUMN haul.running.queue IS 'Name of its queue.';
COMMENT ON COLUMN haul.running.host IS 'The origin it counts against.';
COMMENT ON COLUMN haul.running.path IS 'Where its file will end up.';
COMMENT ON COLUMN haul.running.attempt IS '1 for the first lease of the job, 2 for the second, …';
COMMENT ON COLUMN haul.running.token IS 'Fencing token of the lease.';
COMMENT ON COLUMN haul.running.bytes IS 'Bytes of the file so far.';
COMMENT ON COLUMN haul.running.total IS 'Complete length in bytes, where known.';
COMMENT ON COLUMN haul.running.durable IS 'Bytes that would survive a crash of the worker now.';
COMMENT ON COLUMN haul.running.rate IS 'Bytes a second, lately.';
COMMENT ON COLUMN haul.running.time_left IS 'Time left at that rate.';
COMMENT ON COLUMN haul.running.started_at IS 'When the lease began.';
COMMENT ON COLUMN haul.running.updated_at IS 'When the worker last reported progress.';
COMMENT ON COLUMN haul.running.command IS 'cancel or pause, when an operator has asked and the worker has not yet done so.';
COMMENT ON COLUMN haul.running.batch IS 'Name it was submitted under, if any.';

CREATE OR REPLACE VIEW haul.workers AS
SELECT w.id AS worker, w.machine, w.pid, w.version,
  CASE
    WHEN w.stopped_at IS NOT NULL THEN 'stopped'
    WHEN w.expires_at <= clock_timestamp() THEN 'dead'
    WHEN w.draining THEN 'draining'
    WHEN w.heartbeat_at < clock_timestamp() - haul.session_grace() THEN 'silent'
    ELSE 'alive' END AS state,
  (SELECT count(*) FROM haul.lease l WHERE l.worker = w.id) AS running, w.concurrency,
  (SELECT coalesce(sum(p.rate), 0)::bigint FROM haul.progress p WHERE p.worker = w.id) AS rate,
  (SELECT array_agg(s.name ORDER BY s.name) FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
   WHERE i.id = ANY (w.instances)) AS stores,
  w.registered_at, w.heartbeat_at, w.expires_at,
  (SELECT string_agg(s.name || ': ' || (w.closed_stores ->> i.id::text), '; ' ORDER BY s.name)
   FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
   WHERE i.id = ANY (w.instances) AND w.closed_stores ? i.id::text AND w.stopped_at IS NULL) AS trouble
FROM haul.worker w;
COMMENT ON VIEW haul.workers IS 'Every worker process that has registered.';
COMMENT ON COLUMN haul.workers.worker IS 'Id; never used again.';
COMMENT ON COLUMN haul.workers.machine IS 'Host name of its machine.';
COMMENT ON COLUMN haul.workers.pid IS 'Process id there.';
COMMENT ON COLUMN haul.workers.version IS 'Version of its program.';
COMMENT ON COLUMN haul.workers.state IS
  'alive; silent (no heartbeat for 3 s); dead (its leases have expired or were rescued); draining; stopped (in order).';
COMMENT ON COLUMN haul.workers.running IS 'Jobs it holds.';
COMMENT ON COLUMN haul.workers.concurrency IS 'Jobs it may hold at once.';
COMMENT ON COLUMN haul.workers.rate IS 'Bytes a second over all its transfers, lately.';
COMMENT ON COLUMN haul.workers.stores IS 'Stores it mounts.';
COMMENT ON COLUMN haul.workers.registered_at IS 'When it registered.';
COMMENT ON COLUMN haul.workers.heartbeat_at IS 'Its last sign of life.';
COMMENT ON COLUMN haul.workers.expires_at IS 'When its leases end unless it gives another.';
COMMENT ON COLUMN haul.workers.trouble IS 'The stores that it cannot write to now, and why: it claims nothing for them.';

-- Workers that have neither stopped nor died and mount one of these store instances.
CREATE OR REPLACE FUNCTION haul.live_workers(p_instances integer[]) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT count(*) FROM haul.worker w
  WHERE w.stopped_at IS NULL AND w.expires_at > clock_timestamp() AND w.instances && p_instances
$$;

CREATE OR REPLACE VIEW haul.queues AS
SELECT q.name AS queue, s.name AS store, q.paused,
  (SELECT count(*) FROM haul.ready r WHERE r.queue = q.id AND r.instance = 0) AS queued,
  (SELECT count(*) FROM haul.ready r WHERE r.queue = q.id AND r.instance <> 0) AS interrupted,
  coalesce(d.scheduled, 0) AS scheduled, coalesce(h.held, 0) AS held, coalesce(l.running, 0) AS running,
  coalesce(l.rate, 0) AS rate,
  haul.live_workers(ARRAY(SELECT i.id FROM haul.store_instance i WHERE i.store = q.store)) AS workers,
  q.max_running, q.weight, q.defaults
FROM haul.queue q JOIN haul.store s ON s.id = q.store
-- No index leads from a queue to these: each is read once for all queues. One that is not asked for is not read.
LEFT JOIN (SELECT n.queue, count(*) AS scheduled FROM haul.scheduled n GROUP BY n.queue) d ON d.queue = q.id
LEFT JOIN (SELECT n.queue, count(*) AS held FROM haul.held n GROUP BY n.queue) h ON h.queue = q.id
LEFT JOIN (
  SELECT n.queue, count(*) AS running, sum(p.rate)::bigint AS rate
  FROM haul.lease n LEFT JOIN haul.progress p ON p.job = n.job AND p.token = n.token GROUP BY n.queue) l ON l.queue = q.id
WHERE q.deleted_at IS NULL;
COMMENT ON VIEW haul.queues IS
  'Queues with what waits and runs in them, counted exactly: of millions that wait, queued takes some tenths of a second a million. A column that is not selected is not counted.';
COMMENT ON COLUMN haul.queues.queue IS 'Name.';
COMMENT ON COLUMN haul.queues.store IS 'Name of the store where its files end up.';
COMMENT ON COLUMN haul.queues.paused IS 'Nothing is claimed from it while true.';
COMMENT ON COLUMN haul.queues.queued IS 'Jobs that anyone may claim.';
COMMENT ON COLUMN haul.queues.interrupted IS 'Jobs with a part file, waiting for a worker that mounts its store instance.';
COMMENT ON COLUMN haul.queues.scheduled IS 'Jobs not to be claimed before a time.';
COMMENT ON COLUMN haul.queues.held IS 'Paused jobs.';
COMMENT ON COLUMN haul.queues.running IS 'Jobs under lease.';
COMMENT ON COLUMN haul.queues.rate IS 'Bytes a second over all its transfers, lately.';
COMMENT ON COLUMN haul.queues.max_running IS 'How many of its jobs may run at once, pool-wide; NULL = any number.';
COMMENT ON COLUMN haul.queues.weight IS 'How often a worker looks here first, beside its other queues.';
COMMENT ON COLUMN haul.queues.defaults IS 'Options of jobs that are submitted without their own.';
COMMENT ON COLUMN haul.queues.workers IS 'Live workers that mount its store; where there is none, nothing starts.';

CREATE OR REPLACE VIEW haul.stores AS
SELECT s.name AS store, i.id AS instance, i.machine, i.root, haul.live_workers(ARRAY[i.id]) AS workers, i.marker, i.created_at
FROM haul.store s JOIN haul.store_instance i ON i.store = s.id;
COMMENT ON VIEW haul.stores IS 'Directories that were made instances of stores.';
COMMENT ON COLUMN haul.stores.store IS 'Name; instances of one name are separate disks.';
COMMENT ON COLUMN haul.stores.instance IS 'Id of the instance.';
COMMENT ON COLUMN haul.stores.machine IS 'Host name of the machine where it was last initialised.';
COMMENT ON COLUMN haul.stores.root IS 'Its directory there.';
COMMENT ON COLUMN haul.stores.workers IS 'Live workers that mount it.';
COMMENT ON COLUMN haul.stores.marker IS 'The id in its marker file.';
COMMENT ON COLUMN haul.stores.created_at IS 'When it was first initialised.';

CREATE OR REPLACE VIEW haul.policies AS
SELECT p.pattern, p.cap, (SELECT count(*) FROM haul.host h WHERE h.name = p.pattern
  OR (p.pattern LIKE '*%' AND right(h.name, length(p.pattern) - 1) = substr(p.pattern, 2))) AS hosts,
  p.min_interval, p.burst
FROM haul.host_policy p;
COMMENT ON VIEW haul.policies IS 'What is set for hosts; an exact name goes before the longest suffix that fits, that before a cap of 4.';
COMMENT ON COLUMN haul.policies.pattern IS 'A host, *.suffix, or * for all.';
COMMENT ON COLUMN haul.policies.cap IS 'How many transfers such a host may see at once, pool-wide.';
COMMENT ON COLUMN haul.policies.hosts IS 'Hosts with jobs so far that the pattern fits.';
COMMENT ON COLUMN haul.policies.min_interval IS 'The least time between starts, pool-wide.';
COMMENT ON COLUMN haul.policies.burst IS 'Starts that may follow each other at once after a pause.';

CREATE OR REPLACE VIEW haul.hosts AS
SELECT h.name AS host, h.in_flight AS running, h.cap,
  w.waiting,
  CASE
    WHEN h.blocked_until > clock_timestamp() THEN 'blocked'
    WHEN h.in_flight >= haul.places(h.cap, h.failures)
      THEN CASE WHEN h.in_flight >= h.policy_cap THEN 'full' ELSE 'adaptive' END
    WHEN NOT w.waiting THEN 'empty'
    WHEN w.all_paused THEN 'paused'
    WHEN haul.next_start(h.min_interval, h.burst, h.next_start) > clock_timestamp() THEN 'interval'
  END AS why_idle,
  CASE WHEN h.blocked_until > clock_timestamp() THEN h.blocked_until END AS blocked_until,
  h.failures, h.last_start, coalesce(h.range_unsafe_until > clock_timestamp(), false) AS range_unsafe,
  CASE WHEN h.blocked_until > clock_timestamp() THEN h.block_reason END AS block_reason,
  h.policy_cap, h.min_interval, h.burst
FROM haul.host h
CROSS JOIN LATERAL (
  SELECT count(*) > 0 AS waiting,
    -- Looked up once, not for each of many lanes.
    coalesce(bool_and(l.queue = ANY (ARRAY(SELECT q.id FROM haul.queue q WHERE q.paused))), false) AS all_paused
  FROM haul.lane l WHERE l.host = h.id AND l.head IS NOT NULL) w;
COMMENT ON VIEW haul.hosts IS 'Origins, and why each starts nothing.';
COMMENT ON COLUMN haul.hosts.host IS 'Name, with the port when it is not the usual one.';
COMMENT ON COLUMN haul.hosts.running IS 'Jobs under lease that count against it.';
COMMENT ON COLUMN haul.hosts.cap IS 'How many may run at once now, pool-wide: less than policy_cap after it has refused to serve so many.';
COMMENT ON COLUMN haul.hosts.waiting IS 'Whether jobs wait for it that are neither held nor scheduled for later.';
COMMENT ON COLUMN haul.hosts.why_idle IS
  'Why nothing more starts: blocked, full, adaptive (full by a cap that its refusals have lowered), empty, paused or interval; NULL when something may start.';
COMMENT ON COLUMN haul.hosts.blocked_until IS 'Nothing starts before this time: at the host''s own wish, after failures or at an operator''s word.';
COMMENT ON COLUMN haul.hosts.failures IS 'Failures to reach it in a row; until it has answered, one job at a time tries.';
COMMENT ON COLUMN haul.hosts.last_start IS 'When a job for it was last claimed.';
COMMENT ON COLUMN haul.hosts.range_unsafe IS 'It answered a range request wrongly within the last day; no ranges are asked of it.';
COMMENT ON COLUMN haul.hosts.block_reason IS 'Why it is blocked: the error class of the failure, or operator.';
COMMENT ON COLUMN haul.hosts.policy_cap IS 'How many may run at once by its policy.';
COMMENT ON COLUMN haul.hosts.min_interval IS 'The least time between starts, by its policy.';
COMMENT ON COLUMN haul.hosts.burst IS 'Starts that may follow each other at once after a pause, by its policy.';

CREATE OR REPLACE VIEW haul.batches AS
SELECT b.name AS batch, t.jobs, t.completed, t.failed, t.cancelled, t.jobs - t.completed - t.failed - t.cancelled AS unfinished,
  coalesce(r.running, 0) AS running, t.bytes + coalesce(r.bytes, 0) AS bytes, coalesce(r.rate, 0) AS rate,
  -- Of what waits nothing is known but what others were long.
  CASE WHEN r.rate > 0 AND (t.completed > 0 OR r.running = t.jobs - t.failed - t.cancelled) THEN make_interval(secs =>
    (r.left_over + (t.jobs - t.completed - t.failed - t.cancelled - r.running)
      * coalesce(t.bytes::double precision / nullif(t.completed, 0), 0)) / r.rate) END AS time_left,
  b.submitted_at, b.sweep AS steering, t.bytes AS completed_bytes, coalesce(w.bytes, 0) AS waiting_bytes,
  coalesce(w.parts, 0) AS waiting_parts,
  -- This and the next are found by the index on batches, once for each row that is shown. Ids of a batch lie close together.
  CASE WHEN t.jobs > t.completed + t.failed + t.cancelled THEN (
    SELECT count(*) FROM (
      SELECT d.job FROM haul.held d
      WHERE d.job BETWEEN (SELECT j.id FROM haul.job j WHERE j.batch = b.id ORDER BY j.id LIMIT 1)
        AND (SELECT j.id FROM haul.job j WHERE j.batch = b.id ORDER BY j.id DESC LIMIT 1)
      LIMIT 1000) s
    WHERE (SELECT j.batch FROM haul.job j WHERE j.id = s.job) = b.id) ELSE 0 END AS held,
  CASE WHEN t.jobs > t.completed + t.failed + t.cancelled THEN (
    SELECT CASE WHEN q.paused THEN q.name END FROM haul.queue q
    WHERE q.id = (SELECT j.queue FROM haul.job j WHERE j.batch = b.id ORDER BY j.id DESC LIMIT 1)) END AS paused_queue
FROM haul.batch b
LEFT JOIN haul.batch_total k ON k.batch = b.id
-- What the leader has not added up yet, in one pass for all batches.
LEFT JOIN (
  SELECT n.batch, sum(n.jobs)::bigint AS jobs, sum(n.completed)::bigint AS completed, sum(n.failed)::bigint AS failed,
    sum(n.cancelled)::bigint AS cancelled, sum(n.bytes)::bigint AS bytes
  FROM haul.batch_change n GROUP BY n.batch) d ON d.batch = b.id
CROSS JOIN LATERAL (
  SELECT coalesce(k.jobs, 0) + coalesce(d.jobs, 0) AS jobs, coalesce(k.completed, 0) + coalesce(d.completed, 0) AS completed,
    coalesce(k.failed, 0) + coalesce(d.failed, 0) AS failed, coalesce(k.cancelled, 0) + coalesce(d.cancelled, 0) AS cancelled,
    coalesce(k.bytes, 0) + coalesce(d.bytes, 0) AS bytes) t
LEFT JOIN (
  SELECT j.batch, count(*) AS running, sum(p.rate)::bigint AS rate,
    -- One that has just been taken over has no progress yet, but what it goes on from.
    sum(greatest(p.bytes, haul.range_bytes(c.durable)))::bigint AS bytes,
    coalesce(sum(greatest(p.total - p.bytes, 0)), 0) AS left_over
  FROM haul.lease l JOIN haul.job j ON j.id = l.job LEFT JOIN haul.progress p ON p.job = l.job AND p.token = l.token
  LEFT JOIN haul.checkpoint c ON c.job = l.job
  GROUP BY 1) r ON r.batch = b.id
LEFT JOIN (
  SELECT j.batch, sum(haul.range_bytes(c.durable))::bigint AS bytes,
    sum(haul.range_bytes(c.durable)::double precision / nullif(c.length, 0)) AS parts
  FROM haul.checkpoint c JOIN haul.job j ON j.id = c.job
  WHERE NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = c.job)
    AND NOT EXISTS (SELECT FROM haul.outcome o WHERE o.job = c.job)
  GROUP BY 1) w ON w.batch = b.id;
COMMENT ON VIEW haul.batches IS 'Jobs submitted together, in numbers that are kept up and not counted.';
COMMENT ON COLUMN haul.batches.batch IS 'Name.';
COMMENT ON COLUMN haul.batches.jobs IS 'How many jobs.';
COMMENT ON COLUMN haul.batches.completed IS 'How many have completed.';
COMMENT ON COLUMN haul.batches.failed IS 'How many have failed.';
COMMENT ON COLUMN haul.batches.cancelled IS 'How many were cancelled.';
COMMENT ON COLUMN haul.batches.unfinished IS 'How many have not ended.';
COMMENT ON COLUMN haul.batches.running IS 'How many are under lease now.';
COMMENT ON COLUMN haul.batches.bytes IS 'Lengths of the files of completed jobs, and what is there of running ones, together; with waiting_bytes all that is there.';
COMMENT ON COLUMN haul.batches.rate IS 'Bytes a second over all its transfers, lately.';
COMMENT ON COLUMN haul.batches.time_left IS 'Time left at that rate if what waits is as long as what has completed.';
COMMENT ON COLUMN haul.batches.submitted_at IS 'When the first of it was submitted.';
COMMENT ON COLUMN haul.batches.steering IS 'cancel or pause while an operator''s word is being carried out; no job of it starts meanwhile.';
COMMENT ON COLUMN haul.batches.completed_bytes IS 'Lengths of the files of completed jobs.';
COMMENT ON COLUMN haul.batches.waiting_bytes IS 'What is there of waiting and paused ones that were interrupted.';
COMMENT ON COLUMN haul.batches.waiting_parts IS 'The same as parts of whole files.';
COMMENT ON COLUMN haul.batches.held IS 'Paused jobs; no more than 1,000 are looked at.';
COMMENT ON COLUMN haul.batches.paused_queue IS 'The queue of its newest job, where that is paused and the batch has not ended.';

CREATE OR REPLACE VIEW haul.failures AS
SELECT o.error, h.name AS host, date_trunc('hour', o.finished_at) AS hour, count(*) AS jobs,
  min(o.message) AS message, min(o.job) AS first_job
FROM haul.outcome o JOIN haul.job j ON j.id = o.job JOIN haul.host h ON h.id = j.host
WHERE o.state = 'failed'
GROUP BY 1, 2, 3;
COMMENT ON VIEW haul.failures IS 'Failed jobs by class, host and hour.';
COMMENT ON COLUMN haul.failures.error IS 'Error class.';
COMMENT ON COLUMN haul.failures.host IS 'The origin of their URLs.';
COMMENT ON COLUMN haul.failures.hour IS 'The hour in which they failed.';
COMMENT ON COLUMN haul.failures.jobs IS 'How many.';
COMMENT ON COLUMN haul.failures.message IS 'What went wrong with one of them, in a sentence.';
COMMENT ON COLUMN haul.failures.first_job IS 'Id of the first of them.';

CREATE OR REPLACE VIEW haul.throughput AS
SELECT m.at AS minute, sum(m.completed)::bigint AS completed, sum(m.failed)::bigint AS failed,
  sum(m.cancelled)::bigint AS cancelled, sum(m.bytes)::bigint AS bytes
FROM (
  SELECT n.at, n.completed, n.failed, n.cancelled, n.bytes FROM haul.minute n
  UNION ALL
  SELECT date_trunc('minute', c.at), greatest(c.completed, 0), greatest(c.failed, 0), greatest(c.cancelled, 0), greatest(c.bytes, 0)
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
  (SELECT count(*) FROM haul.attempt e WHERE e.job = a.job AND e.token <= a.token) AS attempt, a.token, a.worker, w.machine, a.result,
  a.charged AND NOT a.forgiven AS charged, a.started_at, a.ended_at, a.resumed_at, a.fetched, a.durable, a.changes, a.status, a.error, a.message,
  h.name AS host
FROM haul.attempt a LEFT JOIN haul.worker w ON w.id = a.worker
LEFT JOIN haul.job j ON j.id = a.job LEFT JOIN haul.host h ON h.id = j.host;
COMMENT ON VIEW haul.attempts IS 'History: one row for every lease that has ended. By job it is found at once; by worker, time or error all are read.';
COMMENT ON COLUMN haul.attempts.job IS 'Id of the job.';
COMMENT ON COLUMN haul.attempts.attempt IS '1 for the first lease of the job, 2 for the second, …';
COMMENT ON COLUMN haul.attempts.token IS 'Fencing token of the lease.';
COMMENT ON COLUMN haul.attempts.worker IS 'Id of the worker that held it.';
COMMENT ON COLUMN haul.attempts.machine IS 'Host name of that worker''s machine.';
COMMENT ON COLUMN haul.attempts.result IS 'completed, failed, released (by the worker), rescued (from it), cancelled or paused.';
COMMENT ON COLUMN haul.attempts.charged IS 'Whether it counts against the job''s limits.';
COMMENT ON COLUMN haul.attempts.started_at IS 'When the lease began.';
COMMENT ON COLUMN haul.attempts.ended_at IS 'When it ended.';
COMMENT ON COLUMN haul.attempts.resumed_at IS 'Offset at which it went on with earlier work; 0 = from the start.';
COMMENT ON COLUMN haul.attempts.fetched IS 'Bytes received over the network; for a rescued one, as last reported.';
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
COMMENT ON COLUMN haul.handoffs.bytes_refetched IS 'Bytes fetched a second time, as far as the earlier worker had reported them.';

CREATE OR REPLACE VIEW haul.health AS
SELECT 'host_in_flight' AS check, count(*) AS violations,
  'hosts whose count of running jobs differs from their leases' AS meaning
FROM haul.host h
-- Counted once, not for each host: there may be many of them, and no index leads from a host to its leases.
LEFT JOIN (SELECT l.host, count(*) AS leases FROM haul.lease l GROUP BY l.host) n ON n.host = h.id
WHERE h.in_flight <> coalesce(n.leases, 0)
UNION ALL
SELECT 'one_row', count(*), 'hosts and lanes that do not have exactly one row'
FROM (
  SELECT FROM haul.host_name n FULL JOIN haul.host h ON h.id = n.id AND h.name = n.name
  GROUP BY coalesce(n.id, h.id) HAVING count(*) <> 1 OR count(n.id) <> 1 OR count(h.id) <> 1
  UNION ALL
  SELECT FROM haul.lane_key k FULL JOIN haul.lane l ON l.host = k.host AND l.queue = k.queue AND l.instance = k.instance
  GROUP BY coalesce(k.host, l.host), coalesce(k.queue, l.queue), coalesce(k.instance, l.instance)
  HAVING count(*) <> 1 OR count(k.host) <> 1 OR count(l.host) <> 1) r
UNION ALL
SELECT 'one_state', count(*), 'jobs that are not in exactly one state'
FROM (
  SELECT j.id FROM haul.job j LEFT JOIN (
    SELECT job FROM haul.ready UNION ALL SELECT job FROM haul.scheduled UNION ALL SELECT job FROM haul.held
    UNION ALL SELECT job FROM haul.lease UNION ALL SELECT job FROM haul.outcome) s ON s.job = j.id
  GROUP BY j.id HAVING count(s.job) <> 1) j
UNION ALL
SELECT 'lost_lane', count(*), 'lanes where something waits that no claim would find'
FROM (SELECT DISTINCT r.host, r.queue, r.instance FROM haul.ready r) r
LEFT JOIN haul.lane l ON l.host = r.host AND l.queue = r.queue AND l.instance = r.instance
LEFT JOIN haul.host h ON h.id = r.host
WHERE l.head IS NULL OR (l.next_at IS NULL AND h.in_flight < haul.places(h.cap, h.failures))
UNION ALL
SELECT 'lane_head', count(*), 'lanes whose head is behind what waits in them'
FROM haul.lane l WHERE l.head IS NOT NULL AND EXISTS (
  SELECT FROM haul.ready r WHERE r.queue = l.queue AND r.host = l.host AND r.instance = l.instance
    AND (r.priority, r.job) < (l.priority, l.head))
UNION ALL
SELECT 'batch_totals', count(*), 'batches whose totals differ from their jobs'
FROM (
  SELECT coalesce(j.batch, 0) AS batch, count(*) AS jobs, count(*) FILTER (WHERE o.state = 'completed') AS completed,
    count(*) FILTER (WHERE o.state = 'failed') AS failed, count(*) FILTER (WHERE o.state = 'cancelled') AS cancelled,
    coalesce(sum(o.bytes), 0) AS bytes
  FROM haul.job j LEFT JOIN haul.outcome o ON o.job = j.id GROUP BY 1) c
FULL JOIN (
  SELECT n.batch, sum(n.jobs) AS jobs, sum(n.completed) AS completed, sum(n.failed) AS failed, sum(n.cancelled) AS cancelled,
    sum(n.bytes) AS bytes
  FROM (SELECT s.batch, s.jobs, s.completed, s.failed, s.cancelled, s.bytes FROM haul.batch_total s
    UNION ALL SELECT d.batch, d.jobs, d.completed, d.failed, d.cancelled, d.bytes FROM haul.batch_change d) n GROUP BY 1) k
  ON k.batch = c.batch
WHERE (coalesce(c.jobs, 0), coalesce(c.completed, 0), coalesce(c.failed, 0), coalesce(c.cancelled, 0), coalesce(c.bytes, 0))
  <> (coalesce(k.jobs, 0), coalesce(k.completed, 0), coalesce(k.failed, 0), coalesce(k.cancelled, 0), coalesce(k.bytes, 0))
UNION ALL
SELECT 'queue_max_running', count(*), 'queues of which more jobs run than may'
FROM haul.queue q WHERE q.max_running < (SELECT count(*) FROM haul.lease l WHERE l.queue = q.id)
UNION ALL
SELECT 'checkpoint_of_finished', count(*), 'checkpoints of jobs that have ended and will not go on'
FROM haul.checkpoint c WHERE EXISTS (
  SELECT FROM haul.outcome o WHERE o.job = c.job AND NOT haul.keeps_progress(o.error))
UNION ALL
SELECT 'refresh_of_completed', count(*), 'jobs that have completed and count as asked for again'
FROM haul.refresh f JOIN haul.outcome o ON o.job = f.job WHERE o.state = 'completed';
COMMENT ON VIEW haul.health IS
  'Invariants; every count should be 0, whatever the pool is doing. Reads everything, so that it takes minutes on many millions of jobs: for tests and for trouble. What may be large for good reasons is in vitals.';
COMMENT ON COLUMN haul.health.check IS 'Name of the invariant.';
COMMENT ON COLUMN haul.health.violations IS 'How many break it; 0 is right.';
COMMENT ON COLUMN haul.health.meaning IS 'What they are.';

-- Who keeps dead rows of this database from being cleared away, and for how long. Of sessions of others haul_admin sees so
-- much only as a member of pg_read_all_stats.
CREATE OR REPLACE FUNCTION haul.held_snapshots() RETURNS TABLE (holder text, age interval)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT format('process %s (%s, %s)', a.pid, coalesce(nullif(a.application_name, ''), a.backend_type), a.usename),
    clock_timestamp() - a.xact_start
  FROM pg_stat_activity a
  WHERE (a.datname = current_database() OR a.datname IS NULL) AND a.xact_start IS NOT NULL
    AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
    AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
  UNION ALL
  SELECT format('prepared transaction %s (%s)', p.gid, p.owner), clock_timestamp() - p.prepared
  FROM pg_prepared_xacts p WHERE p.database = current_database()
$$;

-- Whether held_snapshots() sees those of all sessions.
CREATE OR REPLACE FUNCTION haul.sees_all_sessions() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
$$;

CREATE OR REPLACE VIEW haul.vitals AS
SELECT 'dead_rows' AS vital, s.relname::text AS subject, s.n_dead_tup::double precision AS value, 'rows' AS unit,
  s.n_dead_tup > 100000 + s.n_live_tup / 2 AS alarming,
  'deleted or replaced rows of a hot table that VACUUM has not cleared away; claims step over them' AS meaning
FROM pg_stat_all_tables s
WHERE s.schemaname = 'haul' AND s.relname IN ('ready', 'lease', 'lane', 'host', 'scheduled', 'held', 'progress', 'checkpoint',
  'worker', 'worker_call', 'batch_change', 'batch_total')
UNION ALL
SELECT 'oldest_snapshot', o.holder, coalesce(extract(epoch FROM o.age), 0)::double precision, 'seconds',
  coalesce(o.age > interval '5 minutes', false),
  CASE WHEN haul.sees_all_sessions() THEN 'since when somebody keeps dead rows from being cleared away; 0 = nobody does'
    ELSE 'since when a session keeps dead rows from being cleared away, of the few that haul_admin may see: GRANT pg_read_all_stats TO haul_admin shows all'
  END
FROM (SELECT) one LEFT JOIN LATERAL (SELECT n.* FROM haul.held_snapshots() n ORDER BY n.age DESC LIMIT 1) o ON true
UNION ALL
SELECT 'notify_queue', NULL, pg_notification_queue_usage(), 'of 1', pg_notification_queue_usage() > 0.5,
  'how full the queue of notifications is; when it is full, submissions and control calls fail. A session that listens and stays in a transaction keeps it from emptying'
UNION ALL
SELECT 'partition_room', NULL, p.room, 'jobs', coalesce(p.room < 500000, false),
  'how many more jobs the partitions have room for; whoever keeps house and whoever submits makes new ones'
FROM (
  SELECT (max(substr(c.relname, 5)::bigint) + 1) * 1048576 - (SELECT d.last_value FROM haul.job_id d) AS room
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'haul.job'::regclass) p
UNION ALL
SELECT 'stranded_lanes', q.name, coalesce(sum(k.lanes), 0), 'lanes', coalesce(sum(k.lanes), 0) > 0,
  'lanes of a queue, not paused, where jobs wait that no live worker could write: none mounts the store, or all have trouble with it'
FROM haul.queue q LEFT JOIN (
  SELECT l.queue, l.instance, count(*) AS lanes FROM haul.lane l WHERE l.head IS NOT NULL GROUP BY l.queue, l.instance) k
  ON k.queue = q.id AND NOT q.paused AND NOT EXISTS (
    SELECT FROM haul.worker w JOIN haul.store_instance i ON i.id = ANY (w.instances)
    WHERE i.store = q.store AND k.instance IN (0, i.id) AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
      AND NOT w.draining AND NOT coalesce(w.closed_stores ? i.id::text, false))
WHERE q.deleted_at IS NULL GROUP BY q.name
UNION ALL
SELECT 'last_round', NULL, extract(epoch FROM clock_timestamp() - p.round_at)::double precision, 'seconds',
  coalesce(p.round_at < clock_timestamp() - interval '10 seconds', true),
  'since the last round of housekeeping (rescue, promotion, totals); a worker or a coordinator keeps one every second'
FROM (SELECT) one LEFT JOIN haul.pulse p ON true
UNION ALL
SELECT 'changes_to_add', NULL, c.changes, 'rows', c.changes > 100000,
  'changes to totals of batches that housekeeping has not added up, counted up to 100,001'
FROM (SELECT count(*) AS changes FROM (SELECT FROM haul.batch_change LIMIT 100001) n) c
UNION ALL
SELECT 'connections', NULL, c.used, 'of 1', c.used > 0.9, 'how many of the server''s connections are in use'
FROM (SELECT sum(d.numbackends)::double precision / current_setting('max_connections')::integer AS used
  FROM pg_stat_database d) c
UNION ALL
SELECT 'frozen_age', NULL, age(d.datfrozenxid), 'transactions', age(d.datfrozenxid) > 1000000000,
  'since the oldest row that VACUUM has not frozen; at 2,000,000,000 the database refuses to write'
FROM pg_database d WHERE d.datname = current_database();
COMMENT ON VIEW haul.vitals IS
  'Measurements of what a pool lives on. Apart from health, since each may be large for good reasons: a number of 0 is right there and not here. Filter by alarming.';
COMMENT ON COLUMN haul.vitals.vital IS
  'dead_rows, oldest_snapshot, notify_queue, partition_room, stranded_lanes, last_round, changes_to_add, connections or frozen_age.';
COMMENT ON COLUMN haul.vitals.subject IS 'Which table or queue, or who; NULL where there is but one.';
COMMENT ON COLUMN haul.vitals.value IS 'The measurement; NULL where there is none yet.';
COMMENT ON COLUMN haul.vitals.unit IS 'rows, seconds, jobs, lanes, transactions, or of 1 for a share.';
COMMENT ON COLUMN haul.vitals.alarming IS 'Whether somebody should look into it now.';
COMMENT ON COLUMN haul.vitals.meaning IS 'What it is.';
