-- For users who want files now: if an earlier job has the path of a new line, the job takes over this line, in any
-- state except running. Call resubmit() before submit(), which creates jobs from the remaining lines.

CREATE OR REPLACE FUNCTION haul.wants_anew(p_options jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(p_options ->> 'if_exists' IN ('replace', 'rename'), false)
$$;
COMMENT ON FUNCTION haul.wants_anew(jsonb) IS
  'Returns whether these options request a new download of an existing file: if_exists is replace or rename.';

-- Look up each line separately (LIMIT keeps the planner from joining): the planner does not know the size of staging.
CREATE OR REPLACE FUNCTION haul.finished_lines(p_submission uuid, p_queue text, p_options jsonb)
RETURNS TABLE (line bigint, path text, bytes bigint, digest text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
  SELECT s.line, o.path, o.bytes, CASE WHEN w.digest IS DISTINCT FROM j.options ->> 'digest' THEN w.digest END
  FROM haul.staging s
  CROSS JOIN LATERAL (SELECT coalesce(s.options ->> 'digest', p_options ->> 'digest') AS digest) w
  CROSS JOIN LATERAL (
    SELECT d.job FROM haul.dedupe d
    WHERE d.store = (SELECT q.store FROM haul.queue q WHERE q.name = p_queue)
      AND d.path_digest = haul.path_digest(s.path) LIMIT 1) d
  CROSS JOIN LATERAL (
    SELECT j.id, j.queue, j.options FROM haul.job j WHERE j.id = d.job AND j.url = s.url LIMIT 1) j
  CROSS JOIN LATERAL (
    SELECT o.path, o.bytes FROM haul.outcome o WHERE o.job = j.id AND o.state = 'completed' LIMIT 1) o
  WHERE s.submission = p_submission
    AND (NOT haul.wants_anew(p_options) OR j.options ->> 'if_exists' = p_options ->> 'if_exists' AND j.queue IN (
      SELECT queue FROM haul.ready UNION ALL SELECT queue FROM haul.scheduled
      UNION ALL SELECT queue FROM haul.held UNION ALL SELECT queue FROM haul.lease))
    -- Check once whether the store has jobs: in a new store, no line has to be looked up.
    AND EXISTS (SELECT FROM haul.dedupe n WHERE n.store = (SELECT q.store FROM haul.queue q WHERE q.name = p_queue))
$$;
COMMENT ON FUNCTION haul.finished_lines(uuid, text, jsonb) IS
  'Returns the lines of a submission for which a completed job has the same path and URL. haul get calls this function '
  'and then checks whether the files still exist, because only haul get can see the files. path: the path of the '
  'finished file. bytes: the size of this file. digest: a digest that the submission requires and that was not '
  'verified at download. If if_exists in p_options is replace or rename, considers only jobs with the same if_exists, '
  'and only while jobs of their queue wait or run.';

-- Only one session per store runs this at a time. A second session waits and then finds the jobs of the first.
-- Otherwise submit() would skip the lines of the second session, and the files would not belong to it.
CREATE OR REPLACE FUNCTION haul.resubmit(
  p_submission uuid, p_queue text, p_batch text, p_options jsonb, p_done bigint[]) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_queue haul.queue;
  v_batch integer;
  v_done bigint[];
  v_jobs bigint[];
  v_free bigint[];
  v_ended bigint;
  v_strangers bigint;
  v_lines bigint;
BEGIN
  PERFORM haul.require_read_committed();
  v_queue := haul.keep_queue(p_queue);
  PERFORM FROM haul.store s WHERE s.id = v_queue.store FOR NO KEY UPDATE;
  IF NOT EXISTS (SELECT FROM haul.dedupe d WHERE d.store = v_queue.store) THEN
    RETURN '{"taken_over": 0, "unfinished": 0, "lines": 0}';
  END IF;
  PERFORM haul.require_options(p_options, p_submission);
  PERFORM haul.ensure_hosts(array_agg(DISTINCT s.host) || haul.mirror_hosts(p_submission, max(s.line)))
  FROM haul.staging s WHERE s.submission = p_submission;
  v_batch := haul.ensure_batch(p_batch);

  IF haul.wants_anew(p_options) THEN
    SELECT array_agg(d.job) INTO v_done FROM haul.staging s JOIN haul.dedupe d
      ON d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path)
    WHERE s.submission = p_submission AND s.line = ANY (p_done);
  END IF;
  DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line = ANY (p_done);
  GET DIAGNOSTICS v_lines = ROW_COUNT;
  UPDATE haul.staging s SET
    host_id = (SELECT n.id FROM haul.host_name n WHERE n.name = s.host),
    owner = (SELECT d.job FROM haul.dedupe d
      WHERE d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path))
  WHERE s.submission = p_submission;
  SELECT array_agg(DISTINCT s.owner), count(DISTINCT s.owner) FILTER (
      WHERE (SELECT j.url FROM haul.job j WHERE j.id = s.owner) <> s.url
        AND NOT EXISTS (SELECT FROM haul.outcome o WHERE o.job = s.owner))
  INTO v_jobs, v_strangers FROM haul.staging s
  WHERE s.submission = p_submission AND s.owner IS NOT NULL;
  SELECT d.free, d.ended INTO v_free, v_ended FROM haul.detach(coalesce(v_jobs, '{}'), v_done) d;
  UPDATE haul.job j SET queue = v_queue.id WHERE j.id = ANY (v_done);
  IF v_jobs IS NULL THEN
    RETURN jsonb_build_object('taken_over', 0, 'unfinished', 0, 'lines', v_lines);
  END IF;
  PERFORM haul.require_all_free(v_jobs, v_free);
  -- Jobs that prune() has just removed: submit() creates new ones from their lines.
  v_jobs := ARRAY(SELECT j.id FROM haul.job j WHERE j.id = ANY (v_jobs));
  v_lines := v_lines + haul.take_over_lines(p_submission, v_queue.id, v_batch, NULL, p_options, NULL, v_jobs, '{}');
  RETURN jsonb_build_object('taken_over', cardinality(v_jobs), 'unfinished',
    cardinality(v_jobs) - v_ended - v_strangers, 'lines', v_lines);
