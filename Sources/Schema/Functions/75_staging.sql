-- How a list becomes jobs: begin_submission(), then COPY into `staging` in as many transactions as its sender likes,
-- then check_submission(), then submit() until nothing is left, then end_submission().
--
-- Why not all in one transaction?
-- 1. A list of ten million lines would hold back VACUUM for minutes. Claims would step over all rows claimed meanwhile.
-- 2. Every other submission that meets one of its hosts or paths would wait for its end.
-- 3. After an interruption all work would start again.
-- So every line is read and checked before the first job exists, but the jobs come in transactions of at most p_limit
-- lines. A list within that limit is all or nothing. If a longer one breaks off, some of its jobs are there, and the
-- same submission again skips them.
--
-- How does the leader know that a sender is dead? Behind a pooler the sender has no session of its own. So it renews
-- its submission from time to time. Each step locks the submission and renews it again at its end, however long the
-- step takes. The leader marks a dead submission before it removes the first line. If the sender comes back, it can
-- then neither add lines nor make jobs of the rest.

CREATE OR REPLACE FUNCTION haul.submission_patience() RETURNS interval
LANGUAGE sql IMMUTABLE RETURN interval '2 minutes';
COMMENT ON FUNCTION haul.submission_patience() IS
  'How long the sender of a submission may be silent before its staged lines are removed.';

CREATE OR REPLACE FUNCTION haul.begin_submission(p_queue text, p_renewed boolean DEFAULT false) RETURNS uuid
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_id uuid;
  v_key bigint;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.queue_named(p_queue);
  PERFORM haul.heed_origin(true);
  -- Programs that do not know renewals have a session.
  IF NOT p_renewed THEN
    v_key := haul.lock_session();
  END IF;
  INSERT INTO haul.submission (session_key) VALUES (v_key) RETURNING id INTO v_id;
  RETURN v_id;
END
$$;
COMMENT ON FUNCTION haul.begin_submission(text, boolean) IS
  'Begins a submission to a queue and returns its key. Lines are then copied into haul.staging (submission, line, '
  'url, host, path, priority, options). It lives as long as this session; or, with p_renewed, as long as '
  'renew_submission() is called in time. Raises HA003 for a queue that does not exist.';

