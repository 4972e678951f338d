-- Who works, from where to where, and what belongs together: workers, queues, stores, hosts with their policies,
-- batches.

CREATE OR REPLACE VIEW haul.received AS
SELECT w.id AS worker, r.queue, r.batch, r.rate
FROM haul.worker w CROSS JOIN LATERAL jsonb_to_recordset(w.received) AS r(queue text, batch text, rate bigint)
WHERE w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
  AND w.heartbeat_at >= clock_timestamp() - haul.session_grace();
COMMENT ON VIEW haul.received IS
  'What each worker that is heard of receives, by queue and batch, as of its last heartbeat.';
COMMENT ON COLUMN haul.received.worker IS 'Id of the worker.';
COMMENT ON COLUMN haul.received.queue IS 'Name of the queue.';
COMMENT ON COLUMN haul.received.batch IS 'Name of the batch; NULL = jobs without one.';
COMMENT ON COLUMN haul.received.rate IS 'Bytes a second, lately, with files that have ended meanwhile.';

CREATE OR REPLACE VIEW haul.workers AS
SELECT w.id AS worker, w.machine, w.pid, w.version,
  CASE
    WHEN w.stopped_at IS NOT NULL THEN 'stopped'
    WHEN w.expires_at <= clock_timestamp() THEN 'dead'
    WHEN w.draining THEN 'draining'
    WHEN w.heartbeat_at < clock_timestamp() - haul.session_grace() THEN 'silent'
    ELSE 'alive' END AS state,
  (SELECT count(*) FROM haul.lease l WHERE l.worker = w.id) AS running, w.concurrency,
  (SELECT haul.whole(coalesce(sum(r.rate), 0)) FROM haul.received r WHERE r.worker = w.id) AS rate,
  (SELECT array_agg(s.name ORDER BY s.name) FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
   WHERE i.id = ANY (w.instances)) AS stores,
  w.registered_at, w.heartbeat_at, w.expires_at,
  (SELECT string_agg(s.name || ': ' || (w.closed_stores ->> i.id::text), '; ' ORDER BY s.name)
   FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
   WHERE i.id = ANY (w.instances) AND w.closed_stores ? i.id::text AND w.stopped_at IS NULL) AS trouble,
  w.queues, w.schemes, w.networks
FROM haul.worker w;
COMMENT ON VIEW haul.workers IS 'Every worker process that has registered.';
COMMENT ON COLUMN haul.workers.worker IS 'Id; never used again.';
COMMENT ON COLUMN haul.workers.machine IS 'Host name of its machine.';
COMMENT ON COLUMN haul.workers.pid IS 'Process id there.';
COMMENT ON COLUMN haul.workers.version IS 'Version of its program.';
COMMENT ON COLUMN haul.workers.state IS
  'alive; silent (no heartbeat for 3 s); dead (its leases have expired or were rescued); draining; stopped (in '
  'order).';
COMMENT ON COLUMN haul.workers.running IS
  'Jobs it holds: more than concurrency while it publishes files or waits for silent hosts, which takes no place.';
COMMENT ON COLUMN haul.workers.concurrency IS 'Transfers it may run at once: its places.';
COMMENT ON COLUMN haul.workers.rate IS
  'Bytes a second over all its transfers, lately, with files that have ended meanwhile.';
COMMENT ON COLUMN haul.workers.stores IS 'Stores it mounts.';
COMMENT ON COLUMN haul.workers.registered_at IS 'When it registered.';
COMMENT ON COLUMN haul.workers.heartbeat_at IS 'Its last sign of life.';
COMMENT ON COLUMN haul.workers.expires_at IS 'When its leases end unless it gives another.';
COMMENT ON COLUMN haul.workers.trouble IS
  'The stores that it cannot write to now, and why: it claims nothing for them.';
