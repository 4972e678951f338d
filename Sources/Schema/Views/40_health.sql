-- Consistency of the pool: invariants that hold in every snapshot, and measurements of the database.

CREATE OR REPLACE VIEW haul.health AS
SELECT 'host_in_flight' AS check, count(*) AS violations,
  'hosts whose number of running jobs differs from their number of leases' AS meaning
FROM haul.host h
-- Leases are counted once for all hosts, because there may be many hosts, and leases have no index by host.
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
SELECT 'lost_lane', count(*), 'lanes with waiting jobs that no claim would find'
FROM (SELECT DISTINCT r.host, r.queue, r.instance FROM haul.ready r) r
LEFT JOIN haul.lane l ON l.host = r.host AND l.queue = r.queue AND l.instance = r.instance
LEFT JOIN haul.host h ON h.id = r.host
WHERE l.head IS NULL OR (l.next_at IS NULL AND h.in_flight < haul.places(h.cap, h.failures))
UNION ALL
SELECT 'lane_head', count(*), 'lanes with a waiting job that comes before the recorded first job (head)'
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
  SELECT n.batch, sum(n.jobs) AS jobs, sum(n.completed) AS completed, sum(n.failed) AS failed,
    sum(n.cancelled) AS cancelled,
    sum(n.bytes) AS bytes
  FROM (SELECT s.batch, s.jobs, s.completed, s.failed, s.cancelled, s.bytes FROM haul.batch_total s
    UNION ALL SELECT d.batch, d.jobs, d.completed, d.failed, d.cancelled, d.bytes FROM haul.batch_change d) n
      GROUP BY 1) k
  ON k.batch = c.batch
WHERE (coalesce(c.jobs, 0), coalesce(c.completed, 0), coalesce(c.failed, 0), coalesce(c.cancelled, 0),
  coalesce(c.bytes, 0))
  <> (coalesce(k.jobs, 0), coalesce(k.completed, 0), coalesce(k.failed, 0), coalesce(k.cancelled, 0),
    coalesce(k.bytes, 0))
UNION ALL
SELECT 'queue_max_running', count(*), 'queues that run more jobs than their limit allows'
FROM haul.queue q WHERE q.max_running < (SELECT count(*) FROM haul.lease l WHERE l.queue = q.id)
UNION ALL
SELECT 'checkpoint_of_finished', count(*), 'checkpoints of ended jobs that cannot be continued'
FROM haul.checkpoint c WHERE EXISTS (
  SELECT FROM haul.outcome o WHERE o.job = c.job AND o.state <> 'cancelled' AND NOT haul.keeps_progress(o.error))
UNION ALL
SELECT 'refresh_of_completed', count(*), 'completed jobs that still count as being refreshed'
FROM haul.refresh f JOIN haul.outcome o ON o.job = f.job WHERE o.state = 'completed';
COMMENT ON VIEW haul.health IS
  'Invariants of the pool, with the number of violations. An invariant is a condition that always holds, so each '
  'number should be 0. A query reads all rows, which takes minutes with many millions of jobs, so use the view for '
  'tests and troubleshooting. Measurements that may be large for good reasons are in the view vitals. The view has no '
  'row for invariants that a query cannot check, such as the time between two starts on a host or the duration of a '
  'claim.';
COMMENT ON COLUMN haul.health.check IS 'Name of the invariant.';
COMMENT ON COLUMN haul.health.violations IS 'Number of violations; 0 = the invariant holds.';
COMMENT ON COLUMN haul.health.meaning IS 'Description of the counted violations.';

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
COMMENT ON FUNCTION haul.held_snapshots() IS
  'Returns the sessions and prepared transactions that keep VACUUM from removing dead rows of this database, with '
  'the age of each. Shows sessions of other users only if sees_all_sessions() is true.';

CREATE OR REPLACE FUNCTION haul.standby_snapshots() RETURNS TABLE (holder text, transactions integer)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT format('replication slot %s', s.slot_name), age(s.xmin) FROM pg_replication_slots s WHERE s.xmin IS NOT NULL
  UNION ALL
  SELECT format('standby %s', coalesce(nullif(a.application_name, ''), a.usename)), age(a.backend_xmin)
  FROM pg_stat_activity a WHERE a.backend_type = 'walsender' AND a.backend_xmin IS NOT NULL
$$;
COMMENT ON FUNCTION haul.standby_snapshots() IS
  'Returns the standbys that keep VACUUM from removing dead rows of this server, because hot_standby_feedback is on. '
  'Names each standby by its replication slot or, without a slot, by its connection. The column transactions counts '
  'the transactions that have begun since the standby started to keep these rows. Shows only connections that '
  'haul_admin may see.';

CREATE OR REPLACE FUNCTION haul.sees_all_sessions() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
$$;
COMMENT ON FUNCTION haul.sees_all_sessions() IS
  'Returns whether haul_admin is a member of pg_read_all_stats. Only then can held_snapshots() and '
  'open_transactions() see the sessions of all users.';

