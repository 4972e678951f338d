-- Turns the lines staged by this transaction into jobs, all or none.
--
-- p_options  {"digest", "if_exists", "max_attempts", "max_bytes", "accept_unverified_length", …} for every line;
--            a line's own options go before
-- p_after    not before this long from now; NULL or 0 = at once
-- Returns    {"submitted", "skipped": already there with the same URL, "requeued": had failed or been
--            cancelled, and are tried with the options given now}
-- Raises     HA003 unknown queue · HA004 one path for two URLs, with the line in the message
CREATE OR REPLACE FUNCTION haul.submit(
  p_queue text, p_batch text, p_priority smallint, p_options jsonb, p_after interval)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
-- Staging is never analysed, so the planner knows nothing of its size: no statement here joins it to anything. What a
-- line needs from elsewhere is looked up by index and kept in its row.
DECLARE
  v_submission xid8 := pg_current_xact_id();
  v_count bigint;
  v_queue record;
  v_batch integer;
  v_bad record;
  v_paths bigint;
  v_now timestamptz := clock_timestamp();
  v_submitted bigint;
  v_requeued bigint[] := '{}';
BEGIN
  PERFORM haul.require_read_committed();
  -- Not deleted before this commits; of one that has been meanwhile the name is looked for again.
  LOOP
    v_queue := haul.queue_named(p_queue);
    PERFORM FROM haul.queue q WHERE q.id = v_queue.id AND q.deleted_at IS NULL FOR KEY SHARE;
    EXIT WHEN FOUND;
  END LOOP;
  SELECT count(*) INTO v_count FROM haul.staging s WHERE s.submission = v_submission;
  PERFORM haul.ensure_partitions(v_count + 100000);

  PERFORM haul.check_staged();
  v_batch := haul.ensure_batch(p_batch);
  PERFORM haul.ensure_hosts(array_agg(DISTINCT s.host)) FROM haul.staging s WHERE s.submission = v_submission;

  -- Ids in the order of the lines. A line that repeats an earlier one draws one in vain.
  UPDATE haul.staging s SET job = nextval('haul.job_id'), path_digest = haul.path_digest(s.path),
    host_id = (SELECT h.id FROM haul.host h WHERE h.name = s.host)
  WHERE s.submission = v_submission;

  -- One row a path, in key order: two submissions of the same paths wait for each other, never in a circle.
  INSERT INTO haul.dedupe (store, path_digest, job)
  SELECT v_queue.store, s.path_digest, min(s.job) FROM haul.staging s WHERE s.submission = v_submission
  GROUP BY s.path_digest ORDER BY s.path_digest
  ON CONFLICT (store, path_digest) DO NOTHING;
  GET DIAGNOSTICS v_paths = ROW_COUNT;

  -- In a new statement, whose each path is: an earlier line's or an earlier submission's, or NULL for this line's own.
  IF v_paths < v_count THEN
    UPDATE haul.staging s SET owner = nullif((
      SELECT d.job FROM haul.dedupe d WHERE d.store = v_queue.store AND d.path_digest = s.path_digest), s.job)
    WHERE s.submission = v_submission;
  END IF;

  WITH added AS (
    INSERT INTO haul.job (id, queue, host, batch, priority, submitted_at, url, path, options)
    SELECT s.job, v_queue.id, s.host_id, v_batch, p_priority, v_now, s.url, s.path,
      v_queue.defaults || coalesce(p_options, '{}') || coalesce(s.options, '{}')
    FROM haul.staging s WHERE s.submission = v_submission AND s.owner IS NULL
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
    SELECT s.line, s.path, s.owner INTO v_bad FROM haul.staging s
    WHERE s.submission = v_submission AND s.owner IS NOT NULL AND NOT EXISTS (
      SELECT FROM haul.job j WHERE j.id = s.owner AND j.url = s.url AND j.path = s.path)
    ORDER BY s.line LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'line %: job % already brings another URL to the path "%"', v_bad.line, v_bad.owner, v_bad.path
        USING ERRCODE = 'HA004', HINT = 'Give this line another path.';
    END IF;
    v_requeued := haul.requeue(ARRAY(
      SELECT DISTINCT s.owner FROM haul.staging s WHERE s.submission = v_submission AND s.owner IS NOT NULL));
    -- Whoever submits again what had failed may have mended its options.
    UPDATE haul.job j SET options = l.options FROM (
      SELECT DISTINCT ON (s.owner) s.owner, v_queue.defaults || coalesce(p_options, '{}') || coalesce(s.options, '{}') AS options
      FROM haul.staging s WHERE s.submission = v_submission AND s.owner = ANY (v_requeued)
      ORDER BY s.owner, s.line) l
    WHERE j.id = l.owner AND j.options IS DISTINCT FROM l.options;
  END IF;

  -- Last of all the lanes, each once and in key order.
  PERFORM haul.arm(array_agg(a.host), array_agg(a.queue), array_agg(0), array_agg(a.priority), array_agg(a.head))
  FROM (
    SELECT s.host_id AS host, v_queue.id AS queue, p_priority AS priority, min(s.job) AS head
    FROM haul.staging s
    WHERE s.submission = v_submission AND s.owner IS NULL AND coalesce(p_after, '0') <= '0'
    GROUP BY s.host_id
    UNION ALL
    SELECT j.host, j.queue, j.priority, j.id FROM haul.job j WHERE j.id = ANY (v_requeued)) a;
  PERFORM pg_notify('haul', 'queues:all');
  DELETE FROM haul.staging s WHERE s.submission = v_submission;
  RETURN jsonb_build_object('submitted', v_submitted, 'requeued', cardinality(v_requeued),
    'skipped', v_count - v_submitted - cardinality(v_requeued));
END
$$;

-- The queue of that name, or HA003.
CREATE OR REPLACE FUNCTION haul.queue_named(p_queue text) RETURNS haul.queue
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue haul.queue;
BEGIN
  SELECT q.* INTO v_queue FROM haul.queue q WHERE q.name = p_queue AND q.deleted_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no queue "%"', p_queue USING ERRCODE = 'HA003',
      HINT = coalesce('Queues: ' || (SELECT string_agg(name, ', ' ORDER BY name) FROM haul.queue WHERE deleted_at IS NULL),
        'Run ''haul store init'' first.');
  END IF;
  RETURN v_queue;
END
$$;

-- Raises HA004 where this transaction has staged one path for two URLs.
CREATE OR REPLACE FUNCTION haul.check_staged() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET enable_seqscan = off AS $$
DECLARE
  v_bad record;
BEGIN
  SELECT f.line, f.path, f.first_line INTO v_bad FROM (
    SELECT s.line, s.path, s.url, first_value(s.line) OVER of_path AS first_line,
      first_value(s.url) OVER of_path AS first_url
    FROM haul.staging s WHERE s.submission = pg_current_xact_id()
    WINDOW of_path AS (PARTITION BY s.path ORDER BY s.line)) f
  WHERE f.url <> f.first_url ORDER BY f.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: another URL for the path "%" of line %', v_bad.line, v_bad.path, v_bad.first_line
      USING ERRCODE = 'HA004';
  END IF;
END
$$;

-- The batch of that name, made if it is new; NULL for NULL.
CREATE OR REPLACE FUNCTION haul.ensure_batch(p_batch text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF p_batch IS NULL THEN
    RETURN NULL;
  END IF;
  INSERT INTO haul.batch (name) VALUES (p_batch) ON CONFLICT (name) DO NOTHING;
  RETURN (SELECT b.id FROM haul.batch b WHERE b.name = p_batch);
END
$$;

-- Puts failed and cancelled jobs back into `ready` as if new: earlier attempts no longer count against their
-- limits. With p_completed also completed ones. Returns those that still had ended so; the caller arms their lanes as its
-- last step.
CREATE OR REPLACE FUNCTION haul.requeue(p_jobs bigint[], p_completed boolean DEFAULT false) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  SELECT coalesce(array_agg(t.job), '{}') INTO v_jobs FROM (
    SELECT o.job FROM haul.outcome o WHERE o.job = ANY (p_jobs) AND (o.state <> 'completed' OR p_completed)
    ORDER BY o.job FOR UPDATE) t;
  IF EXISTS (SELECT FROM haul.job j JOIN haul.queue q ON q.id = j.queue AND q.deleted_at IS NOT NULL
    WHERE j.id = ANY (v_jobs)) THEN
    RAISE EXCEPTION 'the queue of such a job has been deleted' USING ERRCODE = 'HA004',
      HINT = 'Submit its URL to another queue, under another path.';
  END IF;
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