COMMENT ON COLUMN haul.workers.queues IS 'Queues it claims from; NULL = all of its stores.';
COMMENT ON COLUMN haul.workers.schemes IS 'Schemes of URLs that it fetches; NULL = unknown.';
COMMENT ON COLUMN haul.workers.networks IS
  'Networks that it connects to besides public addresses; NULL = unknown.';

CREATE OR REPLACE FUNCTION haul.live_workers(p_instances integer[]) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT count(*) FROM haul.worker w
  WHERE w.stopped_at IS NULL AND w.expires_at > clock_timestamp() AND w.instances && p_instances
$$;
COMMENT ON FUNCTION haul.live_workers(integer[]) IS
  'How many workers that have neither stopped nor died mount one of these store instances.';

CREATE OR REPLACE FUNCTION haul.serving_workers(p_queue integer) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT count(*) FROM haul.queue q JOIN haul.worker w
    ON w.instances && ARRAY(SELECT i.id FROM haul.store_instance i WHERE i.store = q.store)
      AND (w.queues IS NULL OR q.name = ANY (w.queues))
  WHERE q.id = p_queue AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp() AND NOT w.draining
$$;
COMMENT ON FUNCTION haul.serving_workers(integer) IS
  'How many workers that have neither stopped nor died mount the store of this queue and claim from it.';

CREATE OR REPLACE FUNCTION haul.is_queue_served(p_queue integer, p_instance integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM haul.queue q JOIN haul.store_instance i ON i.store = q.store JOIN haul.worker w
      ON i.id = ANY (w.instances) AND (w.queues IS NULL OR q.name = ANY (w.queues))
    WHERE q.id = p_queue AND p_instance IN (0, i.id) AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
      AND NOT w.draining AND NOT coalesce(w.closed_stores ? i.id::text, false))
$$;
COMMENT ON FUNCTION haul.is_queue_served(integer, integer) IS
  'Whether a live worker takes jobs of a queue: one that neither drains nor has trouble with the store. p_instance '
  'narrows to jobs with a part file in that instance of the store; 0 = any.';

CREATE OR REPLACE FUNCTION haul.unserved_queues() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  SELECT array(SELECT q.id FROM haul.queue q WHERE NOT haul.is_queue_served(q.id, 0))
$$;
COMMENT ON FUNCTION haul.unserved_queues() IS 'Queues that no live worker takes jobs of.';

-- A function for the planner: written into haul.hosts it is taken for something to be done for each host, and the
-- query for one worth compiling.
CREATE OR REPLACE FUNCTION haul.stalled_queues() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  SELECT array(SELECT q.id FROM haul.queue q WHERE q.paused OR q.max_running IS NOT NULL) || haul.unserved_queues()
$$;
COMMENT ON FUNCTION haul.stalled_queues() IS
  'Queues where no claim may come for long: paused, limited or served by no worker.';

CREATE OR REPLACE VIEW haul.queues AS
SELECT q.name AS queue, s.name AS store, q.paused,
  (SELECT count(*) FROM haul.ready r WHERE r.queue = q.id AND r.instance = 0) AS queued,
  (SELECT count(*) FROM haul.ready r WHERE r.queue = q.id AND r.instance <> 0) AS interrupted,
  coalesce(d.scheduled, 0) AS scheduled, coalesce(h.held, 0) AS held, coalesce(l.running, 0) AS running,
  CASE WHEN l.running > 0 THEN (
    SELECT haul.whole(coalesce(sum(v.rate), 0)) FROM haul.received v WHERE v.queue = q.name) ELSE 0 END AS rate,
  haul.serving_workers(q.id) AS workers,
  q.max_running, q.weight, q.defaults
FROM haul.queue q JOIN haul.store s ON s.id = q.store
-- No index leads from a queue to these: each is read once for all queues. One that is not asked for is not read.
LEFT JOIN (SELECT n.queue, count(*) AS scheduled FROM haul.scheduled n GROUP BY n.queue) d ON d.queue = q.id
LEFT JOIN (SELECT n.queue, count(*) AS held FROM haul.held n GROUP BY n.queue) h ON h.queue = q.id
LEFT JOIN (
  SELECT n.queue, count(*) AS running FROM haul.lease n GROUP BY n.queue) l ON l.queue = q.id
