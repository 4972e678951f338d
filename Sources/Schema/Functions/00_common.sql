-- Functions that the other files use. Haul applies the files in the order of their names.
--
-- SQLSTATEs that Haul defines:
-- HA001 unknown worker or wrong secret    HA005 wrong isolation level
-- HA002 unsupported version               HA006 a call that is older than the last call
-- HA003 unknown name                      HA007 another session or worker uses the object now
-- HA004 refused input                     HA008 another job has the path
--
-- All functions lock rows in this order:
-- pool → prune_turn → submission → host_name (in name order) → batch → worker_call → worker
-- → lease (job order) → outcome, held (job order) → dedupe (key order) → known (key order) → job
-- → scheduled (job order)
-- → ready (job order) → host (id order) → lane_key → lane (key order, in one pass)
-- The order does not apply to rows that the session itself has just inserted. For example, end_leases() inserts rows
-- and then locks jobs. A lane contains the waiting jobs of one queue for one host and store instance (a directory of a
-- store). A claim is the part of a worker's call that takes waiting jobs.
--
-- 1. A session that has locked a lane never waits for a row of `ready`: claims and promote() use SKIP LOCKED there.
-- promote() moves a row to another lane only while it has locked both lanes. A session that inserts rows into `ready`
-- calls arm() for their lanes as its last step.
-- 2. A claim never waits: it also locks lanes, hosts and rows of `queue_gate` with SKIP LOCKED.
-- 3. A session that must keep a queue from being deleted locks the queue FOR KEY SHARE. A session that deletes a queue
-- waits for no other lock after it has locked the queue.
-- 4. Lock rows in one statement and read in the next statement. After a statement has waited for a lock, it sees the
-- newest version of the locked row, but all other rows as they were when the statement began.

COMMENT ON SCHEMA haul IS
  'Schema of Haul, a pool of download workers. Read the views and call the functions. Only haul_admin, the owner, may '
  'read or write the tables.';

-- Without synchronous commits, the pool could use a token twice after a crash.
CREATE OR REPLACE FUNCTION haul.require_read_committed() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'haul functions need the isolation level READ COMMITTED, not %',
      current_setting('transaction_isolation') USING ERRCODE = 'HA005';
  END IF;
  IF current_setting('synchronous_commit') = 'off' THEN
    PERFORM set_config('synchronous_commit', 'on', true);
  END IF;
  IF current_setting('idle_in_transaction_session_timeout') = '0' THEN
    PERFORM set_config('idle_in_transaction_session_timeout', '5min', true);
  END IF;
END
$$;
COMMENT ON FUNCTION haul.require_read_committed() IS
  'Raises HA005 if the isolation level of the transaction is not READ COMMITTED. Turns synchronous_commit on for the '
  'transaction if the role, the database or the session has turned it off, so that committed changes are durable. If '
  'the transaction has no idle timeout, sets it to 5 minutes, because other sessions may wait for rows that the '
  'transaction has locked.';

CREATE OR REPLACE FUNCTION haul.schema_version() RETURNS integer
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT max(version) FROM haul.migration
$$;
COMMENT ON FUNCTION haul.schema_version() IS 'Returns the number of the newest migration in this database.';

CREATE OR REPLACE FUNCTION haul.oldest_served_version() RETURNS integer
LANGUAGE sql IMMUTABLE RETURN 12;
COMMENT ON FUNCTION haul.oldest_served_version() IS
  'Returns the oldest supported schema version. Programs that know this version or a newer one can use this database. '
  'A program calls this function if the schema version of the database is newer than the version that the program '
  'knows.';

CREATE OR REPLACE FUNCTION haul.lease_expiry() RETURNS interval
LANGUAGE sql IMMUTABLE AS $$ SELECT interval '15 seconds' $$;
COMMENT ON FUNCTION haul.lease_expiry() IS 'Returns how long a lease lasts after the last heartbeat of its worker.';
CREATE OR REPLACE FUNCTION haul.session_grace() RETURNS interval
LANGUAGE sql IMMUTABLE RETURN interval '3 seconds';
COMMENT ON FUNCTION haul.session_grace() IS
  'Returns how long the pool waits after the last heartbeat of a worker whose database session has ended. After this '
  'time, the pool gives the jobs of this worker to other workers. Lists also show a worker as silent after this time '
  'without a heartbeat.';

