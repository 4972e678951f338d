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

CREATE OR REPLACE FUNCTION haul.known_lines(p_submission uuid, p_store integer, p_last bigint)
RETURNS TABLE (line bigint, key uuid, is_same boolean)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- Check once whether there are any rows: in most pools, no line has to be looked up.
  IF EXISTS (SELECT FROM haul.known) THEN
    RETURN QUERY SELECT s.line, k.key, k.is_same FROM haul.staging s CROSS JOIN LATERAL (
      SELECT n.key, n.url_key = haul.url_key(s.url) AS is_same FROM haul.known n
      WHERE n.key = haul.known_key(p_store, s.path) LIMIT 1) k
    WHERE s.submission = p_submission AND s.line <= p_last;
  END IF;
END
$$;
COMMENT ON FUNCTION haul.known_lines(uuid, integer, bigint) IS
  'Returns the lines of a submission up to p_last whose path is in the table known: a completed job of this path was '
  'removed. is_same: whether that job had the URL of the line.';

CREATE OR REPLACE FUNCTION haul.meet_known(
  p_submission uuid, p_store integer, p_last bigint, p_on_duplicate text, OUT skipped bigint, OUT keys uuid[])
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_lines bigint[];
  v_bad record;
BEGIN
  skipped := 0;
  SELECT array_agg(n.line), array_agg(DISTINCT n.key) INTO v_lines, keys
  FROM haul.known_lines(p_submission, p_store, p_last) n;
  IF v_lines IS NULL OR p_on_duplicate IN ('replace', 'refresh') THEN
    RETURN;
  END IF;
  keys := NULL;
  SELECT s.line, s.path INTO v_bad FROM haul.known_lines(p_submission, p_store, p_last) n
  JOIN haul.staging s ON s.submission = p_submission AND s.line = n.line
  WHERE p_on_duplicate = 'error' OR NOT n.is_same ORDER BY s.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: a job that has completed and was removed has the path "%"', v_bad.line, v_bad.path
      USING ERRCODE = 'HA008', HINT = 'Give this line another path.';
  END IF;
  DELETE FROM haul.staging s WHERE s.submission = p_submission AND s.line = ANY (v_lines);
  GET DIAGNOSTICS skipped = ROW_COUNT;
END
$$;
COMMENT ON FUNCTION haul.meet_known(uuid, integer, bigint, text) IS
  'Treats the lines of a submission up to p_last whose path is in the table known as p_on_duplicate says. skip: '
  'deletes these lines and returns their number (skipped). Raises HA008 if the URL of the removed job differs from the '
  'URL of the line, or if p_on_duplicate is error. replace or refresh: returns the keys of the paths, for '
  'settle_known(). keys is NULL if there are none.';

CREATE OR REPLACE FUNCTION haul.settle_known(p_keys uuid[], p_store integer, p_first bigint, p_last bigint)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  IF p_keys IS NULL THEN
    IF p_first IS NOT NULL AND EXISTS (SELECT FROM haul.known) AND EXISTS (
      SELECT FROM haul.job j WHERE j.id >= p_first AND j.id <= p_last AND (
        SELECT n.key FROM haul.known n WHERE n.key = haul.known_key(p_store, j.path)) IS NOT NULL) THEN
      RAISE EXCEPTION 'a job was just removed' USING ERRCODE = 'HA010';
    END IF;
    RETURN;
  END IF;
  -- The files of the removed jobs may still exist, so the new jobs replace them.
  UPDATE haul.job j SET options = '{"if_exists": "replace"}' || j.options
  WHERE j.id >= p_first AND j.id <= p_last AND haul.known_key(p_store, j.path) = ANY (p_keys)
    AND EXISTS (SELECT FROM haul.dedupe d
      WHERE d.store = p_store AND d.path_digest = haul.path_digest(j.path) AND d.job = j.id);
  DELETE FROM haul.known n WHERE n.key IN (
    SELECT k.key FROM haul.known k WHERE k.key = ANY (p_keys) ORDER BY k.key FOR UPDATE);
END
$$;
COMMENT ON FUNCTION haul.settle_known(uuid[], integer, bigint, bigint) IS
  'Ends what meet_known() has begun, after the jobs from p_first to p_last were created. If p_keys is NULL, raises '
  'HA010 if prune() has just removed a job of such a path. Otherwise makes the new jobs of these paths replace their '
  'files, unless their options say otherwise, and deletes the keys from the table known.';