WHERE q.deleted_at IS NULL;
COMMENT ON VIEW haul.queues IS
  'Queues with what waits and runs in them, counted exactly: of millions that wait, queued takes some tenths of a '
  'second a million. A column that is not selected is not counted.';
COMMENT ON COLUMN haul.queues.queue IS 'Name.';
COMMENT ON COLUMN haul.queues.store IS 'Name of the store where its files end up.';
COMMENT ON COLUMN haul.queues.paused IS 'Nothing is claimed from it while true.';
COMMENT ON COLUMN haul.queues.queued IS 'Jobs that anyone may claim.';
COMMENT ON COLUMN haul.queues.interrupted IS
  'Jobs with a part file, waiting for a worker that mounts its store instance.';
COMMENT ON COLUMN haul.queues.scheduled IS 'Jobs not to be claimed before a time.';
COMMENT ON COLUMN haul.queues.held IS 'Paused jobs.';
COMMENT ON COLUMN haul.queues.running IS 'Jobs under lease.';
COMMENT ON COLUMN haul.queues.rate IS
  'Bytes a second over all its transfers, lately, with files that have ended meanwhile.';
COMMENT ON COLUMN haul.queues.max_running IS 'How many of its jobs may run at once, pool-wide; NULL = any number.';
COMMENT ON COLUMN haul.queues.weight IS 'How often a worker looks here first, beside its other queues.';
COMMENT ON COLUMN haul.queues.defaults IS 'Options of jobs that are submitted without their own.';
COMMENT ON COLUMN haul.queues.workers IS
  'Live workers that serve it: they mount its store and claim from it. Where there is none, nothing starts.';

CREATE OR REPLACE VIEW haul.stores AS
SELECT s.name AS store, i.id AS instance, i.machine, i.root, haul.live_workers(ARRAY[i.id]) AS workers, i.marker,
  i.created_at, i.verified_at
FROM haul.store s JOIN haul.store_instance i ON i.store = s.id;
COMMENT ON VIEW haul.stores IS 'Directories that were made instances of stores.';
COMMENT ON COLUMN haul.stores.store IS 'Name; instances of one name are separate disks.';
COMMENT ON COLUMN haul.stores.instance IS 'Id of the instance.';
COMMENT ON COLUMN haul.stores.machine IS 'Host name of the machine where it was last initialised.';
COMMENT ON COLUMN haul.stores.root IS 'Its directory there.';
COMMENT ON COLUMN haul.stores.workers IS 'Live workers that mount it.';
COMMENT ON COLUMN haul.stores.marker IS 'The id in its marker file.';
COMMENT ON COLUMN haul.stores.created_at IS 'When it was first initialised.';
COMMENT ON COLUMN haul.stores.verified_at IS 'When ''haul verify'' last compared its files; NULL = never.';

CREATE OR REPLACE VIEW haul.policies AS
SELECT p.pattern, p.cap, (SELECT count(*) FROM haul.host_name h WHERE h.used AND (h.name = p.pattern
  OR p.pattern LIKE '*%' AND right(h.name, length(p.pattern) - 1) = substr(p.pattern, 2))) AS hosts,
  p.min_interval, p.burst
FROM haul.host_policy p;
COMMENT ON VIEW haul.policies IS
  'What is set for hosts; an exact name goes before the longest suffix that fits, that before a cap of 4.';
COMMENT ON COLUMN haul.policies.pattern IS 'A host, *.suffix, or * for all.';
COMMENT ON COLUMN haul.policies.cap IS 'How many transfers such a host may see at once, pool-wide.';
COMMENT ON COLUMN haul.policies.hosts IS 'Hosts with jobs so far that the pattern fits.';
COMMENT ON COLUMN haul.policies.min_interval IS 'The least time between starts, pool-wide.';
COMMENT ON COLUMN haul.policies.burst IS 'Starts that may follow each other at once after a pause.';