CREATE OR REPLACE FUNCTION haul.hold_time() RETURNS interval
LANGUAGE sql IMMUTABLE AS $$ SELECT interval '5 minutes' $$;
COMMENT ON FUNCTION haul.hold_time() IS
  'Returns how long an interrupted job waits for a worker that mounts the directory with the part file. After this '
  'time, any worker may start the job from the first byte.';

CREATE OR REPLACE FUNCTION haul.trouble_memory() RETURNS interval
LANGUAGE sql IMMUTABLE AS $$ SELECT interval '10 minutes' $$;
COMMENT ON FUNCTION haul.trouble_memory() IS
  'Returns for how long a host still counts as being in trouble after its last block. During a block, Haul starts no '
  'job of the host. If the host fails again within this time, its trouble counts from the first failure, not from the '
  'new one.';

-- This function is STABLE like convert_to(), because otherwise the planner does not inline it.
CREATE OR REPLACE FUNCTION haul.path_digest(p_path text) RETURNS uuid
LANGUAGE sql STABLE STRICT AS $$
  SELECT encode(substring(sha256(convert_to(p_path, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid
$$;
COMMENT ON FUNCTION haul.path_digest(text) IS
  'Returns the key of a path in the table dedupe: the first 16 bytes of its SHA-256 digest. Returns NULL for NULL.';

CREATE OR REPLACE FUNCTION haul.largest_file() RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN 1152921504606846976;
COMMENT ON FUNCTION haul.largest_file() IS
  'Returns the maximum size of a file in bytes: 2^60. If a program reports a larger number, Haul stores this size '
  'instead.';

-- The next two functions are not STRICT, because otherwise the planner does not inline them.
CREATE OR REPLACE FUNCTION haul.bytes_of(p_bytes bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_bytes < 0 THEN 0 WHEN p_bytes > haul.largest_file() THEN haul.largest_file() ELSE p_bytes END;
COMMENT ON FUNCTION haul.bytes_of(bigint) IS
  'Limits p_bytes, a number that a program reported, to the range from 0 to largest_file(). Returns NULL for NULL.';

CREATE OR REPLACE FUNCTION haul.whole(p_sum numeric) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_sum > 9223372036854775807 THEN 9223372036854775807
  WHEN p_sum < -9223372036854775807 THEN -9223372036854775807 ELSE p_sum::bigint END;
COMMENT ON FUNCTION haul.whole(numeric) IS
  'Converts a sum to a bigint. A sum outside the range from -(2^63 - 1) to 2^63 - 1 becomes the nearest end of this '
  'range. Returns NULL for NULL. Never raises an error.';

CREATE OR REPLACE FUNCTION haul.range_bytes(p_ranges int8multirange) RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT
RETURN (SELECT coalesce(haul.whole(sum(upper(r)::numeric - lower(r))), 0) FROM unnest(p_ranges) r);
COMMENT ON FUNCTION haul.range_bytes(int8multirange) IS
  'Returns the number of bytes in a multirange of byte positions. Unbounded ranges do not count. Returns NULL for '
  'NULL.';

-- host.failures: 0 = the host has answered; above 0 = number of consecutive failures; -1 = the host has never answered;
-- -2 = a transfer got no first byte in time, and the host has not answered since then.
CREATE OR REPLACE FUNCTION haul.places(p_cap integer, p_failures integer) RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN p_failures <> 0 THEN 1 ELSE p_cap END $$;
COMMENT ON FUNCTION haul.places(integer, integer) IS
  'Returns how many concurrent transfers a host may have now. p_cap: the limit of the host. p_failures: the column '
  'failures of the table host. Above 0: the number of consecutive failures. Below 0: the host has never answered, or '
  'has not answered since a transfer timed out. Returns p_cap if p_failures is 0. Otherwise returns 1, so that one '
  'transfer at a time tests the host.';

CREATE OR REPLACE FUNCTION haul.starts(p_interval interval, p_burst integer, p_next_start timestamptz,
  p_now timestamptz)
RETURNS integer
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_interval > '0' THEN p_burst - ceil(
    extract(epoch FROM greatest(p_next_start - p_now, interval '0')) / extract(epoch FROM p_interval))::integer END
$$;
COMMENT ON FUNCTION haul.starts(interval, integer, timestamptz, timestamptz) IS
  'Returns how many transfers to a host may start at p_now. If the result is below 1, none may start yet. Returns NULL '
  'if there is no limit. p_interval: minimum time between two starts; 0 = no limit. p_burst: how many transfers may '
  'start together after a period without starts. p_next_start: the column next_start of the table host.';

CREATE OR REPLACE FUNCTION haul.next_start(p_interval interval, p_burst integer, p_next_start timestamptz)
RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_interval > '0' THEN p_next_start - p_interval * (p_burst - 1) END
$$;
COMMENT ON FUNCTION haul.next_start(interval, integer, timestamptz) IS
  'Returns when the next transfer to a host may start, or NULL if it may start at any time. The arguments are those of '
  'starts().';

CREATE OR REPLACE FUNCTION haul.successes_to_grow() RETURNS integer
LANGUAGE sql IMMUTABLE AS $$ SELECT 20 $$;
COMMENT ON FUNCTION haul.successes_to_grow() IS
  'Returns how many jobs of a host must complete before Haul raises a lowered limit of the host by 1. A failure that '
  'blocks the host resets the count to 0.';

CREATE OR REPLACE FUNCTION haul.url_directory(p_url text) RETURNS uuid
LANGUAGE sql IMMUTABLE
RETURN md5(regexp_replace(regexp_replace(p_url, '[?#].*', ''), '[^/]*$', ''))::uuid;
COMMENT ON FUNCTION haul.url_directory(text) IS
  'Removes the query and the last path segment from a URL, and returns a digest of the rest. URLs of files in one '
  'directory have the same digest.';

CREATE OR REPLACE FUNCTION haul.same_but_query(p_url text, p_other text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN split_part(p_url, '?', 1) = split_part(p_other, '?', 1);
COMMENT ON FUNCTION haul.same_but_query(text, text) IS
  'Returns whether two URLs are the same apart from their query strings, for example an expired signed URL and its '
  'replacement.';

-- While any transaction has an old snapshot, PostgreSQL keeps the old versions of a busy row. A search with `id = …`
-- reads all these versions, the oldest first. A descending scan finds the newest version first, and LIMIT 1 stops
-- there. This function must not SET anything, because otherwise the planner does not inline it.
CREATE OR REPLACE FUNCTION haul.host_now(p_host integer) RETURNS TABLE (
  place tid, name text, in_flight integer, cap integer, policy_cap integer, successes integer, failures integer,
  min_interval interval, burst integer, next_start timestamptz, blocked_until timestamptz, trouble_since timestamptz,
  range_unsafe_until timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT h.ctid, h.name, h.in_flight, h.cap, h.policy_cap, h.successes, h.failures, h.min_interval, h.burst,
    h.next_start,
    h.blocked_until, h.trouble_since, h.range_unsafe_until
  FROM haul.host h WHERE h.id >= p_host AND h.id <= p_host ORDER BY h.id DESC LIMIT 1
$$;
COMMENT ON FUNCTION haul.host_now(integer) IS
  'Returns the newest version of a host''s row. Finds it fast even if old snapshots keep many earlier versions. place: '
  'the ctid of the row. Returns no row if the host does not exist. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.lane_now(p_host integer, p_queue integer, p_instance integer) RETURNS TABLE (
  place tid, priority smallint, head bigint, next_at timestamptz)
LANGUAGE sql STABLE AS $$
  SELECT l.ctid, l.priority, l.head, l.next_at FROM haul.lane l
  WHERE l.host = p_host AND l.queue = p_queue AND l.instance >= p_instance AND l.instance <= p_instance
  ORDER BY l.instance DESC LIMIT 1
$$;
COMMENT ON FUNCTION haul.lane_now(integer, integer, integer) IS
  'Returns the newest version of a lane''s row in the same way as host_now(). A lane contains the waiting jobs of one '
  'queue for one host and store instance (a directory of a store). p_instance: 0 = the lane of jobs that every '
  'instance may run. place: the ctid of the row. Returns no row if the lane does not exist. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.policy_of(p_host text) RETURNS TABLE (cap integer, min_interval interval, burst integer)
LANGUAGE sql STABLE AS $$
  SELECT coalesce(p.cap, 4), coalesce(p.min_interval, interval '0'), coalesce(p.burst, 1)
  FROM (SELECT) one LEFT JOIN LATERAL (
    SELECT p.cap, p.min_interval, p.burst FROM haul.host_policy p
    WHERE p.pattern = p_host
       OR (p.pattern LIKE '*%' AND right(p_host, length(p.pattern) - 1) = substr(p.pattern, 2))
    ORDER BY p.pattern = p_host DESC, length(p.pattern) DESC LIMIT 1) p ON true
$$;
COMMENT ON FUNCTION haul.policy_of(text) IS
  'Returns the limits of a host, in one row. Operators set limits with policies. Haul uses the first of these that '
  'exists: the policy for the exact host name, the policy for the longest *.suffix that matches, the policy for *, the '
  'defaults.';

-- Creates hosts in name order, so that two sessions that create the same hosts cannot deadlock.
CREATE OR REPLACE FUNCTION haul.ensure_hosts(p_names text[], p_used boolean DEFAULT true) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, haul, pg_temp AS $$
  WITH missing AS (
    INSERT INTO haul.host_name (name, used)
    SELECT DISTINCT u.name, p_used FROM unnest(p_names) AS u(name)
    WHERE NOT EXISTS (SELECT FROM haul.host_name n WHERE n.name = u.name)
    ORDER BY u.name
    ON CONFLICT (name) DO NOTHING RETURNING id, name
  ), unchecked AS (
    -- The policies may change before this transaction commits.
    INSERT INTO haul.host_change (host, resets) SELECT m.id, false FROM missing m)
  INSERT INTO haul.host (id, name, cap, policy_cap, min_interval, burst, failures)
  SELECT m.id, m.name, p.cap, p.cap, p.min_interval, p.burst, -1
  FROM missing m CROSS JOIN LATERAL haul.policy_of(m.name) p;
  -- Lock only the few hosts that are not marked as used yet.
  UPDATE haul.host_name n SET used = true
  FROM (SELECT k.id FROM haul.host_name k WHERE NOT k.used AND p_used AND k.name = ANY (p_names) ORDER BY k.name
    FOR UPDATE) k
  WHERE n.id = k.id
$$;
COMMENT ON FUNCTION haul.ensure_hosts(text[], boolean) IS
  'Creates those hosts in p_names that do not exist, in name order, each with the limits of its policy. p_used: '
  'whether jobs use these hosts; if true, also marks existing hosts as used.';

CREATE OR REPLACE FUNCTION haul.arm(
  p_hosts integer[], p_queues integer[], p_instances integer[], p_priorities smallint[], p_heads bigint[])
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- Keep one element for each lane: its first job.
  SELECT array_agg(t.host), array_agg(t.queue), array_agg(t.instance), array_agg(t.priority), array_agg(t.head)
  INTO p_hosts, p_queues, p_instances, p_priorities, p_heads
  FROM (
    SELECT DISTINCT ON (u.host, u.queue, u.instance) u.*
    FROM unnest(p_hosts, p_queues, p_instances, p_priorities, p_heads) AS u(host, queue, instance, priority, head)
    ORDER BY u.host, u.queue, u.instance, u.priority, u.head) t;

  INSERT INTO haul.lane_key (host, queue, instance)
  SELECT u.host, u.queue, u.instance FROM unnest(p_hosts, p_queues, p_instances) AS u(host, queue, instance)
  WHERE NOT EXISTS (
    SELECT FROM haul.lane_key k WHERE k.host = u.host AND k.queue = u.queue AND k.instance = u.instance)
  ORDER BY u.host, u.queue, u.instance
  ON CONFLICT DO NOTHING;

  -- If another session has created a key, the key and its lane are committed by now.
  INSERT INTO haul.lane (host, queue, instance, priority, head, next_at)
  SELECT u.host, u.queue, u.instance, u.priority, u.head, clock_timestamp()
  FROM unnest(p_hosts, p_queues, p_instances, p_priorities, p_heads) AS u(host, queue, instance, priority, head)
  WHERE NOT EXISTS (SELECT FROM haul.lane_now(u.host, u.queue, u.instance));

  -- A claim that has locked one of these lanes has not seen the new jobs. So wait until this claim ends, and only then
  -- read the lane. This statement also locks a lane that has changed since the statement began. Whether it also returns
  -- such a lane depends on the version of PostgreSQL, so do not use its result.
  PERFORM FROM unnest(p_hosts, p_queues, p_instances) AS u(host, queue, instance)
  CROSS JOIN LATERAL haul.lane_now(u.host, u.queue, u.instance) n JOIN haul.lane l ON l.ctid = n.place
  ORDER BY u.host, u.queue, u.instance FOR UPDATE OF l;

  UPDATE haul.lane l SET
    priority = CASE WHEN n.head IS NULL OR (u.priority, u.head) < (n.priority, n.head) THEN u.priority ELSE n.priority
      END,
    head = CASE WHEN n.head IS NULL OR (u.priority, u.head) < (n.priority, n.head) THEN u.head ELSE n.head END,
    -- A new priority moves the lane in the index. Claims do not look again at due times that they have passed, so the
    -- new due time must not be in the past.
    next_at = CASE WHEN n.head IS NULL OR u.priority < n.priority
      THEN greatest(n.next_at, clock_timestamp()) ELSE coalesce(n.next_at, clock_timestamp()) END
  FROM unnest(p_hosts, p_queues, p_instances, p_priorities, p_heads) AS u(host, queue, instance, priority, head)
  CROSS JOIN LATERAL haul.lane_now(u.host, u.queue, u.instance) n
  -- A lane with an earlier waiting job stays unchanged.
  WHERE l.ctid = n.place AND (n.head IS NULL OR n.next_at IS NULL OR (u.priority, u.head) < (n.priority, n.head));
END
$$;
COMMENT ON FUNCTION haul.arm(integer[], integer[], integer[], smallint[], bigint[]) IS
  'Makes lanes due, so that workers claim the jobs of these lanes. A lane contains the waiting jobs of one queue for '
  'one host and store instance (a directory of a store). Instance 0 = jobs that every instance may run. Call this '
  'function for the lanes of rows that you have inserted into ready. Also call it for the lanes of a host that was '
  'full and allows more transfers again. Creates missing lanes. If a job comes before the first job of its lane, by '
  'priority and then by id, it becomes the first job. Locks rows of lane_key and then rows of lane, both in key order. '
  'Call the function once per transaction, after everything else that waits for locks. Only haul get may call it more '
  'often, because no other submission uses the lanes of its queue.';

CREATE OR REPLACE FUNCTION haul.authenticate(p_worker bigint, p_secret text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM FROM haul.worker w
  WHERE w.id = p_worker AND w.secret_digest = sha256(convert_to(p_secret, 'UTF8'));
  IF NOT FOUND THEN
    RAISE EXCEPTION 'unknown worker %, or wrong secret', p_worker
      USING ERRCODE = 'HA001';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.authenticate(bigint, text) IS
  'Raises HA001 if the worker does not exist, or if p_secret is not the secret of the worker. Locks nothing.';
