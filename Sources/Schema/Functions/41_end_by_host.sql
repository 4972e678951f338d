-- Ends leases that cannot all end together, because another session has locked rows that some of them need, or because
-- the data of a job raise an error.

CREATE OR REPLACE FUNCTION haul.ending_keys(p_endings jsonb) RETURNS TABLE (ending jsonb, job bigint, token bigint)
LANGUAGE sql IMMUTABLE AS $$
  SELECT e.value, CASE WHEN e.value ->> 'job' ~ '^[0-9]{1,18}$' THEN (e.value ->> 'job')::bigint END,
    CASE WHEN e.value ->> 'token' ~ '^[0-9]{1,18}$' THEN (e.value ->> 'token')::bigint END
  FROM jsonb_array_elements(p_endings) e
$$;
COMMENT ON FUNCTION haul.ending_keys(jsonb) IS
  'Returns one row for each element of p_endings, with its job and token. A job or token that is not a number becomes '
  'NULL. p_endings: as for end_leases().';

-- First end the jobs of hosts that no other session has locked. Then wait up to 200 ms for each locked host, in random
-- order. So a busy host, which other sessions lock again and again, gets its turn too.
CREATE OR REPLACE FUNCTION haul.end_by_host(p_worker bigint, p_endings jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_until timestamptz := clock_timestamp() + interval '500 milliseconds';
  -- Skip jobs that an operator's open transaction has changed. They must not block the other jobs of their host.
  v_free bigint[] := ARRAY(
    SELECT l.token FROM haul.ending_keys(p_endings) k JOIN haul.lease l ON l.job = k.job AND l.token = k.token
    WHERE p_worker IS NULL OR l.worker = p_worker FOR UPDATE OF l SKIP LOCKED);
  v_ended integer[] := '{}';
  v_done jsonb := '[]';
  v_patience text;
  v_host record;
BEGIN
  FOREACH v_patience IN ARRAY ARRAY['10ms', '200ms'] LOOP
    PERFORM set_config('lock_timeout', v_patience, true);
    FOR v_host IN
      SELECT l.host AS id, jsonb_agg(k.ending) AS endings
      FROM haul.ending_keys(p_endings) k JOIN haul.lease l ON l.job = k.job AND l.token = k.token
      WHERE k.token = ANY (v_free) AND l.host <> ALL (v_ended)
      GROUP BY l.host ORDER BY random()
    LOOP
      EXIT WHEN clock_timestamp() > v_until;
      BEGIN
        v_done := v_done || haul.end_together(p_worker, v_host.endings);
        v_ended := v_ended || v_host.id;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
        v_done := v_done || haul.end_each(p_worker, v_host.endings);
        v_ended := v_ended || v_host.id;
      END;
    END LOOP;
  END LOOP;
  RETURN v_done;
END
$$;
COMMENT ON FUNCTION haul.end_by_host(bigint, jsonb) IS
  'Implements end_leases() for one host after another. Does not continue with another host after half a second. Leases '
  'that have not ended by then, or whose rows another session has locked, stay and are missing from the reply.';

CREATE OR REPLACE FUNCTION haul.end_each(p_worker bigint, p_endings jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ending jsonb;
  v_done jsonb := '[]';
BEGIN
  FOR v_ending IN SELECT e.value FROM jsonb_array_elements(p_endings) e ORDER BY e.value -> 'job' LOOP
    BEGIN
      BEGIN
        v_done := v_done || haul.end_together(p_worker, jsonb_build_array(v_ending));
      EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
        v_done := v_done || haul.set_aside(p_worker, v_ending -> 'job', v_ending -> 'token',
          format('the database cannot record the end of this job: %s (%s)', SQLERRM, SQLSTATE));
      END;
    EXCEPTION WHEN lock_not_available THEN
      EXIT;
    END;
  END LOOP;
  RETURN v_done;
END
$$;
COMMENT ON FUNCTION haul.end_each(bigint, jsonb) IS
  'Implements end_leases() for the leases of one host, one after another. Calls set_aside() for a job whose data raise '
  'an error of SQLSTATE class 22, 23 or 54. Raises other errors, such as a full disk or a deadlock, because they are '
  'not the job''s fault. Stops if another session has locked the host.';

-- The job's own data may have caused the error, so this function reads no URL, path or options.
CREATE OR REPLACE FUNCTION haul.set_aside(p_worker bigint, p_job jsonb, p_token jsonb, p_reason text) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_lease haul.lease;
BEGIN
  IF p_job::text !~ '^[0-9]{1,18}$' OR p_token::text !~ '^[0-9]{1,18}$' THEN
    RETURN '[]';
  END IF;
  SELECT l.* INTO v_lease FROM haul.lease l
  WHERE l.job = p_job::bigint AND l.token = p_token::bigint AND (p_worker IS NULL OR l.worker = p_worker)
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN '[]';
  END IF;
  DELETE FROM haul.lease l WHERE l.job = v_lease.job;
  DELETE FROM haul.checkpoint c WHERE c.job = v_lease.job;
  INSERT INTO haul.attempt (job, token, worker, result, charged, started_at, ended_at, error, message, host)
  VALUES (v_lease.job, v_lease.token, v_lease.worker, 'failed', true, v_lease.started_at, clock_timestamp(),
    'internal', left(p_reason, 2000), v_lease.host) ON CONFLICT DO NOTHING;
  PERFORM haul.count_failed(v_lease.job, v_lease.host, v_lease.worker);
  INSERT INTO haul.outcome (job, state, finished_at, error, message)
  VALUES (v_lease.job, 'failed', clock_timestamp(), 'internal', left(p_reason, 2000)) ON CONFLICT DO NOTHING;
  PERFORM haul.settle_hosts(jsonb_build_array(jsonb_build_object('host_id', v_lease.host, 'queue', v_lease.queue,
    'instance', 0, 'priority', v_lease.priority, 'state', 'failed', 'result', 'failed', 'error', 'internal',
    'answered', false, 'ended', 1, 'head', v_lease.job, 'too_many', 0)));
  RAISE WARNING 'haul: job % fails with the error class internal: %', v_lease.job, p_reason;
  RETURN jsonb_build_array(jsonb_build_object('job', v_lease.job, 'token', v_lease.token, 'state', 'failed',
    'cause', 'internal'));
END
$$;
COMMENT ON FUNCTION haul.set_aside(bigint, jsonb, jsonb, text) IS
  'Fails a job whose data raise errors, with the error class internal and the message p_reason. Deletes the job''s '
  'saved progress and its lease, so that another job of the host may start. Reads only the lease, and the job''s '
  'queue and batch. Returns the same as '
  'end_leases(); [] if p_token is not the token of the job''s current lease.';

-- work() calls the next two functions for leases that end_leases() has not ended.

CREATE OR REPLACE FUNCTION haul.note_fetched(p_worker bigint, p_endings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_jobs bigint[] := ARRAY(SELECT e.job FROM haul.ending_keys(p_endings) e WHERE e.job IS NOT NULL);
BEGIN
  IF v_jobs = '{}' THEN
    RETURN;
  END IF;
  WITH noted AS (
    UPDATE haul.attempt a SET fetched = greatest(a.fetched, haul.bytes_of((k.ending ->> 'fetched')::bigint))
    FROM (
      -- Skip locked rows: this number is not worth a wait for a lock.
      SELECT e.ending, e.job, e.token, n.fetched FROM haul.ending_keys(p_endings) e
      JOIN haul.attempt n ON n.job = e.job AND n.token = e.token AND n.job = ANY (v_jobs)
      WHERE n.worker = p_worker AND n.result = 'rescued' AND e.ending ->> 'fetched' ~ '^[0-9]{1,18}$'
      FOR UPDATE OF n SKIP LOCKED) k
    WHERE a.job = k.job AND a.token = k.token AND a.job = ANY (v_jobs)
    RETURNING a.job, a.host, a.ended_at, a.fetched - k.fetched AS more)
  INSERT INTO haul.usage_change (day, queue, batch, host, worker, files, failed, bytes, fetched)
  SELECT (n.ended_at AT TIME ZONE 'UTC')::date, j.queue, coalesce(j.batch, 0), coalesce(n.host, j.host), p_worker, 0, 0,
    0, n.more
  FROM noted n JOIN haul.job_rows(v_jobs) j ON j.id = n.job WHERE n.more > 0;
END
$$;
COMMENT ON FUNCTION haul.note_fetched(bigint, jsonb) IS
  'Records how many bytes a worker has really received in attempts that the pool has rescued (taken from the worker). '
  'A worker reports this number when it finds that it has lost the lease. p_endings: as for end_leases().';

CREATE OR REPLACE FUNCTION haul.still_open(p_worker bigint, p_endings jsonb, p_settled jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  IF jsonb_array_length(p_settled) >= jsonb_array_length(p_endings) THEN
    RETURN '[]';
  END IF;
  RETURN (SELECT coalesce(jsonb_agg(l.token ORDER BY l.token), '[]')
    FROM haul.ending_keys(p_endings) k JOIN haul.lease l ON l.job = k.job AND l.token = k.token
    WHERE l.worker = p_worker);
END
$$;
COMMENT ON FUNCTION haul.still_open(bigint, jsonb, jsonb) IS
  'Returns the tokens of those leases in p_endings that have not ended and still belong to the worker. p_settled: the '
  'result of end_leases() for p_endings.';

CREATE OR REPLACE FUNCTION haul.settled_before(p_endings jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_jobs bigint[] := ARRAY(SELECT e.job FROM jsonb_to_recordset(p_endings) AS e(job bigint) WHERE e.job IS NOT NULL);
BEGIN
  IF v_jobs = '{}' THEN
    RETURN '[]';
  END IF;
  RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('job', a.job, 'token', a.token,
    -- As in the view jobs.
    'state', CASE WHEN o.job IS NOT NULL THEN o.state WHEN l.job IS NOT NULL THEN 'running'
      WHEN s.job IS NOT NULL THEN 'scheduled' WHEN d.job IS NOT NULL THEN 'paused'
      WHEN r.instance <> 0 THEN 'interrupted' WHEN r.job IS NOT NULL THEN 'queued' END,
    'cause', coalesce(CASE WHEN o.state <> 'completed' THEN o.error END, a.error),
    'delay', CASE WHEN s.job IS NOT NULL AND o.job IS NULL AND l.job IS NULL
      THEN extract(epoch FROM greatest(s.run_at - clock_timestamp(), '0')) END)), '[]')
  FROM jsonb_to_recordset(p_endings) AS e(job bigint, token bigint)
  JOIN haul.attempt a ON a.job = e.job AND a.token = e.token AND a.job = ANY (v_jobs)
  LEFT JOIN haul.outcome o ON o.job = a.job AND o.job = ANY (v_jobs)
  LEFT JOIN haul.lease l ON l.job = a.job
  LEFT JOIN haul.scheduled s ON s.job = a.job
  LEFT JOIN haul.held d ON d.job = a.job
  LEFT JOIN haul.ready r ON r.job = a.job
  WHERE a.result <> 'rescued');
END
$$;
COMMENT ON FUNCTION haul.settled_before(jsonb) IS
  'Returns the results of those leases in p_endings that an earlier call has ended: [{"job", "token", "state": the '
  'present state, "cause", "delay": seconds}]. Leaves out leases that a rescue has ended.';
