CREATE OR REPLACE FUNCTION haul.manifest(
  p_selector jsonb, p_store text, p_complete boolean, p_after bigint, p_limit integer)
RETURNS TABLE (job bigint, store text, path text, url text, bytes bigint, digest text, validator text,
  finished_at timestamptz)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off
SET enable_sort = off AS $$
BEGIN
  -- With these settings PostgreSQL reads jobs in the order of their ids, whatever the planner knows, and stops after
  -- a page.
  IF p_selector <> '{}' AND p_after <= 0 THEN
    PERFORM haul.check_selector(p_selector);
  END IF;
  RETURN QUERY
  SELECT j.id, (SELECT s.name FROM haul.store s WHERE s.id = q.store), coalesce(o.path, j.path),
    CASE WHEN p_complete THEN haul.url_in_use(j.url, j.options, j.mirror)
      ELSE haul.redacted(haul.url_in_use(j.url, j.options, j.mirror)) END,
    o.bytes, coalesce('sha-256=' || encode(o.sha256, 'hex'), o.digest),
    left(coalesce(o.source ->> 'etag', o.source ->> 'modified'), 8192), o.finished_at
  FROM haul.job j
  JOIN haul.outcome o ON o.job = j.id AND o.job > p_after AND o.state = 'completed'
  -- LIMIT: look up the queue of each job.
  CROSS JOIN LATERAL (SELECT k.store FROM haul.queue k WHERE k.id = j.queue LIMIT 1) q
  WHERE j.id > p_after AND (haul.ids(p_selector) IS NULL OR j.id = ANY (haul.ids(p_selector)))
    AND (p_store IS NULL OR q.store = (SELECT s.id FROM haul.store s WHERE s.name = p_store))
    AND (p_selector -> 'batch' IS NULL
      OR j.batch = (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch'))
    AND (p_selector -> 'queue' IS NULL
      OR j.queue = (SELECT n.id FROM haul.queue n WHERE n.name = p_selector ->> 'queue'))
    AND (p_selector -> 'host' IS NULL
      OR j.host = (SELECT h.id FROM haul.host_name h WHERE h.name = p_selector ->> 'host'))
    AND NOT EXISTS (SELECT FROM haul.dedupe d
      WHERE d.store = q.store AND d.path_digest = haul.path_digest(j.path) AND d.job <> j.id)
    -- The server or the option if_exists may have chosen another name. A job that owns this name may have replaced the
    -- file since then.
    AND (o.path IS NULL OR o.path = j.path OR NOT EXISTS (
        SELECT FROM haul.dedupe d JOIN haul.outcome n ON n.job = d.job
        WHERE d.store = q.store AND d.path_digest = haul.path_digest(o.path) AND d.job <> j.id
          AND n.state = 'completed' AND n.finished_at >= o.finished_at)
      AND NOT EXISTS (SELECT FROM haul.known k
        WHERE k.key = haul.known_key(q.store, o.path) AND k.finished_at >= o.finished_at))
  ORDER BY j.id LIMIT least(greatest(p_limit, 0), 10000);
END
$$;
COMMENT ON FUNCTION haul.manifest(jsonb, text, boolean, bigint, integer) IS
  'Returns the finished files of up to p_limit (at most 10,000) completed jobs that match a selector and have ids '
  'above p_after. p_store: the store of the files; NULL = all stores. p_complete: true = complete URLs; false = URLs '
  'as redacted() shows them. validator: the ETag of the source, or else its Last-Modified value; NULL = unknown. '
  'bytes, digest: NULL = not recorded. Leaves out a file that another job has replaced. Ignores "state" and "error" '
  'in the selector.';
