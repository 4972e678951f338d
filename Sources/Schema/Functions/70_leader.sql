-- If there was a gap of more than 3 s between maintenance rounds, or the server was restarted or crashed, missing
-- heartbeats are probably not the fault of the workers. So rescue() rescues no jobs for one lease_expiry() (a grace
-- period). But if a worker's heartbeats arrived throughout the gap, the database was up and only the leader was away.
-- Then rescues start without delay.
CREATE OR REPLACE FUNCTION haul.rescue() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET lock_timeout = '200ms' AS $$
DECLARE
  v_now timestamptz;
  v_mended boolean := true;
  v_grace timestamptz;
  v_workers bigint[] := '{}';
  v_rescued jsonb := '[]';
  v_suspect record;
BEGIN
  PERFORM haul.require_read_committed();
  -- From here on, PostgreSQL ends this session if it hangs for 10 seconds. Otherwise a session that hangs would stop
  -- all rounds.
  PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
  IF NOT haul.heed_origin(false) THEN
    RETURN jsonb_build_object('grace', true, 'rescued', '[]'::jsonb, 'workers', '[]'::jsonb);
  END IF;
  -- This statement waits until a round of another session ends. Then it sees the time of that round.
  INSERT INTO haul.pulse AS p (server_start, round_at, grace_until)
  VALUES (pg_postmaster_start_time(), '-infinity', '-infinity')
  ON CONFLICT (id) DO UPDATE SET round_at = p.round_at;
  v_now := clock_timestamp();
  IF EXISTS (SELECT FROM haul.pulse p WHERE p.round_at > v_now + interval '5 seconds') THEN
    BEGIN
      PERFORM haul.mend_clock(v_now, p.round_at - v_now) FROM haul.pulse p;
    EXCEPTION WHEN lock_not_available THEN
      v_mended := false;
      RAISE WARNING 'haul: the clock of the database was set back; the next maintenance round corrects times '
        'that were written before';
    END;
  ELSE
    PERFORM haul.mend_times(haul.mended_at_once());
  END IF;
  UPDATE haul.pulse SET round_at = CASE WHEN v_mended THEN v_now ELSE round_at END,
    server_start = pg_postmaster_start_time(), holders = haul.watch_holders(holders, v_now),
    watched_since = CASE WHEN round_at >= v_now - interval '30 seconds' THEN coalesce(watched_since, v_now)
      ELSE v_now END,
    grace_until = CASE
      WHEN NOT v_mended THEN least(grace_until, v_now)
      WHEN round_at >= v_now - interval '3 seconds' AND server_start = pg_postmaster_start_time() THEN grace_until
      WHEN server_start = pg_postmaster_start_time() AND EXISTS (SELECT FROM haul.worker w
        WHERE w.heartbeat_at > v_now - interval '3 seconds' AND w.steady_since <= round_at) THEN grace_until
      WHEN EXISTS (SELECT FROM haul.lease) THEN v_now + haul.lease_expiry()
      ELSE v_now END
  RETURNING grace_until INTO v_grace;
  IF v_now < v_grace THEN
    RETURN jsonb_build_object('grace', true, 'rescued', '[]'::jsonb, 'workers', '[]'::jsonb);
  END IF;

  -- Skip locked rows: a worker whose heartbeat is arriving now has locked its row, and is alive.
  FOR v_suspect IN
    SELECT w.id, w.session_key, w.expires_at <= v_now AS expired,
      w.heartbeat_at <= v_now - haul.session_grace() AS quiet
    FROM haul.worker w
    WHERE w.id IN (SELECT l.worker FROM haul.lease l)
      AND (w.expires_at <= v_now OR w.heartbeat_at <= v_now - haul.session_grace())
    ORDER BY w.id FOR UPDATE SKIP LOCKED
  LOOP
    IF v_suspect.expired OR (v_suspect.quiet
      AND (v_suspect.session_key IS NULL OR pg_try_advisory_xact_lock(v_suspect.session_key))) THEN
      v_workers := v_workers || v_suspect.id;
    END IF;
  END LOOP;
  v_rescued := haul.rescue_workers(v_workers);
  RETURN jsonb_build_object('grace', false, 'workers', to_jsonb(v_workers), 'rescued', v_rescued);
