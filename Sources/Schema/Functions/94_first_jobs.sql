-- Finds the first jobs of all lanes. A lane contains the waiting jobs of one queue for one host. Its (priority, head)
-- is a lower bound for its jobs. Reads the lanes with the lowest bounds until no other lane can have an earlier job. So
-- the call does not read all waiting jobs.
CREATE OR REPLACE FUNCTION haul.first_ready(
  p_interrupted boolean, p_queue integer, p_host integer, p_limit integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_lanes bigint := p_limit;
  v_jobs bigint[];
  v_more boolean;
BEGIN
  LOOP
    WITH bound AS MATERIALIZED (
      SELECT n.*, row_number() OVER (ORDER BY n.priority, n.head) AS place FROM (
        SELECT l.queue, l.host, l.instance, l.priority, l.head FROM haul.lane l
        WHERE l.head IS NOT NULL AND (l.instance <> 0) = p_interrupted
          AND (p_queue IS NULL OR l.queue = p_queue) AND (p_host IS NULL OR l.host = p_host)
        ORDER BY l.priority, l.head LIMIT v_lanes + 1) n),
    early AS MATERIALIZED (
      SELECT r.priority, r.job FROM bound b CROSS JOIN LATERAL (
        SELECT r.priority, r.job FROM haul.ready r
        WHERE r.queue = b.queue AND r.host = b.host AND r.instance = b.instance
        ORDER BY r.priority, r.job LIMIT p_limit) r
      WHERE b.place <= v_lanes
      ORDER BY r.priority, r.job LIMIT p_limit)
    SELECT ARRAY(SELECT e.job FROM early e ORDER BY e.priority, e.job),
      EXISTS (SELECT FROM bound b WHERE b.place > v_lanes AND (
        (SELECT count(*) FROM early) < p_limit
        OR (b.priority, b.head) < (SELECT e.priority, e.job FROM early e ORDER BY e.priority DESC, e.job DESC LIMIT 1)))
    INTO v_jobs, v_more;
    EXIT WHEN NOT v_more;
    v_lanes := v_lanes * 8;
  END LOOP;
  RETURN v_jobs;
END
$$;
COMMENT ON FUNCTION haul.first_ready(boolean, integer, integer, integer) IS
  'Returns the ids of the first p_limit jobs that workers may claim, in the order of their priority. Within one '
  'priority, the oldest come first. p_interrupted: true = only jobs with a part file, false = only the others. '
  'p_queue: only jobs of this queue; NULL = any. p_host: only jobs of this host; NULL = any.';

-- Finds the oldest waiting job of each queue. Reads only the first job of each priority in each lane. For most lanes,
-- it reads two index entries, however many jobs wait.
CREATE OR REPLACE FUNCTION haul.oldest_ready() RETURNS TABLE (queue integer, job bigint, submitted_at timestamptz)
LANGUAGE plpgsql STABLE ROWS 10 SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off
SET enable_sort = off AS $$
BEGIN
  RETURN QUERY
  WITH RECURSIVE first AS (
    SELECT l.queue, l.host, l.instance, r.priority, r.job FROM haul.lane l CROSS JOIN LATERAL (
      -- The head is a lower bound. With it, the search skips old index entries of claimed jobs.
      SELECT r.priority, r.job FROM haul.ready r
      WHERE r.queue = l.queue AND r.host = l.host AND r.instance = l.instance
        AND (r.priority, r.job) >= (l.priority, l.head)
      ORDER BY r.priority, r.job LIMIT 1) r
    WHERE l.head IS NOT NULL
    UNION ALL
    SELECT f.queue, f.host, f.instance, r.priority, r.job FROM first f CROSS JOIN LATERAL (
      SELECT r.priority, r.job FROM haul.ready r
      WHERE r.queue = f.queue AND r.host = f.host AND r.instance = f.instance AND r.priority > f.priority
      ORDER BY r.priority, r.job LIMIT 1) r)
  SELECT o.queue, o.job, j.submitted_at FROM (SELECT f.queue, min(f.job) AS job FROM first f GROUP BY f.queue) o
  JOIN haul.job j ON j.id = o.job;
END
$$;
COMMENT ON FUNCTION haul.oldest_ready() IS
  'Returns the waiting job with the lowest id of each queue that has waiting jobs. Scheduled and paused jobs do not '
  'count. The duration of the call depends on the number of hosts with waiting jobs, not on the number of jobs.';

-- Finds the jobs that a list shows first. A list reads the rows of haul.jobs by these ids, because sorting the view
-- would read all of it.
CREATE OR REPLACE FUNCTION haul.first_jobs(p_selector jsonb, p_limit integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
-- PostgreSQL plans each call, and leaves out the conditions that the selector does not have.
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_batch integer := (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch');
  v_queue integer := (SELECT q.id FROM haul.queue q WHERE q.name = p_selector ->> 'queue');
  v_host integer := (SELECT h.id FROM haul.host_name h WHERE h.name = p_selector ->> 'host');
  v_error text := p_selector ->> 'error';
  v_narrows boolean := coalesce(v_batch, v_queue, v_host) IS NOT NULL;
  v_state haul.job_state;
  v_jobs bigint[] := '{}';
BEGIN
  IF p_selector <> '{}' THEN
    PERFORM haul.check_selector(p_selector);
  END IF;
  FOREACH v_state IN ARRAY
    '{running,interrupted,queued,scheduled,paused,failed,cancelled,completed}'::haul.job_state[]
  LOOP
    EXIT WHEN cardinality(v_jobs) >= p_limit;
    CONTINUE WHEN v_state::text <> p_selector ->> 'state';
    IF v_state IN ('failed', 'cancelled', 'completed') THEN
      v_jobs := v_jobs || ARRAY(
        SELECT o.job FROM haul.outcome o LEFT JOIN haul.job j ON v_narrows AND j.id = o.job
        WHERE o.state = v_state AND (v_ids IS NULL OR o.job = ANY (v_ids))
          AND (v_error IS NULL OR o.state <> 'completed' AND haul.has_class(o.error, v_error))
          AND (v_batch IS NULL OR j.batch = v_batch) AND (v_queue IS NULL OR j.queue = v_queue)
          AND (v_host IS NULL OR j.host = v_host)
        ORDER BY o.job DESC LIMIT p_limit - cardinality(v_jobs));
    ELSIF v_error IS NULL AND v_state IN ('interrupted', 'queued') AND v_ids IS NULL AND v_batch IS NULL THEN
      v_jobs := v_jobs || haul.first_ready(
        v_state = 'interrupted', v_queue, v_host, p_limit - cardinality(v_jobs));
    ELSIF v_error IS NULL THEN
      v_jobs := v_jobs || ARRAY(
        SELECT w.job FROM (
          SELECT l.job, l.queue, l.host, 'running'::haul.job_state AS state, 0 AS priority, l.started_at AS at
          FROM haul.lease l
          UNION ALL
          SELECT r.job, r.queue, r.host, 'interrupted', r.priority, NULL FROM haul.ready r WHERE r.instance <> 0
          UNION ALL
          SELECT r.job, r.queue, r.host, 'queued', r.priority, NULL FROM haul.ready r WHERE r.instance = 0
          UNION ALL
          SELECT s.job, s.queue, s.host, 'scheduled', 0, s.run_at FROM haul.scheduled s
          UNION ALL
          SELECT h.job, h.queue, h.host, 'paused', h.priority, h.run_at FROM haul.held h) w
        LEFT JOIN haul.job j ON v_batch IS NOT NULL AND j.id = w.job
        WHERE w.state = v_state AND (v_ids IS NULL OR w.job = ANY (v_ids))
          AND (v_batch IS NULL OR j.batch = v_batch) AND (v_queue IS NULL OR w.queue = v_queue)
          AND (v_host IS NULL OR w.host = v_host)
        ORDER BY w.priority, w.at NULLS FIRST, w.job LIMIT p_limit - cardinality(v_jobs));
    END IF;
  END LOOP;
  RETURN v_jobs;
END
$$;
COMMENT ON FUNCTION haul.first_jobs(jsonb, integer) IS
  'Returns the ids of the first p_limit jobs that match a selector ({} = all), in list order: running, interrupted, '
  'queued, scheduled, paused, failed, cancelled, completed. Waiting jobs come in the order in which they start: by '
  'priority, oldest first. Scheduled jobs are ordered by start time. Ended jobs are listed newest first. If the '
  'selector has "batch", reads all waiting jobs. On a large pool, also reads all ended jobs if the selector matches '
  'few of them. Raises HA003 and HA004 like check_selector().';