CREATE OR REPLACE FUNCTION haul.renew_submission(p_submission uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  PERFORM haul.require_read_committed();
  UPDATE haul.submission s SET renewed_at = clock_timestamp() WHERE s.id = p_submission AND s.renewed_at > '-infinity';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the submission has ended before its time: its sender was silent for too long, its session has '
      'ended, or the database has crashed' USING ERRCODE = 'HA007',
      HINT = 'Submit the list again: lines that are jobs already are skipped.';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.renew_submission(uuid) IS
  'Says that the sender of a submission lives; call it at least twice in submission_patience(). Call it also before '
  'and after COPY, in the same transaction: until the commit nobody clears the submission. Raises HA007 if it has '
  'ended. Locks the submission.';

CREATE OR REPLACE FUNCTION haul.end_submission(p_submission uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  DELETE FROM haul.staging s WHERE s.submission = p_submission;
  PERFORM pg_advisory_unlock(s.session_key) FROM haul.submission s
  WHERE s.id = p_submission AND s.session_key IS NOT NULL;
  DELETE FROM haul.submission s WHERE s.id = p_submission;
END
$$;
COMMENT ON FUNCTION haul.end_submission(uuid) IS 'Forgets a submission and whatever of it is still staged.';

CREATE OR REPLACE FUNCTION haul.clear_submissions(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_silent_since timestamptz := clock_timestamp() - haul.submission_patience();
  -- After a gap in the leader's rounds it may have been the database that was away, or its clock was set forward.
  v_watched timestamptz := (SELECT p.watched_since FROM haul.pulse p);
  v_dead record;
  v_count integer;
  v_cleared integer := 0;
BEGIN
  PERFORM haul.require_read_committed();
  FOR v_dead IN
    SELECT s.id, s.session_key, s.renewed_at = '-infinity' AS marked FROM haul.submission s
    WHERE s.session_key IS NOT NULL OR s.renewed_at = '-infinity'
      OR greatest(s.renewed_at, v_watched) < v_silent_since
    ORDER BY s.id FOR UPDATE SKIP LOCKED
  LOOP
    CONTINUE WHEN NOT v_dead.marked AND NOT pg_try_advisory_xact_lock(v_dead.session_key);
    UPDATE haul.submission s SET renewed_at = '-infinity' WHERE s.id = v_dead.id AND NOT v_dead.marked;
    DELETE FROM haul.staging s WHERE s.ctid = ANY (ARRAY(
      SELECT t.ctid FROM haul.staging t WHERE t.submission = v_dead.id LIMIT p_limit - v_cleared));
    GET DIAGNOSTICS v_count = ROW_COUNT;
    v_cleared := v_cleared + v_count;
    EXIT WHEN v_cleared >= p_limit;
    DELETE FROM haul.submission s WHERE s.id = v_dead.id;
  END LOOP;
  RETURN v_cleared;
END
$$;
COMMENT ON FUNCTION haul.clear_submissions(integer) IS
  'Housekeeping: removes up to p_limit staged lines of submissions whose senders were silent for '
  'submission_patience(), or whose sessions have ended. Returns how many.';

CREATE OR REPLACE FUNCTION haul.origin_of(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN split_part(p_url, '/', 1) || '/' || split_part(p_url, '/', 2) || '/' || split_part(p_url, '/', 3);
COMMENT ON FUNCTION haul.origin_of(text) IS 'The beginning of a URL that says what its host is.';

-- Under other names a submitter could start more at a host than its limit allows.
CREATE OR REPLACE FUNCTION haul.lines_of_other_hosts(p_submission uuid, p_last bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  -- OFFSET 0: each host is read once, not once for each line.
  v_wrong bigint[] := ARRAY(
    SELECT hashtextextended(g.host || ' ' || g.origin, 0) FROM (
      SELECT s.host, haul.origin_of(s.url) AS origin FROM haul.staging s
      WHERE s.submission = p_submission AND s.line <= p_last GROUP BY 1, 2 OFFSET 0) g
    WHERE haul.host_of(g.origin) IS DISTINCT FROM g.host);
BEGIN
  IF v_wrong = '{}' THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(
    SELECT s.line FROM haul.staging s WHERE s.submission = p_submission AND s.line <= p_last
      AND hashtextextended(s.host || ' ' || haul.origin_of(s.url), 0) = ANY (v_wrong) ORDER BY s.line);
END
$$;
COMMENT ON FUNCTION haul.lines_of_other_hosts(uuid, bigint) IS
  'The lines of a submission up to p_last whose host is not that of their URL by host_of(). Locks nothing.';

CREATE OR REPLACE FUNCTION haul.refuse_host(p_line bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF p_line IS NOT NULL THEN
    RAISE EXCEPTION 'line %: its host is not that of its URL', p_line USING ERRCODE = 'HA004';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.refuse_host(bigint) IS
  'Raises HA004 for this line, whose host is not that of its URL; NULL = there is none.';

CREATE OR REPLACE FUNCTION haul.check_submission(
  p_submission uuid, p_queue text, p_on_duplicate text, p_remove boolean, p_limit integer,
  p_staged bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off SET work_mem = '64MB'
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  v_queue record;
  v_torn bigint[];
  v_lines bigint[] := '{}';
  v_others bigint[] := '{}';
  v_jobs bigint[] := '{}';
  v_files bigint[];
  v_below bigint[] := '{}';
  v_strange bigint[];
  v_removed bigint := 0;
  v_reply jsonb;
BEGIN
  PERFORM haul.require_read_committed();
  v_queue := haul.queue_named(p_queue);
  PERFORM haul.renew_submission(p_submission);
  IF p_staged <> (SELECT count(*) FROM haul.staging s WHERE s.submission = p_submission) THEN
    RAISE EXCEPTION 'not all of the % staged lines are there', p_staged USING ERRCODE = 'HA007',
      HINT = 'Submit the list again.';
  END IF;
  -- Paths that need a closer look, by their hashes: of millions of paths these fit where the texts would not.
  v_torn := ARRAY(
    SELECT hashtextextended(s.path, 0) FROM haul.staging s WHERE s.submission = p_submission GROUP BY 1
    HAVING CASE WHEN p_on_duplicate = 'error' THEN count(*) > 1
      ELSE min(hashtextextended(s.url, 0)) <> max(hashtextextended(s.url, 0)) END);
  IF v_torn <> '{}' THEN
    SELECT coalesce(array_agg(f.line), '{}'), coalesce(array_agg(f.first_line), '{}') INTO v_lines, v_others FROM (
      SELECT s.line, s.url, first_value(s.line) OVER of_path AS first_line, first_value(s.url) OVER of_path AS first_url
      FROM haul.staging s WHERE s.submission = p_submission AND hashtextextended(s.path, 0) = ANY (v_torn)
      WINDOW of_path AS (PARTITION BY s.path ORDER BY s.line)) f
    WHERE f.line <> f.first_line AND (p_on_duplicate = 'error' OR f.url <> f.first_url);
    v_jobs := array_fill(NULL::bigint, ARRAY[cardinality(v_lines)]);
  END IF;
  -- With the smallest character for a slash, what is below a path follows it at once.
  v_files := ARRAY(
    SELECT hashtextextended(k.path, 0) FROM (
      SELECT s.path, translate(s.path, '/', E'\x01') COLLATE "C" AS key,
        lead(translate(s.path, '/', E'\x01') COLLATE "C") OVER (
          ORDER BY translate(s.path, '/', E'\x01') COLLATE "C") AS next
      FROM haul.staging s WHERE s.submission = p_submission) k
    WHERE starts_with(k.next, k.key || E'\x01'));
  IF v_files <> '{}' THEN
    v_below := ARRAY(SELECT s.line FROM haul.staging s
      WHERE s.submission = p_submission AND hashtextextended(s.path, 0) = ANY (v_files));
    v_lines := v_lines || v_below;
    v_others := v_others || array_fill(NULL::bigint, ARRAY[cardinality(v_below)]);
    v_jobs := v_jobs || array_fill(NULL::bigint, ARRAY[cardinality(v_below)]);
  END IF;
  -- Asked once: in a new store no line needs to be looked up.
  IF p_on_duplicate <> 'replace' AND EXISTS (SELECT FROM haul.dedupe d WHERE d.store = v_queue.store) THEN
    SELECT v_lines || coalesce(array_agg(s.line), '{}'), v_jobs || coalesce(array_agg(d.job), '{}'),
      v_others || coalesce(array_agg(NULL::bigint), '{}') INTO v_lines, v_jobs, v_others
    FROM haul.staging s CROSS JOIN LATERAL (
      SELECT e.job FROM haul.dedupe e
      WHERE e.store = v_queue.store AND e.path_digest = haul.path_digest(s.path) LIMIT 1) d
    WHERE s.submission = p_submission AND (p_on_duplicate = 'error' OR NOT EXISTS (
      SELECT FROM haul.job j WHERE j.id = d.job AND j.url = s.url AND j.path = s.path));
  END IF;
  v_strange := haul.lines_of_other_hosts(p_submission, 9223372036854775807);
  v_lines := v_lines || v_strange;
  v_others := v_others || array_fill(NULL::bigint, ARRAY[cardinality(v_strange)]);
  v_jobs := v_jobs || array_fill(NULL::bigint, ARRAY[cardinality(v_strange)]);
  IF v_lines = '{}' THEN
    PERFORM haul.renew_submission(p_submission);
    RETURN '{"count": 0, "removed": 0, "first": []}';
  END IF;
  WITH wrong AS MATERIALIZED (
    SELECT u.line, max(u.other_line) AS other_line, max(u.job) AS job
    FROM unnest(v_lines, v_others, v_jobs) AS u(line, other_line, job) GROUP BY u.line
  ), first AS (
    SELECT w.*, w.line = ANY (v_below) AS directory, s.path, CASE WHEN w.line = ANY (v_strange) THEN s.host END AS host
    FROM (SELECT k.* FROM wrong k ORDER BY k.line LIMIT p_limit) w
    CROSS JOIN LATERAL (
      SELECT n.path, n.host FROM haul.staging n WHERE n.submission = p_submission AND n.line = w.line
      ORDER BY n.host IS NOT DISTINCT FROM haul.host_of(n.url) LIMIT 1) s
  )
  SELECT jsonb_build_object('count', (SELECT count(*) FROM wrong),
    'first', (SELECT jsonb_agg(to_jsonb(f) ORDER BY f.line) FROM first f)) INTO v_reply;
  IF p_remove THEN
    DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line = ANY (v_lines);
    GET DIAGNOSTICS v_removed = ROW_COUNT;
  END IF;
  PERFORM haul.renew_submission(p_submission);
  RETURN v_reply || jsonb_build_object('removed', v_removed);
END
$$;
COMMENT ON FUNCTION haul.check_submission(uuid, text, text, boolean, integer, bigint) IS
  'Which lines of a submission contradict each other or existing jobs, or have a host that is not that of their '
  'URL, before any line becomes a job. p_on_duplicate skip or refresh: the same URL for the same path is the same '
  'job, another URL is wrong. replace: lines only contradict each other, not earlier jobs. error: every path that '
  'is taken is wrong. p_remove takes these lines out of the submission. Returns {"count", "removed": jobs that '
  'these lines asked for and that are taken out, "first": [{"line", "path", "other_line", "job", "directory", '
  '"host"}]}, the first p_limit of them by line: "host" is one that is not that of the URL, "other_line" the '
  'earlier line with the path, else "job" has it, else, with "directory", other lines need the path as a directory. '
  'Raises HA003 for a queue that does not exist, HA007 for a submission that has ended or whose lines are not '
  'p_staged (NULL = any number).';

-- Whoever reads jobs must be able to show unknown options.
CREATE OR REPLACE FUNCTION haul.wrong_option(p_options jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN CASE WHEN p_options IS NULL THEN NULL WHEN jsonb_typeof(p_options) <> 'object' THEN 'options'
    -- As a text: pg_column_size() may see the compressed value of a row.
    WHEN octet_length(p_options::text) > 65536 THEN 'options' ELSE (
    SELECT e.key FROM jsonb_each(p_options) e WHERE NOT CASE
      WHEN e.value = 'null' THEN true
      WHEN e.key IN ('max_attempts', 'max_rescues', 'max_host_wait', 'connect_timeout', 'stall_timeout', 'length',
        'max_bytes',
          'max_rate') THEN CASE WHEN jsonb_typeof(e.value) = 'number' AND e.value::text ~ '^[0-9]{1,19}$'
        THEN e.value::numeric <= CASE WHEN e.key IN ('length', 'max_bytes', 'max_rate') THEN haul.largest_file()
          ELSE 1000000000 END ELSE false END
      WHEN e.key IN ('accept_unverified_length', 'content_disposition', 'record_digest', 'remote_time')
        THEN jsonb_typeof(e.value) = 'boolean'
      WHEN e.key IN ('digest', 'if_exists', 'credential', 'expect_type') THEN jsonb_typeof(e.value) = 'string'
      WHEN e.key = 'headers' THEN jsonb_typeof(e.value) = 'array'
        AND NOT jsonb_path_exists(e.value, '$[*] ? (@.type() <> "string")')
      WHEN e.key = 'mirrors' THEN CASE jsonb_typeof(e.value) WHEN 'array'
        THEN jsonb_array_length(e.value) BETWEEN 1 AND 16 AND NOT EXISTS (
          SELECT FROM jsonb_array_elements(e.value) AS m(url)
          WHERE jsonb_typeof(m.url) <> 'string' OR haul.host_of(m.url #>> '{}') IS NULL
            OR octet_length(m.url #>> '{}') > 8000) ELSE false END
      ELSE jsonb_typeof(e.value) IN ('number', 'string', 'boolean') END
    ORDER BY e.key LIMIT 1) END;
END
$$;
COMMENT ON FUNCTION haul.wrong_option(jsonb) IS
  'The first of a job''s options, by name, whose value is not of its kind. "options" where p_options is no object, '
  'NULL where all are right. Unknown options may have a number, a text or a truth value. All options together take '
  'at most 64 KiB, a URL at most 8,000 bytes, and numbers are written without a fraction.';

-- Options that were accepted before wrong_option() knew better must not stop a settlement.
CREATE OR REPLACE FUNCTION haul.number_option(p_options jsonb, p_name text) RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(p_options -> p_name) = 'number'
  THEN greatest(least((p_options -> p_name)::numeric, 1000000000), 0)::integer END;
COMMENT ON FUNCTION haul.number_option(jsonb, text) IS
  'The number of an option, from 0 to 1,000,000,000; NULL where it is absent or no number. Never raises.';

-- A job with such options would stop whoever claims or settles it.
CREATE OR REPLACE FUNCTION haul.require_options(
  p_options jsonb, p_submission uuid DEFAULT NULL, p_last bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_wrong record;
BEGIN
  IF haul.wrong_option(p_options) IS NOT NULL THEN
    RAISE EXCEPTION 'the option "%" has a value that it cannot have', haul.wrong_option(p_options)
      USING ERRCODE = 'HA004';
  END IF;
  IF p_options ? 'mirrors' THEN
    RAISE EXCEPTION 'mirrors belong to one file: give them to a line' USING ERRCODE = 'HA004';
  END IF;
  SELECT s.line, haul.wrong_option(s.options) AS option INTO v_wrong FROM haul.staging s
  WHERE s.submission = p_submission AND s.line <= coalesce(p_last, 9223372036854775807)
    AND s.options IS NOT NULL AND haul.wrong_option(s.options) IS NOT NULL
  ORDER BY s.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: the option "%" has a value that it cannot have', v_wrong.line, v_wrong.option
      USING ERRCODE = 'HA004';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.require_options(jsonb, uuid, bigint) IS
  'Raises HA004 for options that no worker can read: p_options, or those of a submission''s lines up to p_last (NULL '
  '= all lines).';