-- By the index alone: for a host without paused jobs the planner may prefer to read those of all others.
CREATE OR REPLACE FUNCTION haul.held_of(p_host integer, p_limit integer) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT count(*) FROM (SELECT FROM haul.held d WHERE d.host = p_host LIMIT least(p_limit, 1000)) s);
END
$$;
COMMENT ON FUNCTION haul.held_of(integer, integer) IS
  'How many paused jobs a host has; no more than p_limit and 1,000 are looked at.';

CREATE OR REPLACE VIEW haul.hosts AS
SELECT h.name AS host, h.in_flight AS running, h.cap,
  w.waiting,
  CASE
    WHEN h.blocked_until > clock_timestamp() THEN 'blocked'
    WHEN h.in_flight >= haul.places(h.cap, h.failures)
      THEN CASE WHEN h.in_flight >= h.policy_cap THEN 'full' WHEN h.failures < 0 THEN 'unanswered'
        ELSE 'adaptive' END
    WHEN NOT w.waiting
      THEN CASE WHEN haul.held_of(h.id, 1) > 0 THEN 'held' ELSE 'empty' END
    WHEN w.all_paused THEN 'paused'
    WHEN w.all_stand THEN 'unserved'
    WHEN haul.next_start(h.min_interval, h.burst, h.next_start) > clock_timestamp() THEN 'interval'
  END AS why_idle,
  CASE WHEN h.blocked_until > clock_timestamp() THEN h.blocked_until END AS blocked_until,
  greatest(h.failures, 0) AS failures, h.last_start,
  coalesce(h.range_unsafe_until > clock_timestamp(), false) AS range_unsafe,
  CASE WHEN h.blocked_until > clock_timestamp() THEN h.block_reason END AS block_reason,
  h.policy_cap, h.min_interval, h.burst,
  haul.held_of(h.id, 1000) AS held
FROM haul.host h
CROSS JOIN LATERAL (
  SELECT coalesce(bool_or(n.is_there), false) AS waiting,
    coalesce(bool_and(n.queue = ANY (ARRAY(SELECT q.id FROM haul.queue q WHERE q.paused))) FILTER (WHERE n.is_there),
      false)
      AS all_paused,
    coalesce(bool_and(n.queue = ANY (ARRAY(SELECT q.id FROM haul.queue q WHERE q.paused))
      OR n.queue = ANY ((SELECT haul.unserved_queues())::integer[])) FILTER (WHERE n.is_there), false) AS all_stand
  FROM (
    -- A lane's head may be gone; a claim finds that out. Where it may be long until one looks it is looked for. Queues
    -- are looked up once, not for each of many lanes.
    SELECT l.queue, CASE
      WHEN l.instance = 0 AND NOT coalesce(h.blocked_until > clock_timestamp(), false)
        AND l.queue <> ALL ((SELECT haul.stalled_queues())::integer[])
      THEN true
      ELSE EXISTS (
        SELECT FROM haul.ready r
        WHERE r.queue = l.queue AND r.host = l.host AND r.instance = l.instance
          AND (r.priority, r.job) >= (l.priority, l.head))
      END AS is_there
    FROM haul.lane l WHERE l.host = h.id AND l.head IS NOT NULL
    -- Not written into both sums: each lane is looked at once.
    OFFSET 0) n) w
WHERE h.blocked_until > clock_timestamp() OR NOT EXISTS (SELECT FROM haul.host_name n WHERE n.id = h.id AND NOT n.used);
COMMENT ON VIEW haul.hosts IS 'Origins, and why each starts nothing.';
COMMENT ON COLUMN haul.hosts.host IS 'Name, with the port when it is not the usual one.';
COMMENT ON COLUMN haul.hosts.running IS 'Jobs under lease that count against it.';
COMMENT ON COLUMN haul.hosts.cap IS
  'How many may run at once now, pool-wide: less than policy_cap after it has refused to serve so many.';