CREATE OR REPLACE FUNCTION haul.open_transactions() RETURNS TABLE (holder text, age interval)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  -- Use one moment for all rows, so that the oldest transaction is the one that began first.
  SELECT format('process %s of %s', a.pid, a.usename),
    (SELECT clock_timestamp()) - coalesce(a.xact_start, a.failed_at)
  FROM (
    -- An open transaction that has failed has lost its start time, so use the time of the failure.
    SELECT n.*, CASE WHEN n.state = 'idle in transaction (aborted)' THEN n.state_change END AS failed_at
    FROM pg_stat_activity n) a
  WHERE a.datname IS NOT NULL AND a.usename IS NOT NULL AND a.pid <> pg_backend_pid()
    AND coalesce(a.backend_type, 'client backend') = 'client backend'
    -- Every role may see locks of the type virtualxid. A session holds this lock until its transaction ends or fails.
    AND (coalesce(a.xact_start, a.failed_at) IS NOT NULL
      OR coalesce(a.state, 'disabled') = 'disabled' AND EXISTS (SELECT FROM pg_locks l
      WHERE l.locktype = 'virtualxid' AND l.mode = 'ExclusiveLock' AND l.pid = a.pid))
$$;
COMMENT ON FUNCTION haul.open_transactions() IS
  'Returns the sessions of this server that are in a transaction, in any database, with the age of each transaction. '
  'For a failed transaction, the age is the time since the failure. If sees_all_sessions() is false, the age is NULL '
  'for sessions of other users, and their failed transactions are not shown.';

CREATE OR REPLACE VIEW haul.vitals AS
SELECT 'dead_rows' AS vital, s.relname::text AS subject, s.n_dead_tup::double precision AS value, 'rows' AS unit,
  s.n_dead_tup > 100000 + s.n_live_tup / 2 AS alarming,
  'deleted or replaced rows of a busy table that VACUUM has not removed yet; they slow claims down' AS meaning
FROM pg_stat_all_tables s
WHERE s.schemaname = 'haul' AND s.relname IN ('ready', 'lease', 'lane', 'host', 'scheduled', 'held', 'progress',
  'checkpoint',
  'worker', 'worker_call', 'batch_change', 'batch_total', 'usage_change', 'usage', 'host_change')
UNION ALL
SELECT 'oldest_snapshot', o.holder, coalesce(extract(epoch FROM o.age), 0)::double precision, 'seconds',
  coalesce(o.age > interval '5 minutes', false),
  CASE WHEN haul.sees_all_sessions()
    THEN 'age of the oldest transaction that keeps VACUUM from removing dead rows; 0 = none'
    ELSE 'age of the oldest visible transaction that keeps VACUUM from removing dead rows; to see all, run GRANT '
      'pg_read_all_stats TO haul_admin'
  END
FROM (SELECT) one LEFT JOIN LATERAL (SELECT n.* FROM haul.held_snapshots() n ORDER BY n.age DESC LIMIT 1) o ON true
UNION ALL
SELECT 'standby_snapshot', o.holder, coalesce(o.transactions, 0), 'transactions',
  coalesce(o.transactions > 1000000, false),
  'transactions since a standby began to keep VACUUM from removing dead rows (hot_standby_feedback); 0 = no standby'
FROM (SELECT) one LEFT JOIN LATERAL (
  SELECT n.* FROM haul.standby_snapshots() n ORDER BY n.transactions DESC LIMIT 1) o ON true
UNION ALL
SELECT 'notify_queue', (
    SELECT string_agg(t.holder, ', ' ORDER BY t.age DESC) FROM (
      SELECT o.holder, o.age FROM haul.open_transactions() o WHERE q.usage > 0
      -- A transaction of unknown age may be the oldest. Most others end within a minute.
      ORDER BY coalesce(o.age, interval '1 minute') DESC
      LIMIT CASE WHEN haul.sees_all_sessions() THEN 1 ELSE 3 END) t),
  q.usage, 'of 1', q.usage > 0.5,
  'how full PostgreSQL''s notification queue is. If it is full, submissions and control calls fail. A session that '
  'has run LISTEN and stays in a transaction keeps the queue from emptying. '
  || CASE WHEN haul.sees_all_sessions() THEN 'subject is the oldest transaction of the server'
    ELSE 'subject lists up to three sessions in a transaction; to see which is the oldest, run GRANT '
      'pg_read_all_stats TO haul_admin' END
FROM (SELECT pg_notification_queue_usage() AS usage) q
UNION ALL
SELECT 'partition_room', NULL, p.room, 'jobs', coalesce(p.room < 500000, false),
  'how many more jobs fit into the partitions; the leader and submissions create new partitions'
FROM (
  SELECT (max(substr(c.relname, 5)::bigint) + 1) * 1048576 - (SELECT d.last_value FROM haul.job_id d) AS room
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'haul.job'::regclass) p
UNION ALL
SELECT 'stranded_lanes', q.name, coalesce(sum(n.lanes), 0), 'lanes', coalesce(sum(n.lanes), 0) > 0,
  'lanes whose jobs cannot start although their queue is not paused: no live worker serves the queue, or no worker of '
  'the queue can write to its store. A lane contains the waiting jobs of one queue for one host'
