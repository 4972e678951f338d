-- Workers, queues, stores, and hosts with their policies.

CREATE OR REPLACE VIEW haul.received AS
SELECT w.id AS worker, r.queue, r.batch, r.rate
FROM haul.worker w CROSS JOIN LATERAL jsonb_to_recordset(w.received) AS r(queue text, batch text, rate bigint)
WHERE w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
  AND w.heartbeat_at >= clock_timestamp() - haul.session_grace();
COMMENT ON VIEW haul.received IS 'Download rate of each live worker per queue and batch, at its last heartbeat.';
COMMENT ON COLUMN haul.received.worker IS 'Id of the worker.';
COMMENT ON COLUMN haul.received.queue IS 'Name of the queue.';
COMMENT ON COLUMN haul.received.batch IS 'Name of the batch; NULL = jobs without a batch.';
COMMENT ON COLUMN haul.received.rate IS 'Current rate in bytes per second, including transfers that have just ended.';

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
COMMENT ON VIEW haul.workers IS 'Every worker process that has ever registered, one row each.';
COMMENT ON COLUMN haul.workers.worker IS 'Worker id. Ids are never reused.';
COMMENT ON COLUMN haul.workers.machine IS 'Host name of the worker''s machine.';
COMMENT ON COLUMN haul.workers.pid IS 'Process id of the worker.';
COMMENT ON COLUMN haul.workers.version IS 'Haul version of the worker.';
COMMENT ON COLUMN haul.workers.state IS
  'alive; silent (no heartbeat for 3 s); dead (its leases expired, or the pool took its jobs back); draining; or '
  'stopped (it stopped gracefully).';
COMMENT ON COLUMN haul.workers.running IS
  'Number of jobs that the worker holds. It may exceed concurrency, because jobs that rename a finished file or wait '
  'for a silent host or disk do not count toward that limit.';
COMMENT ON COLUMN haul.workers.concurrency IS 'Maximum number of concurrent transfers of the worker.';
COMMENT ON COLUMN haul.workers.rate IS
  'Current rate of all the worker''s transfers in bytes per second, including transfers that have just ended.';
COMMENT ON COLUMN haul.workers.stores IS 'Names of the stores whose directories the worker mounts.';
COMMENT ON COLUMN haul.workers.registered_at IS 'When the worker registered.';
COMMENT ON COLUMN haul.workers.heartbeat_at IS 'Time of the worker''s last heartbeat.';
COMMENT ON COLUMN haul.workers.expires_at IS 'When the worker''s leases expire if it sends no more heartbeats.';
COMMENT ON COLUMN haul.workers.trouble IS
  'Stores that the worker cannot write to now, with the reasons. It claims no jobs for these stores. NULL = none.';
COMMENT ON COLUMN haul.workers.queues IS 'Queues that the worker claims jobs from; NULL = all queues of its stores.';
COMMENT ON COLUMN haul.workers.schemes IS 'URL schemes that the worker downloads; NULL = unknown.';
COMMENT ON COLUMN haul.workers.networks IS
  'Networks that the worker may connect to in addition to public addresses; NULL = unknown.';

CREATE OR REPLACE FUNCTION haul.live_workers(p_instances integer[]) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT count(*) FROM haul.worker w
  WHERE w.stopped_at IS NULL AND w.expires_at > clock_timestamp() AND w.instances && p_instances
$$;
COMMENT ON FUNCTION haul.live_workers(integer[]) IS
  'Returns the number of live workers that mount one of these store instances (directories of stores).';

CREATE OR REPLACE FUNCTION haul.serving_workers(p_queue integer) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT count(*) FROM haul.queue q JOIN haul.worker w
    ON w.instances && ARRAY(SELECT i.id FROM haul.store_instance i WHERE i.store = q.store)
      AND (w.queues IS NULL OR q.name = ANY (w.queues))
  WHERE q.id = p_queue AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp() AND NOT w.draining
$$;
COMMENT ON FUNCTION haul.serving_workers(integer) IS
  'Returns how many live workers mount the store of this queue, claim from the queue and do not drain.';

