CREATE OR REPLACE FUNCTION haul.export(p_selector jsonb, p_left boolean, p_after bigint, p_limit integer)
RETURNS TABLE (job bigint, url text, path text, priority smallint, options jsonb)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  RETURN QUERY
  SELECT j.id, j.url, j.path, j.priority, j.options
  FROM haul.job j LEFT JOIN haul.outcome o ON o.job = j.id
  WHERE j.id > p_after AND (haul.ids(p_selector) IS NULL OR j.id = ANY (haul.ids(p_selector)))
    AND (p_selector -> 'batch' IS NULL
      OR j.batch = (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch'))
    AND (p_selector -> 'queue' IS NULL
      OR j.queue = (SELECT q.id FROM haul.queue q WHERE q.name = p_selector ->> 'queue'))
    AND (p_selector -> 'host' IS NULL
      OR j.host = (SELECT h.id FROM haul.host_name h WHERE h.name = p_selector ->> 'host'))
    AND (p_selector -> 'error' IS NULL OR haul.has_class(o.error, p_selector ->> 'error'))
    AND (p_selector -> 'state' IS NULL
      OR coalesce(o.state, (SELECT v.state FROM haul.jobs v WHERE v.job = j.id))::text = p_selector ->> 'state')
    AND (NOT p_left OR o.state IS DISTINCT FROM 'completed')
  ORDER BY j.id LIMIT p_limit;
END
$$;
COMMENT ON FUNCTION haul.export(jsonb, boolean, bigint, integer) IS
  'Returns up to p_limit jobs that match a selector and have ids above p_after, in the form in which they were '
  'submitted, with complete URLs. p_left: true = leave out completed jobs.';
