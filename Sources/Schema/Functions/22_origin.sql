-- A promoted standby, a restored backup or a crashed server may lack the last commits. Programs may know tokens and job
-- ids from these commits, so the pool must not use these numbers again.

CREATE OR REPLACE FUNCTION haul.heed_origin(p_waits boolean) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_pool haul.pool;
  v_has_crashed boolean;
  v_is_later boolean;
  v_is_copy boolean;
  v_timeline integer;
BEGIN
  IF EXISTS (SELECT FROM haul.pool p WHERE p.server_start = pg_postmaster_start_time()
      AND p.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
      AND p.namespace = 'haul'::regnamespace)
    AND EXISTS (SELECT FROM haul.pulse) THEN
    RETURN true;
  END IF;
  IF p_waits THEN
    SELECT p.* INTO v_pool FROM haul.pool p FOR UPDATE;
  ELSE
    SELECT p.* INTO v_pool FROM haul.pool p FOR UPDATE SKIP LOCKED;
  END IF;
  IF v_pool.single IS NULL THEN
    RETURN false;
  END IF;
  -- A new statement sees what another session committed while this session waited for the row.
  v_has_crashed := NOT EXISTS (SELECT FROM haul.pulse);
  BEGIN
    -- The name of the WAL file changes immediately when a standby is promoted. pg_control_checkpoint() shows a
    -- promotion only after the next checkpoint.
    v_timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
  EXCEPTION WHEN OTHERS THEN
    -- Amazon Aurora refuses these functions. Its storage keeps the commits when a replica takes over.
    SELECT c.timeline_id INTO v_timeline FROM pg_control_checkpoint() c;
  END;
  UPDATE haul.pool SET server_start = pg_postmaster_start_time(),
    system = (SELECT c.system_identifier FROM pg_control_system() c),
    timeline = v_timeline,
    database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()),
    namespace = 'haul'::regnamespace;
  SELECT v_pool.timeline IS NOT NULL AND (p.system, p.timeline) IS DISTINCT FROM (v_pool.system, v_pool.timeline),
    v_pool.timeline IS NOT NULL AND (p.database <> v_pool.database
      OR coalesce(p.namespace <> v_pool.namespace, false))
  INTO v_is_later, v_is_copy FROM haul.pool p;
  IF v_has_crashed THEN
    -- If the clock was ahead before the crash, times that were written before the crash may be in the future. rescue()
    -- must detect this, so round_at becomes the latest of these times. Hosts in clock_host do not count: rescue() has
    -- detected their times before, and mend_hosts() will correct them.
    INSERT INTO haul.pulse (server_start, round_at, grace_until)
    VALUES (pg_postmaster_start_time(), greatest(clock_timestamp(), (SELECT max(w.heartbeat_at) FROM haul.worker w),
      (SELECT max(h.last_start) FROM haul.host h
        WHERE NOT EXISTS (SELECT FROM haul.clock_host c WHERE c.host = h.id))), clock_timestamp()
      + CASE WHEN EXISTS (SELECT FROM haul.lease) THEN haul.lease_expiry() ELSE '0' END)
    ON CONFLICT DO NOTHING;
  END IF;
  PERFORM setval('haul.token', s.last_value + 4294967296) FROM haul.token s
  WHERE v_is_later OR (v_is_copy OR v_has_crashed) AND s.is_called;
  PERFORM setval('haul.job_id', s.last_value + 16777216) FROM haul.job_id s
  WHERE v_is_later OR v_is_copy AND s.is_called;
  RETURN true;
END
$$;
COMMENT ON FUNCTION haul.heed_origin(boolean) IS
  'Makes sure that the pool never uses a token (the number of a lease) or a job id twice. The latest commits may be '
  'missing if the server has crashed, or if the pool is now on another server, timeline or database or in a new '
  'schema, for example after a restore. If commits may be missing, this function raises the sequence of tokens by '
  '2^32. It also raises the sequence of job ids by 2^24, but not if the server has only crashed. Call this function '
  'before you take tokens or job ids from the sequences. Locks the row of the table pool if commits may be missing. '
  'Returns true if the caller may take tokens and ids. Returns false if p_waits is false and another session has '
  'locked that row.';