COMMENT ON COLUMN haul.hosts.waiting IS 'Whether jobs wait for it that are neither held nor scheduled for later.';
COMMENT ON COLUMN haul.hosts.why_idle IS
  'Why nothing more starts: blocked, full, adaptive (full by a cap that its refusals have lowered), '
  'unanswered (one transfer runs, and the host has not sent a byte yet), held (jobs are paused, and none is ready), '
  'empty, paused (its queues are), '
  'unserved (its queues are paused or no live worker takes their jobs) or interval; NULL when something may start.';
COMMENT ON COLUMN haul.hosts.blocked_until IS
  'Nothing starts before this time: at the host''s own wish, after failures or at an operator''s word.';
COMMENT ON COLUMN haul.hosts.failures IS
  'Failures to reach it in a row; until it has answered, one job at a time tries.';
COMMENT ON COLUMN haul.hosts.last_start IS 'When a job for it was last claimed.';
COMMENT ON COLUMN haul.hosts.range_unsafe IS
  'It answered a range request wrongly within the last hour; no ranges are requested from that directory.';
COMMENT ON COLUMN haul.hosts.block_reason IS 'Why it is blocked: the error class of the failure, or operator.';
COMMENT ON COLUMN haul.hosts.policy_cap IS 'How many may run at once by its policy.';
COMMENT ON COLUMN haul.hosts.min_interval IS 'The least time between starts, by its policy.';
COMMENT ON COLUMN haul.hosts.burst IS 'Starts that may follow each other at once after a pause, by its policy.';
COMMENT ON COLUMN haul.hosts.held IS 'Its paused jobs; no more than 1,000 are looked at.';

CREATE OR REPLACE VIEW haul.batches AS
SELECT b.name AS batch, t.jobs, t.completed, t.failed, t.cancelled,
  t.jobs - t.completed - t.failed - t.cancelled AS unfinished,
  coalesce(r.running, 0) AS running, t.bytes + coalesce(r.bytes, 0) AS bytes, coalesce(v.rate, 0) AS rate,
  -- Of what waits, or runs and is of unknown length, nothing is known but what others were long: few of them tell
  -- little. 'haul watch' has the same rule.
  CASE WHEN v.rate > 0 AND (t.completed >= least(20, t.jobs / 4 + 1)
    OR r.measured = t.jobs - t.completed - t.failed - t.cancelled) THEN make_interval(secs =>
    least(greatest((r.left_over + (t.jobs - t.completed - t.failed - t.cancelled - r.measured)
      * coalesce(t.bytes::double precision / nullif(t.completed, 0), 0)) / v.rate, r.longest), 1e11)) END AS time_left,
  b.submitted_at, b.sweep AS steering, t.bytes AS completed_bytes, coalesce(w.bytes, 0) AS waiting_bytes,
  coalesce(w.parts, 0) AS waiting_parts,
  -- This and the next are found by the index on batches, once for each row that is shown. Ids of a batch lie close
  -- together.
  CASE WHEN t.jobs > t.completed + t.failed + t.cancelled THEN (
    SELECT count(*) FROM (
      SELECT d.job FROM haul.held d
      WHERE d.job BETWEEN (SELECT j.id FROM haul.job j WHERE j.batch = b.id ORDER BY j.id LIMIT 1)
        AND (SELECT j.id FROM haul.job j WHERE j.batch = b.id ORDER BY j.id DESC LIMIT 1)
      LIMIT 1000) s
    WHERE (SELECT j.batch FROM haul.job j WHERE j.id = s.job) = b.id) ELSE 0 END AS held,
  CASE WHEN t.jobs > t.completed + t.failed + t.cancelled THEN (
    SELECT CASE WHEN q.paused THEN q.name END FROM haul.queue q
    WHERE q.id = (SELECT j.queue FROM haul.job j WHERE j.batch = b.id ORDER BY j.id DESC LIMIT 1)) END AS paused_queue,
  coalesce(r.parts, 0) AS running_parts
