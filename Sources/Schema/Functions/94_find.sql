-- Finds one page of a list of jobs. A screen reads it every second, so the cost must not grow with the number of jobs.

CREATE OR REPLACE FUNCTION haul.newest_jobs(
  p_state text, p_error text, p_batch integer, p_before bigint, p_limit integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  -- Check states with few jobs first: each has its own table or index, so its jobs are found fast among millions.
  CASE
  WHEN p_state = 'running' THEN
    RETURN ARRAY(SELECT l.job FROM haul.lease l WHERE l.job < p_before ORDER BY l.job DESC LIMIT p_limit);
  WHEN p_state = 'scheduled' THEN
    RETURN ARRAY(SELECT s.job FROM haul.scheduled s WHERE s.job < p_before ORDER BY s.job DESC LIMIT p_limit);
  WHEN p_state = 'paused' THEN
    RETURN ARRAY(SELECT d.job FROM haul.held d WHERE d.job < p_before ORDER BY d.job DESC LIMIT p_limit);
  WHEN p_state = 'interrupted' THEN
    -- Sort by hold_until first, so that the planner uses the index of interrupted jobs instead of searching all waiting
    -- jobs.
    RETURN ARRAY(
      WITH parts AS MATERIALIZED (
        SELECT r.job FROM haul.ready r WHERE r.instance <> 0 AND r.job < p_before ORDER BY r.hold_until)
      SELECT p.job FROM parts p ORDER BY p.job DESC LIMIT p_limit);
  WHEN p_state = 'failed' THEN
    -- Go from one error class to the next, and read the newest jobs of each matching class.
    RETURN ARRAY(
      WITH RECURSIVE class AS (
        SELECT (SELECT min(o.error) FROM haul.outcome o WHERE o.state <> 'completed') AS error
        UNION ALL
        SELECT (SELECT min(o.error) FROM haul.outcome o WHERE o.state <> 'completed' AND o.error > c.error)
        FROM class c WHERE c.error IS NOT NULL)
      SELECT f.job FROM class c CROSS JOIN LATERAL (
        SELECT o.job FROM haul.outcome o WHERE o.error = c.error AND o.state <> 'completed' AND o.job < p_before
        ORDER BY o.job DESC LIMIT p_limit) f
      WHERE p_error IS NULL OR haul.has_class(c.error, p_error)
      ORDER BY f.job DESC LIMIT p_limit);
  WHEN p_batch IS NOT NULL THEN
    RETURN ARRAY(
      SELECT j.id FROM haul.job j WHERE j.batch = p_batch AND j.id < p_before ORDER BY j.id DESC LIMIT p_limit);
  WHEN p_state = 'cancelled' THEN
    -- Use the order of the index that has only jobs that did not complete.
    RETURN ARRAY(
      SELECT o.job FROM haul.outcome o WHERE o.error IS NULL AND o.state <> 'completed' AND o.job < p_before
      ORDER BY o.error DESC NULLS FIRST, o.job DESC LIMIT p_limit);
  WHEN p_state = 'completed' THEN
    RETURN ARRAY(SELECT o.job FROM haul.outcome o WHERE o.job < p_before ORDER BY o.job DESC LIMIT p_limit);
  WHEN p_state = 'queued' THEN
    RETURN ARRAY(SELECT r.job FROM haul.ready r WHERE r.job < p_before ORDER BY r.job DESC LIMIT p_limit);
  ELSE
    RETURN ARRAY(SELECT j.id FROM haul.job j WHERE j.id < p_before ORDER BY j.id DESC LIMIT p_limit);
  END CASE;
END
$$;
COMMENT ON FUNCTION haul.newest_jobs(text, text, integer, bigint, integer) IS
  'Returns the ids of the newest p_limit jobs below p_before that may match p_state, p_error (an error class of failed '
  'jobs) and p_batch; NULL = any. Uses one index, so the result may contain jobs that do not match all arguments. The '
  'caller must remove these jobs.';

CREATE OR REPLACE FUNCTION haul.find_jobs(
  p_selector jsonb, p_text text, p_before bigint, p_limit integer, p_look integer, OUT jobs bigint[], OUT older bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_limit integer := least(greatest(coalesce(p_limit, 1), 1), 1000);
  v_look integer := least(greatest(coalesce(p_look, 0), 0), 100000);
  v_ids bigint[] := haul.ids(p_selector);
  v_state text := p_selector ->> 'state';
  v_error text := p_selector ->> 'error';
  v_batch integer := (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch');
  v_queue integer := (SELECT q.id FROM haul.queue q WHERE q.name = p_selector ->> 'queue');
  v_host integer := (SELECT h.id FROM haul.host_name h WHERE h.name = p_selector ->> 'host');
  v_near bigint[];
BEGIN
  IF p_selector IS DISTINCT FROM '{}' THEN PERFORM haul.check_selector(p_selector); END IF;
  jobs := '{}';
  older := coalesce(p_before, 9223372036854775807);
  LOOP
    v_near := haul.newest_jobs(v_state, v_error, v_batch, older, v_limit);
    jobs := jobs || ARRAY(
      SELECT j.id FROM unnest(v_near) AS u(job) JOIN haul.job j ON j.id = u.job
      WHERE (v_ids IS NULL OR j.id = ANY (v_ids)) AND (v_batch IS NULL OR j.batch = v_batch)
        AND (v_queue IS NULL OR j.queue = v_queue) AND (v_host IS NULL OR j.host = v_host)
        AND (v_error IS NULL OR EXISTS (
          SELECT FROM haul.outcome o WHERE o.job = j.id AND haul.has_class(o.error, v_error)))
        AND (v_state IS NULL OR CASE v_state
          WHEN 'queued' THEN EXISTS (SELECT FROM haul.ready r WHERE r.job = j.id AND r.instance = 0)
          WHEN 'interrupted' THEN EXISTS (SELECT FROM haul.ready r WHERE r.job = j.id AND r.instance <> 0)
          WHEN 'running' THEN EXISTS (SELECT FROM haul.lease l WHERE l.job = j.id)
          WHEN 'scheduled' THEN EXISTS (SELECT FROM haul.scheduled s WHERE s.job = j.id)
          WHEN 'paused' THEN EXISTS (SELECT FROM haul.held d WHERE d.job = j.id)
          ELSE EXISTS (SELECT FROM haul.outcome o WHERE o.job = j.id AND o.state::text = v_state) END)
        AND (p_text IS NULL
          OR strpos(lower(coalesce((SELECT o.path FROM haul.outcome o WHERE o.job = j.id), j.path)), lower(p_text)) > 0
          OR strpos(lower(haul.redacted(haul.url_in_use(j.url, j.options, j.mirror))), lower(p_text)) > 0)
      ORDER BY j.id DESC);
    -- This is NULL if fewer than v_limit jobs were found, that is, at the end of the list.
    older := v_near[v_limit];
    v_look := v_look - v_limit;
    EXIT WHEN older IS NULL OR cardinality(jobs) >= v_limit OR v_look <= 0;
  END LOOP;
  IF cardinality(jobs) > v_limit THEN
    jobs := jobs[:v_limit];
    older := jobs[v_limit];
  END IF;
END
$$;
COMMENT ON FUNCTION haul.find_jobs(jsonb, text, bigint, integer, integer) IS
  'Returns up to p_limit jobs that match a selector ({} = all) with ids below p_before, newest first. p_text: only '
  'jobs whose path or URL contains this text, ignoring case; NULL = any. The URL is compared as the view jobs shows '
  'it. Reads at most about p_look jobs. older: the value of p_before for the next page; NULL = there are no more jobs.';
