-- Turns the lines staged by this transaction into jobs, all or none.
--
-- p_options  {"digest", "if_exists", "max_attempts", "max_bytes", "accept_unverified_length", …} for every line;
--            a line's own options go before
-- p_after    not before this long from now; NULL or 0 = at once
-- Returns    {"submitted", "skipped": already there with the same URL, "requeued": had failed or been cancelled}
-- Raises     HA003 unknown queue · HA004 one path for two URLs, with the line in the message
CREATE OR REPLACE FUNCTION haul.submit(
  p_queue text, p_batch text, p_priority smallint, p_options jsonb, p_after interval)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_submission xid8 := pg_current_xact_id();
  v_count bigint;
  v_queue record;
  v_batch integer;
  v_bad record;
  v_now timestamptz := clock_timestamp();
  v_submitted bigint;
  v_requeued bigint[] := '{}';
BEGIN
  PERFORM haul.require_read_committed();
  SELECT q.id, q.store INTO v_queue FROM haul.queue q WHERE q.name = p_queue;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no queue "%"', p_queue USING ERRCODE = 'HA003',
      HINT = coalesce('Queues: ' || (SELECT string_agg(name, ', ' ORDER BY name) FROM haul.queue),
        'Run ''haul store init'' first.');
  END IF;
  SELECT count(*) INTO v_count FROM haul.staging s WHERE s.submission = v_submission;
  PERFORM haul.ensure_partitions(v_count + 100000);

  SELECT s.line, s.path, f.line AS first_line INTO v_bad FROM haul.staging s
  JOIN (SELECT path, min(line) AS line, min(url) AS least_url, max(url) AS greatest_url FROM haul.staging
    WHERE submission = v_submission GROUP BY path) f ON f.path = s.path
  WHERE s.submission = v_submission AND f.least_url <> f.greatest_url
    AND s.url <> (SELECT o.url FROM haul.staging o WHERE o.submission = v_submission AND o.path = s.path ORDER BY o.line LIMIT 1)
  ORDER BY s.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: another URL for the path "%" of line %', v_bad.line, v_bad.path, v_bad.first_line
      USING ERRCODE = 'HA004';
  END IF;

  IF p_batch IS NOT NULL THEN
    INSERT INTO haul.batch (name) VALUES (p_batch) ON CONFLICT (name) DO NOTHING;
    SELECT id INTO v_batch FROM haul.batch WHERE name = p_batch;
  END IF;
  PERFORM haul.ensure_hosts(array_agg(DISTINCT s.host)) FROM haul.staging s WHERE s.submission = v_submission;

  -- One row a path, in key order: two submissions of the same paths wait for each other, never in a circle.
  WITH lines AS (
    SELECT DISTINCT ON (s.path) s.* FROM haul.staging s WHERE s.submission = v_submission ORDER BY s.path, s.line
  ), claimed AS (
    INSERT INTO haul.dedupe (store, path_digest, job)
    SELECT v_queue.store, o.path_digest, o.job FROM (
      SELECT haul.path_digest(n.path) AS path_digest, n.job
      FROM (SELECT l.path, nextval('haul.job_id') AS job FROM (SELECT * FROM lines ORDER BY line) l) n
      ORDER BY 1) o
    ON CONFLICT (store, path_digest) DO NOTHING
    RETURNING path_digest, job
  ), added AS (
    INSERT INTO haul.job (id, queue, host, batch, priority, submitted_at, url, path, options)
    SELECT c.job, v_queue.id, h.id, v_batch, p_priority, v_now, l.url, l.path,
      coalesce(p_options, '{}') || coalesce(l.options, '{}')
    FROM claimed c
    JOIN lines l ON haul.path_digest(l.path) = c.path_digest
    JOIN haul.host h ON h.name = l.host
    RETURNING id, queue, host, priority
  ), waiting AS (
    INSERT INTO haul.ready (queue, host, instance, priority, job)
    SELECT a.queue, a.host, 0, a.priority, a.id FROM added a WHERE coalesce(p_after, '0') <= '0'
  ), later AS (
    INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
    SELECT a.id, a.queue, a.host, 0, a.priority, v_now + p_after FROM added a WHERE p_after > '0'
  )
  SELECT count(*) INTO v_submitted FROM added;

  -- Lines that met an earlier job: the same URL is that job, another URL is an error.
  IF v_submitted < v_count THEN
    SELECT s.line, s.path, j.id, j.url INTO v_bad FROM haul.staging s
    JOIN haul.dedupe d ON d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path)
    JOIN haul.job j ON j.id = d.job
    WHERE s.submission = v_submission AND (j.url <> s.url OR j.path <> s.path)
    ORDER BY s.line LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'line %: job % already brings another URL to the path "%"', v_bad.line, v_bad.id, v_bad.path
        USING ERRCODE = 'HA004', HINT = 'Give this line another path.';
    END IF;
    v_requeued := haul.requeue(ARRAY(
      SELECT o.job FROM haul.staging s
      JOIN haul.dedupe d ON d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path)
      JOIN haul.outcome o ON o.job = d.job AND o.state <> 'completed'
      WHERE s.submission = v_submission));
  END IF;

  -- Last of all the lanes, each once and in key order.
  PERFORM haul.arm(array_agg(a.host), array_agg(a.queue), array_agg(0), array_agg(a.priority), array_agg(a.head))
  FROM (
    SELECT j.host, j.queue, j.priority, min(j.id) AS head FROM haul.staging s
    JOIN haul.dedupe d ON d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path)
    JOIN haul.job j ON j.id = d.job
    WHERE s.submission = v_submission
      AND (j.id = ANY (v_requeued) OR (j.submitted_at = v_now AND coalesce(p_after, '0') <= '0'))
    GROUP BY j.host, j.queue, j.priority) a;
  PERFORM pg_notify('haul', 'queues:all');
  DELETE FROM haul.staging s WHERE s.submission = v_submission;
  RETURN jsonb_build_object('submitted', v_submitted, 'requeued', cardinality(v_requeued),
    'skipped', v_count - v_submitted - cardinality(v_requeued));
END
$$;

-- Puts failed and cancelled jobs back into `ready` as if new: earlier attempts no longer count against their
-- limits. Returns those that were still failed or cancelled; the caller arms their lanes as its last step.
CREATE OR REPLACE FUNCTION haul.requeue(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  SELECT coalesce(array_agg(t.job), '{}') INTO v_jobs FROM (
    SELECT o.job FROM haul.outcome o WHERE o.job = ANY (p_jobs) AND o.state <> 'completed'
    ORDER BY o.job FOR UPDATE) t;
  WITH gone AS (
    DELETE FROM haul.outcome o WHERE o.job = ANY (v_jobs)
  ), forgiven AS (
    UPDATE haul.attempt a SET forgiven = true WHERE a.job = ANY (v_jobs) AND NOT a.forgiven
  )
  INSERT INTO haul.ready (queue, host, instance, priority, job)
  SELECT j.queue, j.host, 0, j.priority, j.id FROM haul.job j WHERE j.id = ANY (v_jobs) ORDER BY j.id;
  RETURN v_jobs;
END
$$;