FROM haul.batch b
LEFT JOIN haul.batch_total k ON k.batch = b.id
-- What the leader has not added up yet, in one pass for all batches.
LEFT JOIN (
  SELECT n.batch, haul.whole(sum(n.jobs)) AS jobs, haul.whole(sum(n.completed)) AS completed,
    haul.whole(sum(n.failed)) AS failed, haul.whole(sum(n.cancelled)) AS cancelled, haul.whole(sum(n.bytes)) AS bytes
  FROM haul.batch_change n GROUP BY n.batch) d ON d.batch = b.id
CROSS JOIN LATERAL (
  SELECT coalesce(k.jobs, 0) + coalesce(d.jobs, 0) AS jobs, coalesce(k.completed, 0) + coalesce(d.completed,
    0) AS completed,
    coalesce(k.failed, 0) + coalesce(d.failed, 0) AS failed,
      coalesce(k.cancelled, 0) + coalesce(d.cancelled, 0) AS cancelled,
    haul.whole(coalesce(k.bytes, 0)::numeric + coalesce(d.bytes, 0)) AS bytes) t
LEFT JOIN (
  SELECT j.batch, count(*) AS running,
    -- One that has just been taken over has no progress yet, but what it goes on from.
    haul.whole(sum(greatest(p.bytes, haul.range_bytes(c.durable)))) AS bytes,
    count(p.total) AS measured, coalesce(sum(greatest(p.total - p.bytes, 0)), 0) AS left_over,
    max((p.total - p.bytes)::double precision / nullif(p.rate, 0)) AS longest,
    sum(least(greatest(p.bytes, haul.range_bytes(c.durable), 0)::double precision / coalesce(p.total, c.length), 1))
      FILTER (WHERE coalesce(p.total, c.length) > 0) AS parts
  FROM haul.lease l JOIN haul.job j ON j.id = l.job LEFT JOIN haul.progress p ON p.job = l.job AND p.token = l.token
  LEFT JOIN haul.checkpoint c ON c.job = l.job
  GROUP BY 1) r ON r.batch = b.id
LEFT JOIN (SELECT n.batch, haul.whole(sum(n.rate)) AS rate FROM haul.received n GROUP BY n.batch) v
  ON v.batch = b.name AND r.running > 0
LEFT JOIN (
  SELECT j.batch, haul.whole(sum(haul.range_bytes(c.durable))) AS bytes,
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
COMMENT ON COLUMN haul.batches.bytes IS
  'Lengths of the files of completed jobs, and what is there of running ones, together; with waiting_bytes all that '
  'is there.';
COMMENT ON COLUMN haul.batches.rate IS
  'Bytes a second over all its transfers, lately, with files that have ended meanwhile.';
COMMENT ON COLUMN haul.batches.time_left IS
  'Time left at that rate if what waits is as long as what has completed; no less than of any running job by itself. '
  'NULL until 20 jobs, or a quarter of them, have completed, where the length of any other is not known.';
COMMENT ON COLUMN haul.batches.submitted_at IS 'When the first of it was submitted.';
COMMENT ON COLUMN haul.batches.steering IS
  'cancel or pause while an operator''s word is being carried out; no job of it starts meanwhile.';
COMMENT ON COLUMN haul.batches.completed_bytes IS 'Lengths of the files of completed jobs.';
COMMENT ON COLUMN haul.batches.waiting_bytes IS 'What is there of waiting and paused ones that were interrupted.';
COMMENT ON COLUMN haul.batches.waiting_parts IS 'The same as parts of whole files.';
COMMENT ON COLUMN haul.batches.held IS 'Paused jobs; no more than 1,000 are looked at.';
COMMENT ON COLUMN haul.batches.paused_queue IS
  'The queue of its newest job, where that is paused and the batch has not ended.';
COMMENT ON COLUMN haul.batches.running_parts IS
  'What is there of running jobs, as parts of whole files; of those whose length is not known, nothing.';