CREATE OR REPLACE FUNCTION haul.is_queue_served(p_queue integer, p_instance integer) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT EXISTS (
    SELECT FROM haul.queue q JOIN haul.store_instance i ON i.store = q.store JOIN haul.worker w
      ON i.id = ANY (w.instances) AND (w.queues IS NULL OR q.name = ANY (w.queues))
    WHERE q.id = p_queue AND p_instance IN (0, i.id) AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
      AND NOT w.draining AND NOT coalesce(w.closed_stores ? i.id::text, false))
$$;
COMMENT ON FUNCTION haul.is_queue_served(integer, integer) IS
  'Returns whether a live worker takes jobs of a queue. Workers that drain or cannot write to the store do not count. '
  'p_instance: count only workers that mount this store instance (a directory of a store); 0 = any. Only such workers '
  'can take jobs with a part file there.';

CREATE OR REPLACE FUNCTION haul.unserved_queues() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  SELECT array(SELECT q.id FROM haul.queue q WHERE NOT haul.is_queue_served(q.id, 0))
$$;
COMMENT ON FUNCTION haul.unserved_queues() IS 'Returns the ids of queues whose jobs no live worker takes.';

-- This is a function because of the planner. As a part of the view haul.hosts, the query would be planned and compiled
-- once for each host.
CREATE OR REPLACE FUNCTION haul.stalled_queues() RETURNS integer[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  SELECT array(SELECT q.id FROM haul.queue q WHERE q.paused OR q.max_running IS NOT NULL) || haul.unserved_queues()
$$;
COMMENT ON FUNCTION haul.stalled_queues() IS
  'Returns the ids of queues whose jobs may wait for a long time, because the queue is paused, has a limit on '
  'running jobs, or no live worker serves it.';

CREATE OR REPLACE VIEW haul.queues AS
SELECT q.name AS queue, s.name AS store, q.paused,
  (SELECT count(*) FROM haul.ready r WHERE r.queue = q.id AND r.instance = 0) AS queued,
  (SELECT count(*) FROM haul.ready r WHERE r.queue = q.id AND r.instance <> 0) AS interrupted,
  coalesce(d.scheduled, 0) AS scheduled, coalesce(h.held, 0) AS held, coalesce(l.running, 0) AS running,
  CASE WHEN l.running > 0 THEN (
    SELECT haul.whole(coalesce(sum(v.rate), 0)) FROM haul.received v WHERE v.queue = q.name) ELSE 0 END AS rate,
  haul.serving_workers(q.id) AS workers,
  q.max_running, q.weight, q.defaults,
  -- 1000 years stand for ever.
  nullif(coalesce(q.keep_completed, p.keep_completed), interval '1000 years') AS keep_completed,
  nullif(coalesce(q.keep_failed, p.keep_failed), interval '1000 years') AS keep_failed,
  nullif(coalesce(q.keep_cancelled, p.keep_cancelled), interval '1000 years') AS keep_cancelled,
  nullif(coalesce(q.keep_known, p.keep_known), interval '1000 years') AS keep_known
FROM haul.queue q JOIN haul.store s ON s.id = q.store CROSS JOIN haul.pool p
-- These tables have no index by queue, so each is read once for all queues. A table is read only if its column is
-- selected.
LEFT JOIN (SELECT n.queue, count(*) AS scheduled FROM haul.scheduled n GROUP BY n.queue) d ON d.queue = q.id
LEFT JOIN (SELECT n.queue, count(*) AS held FROM haul.held n GROUP BY n.queue) h ON h.queue = q.id
LEFT JOIN (
  SELECT n.queue, count(*) AS running FROM haul.lease n GROUP BY n.queue) l ON l.queue = q.id
WHERE q.deleted_at IS NULL;
COMMENT ON VIEW haul.queues IS
  'Queues with exact counts of their waiting and running jobs. Counting a million queued jobs takes a few tenths of a '
  'second. PostgreSQL counts jobs only for the columns that you select.';
COMMENT ON COLUMN haul.queues.queue IS 'Queue name.';
COMMENT ON COLUMN haul.queues.store IS 'Name of the store that the queue''s files are saved in.';
COMMENT ON COLUMN haul.queues.paused IS 'Whether the queue is paused. None of its jobs start during a pause.';
COMMENT ON COLUMN haul.queues.queued IS 'Number of waiting jobs that any worker of the queue may claim.';
COMMENT ON COLUMN haul.queues.interrupted IS
  'Number of jobs that have a part file and wait for a worker that mounts the directory with this file.';
COMMENT ON COLUMN haul.queues.scheduled IS 'Number of jobs that start at a later time.';
COMMENT ON COLUMN haul.queues.held IS 'Number of paused jobs.';
COMMENT ON COLUMN haul.queues.running IS 'Number of running jobs.';
COMMENT ON COLUMN haul.queues.rate IS
  'Current rate of all the queue''s transfers in bytes per second, including transfers that have just ended.';
COMMENT ON COLUMN haul.queues.max_running IS
  'Maximum number of the queue''s jobs that run at the same time, pool-wide; NULL = no limit.';
COMMENT ON COLUMN haul.queues.weight IS 'How often a worker looks in this queue first, compared with its other queues.';
COMMENT ON COLUMN haul.queues.defaults IS
  'Default options of new jobs. Options that are set for a job take precedence.';
COMMENT ON COLUMN haul.queues.workers IS
  'Number of live workers that mount the queue''s store and claim from the queue. If it is 0, no jobs of the queue '
  'start.';
COMMENT ON COLUMN haul.queues.keep_completed IS
  'How long completed jobs are kept after they have ended, set for the queue or for all queues; NULL = for ever.';
COMMENT ON COLUMN haul.queues.keep_failed IS 'How long failed jobs are kept after they have ended; NULL = for ever.';
COMMENT ON COLUMN haul.queues.keep_cancelled IS
  'How long cancelled jobs are kept after they have ended; NULL = for ever.';
COMMENT ON COLUMN haul.queues.keep_known IS
  'How long the pool remembers the path of a completed job that it has removed, counted from the end of the job; '
  'NULL = for ever.';

CREATE OR REPLACE VIEW haul.stores AS
SELECT s.name AS store, i.id AS instance, i.machine, i.root, haul.live_workers(ARRAY[i.id]) AS workers, i.marker,
  i.created_at, i.verified_at
FROM haul.store s JOIN haul.store_instance i ON i.store = s.id;
COMMENT ON VIEW haul.stores IS 'Directories that were initialised as parts (instances) of stores.';
COMMENT ON COLUMN haul.stores.store IS 'Store name. Rows with the same name are separate directories of one store.';
COMMENT ON COLUMN haul.stores.instance IS 'Id of the store instance, which is one directory of a store.';
COMMENT ON COLUMN haul.stores.machine IS 'Host name of the machine where the directory was last initialised.';
COMMENT ON COLUMN haul.stores.root IS 'Path of the directory on the machine in the column machine.';
COMMENT ON COLUMN haul.stores.workers IS 'Number of live workers that mount the directory.';
COMMENT ON COLUMN haul.stores.marker IS 'Id in the directory''s marker file.';
COMMENT ON COLUMN haul.stores.created_at IS 'When the directory was first initialised.';
COMMENT ON COLUMN haul.stores.verified_at IS
  'When ''haul verify'' last compared the files of the directory; NULL = never.';

CREATE OR REPLACE VIEW haul.policies AS
SELECT p.pattern, p.cap, (SELECT count(*) FROM haul.host_name h WHERE h.used AND (h.name = p.pattern
  OR p.pattern LIKE '*%' AND right(h.name, length(p.pattern) - 1) = substr(p.pattern, 2))) AS hosts,
  p.min_interval, p.burst
FROM haul.host_policy p;
COMMENT ON VIEW haul.policies IS
  'Limits that operators set for hosts. An exact host name takes precedence over a *.suffix. Among suffixes, the '
  'longest that matches applies. Without a policy, the limit is 4 concurrent transfers per host.';
COMMENT ON COLUMN haul.policies.pattern IS 'Host name, *.suffix, or * for all hosts.';
COMMENT ON COLUMN haul.policies.cap IS 'Maximum number of concurrent transfers per host, pool-wide.';
COMMENT ON COLUMN haul.policies.hosts IS 'Number of hosts that match the pattern and have jobs.';
COMMENT ON COLUMN haul.policies.min_interval IS 'Minimum time between two starts on a host, pool-wide.';
COMMENT ON COLUMN haul.policies.burst IS
  'Number of jobs that may start together, without waiting for min_interval, after a period without starts.';

-- Uses only the index. For a host without paused jobs, the planner may otherwise read the paused jobs of all hosts.
CREATE OR REPLACE FUNCTION haul.held_of(p_host integer, p_limit integer) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
BEGIN
  RETURN (SELECT count(*) FROM (SELECT FROM haul.held d WHERE d.host = p_host LIMIT least(p_limit, 1000)) s);
END
$$;
COMMENT ON FUNCTION haul.held_of(integer, integer) IS
  'Returns the number of paused jobs of a host. Stops counting at p_limit or at 1,000 jobs.';

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
    -- The job at the head of a lane (the waiting jobs of one queue for one host) may be gone. The next claim corrects
    -- this, so check the head only where that claim may come late. Queues are looked up once, not for each lane.
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
    -- OFFSET 0 keeps this subquery apart, so each lane is checked once and not once for each aggregate.
    OFFSET 0) n) w
