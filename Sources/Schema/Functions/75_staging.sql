-- How a list becomes jobs: begin_submission(), then COPY into `staging` in any number of transactions, then
-- check_submission(), then submit() until no lines are left, then end_submission().
--
-- Why not in one transaction?
-- 1. A list of ten million lines would hold back VACUUM for minutes. Claims would have to skip all rows that were
-- claimed meanwhile.
-- 2. Every other submission with the same hosts or paths would wait until this transaction ends.
-- 3. After an interruption, all work would start again.
-- So every line is read and checked before the first job exists, but jobs are created in transactions of at most
-- p_limit lines. A list within that limit becomes jobs completely or not at all. If a longer list is interrupted, some
-- of its jobs exist. If you submit the list again, Haul skips the lines of these jobs.
--
-- How does the leader (the session that runs maintenance) know that a sender is dead? Behind a connection pooler, the
-- sender has no session of its own. So the sender renews its submission from time to time. Each step locks the
-- submission and renews it again when the step ends, however long the step takes. The leader marks a dead submission
-- before it removes the first line. If the sender comes back later, it can no longer add lines or create jobs.

CREATE OR REPLACE FUNCTION haul.submission_patience() RETURNS interval
LANGUAGE sql IMMUTABLE RETURN interval '2 minutes';
COMMENT ON FUNCTION haul.submission_patience() IS
  'Returns how long a submission stays if its sender does not call renew_submission(). After this time, maintenance '
  'removes the lines of the submission.';

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
  -- A program that does not renew its submission has a session of its own.
  IF NOT p_renewed THEN
    v_key := haul.lock_session();
  END IF;
  INSERT INTO haul.submission (session_key) VALUES (v_key) RETURNING id INTO v_id;
  RETURN v_id;
END
$$;
COMMENT ON FUNCTION haul.begin_submission(text, boolean) IS
  'Begins a submission to a queue and returns its key. After the call, copy lines into haul.staging (submission, line, '
  'url, host, path, priority, options). If p_renewed is false, the submission ends with this session. If p_renewed is '
  'true, it ends when renew_submission() has not been called for submission_patience(). Raises HA003 if the queue does '
  'not exist.';

CREATE OR REPLACE FUNCTION haul.renew_submission(p_submission uuid) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  PERFORM haul.require_read_committed();
  UPDATE haul.submission s SET renewed_at = clock_timestamp() WHERE s.id = p_submission AND s.renewed_at > '-infinity';
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the submission has expired: its sender did not renew it for 2 minutes, its session has ended, or '
      'the database has crashed' USING ERRCODE = 'HA007',
      HINT = 'Submit the list again. Haul skips lines that are already jobs.';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.renew_submission(uuid) IS
  'Records that the sender of a submission is alive. Call it at least twice within submission_patience(). Also call it '
  'before and after COPY, in the same transaction, so that maintenance cannot remove the submission before the commit. '
  'Raises HA007 if the submission has ended. Locks the submission.';

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
COMMENT ON FUNCTION haul.end_submission(uuid) IS 'Deletes a submission and its staged lines.';

