-- Creates jobs from staged lines (75_staging.sql).

-- The planner does not know the size of staging. So submit() looks up by index what a line needs from other tables, and
-- stores it in the row of the line. No statement of submit() may read more of another table.

CREATE OR REPLACE FUNCTION haul.submit_step(
  p_submission uuid, p_queue text, p_batch text, p_priority smallint, p_options jsonb, p_after interval,
  p_on_duplicate text, p_others boolean, p_limit integer)
RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_step record := haul.begin_step(p_submission, p_queue, p_batch, p_limit);
  v_queue haul.queue := v_step.queue;
  v_last bigint := v_step.last;
  v_known bigint;
  v_added record;
  v_met bigint[] := '{}';
  v_met_lines bigint := 0;
  v_requeued bigint[] := '{}';
  v_refreshed bigint[] := '{}';
  v_differ jsonb := '{"elsewhere": [], "others": [], "unchecked": 0, "unapplied": 0}';
BEGIN
  PERFORM haul.require_options(p_options, p_submission, v_last);
  v_known := haul.meet_known(p_submission, v_queue.store, v_last, p_on_duplicate);
  v_added := haul.add_jobs(p_submission, v_queue.id, v_queue.store, v_step.batch, p_priority,
    v_queue.defaults || coalesce(p_options, '{}'), p_after, v_last);
  PERFORM haul.settle_known(v_queue.store, v_added.first, v_added.last, p_on_duplicate);
  -- The remaining lines have the path of an earlier job: a line with the same URL counts as that job, and a line with
  -- another URL is an error.
  IF v_added.jobs + v_known < v_step.count THEN
    v_met := haul.met_jobs(p_submission, v_queue.store, v_last, p_on_duplicate);
    SELECT a.requeued, a.refreshed INTO v_requeued, v_refreshed
    FROM haul.try_again(p_submission, v_queue, p_options, v_last, v_met, p_on_duplicate) a;
    PERFORM haul.require_owners(p_submission, v_last);
    v_differ := haul.compare_met(p_submission, v_queue.id, v_step.batch, p_options, v_last, v_met,
      v_requeued || v_refreshed, p_others);
    DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line <= v_last;
    GET DIAGNOSTICS v_met_lines = ROW_COUNT;
  END IF;

  -- Call arm() last, once for all lanes, because it locks lanes in key order.
  PERFORM haul.arm(array_agg(a.host), array_agg(a.queue), array_agg(a.instance), array_agg(a.priority),
    array_agg(a.head))
  FROM (
    SELECT u.host, v_queue.id AS queue, 0 AS instance, u.priority, u.head
    FROM unnest(v_added.hosts, v_added.priorities, v_added.heads) AS u(host, priority, head)
    UNION ALL
    SELECT r.host, r.queue, r.instance, r.priority, r.job FROM haul.ready r
    WHERE r.job = ANY (v_requeued || v_refreshed)) a;
  PERFORM pg_notify('haul', 'queues:all');
  PERFORM haul.renew_submission(p_submission);
  PERFORM haul.note_operation(CASE p_on_duplicate WHEN 'refresh' THEN 'submit, refresh' ELSE 'submit, queue again' END,
    concat_ws(', ', 'batch ' || p_batch, 'queue ' || p_queue), cardinality(v_requeued || v_refreshed),
    v_requeued || v_refreshed, p_batches => ARRAY[p_batch]);
  RETURN v_differ || jsonb_build_object('submitted', v_added.jobs, 'requeued', cardinality(v_requeued),
    'refreshed', cardinality(v_refreshed),
    'first', least(v_added.first, (SELECT min(m.job) FROM unnest(v_met) AS m(job))),
    'last', greatest(v_added.last, (SELECT max(m.job) FROM unnest(v_met) AS m(job))),
    -- Count these lines instead of deriving the number from v_step.count, so that a lost line is noticed.
    'skipped', v_known + v_met_lines - cardinality(v_requeued) - cardinality(v_refreshed),
    'left', EXISTS (SELECT FROM haul.staging s WHERE s.submission = p_submission AND s.line > coalesce(v_last, 0)));
END
$$;
COMMENT ON FUNCTION haul.submit_step(uuid, text, text, smallint, jsonb, interval, text, boolean, integer) IS
  'Implements submit(). Raises HA010 if prune() has just removed a job that this step has found.';

