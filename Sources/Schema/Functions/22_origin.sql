-- Detects where this database comes from. A promoted standby, a restored backup or a crashed server may lack the last
-- commits. Tokens and ids from these commits must not be handed out again.

CREATE OR REPLACE FUNCTION haul.heed_origin(p_waits boolean) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_pool haul.pool;
  v_has_crashed boolean;
  v_is_later boolean;
  v_is_copy boolean;
BEGIN
  IF EXISTS (SELECT FROM haul.pool p WHERE p.server_start = pg_postmaster_start_time()
      AND p.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database()))
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
  -- A new statement sees what an earlier session committed here.
  v_has_crashed := NOT EXISTS (SELECT FROM haul.pulse);
  UPDATE haul.pool SET server_start = pg_postmaster_start_time(),
    system = (SELECT c.system_identifier FROM pg_control_system() c),
    -- This changes at once with a promotion. pg_control_checkpoint() shows a promotion only after the next checkpoint.
    timeline = ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer,
    database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database());
  SELECT v_pool.timeline IS NOT NULL AND (p.system, p.timeline) IS DISTINCT FROM (v_pool.system, v_pool.timeline),
    v_pool.timeline IS NOT NULL AND p.database <> v_pool.database
  INTO v_is_later, v_is_copy FROM haul.pool p;
  IF v_has_crashed THEN
    -- If the clock was ahead before the crash, times from then lie in the future. rescue() must see that, but not once
    -- more because of hosts that mend_hosts() has not corrected yet.
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
  'Detects whether the latest commits may be missing, for example after a restore. Commits may be missing if the pool '
  'is now on another server, timeline or database, or if the server has crashed. Call it before you draw tokens or '
  'job ids. If commits may be missing, tokens continue 2^32 above the last one. Job ids continue 2^24 above the last '
  'one, except after a crash alone. Locks the row of pool when it finds such a change. If another session holds that '
  'row and p_waits is false, returns false. Then the caller must not draw tokens or ids. Otherwise returns true.';
