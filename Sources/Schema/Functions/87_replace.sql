-- A job gets the content of its new line only after its old lease has ended. Later reports of the old worker have no
-- effect.
CREATE OR REPLACE FUNCTION haul.replace(
  p_submission uuid, p_queue text, p_batch text, p_priority smallint, p_options jsonb, p_after interval,
  p_limit integer, p_unfinished boolean DEFAULT false)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  -- Higher than any line number.
  v_behind bigint := 1000000000000;
  v_step record := haul.begin_step(p_submission, p_queue, p_batch, p_limit);
  v_queue haul.queue := v_step.queue;
  v_last bigint := v_step.last;
  v_jobs bigint[];
  v_free record;
  v_skipped bigint;
  v_waiting bigint;
  v_moved jsonb;
  v_target text := concat_ws(', ', 'batch ' || p_batch, 'queue ' || p_queue);
  v_action text := CASE WHEN p_unfinished THEN 'replace-url' ELSE 'submit, replace' END;
BEGIN
  PERFORM haul.require_options(p_options, p_submission, v_last);
  UPDATE haul.staging s SET
    host_id = (SELECT n.id FROM haul.host_name n WHERE n.name = s.host),
    owner = (SELECT d.job FROM haul.dedupe d
      WHERE d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path))
  WHERE s.submission = p_submission AND s.line <= v_last;
  -- Check only the lines of this step. Later lines are not matched with jobs yet (owner is NULL), so no job takes over
  -- their content.
  PERFORM haul.refuse_host((haul.lines_of_other_hosts(p_submission, v_last))[1]);

  DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line <= v_last AND EXISTS (
    SELECT FROM haul.job j WHERE j.id = s.owner AND j.url = s.url
      -- A time in the future was written before the clock of the database was set back, so it does not count.
      AND j.submitted_at BETWEEN (SELECT b.begun_at FROM haul.submission b WHERE b.id = p_submission)
        AND clock_timestamp());
  GET DIAGNOSTICS v_skipped = ROW_COUNT;
  SELECT coalesce(array_agg(DISTINCT s.owner), '{}') INTO v_jobs FROM haul.staging s
  WHERE s.submission = p_submission AND s.line <= v_last AND s.owner IS NOT NULL;

  -- Lock leases first, as everywhere. Include jobs that already have a command, so that none of them ends meanwhile.
  -- Pause the jobs, because a cancelled job would lose its saved bytes.
  PERFORM FROM haul.lease l WHERE l.job = ANY (v_jobs) ORDER BY l.job FOR NO KEY UPDATE;
  PERFORM haul.command_jobs(v_jobs, 'pause');
  IF p_unfinished THEN
    -- A new statement sees all jobs that ended before the leases were locked.
    WITH gone AS (
      DELETE FROM haul.staging s USING haul.outcome o
      WHERE s.submission = p_submission AND s.line <= v_last AND o.job = s.owner AND o.state <> 'failed'
      RETURNING s.owner)
    SELECT v_skipped + count(*), ARRAY(SELECT unnest(v_jobs) EXCEPT SELECT g.owner FROM gone g) INTO v_skipped, v_jobs
    FROM gone;
  END IF;
  v_free := haul.detach(v_jobs, NULL);
  IF p_unfinished AND v_free.completed IS NOT NULL THEN
    RAISE EXCEPTION 'job % has just completed', v_free.completed[1] USING ERRCODE = 'HA007', HINT = 'Try again.';
  END IF;
  UPDATE haul.staging s SET line = s.line + v_behind
  WHERE s.submission = p_submission AND s.line <= v_last AND s.owner = ANY (v_jobs)
    AND NOT s.owner = ANY (coalesce(v_free.free, '{}'));
  GET DIAGNOSTICS v_waiting = ROW_COUNT;
  -- detach() has locked the rows, so no other session moves these jobs meanwhile.
  SELECT coalesce(jsonb_agg(jsonb_build_object('batch', b.name, 'jobs', cardinality(m.jobs)) ORDER BY b.id), '[]')
  INTO v_moved
  FROM (
    SELECT j.batch, array_agg(j.id) AS jobs FROM haul.job j
    WHERE j.id = ANY (v_free.free) AND j.batch IS DISTINCT FROM v_step.batch GROUP BY j.batch) m
  JOIN haul.batch b ON b.id = m.batch
  -- Record one operation for each of the other batches.
  CROSS JOIN LATERAL haul.note_operation(v_action, format('%s, from batch %s', v_target, b.name), cardinality(m.jobs),
    m.jobs, p_batches => ARRAY[p_batch, b.name]);
  PERFORM haul.note_operation(v_action, v_target, cardinality(k.jobs), k.jobs, p_batches => ARRAY[p_batch])
  FROM (
    SELECT array_agg(j.id) AS jobs FROM haul.job j
    WHERE j.id = ANY (v_free.free) AND (j.batch IS NULL OR j.batch = v_step.batch)) k
  WHERE k.jobs IS NOT NULL;
  -- If several lines match one job, the first counts and the others are skipped.
  v_skipped := v_skipped - coalesce(cardinality(v_free.free), 0) + haul.take_over_lines(p_submission, v_queue.id,
    v_step.batch, p_priority,
    v_queue.defaults || coalesce(p_options, '{}'), p_after,
    coalesce(v_free.free, '{}'), coalesce(v_free.completed, '{}'));
  PERFORM pg_notify('haul', 'queues:all');
  PERFORM haul.renew_submission(p_submission);
  RETURN jsonb_build_object('replaced', coalesce(cardinality(v_free.free), 0), 'skipped', v_skipped, 'waiting',
    v_waiting,
    'moved', v_moved, 'first', (SELECT min(f.job) FROM unnest(v_free.free) AS f(job)),
    'last', (SELECT max(f.job) FROM unnest(v_free.free) AS f(job)),
    'left', (SELECT count(*) FROM haul.staging s WHERE s.submission = p_submission AND s.line <= v_last));
END
$$;
COMMENT ON FUNCTION haul.replace(uuid, text, text, smallint, jsonb, interval, integer, boolean) IS
  'Gives existing jobs the content of new lines. If a job has the path of one of the first p_limit lines of a '
  'submission, the job takes over the content of this line, in this queue and batch. Call it before submit(). If the '
  'job is running, asks its worker to stop the job, and moves the line behind all others for a later call. '
  'p_unfinished: true = completed and cancelled jobs stay as they are. Other arguments: as for submit(). Returns '
  '{"replaced": number of jobs, "skipped": number of lines that repeat another line or whose jobs stay, "waiting": '
  'number of lines moved behind all others, "moved": [{"batch": another batch, "jobs": number of jobs that left it}], '
  '"first" and "last": lowest and highest id of the jobs that took over a line (null = none), "left": how many of '
  'these p_limit lines remain for submit()}. Raises HA003 if the queue does not exist, and HA004 like submit(). Raises '
  'HA007 if the submission has ended or, with p_unfinished, a job has just completed.';
