-- A gap of more than 3 s between rounds, a restart or a crash of the server start one lease_expiry() of grace in which
-- nothing is rescued: then it was not the workers that were away. But if the heartbeats of some worker have come all
-- through the gap, the database was there and only the leader was away: its work is rescued without delay.
CREATE OR REPLACE FUNCTION haul.rescue() RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_now timestamptz;
  v_grace timestamptz;
  v_workers bigint[] := '{}';
  v_rescued jsonb := '[]';
  v_suspect record;
BEGIN
  PERFORM haul.require_read_committed();
  -- Whoever waits here for another round sees its stamp afterwards.
  INSERT INTO haul.pulse AS p (server_start, round_at, grace_until)
  VALUES (pg_postmaster_start_time(), '-infinity', '-infinity')
  ON CONFLICT (id) DO UPDATE SET round_at = p.round_at;
  v_now := clock_timestamp();
  PERFORM haul.mend_clock(v_now, p.round_at - v_now) FROM haul.pulse p WHERE p.round_at > v_now + interval '5 seconds';
  UPDATE haul.pulse SET round_at = v_now, server_start = pg_postmaster_start_time(),
    grace_until = CASE
      WHEN round_at >= v_now - interval '3 seconds' AND server_start = pg_postmaster_start_time() THEN grace_until
      WHEN server_start = pg_postmaster_start_time() AND EXISTS (SELECT FROM haul.worker w
        WHERE w.heartbeat_at > v_now - interval '3 seconds' AND w.steady_since <= round_at) THEN grace_until
      WHEN EXISTS (SELECT FROM haul.lease) THEN v_now + haul.lease_expiry()
      ELSE v_now END
  RETURNING grace_until INTO v_grace;
  IF v_now < v_grace THEN
    RETURN jsonb_build_object('grace', true, 'rescued', '[]'::jsonb, 'workers', '[]'::jsonb);
  END IF;

  -- A worker that is heartbeating right now holds its row, and is alive.
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
  'One round of rescue, every second, by the leader: takes back the jobs of dead workers. A worker is dead when its '
  'leases have expired, or when its session is gone and its last heartbeat is older than session_grace(). Returns '
  '{"grace": true = rescues nothing yet, "rescued": [{"job", "token", "state"}], "workers": [ids]}.';

-- Where all workers are processes of one machine, whoever starts there can see whose process has ended.
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
  'Takes back, at once, the jobs of workers that the caller knows to be gone. Returns [{"job", "token", "state"}].';

CREATE OR REPLACE FUNCTION haul.move_due(p_limit integer, p_job bigint) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_moved jsonb;
BEGIN
  WITH moved AS (
    DELETE FROM haul.scheduled s USING (
      SELECT d.job FROM haul.scheduled d WHERE d.run_at <= clock_timestamp() AND (p_job IS NULL OR d.job = p_job)
      ORDER BY d.run_at, d.job LIMIT p_limit FOR UPDATE SKIP LOCKED) d
    WHERE s.job = d.job RETURNING s.*
  ), ready AS (
    INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
    SELECT m.queue, m.host, m.instance, m.priority, m.job,
      CASE WHEN m.instance <> 0 THEN clock_timestamp() + haul.hold_time() END FROM moved m
  )
  SELECT coalesce(jsonb_agg(to_jsonb(m)), '[]') INTO v_moved FROM moved m;
  RETURN v_moved;
END
$$;
COMMENT ON FUNCTION haul.move_due(integer, bigint) IS
  'Moves up to p_limit jobs that are due, or p_job alone, from scheduled to ready, and returns their rows. The caller '
  'arms their lanes.';

CREATE OR REPLACE FUNCTION haul.take_due(p_limit integer) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_job bigint;
  v_moved jsonb := '[]';
BEGIN
  RETURN haul.move_due(p_limit, NULL);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
  FOR v_job IN SELECT d.job FROM haul.scheduled d WHERE d.run_at <= clock_timestamp()
    ORDER BY d.run_at, d.job LIMIT p_limit FOR UPDATE SKIP LOCKED
  LOOP
    BEGIN
      v_moved := v_moved || haul.move_due(1, v_job);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
      DELETE FROM haul.scheduled s WHERE s.job = v_job;
      INSERT INTO haul.outcome (job, state, finished_at, error, message)
      VALUES (v_job, 'failed', clock_timestamp(), 'internal',
        left(format('the database cannot queue this job: %s (%s)', SQLERRM, SQLSTATE), 2000)) ON CONFLICT DO NOTHING;
      RAISE WARNING 'haul: job % is set aside: %', v_job, SQLERRM;
    END;
  END LOOP;
  RETURN v_moved;