END
$$;
COMMENT ON FUNCTION haul.resubmit(uuid, text, text, jsonb, bigint[]) IS
  'Updates existing jobs from the matching lines of a submission, for users who want files now. Call it before '
  'submit(). p_done: numbers of the lines whose files exist; removes these lines. If p_options request a new download '
  'of existing files, also moves the jobs of the lines p_done to queue p_queue. If haul get is interrupted and runs '
  'again, finished_lines() then still finds these jobs, and their files are not downloaded again. If a job has the '
  'path of a line that is not in p_done, the job takes over the content of this line, in queue p_queue and batch '
  'p_batch. The job waits again, and its earlier attempts no longer count. It keeps saved bytes of the same URL. Also '
  'removes the lines that jobs have taken over. p_options: as for submit(). Returns {"taken_over": number of jobs, '
  '"unfinished": number of jobs that had not ended and keep their URL, "lines": number of removed lines}. Raises HA003 '
  'if the queue does not exist, and HA004 for an invalid option. Raises HA007 if one of these jobs is running or was '
  'just changed.';

CREATE OR REPLACE FUNCTION haul.detach(
  p_jobs bigint[], p_others bigint[], OUT free bigint[], OUT ended bigint, OUT completed bigint[])
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  WITH ended AS (
    DELETE FROM haul.outcome o WHERE o.job IN (
      SELECT k.job FROM haul.outcome k WHERE k.job = ANY (p_jobs) ORDER BY k.job FOR UPDATE) RETURNING o.job, o.state
  ), held AS (
    DELETE FROM haul.held h WHERE h.job IN (
      SELECT k.job FROM haul.held k WHERE k.job = ANY (p_jobs) ORDER BY k.job FOR UPDATE) RETURNING h.job)
  SELECT array_agg(t.job), (SELECT count(*) FROM ended),
    (SELECT array_agg(e.job) FROM ended e WHERE e.state = 'completed') INTO free, ended, completed
  FROM (SELECT job FROM ended UNION ALL SELECT job FROM held) t;
  PERFORM FROM haul.job j WHERE j.id = ANY (p_jobs || p_others) ORDER BY j.id FOR NO KEY UPDATE;
  SELECT free || array_agg(w.job) INTO free
  FROM haul.withdraw(p_jobs) w;
END
$$;
COMMENT ON FUNCTION haul.detach(bigint[], bigint[]) IS
  'Removes p_jobs from the tables of waiting and ended jobs. Locks the rows of p_jobs and p_others in the table job. '
  'Returns the removed jobs (NULL = none), how many of them had ended, and the completed ones (NULL = none). A job '
  'that is missing from the result is running or was just changed.';

CREATE OR REPLACE FUNCTION haul.mirror_kept(p_job haul.job, p_url text, p_options jsonb) RETURNS smallint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN p_job.mirror IS NOT NULL AND p_job.url = p_url
  THEN haul.mirror_of(haul.url_in_use(p_job.url, p_job.options, p_job.mirror), p_options) END;
COMMENT ON FUNCTION haul.mirror_kept(haul.job, text, jsonb) IS
  'Returns the mirror that a job continues to use after it takes over a line with this URL and these options. The '
  'result is the number of this mirror in the new line. Returns NULL if the job uses no mirror, or if the line does '
  'not name both the job''s own URL and the mirror in use.';

