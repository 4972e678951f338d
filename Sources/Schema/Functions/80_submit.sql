-- Jobs from what is staged (75_staging.sql).

-- Turns the first p_limit of a submission's lines that are left into jobs, all of these or none.
--
-- p_options  {"digest", "length", "if_exists", "max_attempts", "max_bytes", "accept_unverified_length", …} for every
-- line;
--            a line's own options go before, as does its priority
-- p_after    not before this long from now; NULL or 0 = at once
-- p_on_duplicate  as in check_submission(); what is wrong there is wrong here. With refresh completed jobs are asked
-- for
--                 again: see refresh_jobs()
-- p_others   whether jobs outside p_batch that lines have met are wanted
-- Returns    {"submitted", "skipped": already there with the same URL, "requeued": had failed or been
--            cancelled, and are tried with the options given now, "refreshed": had completed, and are asked for again,
--            "elsewhere": [{"kind", "name", "jobs"}]: of those that are not in p_batch, where a batch is given, and of
-- those in another queue, "unchecked": of those skipped, how many have a line with a digest that they neither demand
-- nor have, "unapplied": … with other options that they do not have, "others": ids outside p_batch, where wanted,
--            "left": whether lines are left}
-- Raises     HA003 unknown queue · HA008 a path that is taken · HA004 an option of the wrong kind; with the line in the
-- message
CREATE OR REPLACE FUNCTION haul.submit(
  p_submission uuid, p_queue text, p_batch text, p_priority smallint, p_options jsonb, p_after interval,
  p_on_duplicate text, p_others boolean, p_limit integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
-- Of the size of staging the planner knows nothing: what a line needs from elsewhere is looked up by index and kept in
-- its row, and no statement here may read more of another table than that.
DECLARE
  v_step record := haul.begin_step(p_submission, p_queue, p_batch, p_limit);
  v_queue haul.queue := v_step.queue;
  v_batch integer := v_step.batch;
  v_count bigint := v_step.count;
  v_last bigint := v_step.last;
  v_options jsonb := v_queue.defaults || coalesce(p_options, '{}');
  v_bad record;
  v_added record;
  v_met bigint[] := '{}';
  v_requeued bigint[] := '{}';
  v_refreshed bigint[] := '{}';
  v_again bigint[] := '{}';
  v_elsewhere jsonb;
  v_unchecked bigint := 0;
  v_unapplied bigint := 0;
  v_others jsonb;
BEGIN
  PERFORM haul.require_options(p_options, p_submission, v_last);
  v_added := haul.add_jobs(p_submission, v_queue.id, v_queue.store, v_batch, p_priority, v_options, p_after, v_last);

  -- The lines that are left met an earlier job: the same URL is that job, another URL is an error.
  IF v_added.jobs < v_count THEN
    UPDATE haul.staging s SET owner = (
      SELECT d.job FROM haul.dedupe d WHERE d.store = v_queue.store AND d.path_digest = haul.path_digest(s.path))
    WHERE s.submission = p_submission AND s.line <= v_last;
    SELECT s.line, s.path, s.owner INTO v_bad FROM haul.staging s
    WHERE s.submission = p_submission AND s.line <= v_last
      AND (p_on_duplicate = 'error' OR NOT EXISTS (
        SELECT FROM haul.job j WHERE j.id = s.owner AND j.url = s.url AND j.path = s.path))
    ORDER BY s.line LIMIT 1;
    IF FOUND THEN
      RAISE EXCEPTION 'line %: job % has the path "%" already', v_bad.line, v_bad.owner, v_bad.path
        USING ERRCODE = 'HA008', HINT = 'Give this line another path.';
    END IF;
    SELECT array_agg(DISTINCT s.owner) INTO v_met FROM haul.staging s
    WHERE s.submission = p_submission AND s.line <= v_last;
    IF p_on_duplicate = 'refresh' THEN
      v_refreshed := haul.refresh_jobs(
        v_met, (SELECT b.begun_at FROM haul.submission b WHERE b.id = p_submission), v_queue.id);
    END IF;
    v_requeued := haul.requeue(v_met, p_queue => v_queue.id);
    v_again := v_requeued || v_refreshed;
    -- Whoever submits again what had failed may have mended its options. What is refreshed keeps those that are not
    -- given now, but for what they say of the file that was.
    UPDATE haul.job j SET options = v_queue.defaults || l.options FROM (
      SELECT DISTINCT ON (s.owner) s.owner, coalesce((
          SELECT k.options - '{digest,length}'::text[] FROM haul.job k WHERE k.id = s.owner
            AND k.id = ANY (v_refreshed)), '{}')
        || coalesce(p_options, '{}') || coalesce(s.options, '{}') AS options
      FROM haul.staging s
      WHERE s.submission = p_submission AND s.line <= v_last AND s.owner = ANY (v_again)
      ORDER BY s.owner, s.line) l
    WHERE j.id = l.owner AND j.options IS DISTINCT FROM v_queue.defaults || l.options;
    SELECT jsonb_agg(jsonb_build_object('kind', e.kind, 'name', e.name, 'jobs', cardinality(e.jobs))),
      jsonb_agg(e.jobs) FILTER (WHERE e.kind = 'batch')
    INTO v_elsewhere, v_others FROM (
      SELECT 'batch' AS kind, b.name, array_agg(j.id) AS jobs FROM haul.job j LEFT JOIN haul.batch b ON b.id = j.batch
      WHERE j.id = ANY (v_met) AND j.batch IS DISTINCT FROM v_batch AND v_batch IS NOT NULL GROUP BY b.name
      UNION ALL
      SELECT 'queue', q.name, array_agg(j.id) FROM haul.job j JOIN haul.queue q ON q.id = j.queue
      WHERE j.id = ANY (v_met) AND j.queue <> v_queue.id AND q.deleted_at IS NULL
      GROUP BY q.name) e;
    SELECT count(DISTINCT s.owner) FILTER (
        WHERE g.options ? 'digest' AND (g.options ->> 'digest' = ANY (ARRAY[j.options ->> 'digest', j.digest]))
          IS NOT TRUE),
      count(DISTINCT s.owner) FILTER (WHERE NOT j.options @> (g.options - '{digest,length}'::text[]))
    INTO v_unchecked, v_unapplied
    FROM haul.staging s
    CROSS JOIN LATERAL (SELECT coalesce(p_options, '{}') || coalesce(s.options, '{}') AS options) g
    -- OFFSET 0: by each job's id.
    CROSS JOIN LATERAL (SELECT j.options, (SELECT o.digest FROM haul.outcome o WHERE o.job = j.id) AS digest
      FROM haul.job j WHERE j.id = s.owner OFFSET 0) j
    WHERE s.submission = p_submission AND s.line <= v_last AND g.options <> '{}' AND s.owner <> ALL (v_again);
    DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line <= v_last;
  END IF;

  -- Last of all the lanes, each once and in key order.
  PERFORM haul.arm(array_agg(a.host), array_agg(a.queue), array_agg(0), array_agg(a.priority), array_agg(a.head))
  FROM (
    SELECT u.host, v_queue.id AS queue, u.priority, u.head
    FROM unnest(v_added.hosts, v_added.priorities, v_added.heads) AS u(host, priority, head)
    UNION ALL
    SELECT j.host, j.queue, j.priority, j.id FROM haul.job j WHERE j.id = ANY (v_again)) a;
  PERFORM pg_notify('haul', 'queues:all');
  RETURN jsonb_build_object('submitted', v_added.jobs, 'requeued', cardinality(v_requeued),
    'refreshed', cardinality(v_refreshed), 'skipped', v_count - v_added.jobs - cardinality(v_again),
    'elsewhere', coalesce(v_elsewhere, '[]'), 'unchecked', v_unchecked, 'unapplied', v_unapplied,
    'others', CASE WHEN p_others THEN coalesce(v_others, '[]') ELSE '[]' END, 'left',
    EXISTS (SELECT FROM haul.staging s WHERE s.submission = p_submission AND s.line > coalesce(v_last, 0)));
END
$$;
COMMENT ON FUNCTION haul.submit(uuid, text, text, smallint, jsonb, interval, text, boolean, integer) IS
  'Makes jobs of the first p_limit lines of a submission, all of these or none; call again while "left". Returns '
  '{"submitted", "skipped", "requeued", "refreshed", "elsewhere": [{"kind", "name", "jobs"}], "unchecked", '
  '"unapplied", "others", "left"}. Raises HA003 for a queue that does not exist, HA008 for a path that another job '
  'has.';

CREATE OR REPLACE FUNCTION haul.add_jobs(
  p_submission uuid, p_queue integer, p_store integer, p_batch integer, p_priority smallint, p_options jsonb,
  p_after interval, p_last bigint, OUT jobs bigint, OUT hosts integer[], OUT priorities smallint[], OUT heads bigint[])
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET work_mem = '64MB'
-- Whatever the planner thinks of the number of lines: as many are compared with as many.
SET enable_nestloop = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  WITH gone AS (
    DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line <= p_last
    RETURNING s.submission, s.line, s.url, s.host, s.path, s.priority, s.options
  ), lines AS MATERIALIZED (
    -- Ids in the order of the lines. A line that repeats an earlier one draws one in vain.
    SELECT nextval('haul.job_id') AS id, haul.path_digest(g.path) AS digest, g.*
    FROM (SELECT * FROM gone ORDER BY gone.line) g
  ), names AS MATERIALIZED (
    -- Each host is looked up once.
    SELECT n.host, (SELECT h.id FROM haul.host_name h WHERE h.name = n.host) AS id
      FROM (SELECT DISTINCT l.host FROM lines l) n
  ), paths AS (
    -- One row a path, in key order: two submissions of the same paths wait for each other, never in a circle.
    INSERT INTO haul.dedupe (store, path_digest, job)
    SELECT p_store, l.digest, min(l.id) FROM lines l GROUP BY l.digest ORDER BY l.digest
    ON CONFLICT (store, path_digest) DO NOTHING
    RETURNING job
  ), left_over AS (
    INSERT INTO haul.staging (submission, line, url, host, path, priority, options)
    SELECT l.submission, l.line, l.url, l.host, l.path, l.priority, l.options FROM lines l
    WHERE NOT EXISTS (SELECT FROM paths p WHERE p.job = l.id)
  ), added AS (
    INSERT INTO haul.job (id, queue, host, batch, priority, submitted_at, url, path, options)
    SELECT l.id, p_queue, n.id, p_batch, coalesce(l.priority, p_priority), v_now, l.url, l.path,
      CASE WHEN l.options IS NULL THEN p_options ELSE p_options || l.options END
    FROM lines l JOIN paths p ON p.job = l.id JOIN names n ON n.host = l.host ORDER BY l.id
    RETURNING id, host, priority
  ), waiting AS (
    INSERT INTO haul.ready (queue, host, instance, priority, job)
    SELECT p_queue, a.host, 0, a.priority, a.id FROM added a WHERE coalesce(p_after, '0') <= '0'
    ORDER BY a.host, a.priority, a.id
  ), later AS (
    INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
    SELECT a.id, p_queue, a.host, 0, a.priority, v_now + p_after FROM added a WHERE p_after > '0'
  ), lanes AS (
    SELECT a.host, a.priority, min(a.id) AS head FROM added a WHERE coalesce(p_after, '0') <= '0' GROUP BY a.host,
      a.priority
  )
  SELECT (SELECT count(*) FROM added), array_agg(n.host), array_agg(n.priority), array_agg(n.head)
  INTO jobs, hosts, priorities, heads FROM lanes n;
END
$$;
COMMENT ON FUNCTION haul.add_jobs(uuid, integer, integer, integer, smallint, jsonb, interval, bigint) IS
  'Makes jobs of a submission''s lines up to p_last whose paths nobody has, and removes these lines. Returns how '
  'many, and the lanes that the caller arms, with the first job of each. p_after NULL or 0 = at once; else there are '
  'no lanes to arm.';

-- What each step of a submission begins with: its queue, which nobody deletes before this commits, its batch, made if
-- it is new, and how many lines the step is about, up to which one; their hosts are there then. Raises HA003 unknown
-- queue.
CREATE OR REPLACE FUNCTION haul.begin_step(
  p_submission uuid, p_queue text, p_batch text, p_limit integer,
  OUT queue haul.queue, OUT batch integer, OUT count bigint, OUT last bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  queue := haul.keep_queue(p_queue);
  PERFORM haul.require_submission(p_submission);
  SELECT count(*), max(f.line) INTO count, last FROM (
    SELECT s.line FROM haul.staging s WHERE s.submission = p_submission ORDER BY s.line LIMIT p_limit) f;
  PERFORM haul.ensure_partitions(count + 100000);
  batch := haul.ensure_batch(p_batch);
  PERFORM haul.ensure_hosts(ARRAY(
    SELECT s.host FROM haul.staging s WHERE s.submission = p_submission AND s.line <= last GROUP BY s.host));
END
$$;
COMMENT ON FUNCTION haul.begin_step(uuid, text, text, integer) IS
  'The queue of a submission, kept until the commit, its batch (NULL = none), how many of its lines the next step is '
  'about and the last of these (NULL = none is left). Makes batch, partitions and hosts that are missing. Raises '
  'HA003 for a queue, HA004 for a submission that is not there.';

-- The queue of that name, which is not deleted before this commits; of one that has been meanwhile the name is looked
-- for again. Raises HA003.
CREATE OR REPLACE FUNCTION haul.keep_queue(p_queue text) RETURNS haul.queue
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue haul.queue;
BEGIN
  LOOP
    v_queue := haul.queue_named(p_queue);
    PERFORM FROM haul.queue q WHERE q.id = v_queue.id AND q.deleted_at IS NULL FOR KEY SHARE;
    IF FOUND THEN
      RETURN v_queue;
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.keep_queue(text) IS
  'The queue of this name, locked FOR KEY SHARE, so that nobody deletes it before the commit. Raises HA003 where '
  'there is none.';

CREATE OR REPLACE FUNCTION haul.queue_named(p_queue text) RETURNS haul.queue
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue haul.queue;
BEGIN
  SELECT q.* INTO v_queue FROM haul.queue q WHERE q.name = p_queue AND q.deleted_at IS NULL;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no queue "%"', p_queue USING ERRCODE = 'HA003',
      HINT = coalesce('Queues: ' || (SELECT string_agg(name, ', ' ORDER BY name) FROM haul.queue WHERE deleted_at
        IS NULL),
        'Run ''haul store init'' first.');
  END IF;
  RETURN v_queue;
END
$$;
COMMENT ON FUNCTION haul.queue_named(text) IS
  'The queue of this name, unless it is deleted. Raises HA003 where there is none. Locks nothing.';

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
COMMENT ON FUNCTION haul.ensure_batch(text) IS 'The id of the batch of this name, made where it is new; NULL for NULL.';

CREATE OR REPLACE FUNCTION haul.requeue(p_jobs bigint[], p_completed boolean DEFAULT false,
  p_queue integer DEFAULT NULL)
RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
  v_orphan bigint;
BEGIN
  SELECT coalesce(array_agg(t.job), '{}') INTO v_jobs FROM (
    SELECT o.job FROM haul.outcome o WHERE o.job = ANY (p_jobs) AND (o.state <> 'completed' OR p_completed)
    ORDER BY o.job FOR UPDATE) t;
  -- None of their queues is deleted before this commits, unless it has been already.
  PERFORM FROM haul.queue q WHERE q.id IN (SELECT j.queue FROM haul.job j WHERE j.id = ANY (v_jobs)) ORDER BY q.id
    FOR KEY SHARE;
  UPDATE haul.job j SET queue = p_queue WHERE j.id = ANY (v_jobs) AND p_queue IS NOT NULL
    AND (SELECT q.deleted_at FROM haul.queue q WHERE q.id = j.queue) IS NOT NULL;
  SELECT j.id INTO v_orphan FROM haul.job j JOIN haul.queue q ON q.id = j.queue AND q.deleted_at IS NOT NULL
  WHERE j.id = ANY (v_jobs) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the queue of job % has been deleted', v_orphan USING ERRCODE = 'HA004',
      HINT = 'Submit its URL again, to a queue that is there.';
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
COMMENT ON FUNCTION haul.requeue(bigint[], boolean, integer) IS
  'Puts failed and cancelled jobs, with p_completed also completed ones, back into ready, with earlier attempts '
  'forgiven; out of a deleted queue to p_queue, HA004 where that is NULL. Returns those; the caller arms their '
  'lanes. Locks outcomes in job order.';

-- Lets completed jobs wait again with what they have brought kept, so that their sources are asked whether they still
-- have the same: the files stay until others are there. Returns those; the caller arms their lanes as its last step.
--
-- A job that waits or runs brings what its source has then, and is left as it is, as is one that has completed since
-- p_since. So nothing is claimable that a lease may still be about: an outcome is there only when no lease is. A file
-- that stood there before its job, which was told to skip it, may be somebody else's, and is left alone.
CREATE OR REPLACE FUNCTION haul.refresh_jobs(p_jobs bigint[], p_since timestamptz, p_queue integer) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  -- In one pass all that the caller will queue again besides.
  PERFORM FROM haul.outcome o WHERE o.job = ANY (p_jobs) ORDER BY o.job FOR UPDATE;
  WITH kept AS (
    INSERT INTO haul.refresh (job, path, bytes, digest, source)
    SELECT o.job, o.path, o.bytes, o.digest, o.source FROM haul.outcome o JOIN haul.job j ON j.id = o.job
    WHERE o.job = ANY (p_jobs) AND o.state = 'completed' AND o.finished_at < p_since
      AND (o.source IS NOT NULL OR j.options ->> 'if_exists' IS DISTINCT FROM 'skip')
    RETURNING job)
  SELECT coalesce(array_agg(k.job), '{}') INTO v_jobs FROM kept k;
  RETURN haul.requeue(v_jobs, true, p_queue);
END
$$;
COMMENT ON FUNCTION haul.refresh_jobs(bigint[], timestamptz, integer) IS
  'Queues jobs again that completed before p_since, and keeps what they brought until their sources have been asked '
  'for it anew; one that only skipped a file is left alone. Returns those; the caller arms their lanes. Locks the '
  'outcomes of all in job order.';
