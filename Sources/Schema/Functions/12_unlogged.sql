-- The tables progress and pulse are unlogged, so a standby has no copy of them, and PostgreSQL refuses queries on these
-- tables there. Views therefore read them only through these functions.

CREATE OR REPLACE FUNCTION haul.live_progress() RETURNS SETOF haul.progress
LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF NOT pg_is_in_recovery() THEN
    RETURN QUERY SELECT p.* FROM haul.progress p;
  END IF;
END
$$;
COMMENT ON FUNCTION haul.live_progress() IS
  'Returns the progress of all running jobs at the last heartbeat of their workers. Returns no row on a standby.';

CREATE OR REPLACE FUNCTION haul.progress_of(p_job bigint, p_token bigint) RETURNS haul.progress
LANGUAGE plpgsql STABLE STRICT SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_progress haul.progress;
BEGIN
  IF NOT pg_is_in_recovery() THEN
    SELECT p.* INTO v_progress FROM haul.progress p WHERE p.job = p_job AND p.token = p_token;
  END IF;
  RETURN v_progress;
END
$$;
COMMENT ON FUNCTION haul.progress_of(bigint, bigint) IS
  'Returns the progress of a job under the lease with this token, at the last heartbeat of its worker. Returns NULLs '
  'on a standby, and before the first heartbeat.';

CREATE OR REPLACE FUNCTION haul.last_pulse() RETURNS haul.pulse
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_pulse haul.pulse;
BEGIN
  IF NOT pg_is_in_recovery() THEN
    SELECT p.* INTO v_pulse FROM haul.pulse p;
  END IF;
  RETURN v_pulse;
END
$$;
COMMENT ON FUNCTION haul.last_pulse() IS
  'Returns the row of the table pulse: what the leader found in its last maintenance round. Returns NULLs on a '
  'standby, and if no round has run since the server''s last crash.';