CREATE OR REPLACE FUNCTION haul.take_over_lines(
  p_submission uuid, p_queue integer, p_batch integer, p_priority smallint, p_options jsonb, p_after interval,
  p_jobs bigint[], p_completed bigint[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_there bigint[];
  v_lines bigint;
BEGIN
  WITH asked AS (
    DELETE FROM haul.refresh f WHERE f.job = ANY (p_jobs) RETURNING f.job)
  SELECT p_completed || array_agg(a.job) INTO v_there FROM asked a;
  v_there := v_there || haul.known_jobs((SELECT q.store FROM haul.queue q WHERE q.id = p_queue), p_jobs);
  -- Keep saved bytes from another URL only if some bytes are still missing, and if only the query has changed or the
  -- bytes have a strong ETag. Before the worker uses them, it compares some bytes, or the ETags, of both URLs.
  DELETE FROM haul.checkpoint c USING haul.staging s, haul.job j,
    LATERAL haul.url_in_use(j.url, j.options, j.mirror) AS u(url)
  WHERE s.submission = p_submission AND s.owner = ANY (p_jobs) AND j.id = s.owner AND c.job = j.id
    AND u.url <> haul.url_in_use(s.url, s.options, haul.mirror_kept(j, s.url, s.options))
    AND (NOT haul.same_but_query(u.url, s.url) AND (j.mirror IS NULL OR NOT haul.is_part_of_mirror(c.resume, s.options))
        AND left(c.resume ->> 'validator', 1) IS DISTINCT FROM '"'
      OR haul.range_bytes(c.durable) >= coalesce(c.length, 0));
  UPDATE haul.checkpoint c SET resume = c.resume || CASE
    WHEN haul.same_but_query(u.url, s.url) OR j.mirror IS NOT NULL AND haul.is_part_of_mirror(c.resume, s.options)
    THEN '{"moved": true}'::jsonb ELSE '{"moved": true, "elsewhere": true}' END
  FROM haul.staging s, haul.job j, LATERAL haul.url_in_use(j.url, j.options, j.mirror) AS u(url)
  WHERE s.submission = p_submission AND s.owner = ANY (p_jobs) AND j.id = s.owner AND c.job = j.id
    AND u.url <> haul.url_in_use(s.url, s.options, haul.mirror_kept(j, s.url, s.options));
  UPDATE haul.job j SET queue = p_queue, batch = p_batch, url = s.url, mirror = haul.mirror_kept(j, s.url, s.options),
    host = CASE WHEN haul.mirror_kept(j, s.url, s.options) IS NULL THEN s.host_id ELSE j.host END,
    submitted_at = clock_timestamp(),
    priority = coalesce(s.priority, p_priority, j.priority),
    options = CASE WHEN j.id = ANY (v_there) THEN '{"if_exists": "replace"}' ELSE '{}' END::jsonb
      || coalesce(p_options, '{}') || coalesce(s.options, '{}')
  FROM (
    SELECT DISTINCT ON (f.owner) f.* FROM haul.staging f
    WHERE f.submission = p_submission AND f.owner = ANY (p_jobs) ORDER BY f.owner, f.line) s
  WHERE j.id = s.owner;
  PERFORM haul.forgive(p_jobs);
  IF p_after > '0' THEN
    INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
    SELECT w.job, w.queue, w.host, w.instance, w.priority, clock_timestamp() + p_after
    FROM haul.waiting_again(p_jobs) w;
  ELSE
    INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
    SELECT w.* FROM haul.waiting_again(p_jobs) w;
  END IF;
  DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.owner = ANY (p_jobs);
  GET DIAGNOSTICS v_lines = ROW_COUNT;

  PERFORM haul.arm_jobs(p_jobs);
  RETURN v_lines;
END
$$;
COMMENT ON FUNCTION haul.take_over_lines(uuid, integer, integer, smallint, jsonb, interval, bigint[], bigint[]) IS
  'Copies the URL and options of staged lines into their jobs, then deletes these lines. Call it for jobs that '
  'detach() has returned. If a job has several lines, the first line counts. The jobs wait again, and their earlier '
  'attempts no longer count. p_completed: jobs whose files exist. These jobs replace the file, unless their line sets '
  'if_exists. Jobs that were waiting to check for a newer file do the same. p_priority: new priority; NULL = keep the '
  'old one. p_after: delay before the start; NULL or 0 = no delay. Also calls arm(), so that workers can claim the '
  'jobs. Returns the number of lines.';

CREATE OR REPLACE FUNCTION haul.require_all_free(p_jobs bigint[], p_free bigint[]) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_busy record;
BEGIN
  SELECT j.path, l.worker, w.machine, w.pid INTO v_busy
  FROM haul.job j LEFT JOIN haul.lease l ON l.job = j.id LEFT JOIN haul.worker w ON w.id = l.worker
  WHERE j.id = ANY (p_jobs) AND NOT j.id = ANY (coalesce(p_free, '{}')) ORDER BY j.id LIMIT 1;
  IF v_busy.worker IS NOT NULL THEN
    RAISE EXCEPTION 'worker % (%, pid %) is downloading "%" now', v_busy.worker, v_busy.machine, v_busy.pid, v_busy.path
      USING ERRCODE = 'HA007',
      HINT = 'Wait until this worker has finished, or stop it.';
  ELSIF FOUND THEN
    RAISE EXCEPTION 'another session has just changed the job of "%"', v_busy.path USING ERRCODE = 'HA007',
      HINT = 'Try again.';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.require_all_free(bigint[], bigint[]) IS
  'Raises HA007 for the first of p_jobs that is not in p_free. If a worker runs this job, the message names the '
  'worker. Locks nothing.';