CREATE OR REPLACE FUNCTION haul.submit(
  p_submission uuid, p_queue text, p_batch text, p_priority smallint, p_options jsonb, p_after interval,
  p_on_duplicate text, p_others boolean, p_limit integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  FOR i IN 1..10 LOOP
    BEGIN
      RETURN haul.submit_step(p_submission, p_queue, p_batch, p_priority, p_options, p_after, p_on_duplicate, p_others,
        p_limit);
    EXCEPTION WHEN SQLSTATE 'HA010' THEN
      NULL;  -- the next attempt sees what prune() has changed
    END;
  END LOOP;
  RAISE EXCEPTION 'jobs of this list are being removed' USING ERRCODE = 'serialization_failure', HINT = 'Try again.';
END
$$;
COMMENT ON FUNCTION haul.submit(uuid, text, text, smallint, jsonb, interval, text, boolean, integer) IS
  'Creates jobs from the first p_limit lines of a submission, in one step: from all these lines or from none. Call it '
  'again while "left" is true. p_options, an object such as {"digest", "length", "if_exists", "max_attempts", '
  '"max_bytes", …}, apply to every line. The options and priority of a line take precedence. p_after: delay before the '
  'earliest start; NULL or 0 = no delay. p_on_duplicate: as for check_submission(), but wrong lines raise errors here. '
  'With refresh, completed jobs ask the server whether the file has changed. p_others: whether to return the ids of '
  'matching jobs that are not in this batch. Returns {"submitted": new jobs, "skipped": lines for which a job with the '
  'same URL exists or existed, "requeued": failed or cancelled jobs that wait again, with the options given now, '
  '"refreshed": completed jobs that ask the server again, "elsewhere": [{"kind", "name", "jobs"}], "unchecked", '
  '"unapplied", "others": ids for p_others, "first" and "last": lowest and highest id of the jobs that these lines '
  'created or matched (null = none), "left"}. The first four numbers add up to the number of lines in this step. '
  '"elsewhere" counts jobs in another batch, if a batch is given, or in another queue. "unchecked" counts jobs whose '
  'line has a digest that is not in the options of the job and is not the digest of its file. "unapplied" counts jobs '
  'that lack an option of their line other than digest and length. Raises HA003 if the queue does not exist, and HA004 '
  'for an invalid option or a host that is not the host of the URL. Raises HA007 if the submission has ended, and '
  'HA008 if another job has the path.';

CREATE OR REPLACE FUNCTION haul.add_jobs(
  p_submission uuid, p_queue integer, p_store integer, p_batch integer, p_priority smallint, p_options jsonb,
  p_after interval, p_last bigint, OUT jobs bigint, OUT hosts integer[], OUT priorities smallint[], OUT heads bigint[],
  OUT first bigint, OUT last bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET work_mem = '64MB'
-- No nested loop: both sides of a join have many rows, whatever the planner estimates.
SET enable_nestloop = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_wrong bigint;
BEGIN
  WITH gone AS (
    DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line <= p_last
    RETURNING s.submission, s.line, s.url, s.host, s.path, s.priority, s.options
  ), digests AS MATERIALIZED (
    SELECT haul.path_digest(g.path) AS digest, g.* FROM gone g
  ), lines AS MATERIALIZED (
    -- Ids follow the order of the lines. A line gets none if an earlier line or a job has its path.
    SELECT CASE WHEN f.is_first AND (SELECT d.job FROM haul.dedupe d
        WHERE d.store = p_store AND d.path_digest = f.digest) IS NULL THEN nextval('haul.job_id') END AS id, f.*
    FROM (SELECT g.*, row_number() OVER (PARTITION BY g.digest ORDER BY g.line) = 1 AS is_first FROM digests g
      ORDER BY g.line) f
  ), names AS MATERIALIZED (
    -- Each host is looked up once.
    SELECT n.host, (SELECT h.id FROM haul.host_name h WHERE h.name = n.host) AS id
      FROM (SELECT DISTINCT l.host FROM lines l) n
  ), origins AS MATERIALIZED (
    -- Check exactly the lines that this statement deletes, because other sessions may add lines until it begins.
    SELECT l.host, haul.origin_of(l.url) AS origin, min(l.line) AS line FROM lines l GROUP BY 1, 2
  ), paths AS (
    -- Insert one row per path, in key order, so that two submissions of the same paths wait for each other without a
    -- deadlock.
    INSERT INTO haul.dedupe (store, path_digest, job)
    SELECT p_store, l.digest, l.id FROM lines l WHERE l.id IS NOT NULL ORDER BY l.digest
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
  SELECT (SELECT count(*) FROM added), array_agg(n.host), array_agg(n.priority), array_agg(n.head),
    (SELECT min(o.line) FROM origins o WHERE haul.host_of(o.origin) IS DISTINCT FROM o.host),
    (SELECT min(a.id) FROM added a), (SELECT max(a.id) FROM added a)
  INTO jobs, hosts, priorities, heads, v_wrong, first, last FROM lanes n;
  PERFORM haul.refuse_host(v_wrong);
END
$$;
COMMENT ON FUNCTION haul.add_jobs(uuid, integer, integer, integer, smallint, jsonb, interval, bigint) IS
  'Creates jobs from those lines of a submission up to p_last whose paths are free, and removes these lines. p_after: '
  'delay before the start; NULL or 0 = no delay. Returns the number of jobs, the lowest and highest id, and the lanes '
  '(the waiting jobs of one queue for one host), each with its first job. If the start is delayed, there are no lanes. '
  'The caller must then call arm() for the lanes, so that workers can claim the jobs. Raises HA004 if the host of a '
  'line is not the host of the URL.';

CREATE OR REPLACE FUNCTION haul.begin_step(
  p_submission uuid, p_queue text, p_batch text, p_limit integer,
  OUT queue haul.queue, OUT batch integer, OUT count bigint, OUT last bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  queue := haul.keep_queue(p_queue);
  PERFORM haul.renew_submission(p_submission);
  SELECT max(f.line) INTO last FROM (
    SELECT s.line FROM haul.staging s WHERE s.submission = p_submission ORDER BY s.line LIMIT p_limit) f;
  -- A line of a list may name several URLs. All rows with the last line number belong to this step.
  SELECT count(*) INTO count FROM haul.staging s WHERE s.submission = p_submission AND s.line <= last;
  PERFORM haul.ensure_partitions(count + 100000);
  PERFORM haul.ensure_hosts(ARRAY(
    SELECT s.host FROM haul.staging s WHERE s.submission = p_submission AND s.line <= last GROUP BY s.host)
    || haul.mirror_hosts(p_submission, last));
  batch := haul.ensure_batch(p_batch);
END
$$;
COMMENT ON FUNCTION haul.begin_step(uuid, text, text, integer) IS
  'Begins a step of a submission with up to p_limit lines. Creates missing batches, partitions and hosts. Returns the '
  'queue, the batch (NULL = none), the number of lines in this step, and the highest line number in this step (NULL = '
  'no line is left). The queue cannot be deleted before the commit. Raises HA003 if the queue does not exist, and '
  'HA007 if the submission has ended. Locks the submission.';

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
  'Returns the queue with this name and locks it FOR KEY SHARE, so that it cannot be deleted before the commit. Looks '
  'the name up again if the queue was deleted meanwhile. Raises HA003 if there is no such queue.';

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
  'Returns the queue with this name, unless it is deleted. Raises HA003 if there is no such queue. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.ensure_batch(p_batch text) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_batch integer;
BEGIN
  IF p_batch IS NULL THEN
    RETURN NULL;
  END IF;
  LOOP
    -- Look first, because an INSERT uses up an id even if the batch exists.
    SELECT b.id INTO v_batch FROM haul.batch b WHERE b.name = p_batch FOR KEY SHARE;
    EXIT WHEN FOUND;
    INSERT INTO haul.batch (name) VALUES (p_batch) ON CONFLICT (name) DO NOTHING RETURNING id INTO v_batch;
    EXIT WHEN FOUND;
  END LOOP;
  RETURN v_batch;
END
$$;
COMMENT ON FUNCTION haul.ensure_batch(text) IS
  'Returns the id of the batch with this name. Creates the batch if it does not exist. Locks it FOR KEY SHARE, so that '
  'it cannot be removed before the commit. Returns NULL for NULL.';