WHERE h.blocked_until > clock_timestamp() OR NOT EXISTS (SELECT FROM haul.host_name n WHERE n.id = h.id AND NOT n.used);
COMMENT ON VIEW haul.hosts IS 'Hosts with their limits, and the reason why no more of their jobs start.';
COMMENT ON COLUMN haul.hosts.host IS 'Host name, with the port unless it is the default port.';
COMMENT ON COLUMN haul.hosts.running IS 'Number of running jobs that count toward the host''s limit.';
COMMENT ON COLUMN haul.hosts.cap IS
  'Maximum number of concurrent transfers now, pool-wide. Lower than policy_cap after the host has refused requests.';
COMMENT ON COLUMN haul.hosts.waiting IS
  'Whether jobs for the host are ready to start. Paused and scheduled jobs do not count.';
COMMENT ON COLUMN haul.hosts.why_idle IS
  'Why no more jobs start: blocked; full (at the limit of its policy); adaptive (at a lower limit, because the host '
  'refused requests); unanswered (one transfer waits for the first byte from the host); held (its jobs are paused and '
  'none is ready); empty (no job is ready or paused); paused (all its queues are paused); unserved (its queues are '
  'paused or no live worker takes their jobs); or interval (the last start is too recent). NULL = jobs may start.';
COMMENT ON COLUMN haul.hosts.blocked_until IS
  'When jobs may start again. A host is blocked if it asked for a wait, if requests failed, or if an operator blocked '
  'it. NULL = not blocked.';
COMMENT ON COLUMN haul.hosts.failures IS
  'Number of consecutive failures to reach the host. After a failure, only one job at a time tries the host, until the '
  'host answers.';
COMMENT ON COLUMN haul.hosts.last_start IS 'When a job of the host last started; NULL = never.';
COMMENT ON COLUMN haul.hosts.range_unsafe IS
  'Whether the host answered a range request wrongly within the last hour. During this hour, Haul sends no range '
  'requests for files in the URL directory of that request.';
COMMENT ON COLUMN haul.hosts.block_reason IS
  'Why the host is blocked: the error class of the failure, or ''operator''; NULL = not blocked.';
COMMENT ON COLUMN haul.hosts.policy_cap IS 'Maximum number of concurrent transfers to the host, set by its policy.';
COMMENT ON COLUMN haul.hosts.min_interval IS 'Minimum time between two starts on the host, set by its policy.';
COMMENT ON COLUMN haul.hosts.burst IS 'Number of jobs that may start together after a period without starts.';
COMMENT ON COLUMN haul.hosts.held IS 'Number of the host''s paused jobs, counted up to 1,000.';
