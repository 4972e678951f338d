-- Lets workers claim scheduled jobs that are due, interrupted jobs that no worker continues, and jobs that switch to a
-- mirror.

CREATE OR REPLACE FUNCTION haul.move_due(p_limit integer, p_job bigint, p_host integer) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_moved jsonb;
BEGIN
  -- Compare with a variable: clock_timestamp() cannot be an index condition, so each row would be read.
  WITH moved AS (
    DELETE FROM haul.scheduled s USING (
      SELECT d.job FROM haul.scheduled d
      WHERE d.run_at <= v_now AND (p_job IS NULL OR d.job = p_job) AND (p_host IS NULL OR d.host = p_host)
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
COMMENT ON FUNCTION haul.move_due(integer, bigint, integer) IS
  'Moves up to p_limit due jobs from the table scheduled to the table ready and returns their rows. p_job: only this '
  'job; NULL = any. p_host: only jobs of this host; NULL = any. The caller must then call arm() for these jobs, so '
  'that workers can claim them.';

CREATE OR REPLACE FUNCTION haul.take_due(p_limit integer, p_host integer) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_job bigint;
  v_moved jsonb := '[]';
BEGIN
  RETURN haul.move_due(p_limit, NULL, p_host);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
  FOR v_job IN SELECT d.job FROM haul.scheduled d
    WHERE d.run_at <= v_now AND (p_host IS NULL OR d.host = p_host)
    ORDER BY d.run_at, d.job LIMIT p_limit FOR UPDATE SKIP LOCKED
  LOOP
    BEGIN
      v_moved := v_moved || haul.move_due(1, v_job, NULL);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
      DELETE FROM haul.scheduled s WHERE s.job = v_job;
      PERFORM haul.count_failed(v_job, NULL, NULL);
      INSERT INTO haul.outcome (job, state, finished_at, error, message)
      VALUES (v_job, 'failed', clock_timestamp(), 'internal',
        left(format('the database cannot queue this job: %s (%s)', SQLERRM, SQLSTATE), 2000)) ON CONFLICT DO NOTHING;
      RAISE WARNING 'haul: job % fails with the error class internal: %', v_job, SQLERRM;
    END;
  END LOOP;
  RETURN v_moved;
END
$$;
COMMENT ON FUNCTION haul.take_due(integer, integer) IS
  'Implements move_due() for all due jobs of p_host; NULL = of any host. If a job raises an error of SQLSTATE class '
  '22, 23 or 54, this job fails with the error class internal, and the other jobs move.';

CREATE OR REPLACE FUNCTION haul.promote_hosts(p_limit integer, p_host integer, OUT due integer, OUT unheld integer)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_moved jsonb;
  v_held bigint[];
  v_moves jsonb;
  v_leaving integer[];
  v_queues text;
BEGIN
  v_moved := haul.take_due(p_limit, p_host);
  due := jsonb_array_length(v_moved);

  WITH gone AS (DELETE FROM haul.leaving l WHERE p_host IS NULL OR l.host = p_host RETURNING l.host)
  SELECT array_agg(DISTINCT g.host) INTO v_leaving FROM gone g;
  IF v_leaving IS NOT NULL THEN
    BEGIN
      v_moves := haul.jobs_to_move(v_leaving, p_limit);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
      RAISE WARNING 'haul: cannot move jobs to the hosts of their mirrors: %', SQLERRM;
    END;
  END IF;

  -- For jobs whose hold_until has passed and for jobs that switch to a mirror: lock both lanes of each job together
  -- with the lanes above, in key order. Then check the jobs again and move them.
  SELECT coalesce(array_agg(t.job), '{}') INTO v_held FROM (
    SELECT r.job FROM haul.ready r WHERE r.instance <> 0 AND r.hold_until <= v_now
      AND (p_host IS NULL OR r.host = p_host)
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
  -- A job that was claimed and interrupted again meanwhile has a new hold_until, and its lane is not locked here. So
  -- skip such a job. Do not wait for a job that an operator is withdrawing: the operator's session may be waiting for a
  -- lane.
  UPDATE haul.ready r SET instance = 0, hold_until = NULL WHERE r.job IN (
    SELECT k.job FROM haul.ready k
    WHERE k.job = ANY (v_held) AND k.instance <> 0 AND k.hold_until <= v_now FOR UPDATE SKIP LOCKED);
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
END
$$;
COMMENT ON FUNCTION haul.promote_hosts(integer, integer) IS
  'Implements promote() for the jobs of one host, or of all hosts if p_host is NULL.';

-- Like end_by_host(), waits up to 10 ms and later up to 200 ms for each locked host, in random order.
CREATE OR REPLACE FUNCTION haul.promote_by_host(p_limit integer, OUT due integer, OUT unheld integer)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_until timestamptz := v_now + interval '500 milliseconds';
  v_done integer[] := '{}';
  v_patience text;
  v_host integer;
  v_step record;
BEGIN
  due := 0;
  unheld := 0;
  FOREACH v_patience IN ARRAY ARRAY['10ms', '200ms'] LOOP
    PERFORM set_config('lock_timeout', v_patience, true);
    FOR v_host IN
      SELECT w.host FROM (
        SELECT s.host FROM haul.scheduled s WHERE s.run_at <= v_now
        UNION SELECT r.host FROM haul.ready r WHERE r.instance <> 0 AND r.hold_until <= v_now
        UNION SELECT l.host FROM haul.leaving l) w
      WHERE w.host <> ALL (v_done) ORDER BY random()
    LOOP
      EXIT WHEN clock_timestamp() > v_until;
      BEGIN
        v_step := haul.promote_hosts(p_limit, v_host);
        due := due + v_step.due;
        unheld := unheld + v_step.unheld;
        v_done := v_done || v_host;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      END;
    END LOOP;
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.promote_by_host(integer) IS
  'Implements promote() for each host with due work separately, for about half a second in total. Skips hosts that '
  'another session has locked. Returns the sums of the numbers that promote() returns.';

CREATE OR REPLACE FUNCTION haul.promote(p_limit integer, OUT due integer, OUT unheld integer)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET lock_timeout = '200ms' AS $$
DECLARE
  v_limited integer[];
BEGIN
  PERFORM haul.require_read_committed();
  BEGIN
    SELECT p.* INTO due, unheld FROM haul.promote_hosts(p_limit, NULL) p;
  EXCEPTION WHEN lock_not_available THEN
    SELECT p.* INTO due, unheld FROM haul.promote_by_host(p_limit) p;
  END;
  -- Mark leases that a claim was creating when the limit of their queue was set, so that they count toward this limit.
  -- Only for a while, because this reads all leases, including those that an old snapshot keeps.
  UPDATE haul.queue SET limit_set_at = clock_timestamp() WHERE id IN (
    SELECT q.id FROM haul.queue q WHERE q.limit_set_at = 'infinity' FOR UPDATE SKIP LOCKED);
  v_limited := ARRAY(SELECT q.id FROM haul.queue q
    WHERE q.max_running IS NOT NULL AND q.limit_set_at > clock_timestamp() - interval '10 minutes');
  IF v_limited <> '{}' THEN
    UPDATE haul.lease SET limited = true WHERE job IN (
      SELECT l.job FROM haul.lease l WHERE NOT l.limited AND l.queue = ANY (v_limited)
      ORDER BY l.job FOR UPDATE SKIP LOCKED);
  END IF;
  -- Delete the progress of leases that no longer exist.
  DELETE FROM haul.progress p WHERE p.job IN (
    SELECT g.job FROM haul.progress g
    WHERE NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = g.job AND l.token = g.token) FOR UPDATE SKIP LOCKED);
  UPDATE haul.pulse SET promoted_at = clock_timestamp()
  WHERE id IN (SELECT p.id FROM haul.pulse p FOR UPDATE SKIP LOCKED);
  -- Comes last because it locks hosts that other sessions need.
  BEGIN
    PERFORM haul.apply_policies(1000);
  EXCEPTION WHEN OTHERS THEN
    RAISE WARNING 'haul: cannot apply the limits of hosts: %', SQLERRM;
  END;
END
$$;
COMMENT ON FUNCTION haul.promote(integer) IS
  'Maintenance: lets waiting jobs start. Makes up to p_limit scheduled jobs ready to start when their start time has '
  'come ("due"). An interrupted job waits up to hold_time() for a worker with its part file. After this time, this '
  'function lets any worker take the job. It does this for up to p_limit jobs ("unheld"). Also switches up to p_limit '
  'waiting jobs from hosts in trouble to mirrors, and gives up to 1,000 hosts the limits of changed policies. Returns '
  'the numbers "due" and "unheld". If another session locks a host for longer than 200 ms, leaves the jobs of this '
  'host to another call.';