FROM haul.queue q LEFT JOIN (
  SELECT DISTINCT l.queue, l.instance FROM haul.lane l WHERE l.head IS NOT NULL) k
  ON k.queue = q.id AND NOT q.paused AND NOT haul.is_queue_served(q.id, k.instance)
-- The first job that a lane records (head) may be gone if no claim has looked there since.
LEFT JOIN LATERAL (
  SELECT count(*) AS lanes FROM haul.lane l
  WHERE l.queue = k.queue AND l.instance = k.instance AND l.head IS NOT NULL AND EXISTS (
    SELECT FROM haul.ready r
    WHERE r.queue = l.queue AND r.host = l.host AND r.instance = l.instance
      AND (r.priority, r.job) >= (l.priority, l.head))) n
  ON true
WHERE q.deleted_at IS NULL GROUP BY q.name
UNION ALL
SELECT 'last_round', NULL, extract(epoch FROM clock_timestamp() - p.round_at)::double precision, 'seconds',
  coalesce(p.round_at < clock_timestamp() - interval '10 seconds', NOT pg_is_in_recovery()),
  'time since the last maintenance round, which rescues jobs of dead workers, starts scheduled jobs and adds up batch '
  'totals; a worker or coordinator runs one every second'
FROM haul.last_pulse() p
UNION ALL
SELECT 'changes_to_add', NULL, c.changes, 'rows', c.changes > 100000,
  'changes to batch totals and usage that the leader has not added up yet, counted up to 100,001 each'
FROM (SELECT (SELECT count(*) FROM (SELECT FROM haul.batch_change LIMIT 100001) n)
  + (SELECT count(*) FROM (SELECT FROM haul.usage_change LIMIT 100001) n) AS changes) c
UNION ALL
SELECT 'set_aside', NULL, c.jobs, 'jobs', c.jobs > 0,
  'jobs that failed as internal within the last day because their data raised errors in the database'
FROM (SELECT count(*) AS jobs FROM haul.outcome o
  WHERE o.error = 'internal' AND o.state <> 'completed' AND o.finished_at > clock_timestamp() - interval '1 day') c
UNION ALL
SELECT 'open_transaction', (SELECT concat('process ' || (h.value ->> 'pid'), ' of ' || (h.value ->> 'login'))
    WHERE h.value IS NOT NULL),
  extract(epoch FROM clock_timestamp() - (h.value ->> 'since')::timestamptz)::double precision, 'seconds',
  coalesce((h.value ->> 'since')::timestamptz < clock_timestamp() - interval '30 seconds', false),
  'age of the oldest open transaction that locks rows of Haul; jobs wait for these rows until the transaction ends'
FROM (SELECT) one LEFT JOIN (
  SELECT e.value FROM haul.last_pulse() p CROSS JOIN LATERAL jsonb_each(p.holders) e
  ORDER BY (e.value ->> 'since')::timestamptz LIMIT 1) h ON true
UNION ALL
SELECT 'clock_step', NULL, extract(epoch FROM p.step)::double precision, 'seconds',
  coalesce(p.stepped_at > clock_timestamp() - interval '1 day', false),
  'how far the database''s clock was set back the last time; Haul corrected the times of leases and waits'
FROM haul.last_pulse() p
UNION ALL
SELECT 'connections', NULL, c.used, 'of 1', c.used > 0.9, 'share of the server''s connections that are in use'
FROM (SELECT sum(d.numbackends)::double precision / current_setting('max_connections')::integer AS used
  FROM pg_stat_database d) c
UNION ALL
SELECT 'frozen_age', NULL, age(d.datfrozenxid), 'transactions', age(d.datfrozenxid) > 1000000000,
  'age of the oldest row that VACUUM has not frozen, in transactions; at 2,000,000,000 the database stops all writes'
FROM pg_database d WHERE d.datname = current_database();
COMMENT ON VIEW haul.vitals IS
  'Measurements of the database that affect the pool. Unlike the numbers in the view health, these values may be large '
  'for good reasons. To see only the problems, select the rows where alarming is true.';
COMMENT ON COLUMN haul.vitals.vital IS
  'Name of the measurement: dead_rows, oldest_snapshot, standby_snapshot, notify_queue, partition_room, '
  'stranded_lanes, last_round, changes_to_add, set_aside, open_transaction, clock_step, connections or frozen_age.';
COMMENT ON COLUMN haul.vitals.subject IS
  'Table, queue or session that is measured; NULL = the measurement has no subject.';
COMMENT ON COLUMN haul.vitals.value IS 'Measured value; NULL = no value yet.';
COMMENT ON COLUMN haul.vitals.unit IS
  'Unit of the value: rows, seconds, jobs, lanes (a lane contains the waiting jobs of one queue for one host), '
  'transactions, or ''of 1'' for a share between 0 and 1.';
COMMENT ON COLUMN haul.vitals.alarming IS 'Whether the value needs an operator''s attention now.';
COMMENT ON COLUMN haul.vitals.meaning IS 'What the measurement means.';