END
$$;
COMMENT ON FUNCTION haul.take_due(integer) IS
  'What move_due() does with all jobs that are due. If one raises an error of SQLSTATE class 22, 23 or 54, the others '
  'move, and this job fails as internal.';

CREATE OR REPLACE FUNCTION haul.promote(p_limit integer, OUT due integer, OUT unheld integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_moved jsonb;
  v_held bigint[];
  v_moves jsonb;
  v_leaving integer[];
  v_queues text;
BEGIN
  PERFORM haul.require_read_committed();
  v_moved := haul.take_due(p_limit);
  due := jsonb_array_length(v_moved);

  WITH gone AS (DELETE FROM haul.leaving RETURNING host)
  SELECT array_agg(DISTINCT g.host) INTO v_leaving FROM gone g;
  IF v_leaving IS NOT NULL THEN
    BEGIN
      v_moves := haul.jobs_to_move(v_leaving, p_limit);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
      RAISE WARNING 'haul: jobs with mirrors stay at their host: %', SQLERRM;
    END;
  END IF;

  -- Held too long, or about to use a mirror: lock both lanes of each, in key order with those above, then look again
  -- and move.
  SELECT coalesce(array_agg(t.job), '{}') INTO v_held FROM (
    SELECT r.job FROM haul.ready r WHERE r.instance <> 0 AND r.hold_until <= clock_timestamp()
    ORDER BY r.hold_until LIMIT p_limit) t;
  PERFORM haul.arm(array_agg(a.host), array_agg(a.queue), array_agg(a.instance), array_agg(a.priority),
    array_agg(a.job))
  FROM (
    SELECT m.host, m.queue, m.instance, m.priority, m.job
    FROM jsonb_to_recordset(v_moved) AS m(host integer, queue integer, instance integer, priority smallint, job bigint)
    UNION ALL
    SELECT r.host, r.queue, i.instance, r.priority, r.job
    FROM haul.ready r CROSS JOIN LATERAL unnest(ARRAY[0, r.instance]) AS i(instance)
    WHERE r.job = ANY (v_held)
    UNION ALL
    SELECT i.host, m.queue, 0, m.priority, m.job
    FROM jsonb_to_recordset(v_moves)
      AS m(host integer, queue integer, priority smallint, job bigint, next_host integer)
    CROSS JOIN LATERAL unnest(ARRAY[m.host, m.next_host]) AS i(host)) a;
  -- One that was taken and interrupted again meanwhile has a new hold_until, and its lane is not locked here. One that
  -- an operator is withdrawing is not waited for: he may be waiting for a lane.
  UPDATE haul.ready r SET instance = 0, hold_until = NULL WHERE r.job IN (
    SELECT k.job FROM haul.ready k
    WHERE k.job = ANY (v_held) AND k.instance <> 0 AND k.hold_until <= clock_timestamp() FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS unheld = ROW_COUNT;
  IF v_moves IS NOT NULL THEN
    PERFORM haul.move_waiting(v_moves);
    IF jsonb_array_length(v_moves) = p_limit THEN
      INSERT INTO haul.leaving (host) SELECT u.host FROM unnest(v_leaving) AS u(host);
    END IF;
  END IF;
  SELECT string_agg(DISTINCT m.queue::text, ',') INTO v_queues FROM jsonb_to_recordset(v_moved) AS m(queue integer);
  IF unheld > 0 OR v_moves <> '[]' THEN
    v_queues := concat_ws(',', v_queues, 'all');
  END IF;
  IF v_queues IS NOT NULL THEN
    PERFORM pg_notify('haul', 'queues:' || v_queues);
  END IF;
  -- Leases that a claim was just making when their queue got its limit.
  UPDATE haul.lease SET limited = true WHERE job IN (
    SELECT l.job FROM haul.lease l WHERE NOT l.limited
      AND l.queue IN (SELECT q.id FROM haul.queue q WHERE q.max_running IS NOT NULL)
    ORDER BY l.job FOR UPDATE SKIP LOCKED);
  -- Progress that belongs to no lease any more.
  DELETE FROM haul.progress p WHERE p.job IN (
    SELECT g.job FROM haul.progress g
    WHERE NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = g.job AND l.token = g.token) FOR UPDATE SKIP LOCKED);
END
$$;
COMMENT ON FUNCTION haul.promote(integer) IS
  'Maintenance: lets up to p_limit jobs that wait for a host in trouble use a mirror. Moves up to p_limit scheduled '
  'jobs that are due to their lanes. Also frees up to p_limit interrupted jobs that no worker with their part file '
  'has taken in time, so that any worker may take them. Returns how many of each.';