CREATE OR REPLACE FUNCTION haul.clear_submissions(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_silent_since timestamptz := clock_timestamp() - haul.submission_patience();
  -- After a gap in the leader's rounds, count silence from the end of the gap. The database may have been down, or its
  -- clock may have been set forward.
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
  'Maintenance: removes up to p_limit staged lines of submissions whose session has ended, or whose sender has not '
  'called renew_submission() for submission_patience(). Returns the number of lines.';

CREATE OR REPLACE FUNCTION haul.origin_of(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN split_part(p_url, '/', 1) || '/' || split_part(p_url, '/', 2) || '/' || split_part(p_url, '/', 3);
COMMENT ON FUNCTION haul.origin_of(text) IS 'Returns the part of a URL before the path. This part determines the host.';

-- If a line could have another host than its URL, a submitter could exceed the host's connection limit.
CREATE OR REPLACE FUNCTION haul.lines_of_other_hosts(p_submission uuid, p_last bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  -- OFFSET 0: parse each host once, not once per line.
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
  'Returns the numbers of wrong lines of a submission, up to line p_last: lines whose host is not the result of '
  'host_of() for their URL. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.refuse_host(p_line bigint) RETURNS void
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF p_line IS NOT NULL THEN
    RAISE EXCEPTION 'line %: the host of this line is not the host of its URL', p_line USING ERRCODE = 'HA004';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.refuse_host(bigint) IS
  'Raises HA004 with the message that the host in line p_line is not the host of the URL in this line. Does nothing if '
  'p_line is NULL.';

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
  v_known bigint[] := '{}';
  v_removed bigint := 0;
  v_reply jsonb;
BEGIN
  PERFORM haul.require_read_committed();
  v_queue := haul.queue_named(p_queue);
  PERFORM haul.renew_submission(p_submission);
  IF p_staged <> (SELECT count(*) FROM haul.staging s WHERE s.submission = p_submission) THEN
    RAISE EXCEPTION 'some of the % lines that this submission sent are missing', p_staged USING ERRCODE = 'HA007',
      HINT = 'Submit the list again.';
  END IF;
  -- Collect hashes of paths that need a closer check. Hashes of millions of paths fit into memory, but the paths would
  -- not.
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
  -- If "/" sorts as the smallest character, all paths below a path follow it directly.
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
  -- Check once whether the store has jobs: in a new store, no line has to be looked up.
  IF p_on_duplicate <> 'replace' AND EXISTS (SELECT FROM haul.dedupe d WHERE d.store = v_queue.store) THEN
    SELECT v_lines || coalesce(array_agg(s.line), '{}'), v_jobs || coalesce(array_agg(d.job), '{}'),
      v_others || coalesce(array_agg(NULL::bigint), '{}') INTO v_lines, v_jobs, v_others
    FROM haul.staging s CROSS JOIN LATERAL (
      SELECT e.job FROM haul.dedupe e
      WHERE e.store = v_queue.store AND e.path_digest = haul.path_digest(s.path) LIMIT 1) d
    WHERE s.submission = p_submission AND (p_on_duplicate = 'error' OR NOT EXISTS (
      SELECT FROM haul.job j WHERE j.id = d.job AND j.url = s.url AND j.path = s.path));
  END IF;
  IF p_on_duplicate IN ('skip', 'error') THEN
    v_known := ARRAY(SELECT n.line FROM haul.known_lines(p_submission, v_queue.store, 9223372036854775807) n
      WHERE p_on_duplicate = 'error' OR NOT n.is_same);
    v_lines := v_lines || v_known;
    v_others := v_others || array_fill(NULL::bigint, ARRAY[cardinality(v_known)]);
    v_jobs := v_jobs || array_fill(NULL::bigint, ARRAY[cardinality(v_known)]);
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
    SELECT w.*, w.line = ANY (v_below) AS directory, w.line = ANY (v_known) AS removed, s.path,
      CASE WHEN w.line = ANY (v_strange) THEN s.host END AS host
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
  'Finds wrong lines of a submission before any line becomes a job. A line is wrong if it contradicts another line or '
  'an existing job, or if its host is not the host of its URL. p_on_duplicate says what to do if an existing job has '
  'the path of a line. skip or refresh: if the job has the same URL, the line refers to this job; otherwise the line '
  'is wrong. replace: existing jobs do not make a line wrong. error: a line is wrong if a job or an earlier line has '
  'its path. p_remove: whether to remove the wrong lines from the submission. Returns {"count": number of wrong lines, '
  '"removed": number of jobs that will not be created because these lines were removed, "first": [{"line", "path", '
  '"other_line", "job", "directory", "removed", "host"}]}. "first" has the first p_limit wrong lines. "host" is the '
  'host of the line, if it is not the host of the URL. Otherwise "other_line" is the earlier line with the path, or '
  '"job" is the job with the path. "directory" is true if other lines need the path as a directory. "removed" is true '
  'if a completed job with the path was removed. Raises HA003 if the queue does not exist. Raises HA007 if the '
  'submission has ended or does not have p_staged lines (NULL = any number).';

-- Programs must be able to show options that they do not know. So the values of unknown options may have only simple
-- types.
CREATE OR REPLACE FUNCTION haul.wrong_option(p_options jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN CASE WHEN p_options IS NULL THEN NULL WHEN jsonb_typeof(p_options) <> 'object' THEN 'options' ELSE (
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
  'Returns the name of the first option, in alphabetical order, whose value has the wrong type or is out of range. '
  'Returns NULL if all values are right. Returns "options" if p_options is not an object. Known numeric options must '
  'be whole numbers. Each URL in "mirrors" may have at most 8,000 bytes. Unknown options may be any number, string or '
  'boolean.';

-- Claims do not check the size, because earlier versions accepted longer options, and a queue adds its defaults.
CREATE OR REPLACE FUNCTION haul.refused_option(p_options jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  -- Measure the text, because pg_column_size() may see the compressed value of a row.
  RETURN coalesce(haul.wrong_option(p_options),
    CASE WHEN octet_length((p_options - 'mirrors')::text) > 65536 THEN 'options' END);
END
$$;
COMMENT ON FUNCTION haul.refused_option(jsonb) IS
  'Returns the name of the first option that submit() refuses, or NULL if it refuses none. Usually this is the option '
  'that wrong_option() finds. If there is none, but p_options without "mirrors" exceeds 64 KiB, returns "options". '
  'Mirrors have their own limits.';

-- Options that earlier versions accepted must not keep a lease from ending.
CREATE OR REPLACE FUNCTION haul.number_option(p_options jsonb, p_name text) RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(p_options -> p_name) = 'number'
  THEN greatest(least((p_options -> p_name)::numeric, 1000000000), 0)::integer END;
COMMENT ON FUNCTION haul.number_option(jsonb, text) IS
  'Returns the number in an option, limited to the range from 0 to 1,000,000,000. Returns NULL if the option is '
  'missing or not a number. Never raises an error.';

-- If a job had an invalid option, every call that claims the job or ends its lease would fail.
CREATE OR REPLACE FUNCTION haul.require_options(
  p_options jsonb, p_submission uuid DEFAULT NULL, p_last bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_wrong record;
BEGIN
  IF haul.refused_option(p_options) IS NOT NULL THEN
    RAISE EXCEPTION 'the option "%" has an invalid value', haul.refused_option(p_options)
      USING ERRCODE = 'HA004';
  END IF;
  IF p_options ? 'mirrors' THEN
    RAISE EXCEPTION 'mirrors belong to one file: put them on the line of that file' USING ERRCODE = 'HA004';
  END IF;
  SELECT s.line, haul.refused_option(s.options) AS option INTO v_wrong FROM haul.staging s
  WHERE s.submission = p_submission AND s.line <= coalesce(p_last, 9223372036854775807)
    AND s.options IS NOT NULL AND haul.refused_option(s.options) IS NOT NULL
  ORDER BY s.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: the option "%" has an invalid value', v_wrong.line, v_wrong.option
      USING ERRCODE = 'HA004';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.require_options(jsonb, uuid, bigint) IS
  'Raises HA004 if refused_option() finds a wrong option in p_options or in the lines of a submission up to p_last '
  '(NULL = all lines). Also raises HA004 if p_options has mirrors, because mirrors belong to one file.';
