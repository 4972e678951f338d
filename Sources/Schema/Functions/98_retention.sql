-- Keeps the pool small: removes jobs when their retention ends, and other rows that nothing needs any more.

-- A search reads only partitions that may have jobs to remove. A job that ends later may be removed later, so a
-- partition is searched again when the first job that the last search has left may be removed.
CREATE OR REPLACE FUNCTION haul.prune_now(p_limit integer, OUT removed integer, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_turn haul.prune_turn;
  v_shortest interval;
  v_pause interval;
  v_pass record;
BEGIN
  removed := 0;
  more := false;
  -- Later times were written before the clock of the database was set back.
  SELECT t.* INTO v_turn FROM haul.prune_turn t
  WHERE p_limit > 0 AND t.next_at NOT BETWEEN v_now AND v_now + interval '1 hour' FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  SELECT min(k.keep) INTO v_shortest FROM haul.queue q CROSS JOIN haul.pool p CROSS JOIN LATERAL unnest(ARRAY[
    haul.keep_time('completed', q, p), haul.keep_time('failed', q, p), haul.keep_time('cancelled', q, p)]) AS k(keep);
  v_pause := greatest(interval '1 second', v_shortest / 30);
  IF v_shortest IS NOT NULL THEN
    SELECT n.number, coalesce(s.next_job, 0) AS next_job, coalesce(s.due_at, 'infinity') AS due_at INTO v_pass
    FROM haul.partition_numbers() AS n(number) LEFT JOIN haul.prune_pass s ON s.partition = n.number
    WHERE s.next_at IS NULL OR s.next_at NOT BETWEEN v_now AND v_now + greatest(v_shortest, v_pause, interval '1 day')
    ORDER BY coalesce(s.next_at, '-infinity'), n.number LIMIT 1;
    IF FOUND THEN
      more := true;
      BEGIN
        removed := haul.prune_partition(v_pass.number, v_pass.next_job, v_pass.due_at, v_now, v_shortest, v_pause,
          p_limit);
      EXCEPTION WHEN lock_not_available OR data_exception OR integrity_constraint_violation OR program_limit_exceeded
        OR dependent_objects_still_exist THEN
        -- Look at the other partitions first.
        RAISE WARNING 'haul: cannot remove jobs of the partition job_% now: %', v_pass.number, SQLERRM;
        PERFORM haul.note_pass(v_pass.number, v_pass.next_job, v_now, v_now + interval '1 minute');
      END;
      RETURN;
    END IF;
  END IF;
  IF v_turn.tidied_at NOT BETWEEN v_now - interval '1 hour' AND v_now THEN
    more := haul.tidy(p_limit, v_now);
    UPDATE haul.prune_turn SET tidied_at = CASE WHEN more THEN tidied_at ELSE v_now END;
    RETURN;
  END IF;
  UPDATE haul.prune_turn SET next_at = CASE WHEN v_shortest IS NULL THEN v_now + interval '1 hour'
    ELSE least(v_now + interval '1 hour', v_now + greatest(v_shortest, v_pause),
      (SELECT min(s.next_at) FROM haul.prune_pass s)) END;
END
$$;
COMMENT ON FUNCTION haul.prune_now(integer) IS
  'Implements prune(). Raises an error if a lock is not available within 200 ms.';

CREATE OR REPLACE FUNCTION haul.prune(p_limit integer, OUT removed integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET lock_timeout = '200ms' AS $$
BEGIN
  PERFORM haul.require_read_committed();
  -- As in rescue(): a session that hangs from here on must not stop the others.
  PERFORM set_config('idle_in_transaction_session_timeout', '10s', true);
  SELECT p.* INTO removed, more FROM haul.prune_now(p_limit) p;
EXCEPTION WHEN lock_not_available THEN
  removed := 0;
  more := false;
END
$$;
COMMENT ON FUNCTION haul.prune(integer) IS
  'Maintenance: removes up to p_limit jobs whose retention has ended, see set_queue(). Also drops empty partitions of '
  'earlier ids and, once an hour, removes rows that nothing needs any more. Returns the number of jobs, and whether '
  'there may be more to do now (more). Only one session at a time does this; others return at once.';

CREATE OR REPLACE FUNCTION haul.prune_partition(
  p_partition bigint, p_next_job bigint, p_due_at timestamptz, p_now timestamptz, p_shortest interval,
  p_pause interval, p_limit integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_found record := haul.jobs_to_remove(p_partition, p_next_job, '{}', 2 * p_limit);
  v_jobs bigint[] := v_found.jobs[1:p_limit];
  v_removed integer := 0;
  v_due_at timestamptz := least(p_due_at, v_found.due_at);
BEGIN
  IF v_found.last IS NULL THEN
    CASE haul.drop_partition(p_partition)
      WHEN 'dropped' THEN DELETE FROM haul.prune_pass s WHERE s.partition = p_partition;
      WHEN 'locked' THEN PERFORM haul.note_pass(p_partition, 0, 'infinity', p_now + interval '1 minute');
      ELSE
        -- A job that ends from now on is not due before the shortest retention has passed. In a partition whose jobs
        -- have all ended, only a job that is queued again can end: look for such jobs once a day.
        PERFORM haul.note_pass(p_partition, 0, 'infinity', greatest(p_now + p_pause, least(v_due_at,
          p_now + CASE WHEN haul.has_all_ended(p_partition) THEN greatest(p_shortest, interval '1 day')
            ELSE p_shortest END)));
    END CASE;
    RETURN 0;
  END IF;
  IF v_jobs IS NOT NULL THEN
    v_removed := (SELECT r.removed FROM haul.remove_jobs(p_partition, v_jobs, '{}', false) r);
    -- The jobs that other sessions have locked come next time.
    v_due_at := CASE WHEN v_removed < cardinality(v_jobs) THEN p_now ELSE v_due_at END;
  END IF;
  PERFORM haul.note_pass(p_partition, CASE WHEN cardinality(v_found.jobs) > p_limit THEN v_jobs[p_limit] + 1
    ELSE v_found.last + 1 END, v_due_at, '-infinity');
  RETURN v_removed;
END
$$;
COMMENT ON FUNCTION haul.prune_partition(bigint, bigint, timestamptz, timestamptz, interval, interval, integer) IS
  'Continues the search for jobs to remove in one partition, from the job p_next_job, and removes up to p_limit jobs. '
  'At the end of the partition, drops it if it is empty, or records when it must be searched again. p_due_at: when the '
  'first job that this search has left may be removed. p_shortest: the shortest retention. p_pause: the shortest time '
  'between two searches. Returns the number of removed jobs.';

CREATE OR REPLACE FUNCTION haul.note_pass(
  p_partition bigint, p_next_job bigint, p_due_at timestamptz, p_next_at timestamptz) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, haul, pg_temp AS $$
  INSERT INTO haul.prune_pass AS s (partition, next_job, due_at, next_at)
  VALUES (p_partition, p_next_job, p_due_at, p_next_at)
  ON CONFLICT (partition) DO UPDATE SET next_job = excluded.next_job, due_at = excluded.due_at,
    next_at = excluded.next_at
$$;
COMMENT ON FUNCTION haul.note_pass(bigint, bigint, timestamptz, timestamptz) IS
  'Records in prune_pass how far a partition was searched for jobs to remove, and when the search goes on.';

CREATE OR REPLACE FUNCTION haul.has_all_ended(p_partition bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_from bigint := p_partition * haul.partition_size();
  v_to bigint := (p_partition + 1) * haul.partition_size();
BEGIN
  RETURN v_to <= (SELECT i.last_value FROM haul.job_id i)
    AND NOT EXISTS (SELECT FROM haul.ready r WHERE r.job >= v_from AND r.job < v_to)
    AND NOT EXISTS (SELECT FROM haul.scheduled s WHERE s.job >= v_from AND s.job < v_to)
    AND NOT EXISTS (SELECT FROM haul.held h WHERE h.job >= v_from AND h.job < v_to)
    AND NOT EXISTS (SELECT FROM haul.lease l WHERE l.job >= v_from AND l.job < v_to);
END
$$;
COMMENT ON FUNCTION haul.has_all_ended(bigint) IS
  'Returns whether no job of a partition waits or runs, and no new job can get one of its ids.';

CREATE OR REPLACE FUNCTION haul.drop_partition(p_partition bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_table text;
  v_is_used boolean;
BEGIN
  IF NOT haul.has_all_ended(p_partition) THEN
    RETURN 'needed';
  END IF;
  EXECUTE format('SELECT EXISTS (SELECT FROM haul.%I)', 'job_' || p_partition) INTO v_is_used;
  IF v_is_used THEN
    RETURN 'needed';
  END IF;
  -- Claims wait while this session waits for these locks, so it waits for a short time only. All sessions reach the
  -- partitions through the parents, so the other partitions need no lock.
  SET LOCAL lock_timeout = '20ms';
  LOCK TABLE ONLY haul.job, ONLY haul.outcome, ONLY haul.attempt IN ACCESS EXCLUSIVE MODE;
  FOREACH v_table IN ARRAY ARRAY['attempt_', 'outcome_', 'job_'] LOOP
    EXECUTE format('SELECT EXISTS (SELECT FROM haul.%I)', v_table || p_partition) INTO v_is_used;
    IF v_is_used THEN
      RETURN 'needed';
    END IF;
  END LOOP;
  EXECUTE format('DROP TABLE haul.%I, haul.%I, haul.%I', 'attempt_' || p_partition, 'outcome_' || p_partition,
    'job_' || p_partition);
  RETURN 'dropped';
EXCEPTION WHEN lock_not_available THEN
  RETURN 'locked';
END
$$;
COMMENT ON FUNCTION haul.drop_partition(bigint) IS
  'Drops a partition of job, outcome and attempt if it is empty and no new job can get one of its ids. Returns '
  'dropped, needed, or locked: it waits up to 20 ms for each table.';

-- Attempts of a removed worker no longer show its machine.
CREATE OR REPLACE FUNCTION haul.tidy(p_limit integer, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_long_ago timestamptz := p_now - interval '30 days';
  v_workers bigint[];
  v_batches integer[];
  v_known bigint;
  v_lines bigint;
  v_has_more boolean;
BEGIN
  DELETE FROM haul.known n WHERE n.key IN (
    SELECT k.key FROM haul.known k WHERE k.forget_at <= p_now ORDER BY k.forget_at LIMIT p_limit
      FOR UPDATE SKIP LOCKED);
  GET DIAGNOSTICS v_known = ROW_COUNT;
  WITH gone AS (
    DELETE FROM haul.worker_call c WHERE c.worker IN (
      SELECT k.worker FROM haul.worker_call k JOIN haul.worker w ON w.id = k.worker
      WHERE least(w.stopped_at, w.expires_at) < v_long_ago AND w.heartbeat_at < v_long_ago
        AND NOT EXISTS (SELECT FROM haul.lease l WHERE l.worker = w.id)
      ORDER BY w.id LIMIT p_limit FOR UPDATE OF k SKIP LOCKED)
    RETURNING c.worker)
  SELECT array_agg(g.worker) INTO v_workers FROM gone g;
  DELETE FROM haul.worker w WHERE w.id = ANY (v_workers);
  v_lines := haul.tidy_staging(p_limit);
  -- Batches that have no job and never had one, or whose jobs moved to other batches. Check again under the locks.
  v_batches := ARRAY(
    SELECT b.id FROM haul.batch b
    WHERE b.submitted_at < p_now - interval '1 day'
      AND NOT EXISTS (SELECT FROM haul.batch_pruned p WHERE p.batch = b.id)
      AND NOT EXISTS (SELECT FROM haul.batch_total t WHERE t.batch = b.id AND t.jobs > 0)
    ORDER BY b.id LIMIT 100 FOR UPDATE SKIP LOCKED);
  v_batches := ARRAY(SELECT u.id FROM unnest(v_batches) AS u(id)
    WHERE haul.batch_jobs(u.id, 0, 9223372036854775807, 1) = '{}'
      AND NOT EXISTS (SELECT FROM haul.batch_change c WHERE c.batch = u.id));
  DELETE FROM haul.batch_total t WHERE t.batch = ANY (v_batches);
  DELETE FROM haul.batch b WHERE b.id = ANY (v_batches);
  v_has_more := haul.shrink_usage(p_limit, p_now);
  RETURN v_has_more OR p_limit IN (v_known, coalesce(cardinality(v_workers), 0), v_lines);
END
$$;
COMMENT ON FUNCTION haul.tidy(integer, timestamptz) IS
  'Deletes up to p_limit rows of each kind that nothing needs any more: paths to forget in known, workers that ended '
  '30 days ago, staged lines without a submission, and batches without jobs. Also calls shrink_usage(). Returns '
  'whether there may be more. Skips rows that another session has locked.';

CREATE OR REPLACE FUNCTION haul.tidy_staging(p_limit integer) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_submission uuid := '00000000-0000-0000-0000-000000000000';
  v_count bigint;
  v_lines bigint := 0;
BEGIN
  LOOP
    -- Go from one submission to the next: a list may have millions of lines.
    v_submission := (SELECT t.submission FROM haul.staging t WHERE t.submission > v_submission
      ORDER BY t.submission LIMIT 1);
    EXIT WHEN v_submission IS NULL OR v_lines >= p_limit;
    CONTINUE WHEN EXISTS (SELECT FROM haul.submission b WHERE b.id = v_submission);
    DELETE FROM haul.staging s WHERE s.ctid = ANY (ARRAY(
      SELECT t.ctid FROM haul.staging t WHERE t.submission = v_submission LIMIT p_limit - v_lines));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_lines := v_lines + v_count;
  END LOOP;
  RETURN v_lines;
END
$$;
COMMENT ON FUNCTION haul.tidy_staging(integer) IS
  'Deletes up to p_limit staged lines whose submission does not exist: they came after it had ended. Returns their '
  'number.';

CREATE OR REPLACE FUNCTION haul.prune_jobs(p_selector jsonb, p_after bigint, p_dry_run boolean, p_shows boolean)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  c_limit CONSTANT integer := 1000;
  v_selector jsonb := CASE WHEN jsonb_typeof(p_selector) = 'object' THEN p_selector ELSE '{}' END
    || coalesce((SELECT jsonb_build_object('batch_id', b.id) FROM haul.batch b
    WHERE b.name = p_selector ->> 'batch'), '{}');
  v_partition bigint;
  v_after bigint := least(greatest(p_after, 0), 9223372036854775800);
  v_found record;
  v_done record;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.require_prunable(p_selector);
  IF NOT p_dry_run THEN
    PERFORM FROM haul.prune_turn FOR UPDATE;
  END IF;
  LOOP
    SELECT min(n.number) INTO v_partition FROM haul.partition_numbers() AS n(number)
    WHERE (n.number + 1) * haul.partition_size() > v_after + 1;
    IF v_partition IS NULL THEN
      RETURN '{"jobs": 0, "after": null, "rows": []}';
    END IF;
    v_found := haul.jobs_to_remove(v_partition, v_after + 1, v_selector,
      CASE WHEN p_dry_run THEN 10 ELSE 2 END * c_limit);
    EXIT WHEN v_found.last IS NOT NULL;
    v_after := (v_partition + 1) * haul.partition_size() - 1;
  END LOOP;
  IF p_dry_run OR v_found.jobs IS NULL THEN
    RETURN jsonb_build_object('jobs', coalesce(cardinality(v_found.jobs), 0), 'after', v_found.last, 'rows',
      '[]'::jsonb);
  END IF;
  v_done := haul.remove_jobs(v_partition, v_found.jobs[1:c_limit], v_selector, p_shows);
  RETURN jsonb_build_object('jobs', v_done.removed, 'rows', coalesce(v_done.rows, '[]'),
    'after', CASE WHEN cardinality(v_found.jobs) > c_limit THEN v_found.jobs[c_limit] ELSE v_found.last END);
END
$$;
COMMENT ON FUNCTION haul.prune_jobs(jsonb, bigint, boolean, boolean) IS
  'Removes up to 1,000 ended jobs with ids above p_after. p_selector: {"older": seconds since the end of the job; '
  'missing = when the retention of the job ends, "state", "queue", "batch"}. p_dry_run: true = only counts. p_shows: '
  'true = also returns what the pool knew of these jobs. Returns {"jobs": number of jobs, "after": p_after for the '
  'next call; null = that was all, "rows"}. Raises HA003 for an unknown queue or batch. Raises HA004 for a negative '
  'age, for a state other than completed, failed and cancelled, and if there is no retention and no "older"';

CREATE OR REPLACE FUNCTION haul.require_prunable(p_selector jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF coalesce(jsonb_typeof(p_selector) <> 'object', true)
    OR p_selector - '{older,state,queue,batch}'::text[] <> '{}' THEN
    RAISE EXCEPTION 'the selector may have only "older", "state", "queue" and "batch"' USING ERRCODE = 'HA004';
  END IF;
  IF p_selector ->> 'state' NOT IN ('completed', 'failed', 'cancelled') THEN
    RAISE EXCEPTION 'only completed, failed and cancelled jobs can be removed, not % ones', p_selector ->> 'state'
      USING ERRCODE = 'HA004';
  END IF;
  IF (p_selector ->> 'older')::double precision NOT BETWEEN 0 AND 3155760000 THEN
    RAISE EXCEPTION 'the age must be between 0 and 100 years' USING ERRCODE = 'HA004';
  END IF;
  PERFORM haul.queue_named(p_selector ->> 'queue') WHERE p_selector ->> 'queue' IS NOT NULL;
  IF p_selector ->> 'batch' IS NOT NULL
    AND NOT EXISTS (SELECT FROM haul.batch b WHERE b.name = p_selector ->> 'batch') THEN
    RAISE EXCEPTION 'there is no batch "%"', p_selector ->> 'batch' USING ERRCODE = 'HA003',
      HINT = 'See ''haul batches''.';
  END IF;
  IF p_selector -> 'older' IS NULL AND NOT EXISTS (
    SELECT FROM haul.queue q CROSS JOIN haul.pool p
    WHERE coalesce(haul.keep_time('completed', q, p), haul.keep_time('failed', q, p),
      haul.keep_time('cancelled', q, p)) IS NOT NULL) THEN
    RAISE EXCEPTION 'no retention is set' USING ERRCODE = 'HA004',
      HINT = 'Give an age with --older, or set one with ''haul queue set''.';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.require_prunable(jsonb) IS
  'Raises the errors of prune_jobs() that its selector causes.';
