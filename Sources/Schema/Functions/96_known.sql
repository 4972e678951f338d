-- What the pool remembers of completed jobs that it has removed.

CREATE OR REPLACE FUNCTION haul.known_key(p_store integer, p_path text) RETURNS uuid
LANGUAGE sql STABLE STRICT AS $$
  SELECT encode(substring(sha256(convert_to(p_store || '/' || p_path, 'UTF8')) FROM 1 FOR 16), 'hex')::uuid
$$;
COMMENT ON FUNCTION haul.known_key(integer, text) IS
  'Returns the key of a path of a store in the table known: the first 16 bytes of a SHA-256 digest. Returns NULL for '
  'NULL.';

CREATE OR REPLACE FUNCTION haul.url_key(p_url text) RETURNS bigint
LANGUAGE sql STABLE STRICT AS $$
  SELECT ('x' || encode(substring(sha256(convert_to(p_url, 'UTF8')) FROM 1 FOR 8), 'hex'))::bit(64)::bigint
$$;
COMMENT ON FUNCTION haul.url_key(text) IS
  'Returns the first 8 bytes of the SHA-256 digest of a URL, by which the table known tells URLs of one path apart. '
  'Returns NULL for NULL.';

CREATE OR REPLACE FUNCTION haul.known_files(p_paths text[])
RETURNS TABLE (store text, path text, finished_at timestamptz, bytes bigint, digest text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT s.name, u.path, n.finished_at, n.bytes, 'sha-256=' || encode(n.sha256, 'hex')
  FROM haul.store s CROSS JOIN unnest(p_paths) AS u(path)
  JOIN haul.known n ON n.key = haul.known_key(s.id, u.path)
  ORDER BY s.name, u.path
$$;
COMMENT ON FUNCTION haul.known_files(text[]) IS
  'Returns what the pool remembers of removed jobs with these paths: the store, when the job completed, and the length '
  'and digest of its file (NULL = not recorded).';

CREATE OR REPLACE FUNCTION haul.jobs_of_paths(p_paths text[]) RETURNS bigint[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp
SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  SELECT coalesce(array_agg(DISTINCT d.job), '{}')
  FROM haul.store s CROSS JOIN unnest(p_paths) AS u(path)
  JOIN haul.dedupe d ON d.store = s.id AND d.path_digest = haul.path_digest(u.path)
$$;
COMMENT ON FUNCTION haul.jobs_of_paths(text[]) IS
  'Returns the ids of the jobs that have one of these paths, in ascending order. There is at most one job for each '
  'path and store.';

CREATE OR REPLACE FUNCTION haul.known_lines(p_submission uuid, p_store integer, p_last bigint)
RETURNS TABLE (place tid, line bigint, path text, is_same boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- Check once whether there are any rows: in most pools, no line has to be looked up.
  IF EXISTS (SELECT FROM haul.known) THEN
    RETURN QUERY SELECT s.ctid, s.line, s.path, k.is_same FROM haul.staging s CROSS JOIN LATERAL (
      SELECT n.url_key = haul.url_key(s.url) AS is_same FROM haul.known n
      WHERE n.key = haul.known_key(p_store, s.path) LIMIT 1) k
    -- A later job of the path comes first.
    WHERE s.submission = p_submission AND s.line <= p_last AND NOT EXISTS (
      SELECT FROM haul.dedupe d WHERE d.store = p_store AND d.path_digest = haul.path_digest(s.path));
  END IF;
END
$$;
COMMENT ON FUNCTION haul.known_lines(uuid, integer, bigint) IS
  'Returns the staged rows of a submission up to line p_last whose path is in the table known and has no job: a '
  'completed job of this path was removed. A line of a list may have several rows. place: the ctid of the row. '
  'is_same: whether the removed job had the URL of the row.';

CREATE OR REPLACE FUNCTION haul.meet_known(
  p_submission uuid, p_store integer, p_last bigint, p_on_duplicate text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_places tid[];
  v_bad record;
BEGIN
  IF p_on_duplicate IN ('replace', 'refresh') THEN
    RETURN 0;
  END IF;
  SELECT array_agg(n.place) INTO v_places FROM haul.known_lines(p_submission, p_store, p_last) n;
  IF v_places IS NULL THEN
    RETURN 0;
  END IF;
  SELECT n.line, n.path INTO v_bad FROM haul.known_lines(p_submission, p_store, p_last) n
  WHERE p_on_duplicate = 'error' OR NOT n.is_same ORDER BY n.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: a job that has completed and was removed has the path "%"', v_bad.line, v_bad.path
      USING ERRCODE = 'HA008', HINT = 'Give this line another path.';
  END IF;
  DELETE FROM haul.staging s WHERE s.ctid = ANY (v_places);
  RETURN cardinality(v_places);
END
$$;
COMMENT ON FUNCTION haul.meet_known(uuid, integer, bigint, text) IS
  'Deletes the staged rows of a submission up to line p_last whose path is in the table known, and returns their '
  'number. Raises HA008 if the URL of the removed job differs from the URL of the line, or if p_on_duplicate is error. '
  'Does nothing if p_on_duplicate is replace or refresh: settle_known() treats these lines when they are jobs.';

CREATE OR REPLACE FUNCTION haul.settle_known(p_store integer, p_first bigint, p_last bigint, p_on_duplicate text)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  IF p_first IS NULL OR NOT EXISTS (SELECT FROM haul.known) THEN
    RETURN;
  END IF;
  -- Other sessions may have created jobs with ids in this range.
  v_jobs := ARRAY(
    SELECT j.id FROM haul.job j WHERE j.id >= p_first AND j.id <= p_last
      AND (SELECT n.key FROM haul.known n WHERE n.key = haul.known_key(p_store, j.path)) IS NOT NULL
      AND (SELECT d.job FROM haul.dedupe d
        WHERE d.store = p_store AND d.path_digest = haul.path_digest(j.path)) = j.id);
  IF v_jobs = '{}' THEN
    RETURN;
  END IF;
  IF p_on_duplicate NOT IN ('replace', 'refresh') THEN
    RAISE EXCEPTION 'a job was just removed' USING ERRCODE = 'HA010';
  END IF;
  -- The files of the removed jobs may still exist, so the new jobs replace them.
  UPDATE haul.job j SET options = '{"if_exists": "replace"}' || j.options WHERE j.id = ANY (v_jobs);
END
$$;
COMMENT ON FUNCTION haul.settle_known(integer, bigint, bigint, text) IS
  'Looks for new jobs with ids from p_first to p_last whose paths are in the table known. If p_on_duplicate is replace '
  'or refresh, makes these jobs replace their files, unless their options say otherwise. Otherwise raises HA010, '
  'because prune() has removed the earlier jobs after meet_known() had looked.';

CREATE OR REPLACE FUNCTION haul.known_jobs(p_store integer, p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM haul.known) THEN
    RETURN '{}';
  END IF;
  RETURN ARRAY(SELECT j.id FROM haul.job j WHERE j.id = ANY (p_jobs)
    AND (SELECT n.key FROM haul.known n WHERE n.key = haul.known_key(p_store, j.path)) IS NOT NULL);
END
$$;
COMMENT ON FUNCTION haul.known_jobs(integer, bigint[]) IS
  'Returns those of p_jobs whose paths are in the table known: an earlier job of the same path has completed, so the '
  'file at this path belongs to the pool.';