END
$$;
COMMENT ON FUNCTION haul.rescue() IS
  'Runs one round of rescue: takes back the jobs of dead workers. The leader, the session that runs maintenance, calls '
  'it every second. A worker is dead if its leases have expired, or if its session is gone and its last heartbeat is '
  'older than session_grace(). Returns {"grace": true = this round takes back no jobs yet, "rescued": [{"job", '
  '"token", "state"}], "workers": [ids]}.';

-- For callers that can see which workers have ended, for example a process on a machine that runs all workers.
CREATE OR REPLACE FUNCTION haul.rescue_workers(p_workers bigint[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_endings jsonb;
BEGIN
  PERFORM haul.require_read_committed();
  IF p_workers = '{}' THEN
    RETURN '[]';
  END IF;
  PERFORM FROM haul.worker w WHERE w.id = ANY (p_workers) ORDER BY w.id FOR UPDATE;
  UPDATE haul.worker SET expires_at = least(expires_at, clock_timestamp()) WHERE id = ANY (p_workers);
  SELECT jsonb_agg(jsonb_build_object('job', l.job, 'token', l.token, 'result', 'rescued')) INTO v_endings
  FROM haul.lease l WHERE l.worker = ANY (p_workers);
  RETURN coalesce(haul.end_leases(NULL, coalesce(v_endings, '[]')), '[]');
END
$$;
COMMENT ON FUNCTION haul.rescue_workers(bigint[]) IS
  'Immediately takes back the jobs of p_workers. The caller must know that these workers are gone. Returns [{"job", '
  '"token", "state"}]. Locks these workers by id.';

CREATE OR REPLACE FUNCTION haul.rescue_worker(p_worker bigint, OUT jobs integer, OUT had_ended boolean,
  OUT kept integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  PERFORM haul.require_read_committed();
  SELECT w.stopped_at IS NOT NULL OR w.expires_at <= clock_timestamp() INTO had_ended
  FROM haul.worker w WHERE w.id = p_worker FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  -- If the worker is alive, its next heartbeat extends its leases again. It must not claim the same jobs then.
  UPDATE haul.worker SET draining = true WHERE id = p_worker AND stopped_at IS NULL;
  jobs := jsonb_array_length(haul.rescue_workers(ARRAY[p_worker]));
  kept := (SELECT count(*) FROM haul.lease l WHERE l.worker = p_worker);
  PERFORM pg_notify('haul', 'workers:' || p_worker);
  PERFORM haul.note_operation('rescue', 'worker ' || p_worker, nullif(jobs, 0));
END
$$;
COMMENT ON FUNCTION haul.rescue_worker(bigint) IS
  'Immediately takes back the jobs of a worker, even if its leases have not expired. An operator calls this if the '
  'worker hangs or is unreachable. The worker gets no new jobs. A worker that still runs learns from its next '
  'heartbeat that it has lost the jobs, and ends. Returns how many jobs were taken back, whether the worker had '
  'stopped or died before, and how many jobs the worker keeps until another session unlocks their hosts. All results '
  'are NULL if the worker does not exist.';

CREATE OR REPLACE FUNCTION haul.watch_holders(p_known jsonb, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_object_agg(h.transaction, jsonb_build_object('pid', h.pid, 'login', h.login,
      'since', coalesce(p_known -> h.transaction -> 'since', to_jsonb(p_now)))), '{}')
    FROM (
      SELECT DISTINCT l.virtualtransaction AS transaction, l.pid, a.usename AS login
      FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
      LEFT JOIN pg_stat_activity a ON a.pid = l.pid
      WHERE l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
        AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
        AND c.relnamespace = 'haul'::regnamespace AND c.relname NOT IN ('staging', 'submission')
        AND l.mode NOT IN ('AccessShareLock', 'ShareUpdateExclusiveLock')) h);
END
$$;
COMMENT ON FUNCTION haul.watch_holders(jsonb, timestamptz) IS
  'Returns the open transactions of other sessions that have locked or changed rows of Haul: {transaction: {"pid": '
  'NULL for a prepared transaction, "login", "since"}}. p_known: the result of the previous round. A transaction that '
  'is in p_known keeps its "since", the time when it was first seen.';
