-- On a large pool, the view jobs would read too many rows for this.
CREATE OR REPLACE FUNCTION haul.live_jobs(p_queue text, p_host text)
RETURNS TABLE (state haul.job_state, jobs bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_queue integer := (SELECT q.id FROM haul.queue q WHERE q.name = p_queue AND q.deleted_at IS NULL);
  v_host integer := (SELECT n.id FROM haul.host_name n WHERE n.name = p_host);
BEGIN
  RETURN QUERY
  SELECT n.state, sum(n.jobs)::bigint FROM (
    SELECT CASE WHEN r.instance = 0 THEN 'queued' ELSE 'interrupted' END::haul.job_state AS state, count(*) AS jobs
    FROM haul.ready r WHERE (p_queue IS NULL OR r.queue = v_queue) AND (p_host IS NULL OR r.host = v_host) GROUP BY 1
    UNION ALL
    SELECT 'scheduled', count(*) FROM haul.scheduled s
    WHERE (p_queue IS NULL OR s.queue = v_queue) AND (p_host IS NULL OR s.host = v_host)
    UNION ALL
    SELECT 'paused', count(*) FROM haul.held d
    WHERE (p_queue IS NULL OR d.queue = v_queue) AND (p_host IS NULL OR d.host = v_host)
    UNION ALL
    SELECT 'running', count(*) FROM haul.lease l
    WHERE (p_queue IS NULL OR l.queue = v_queue) AND (p_host IS NULL OR l.host = v_host)) n
  WHERE n.jobs > 0 GROUP BY 1 ORDER BY 1;
END
$$;
COMMENT ON FUNCTION haul.live_jobs(text, text) IS
  'Number of unfinished jobs in each state, of one queue or host; NULL = any. Reads no jobs that have ended.';

-- plpgsql instead of sql, so that each call is planned for the batches and jobs that it names.
CREATE OR REPLACE FUNCTION haul.causes(p_batches text[], p_jobs bigint[], p_ready jsonb DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  RETURN (
    WITH awaited AS NOT MATERIALIZED (
      SELECT b.job, b.queue, b.host, b.state, b.run_at, b.batch, b.last_error
      FROM haul.jobs b WHERE b.batch = ANY (p_batches)
      UNION ALL
      SELECT o.job, o.queue, o.host, o.state, o.run_at, o.batch, o.last_error
      FROM haul.jobs o WHERE o.job = ANY (p_jobs)),
    counted AS (
      SELECT r.queue, r.host, r.instance <> 0 AS interrupted, count(*) AS jobs, min(r.job) AS job FROM haul.ready r
      WHERE p_ready IS NOT NULL
        AND (p_ready ->> 'queue' IS NULL
          OR r.queue = (SELECT q.id FROM haul.queue q WHERE q.name = p_ready ->> 'queue' AND q.deleted_at IS NULL))
        AND (p_ready ->> 'host' IS NULL
          OR r.host = (SELECT n.id FROM haul.host_name n WHERE n.name = p_ready ->> 'host'))
      GROUP BY 1, 2, 3),
    parts AS MATERIALIZED (
      SELECT j.queue, j.host, j.state, CASE WHEN j.state = 'paused' THEN coalesce(j.batch, '') END AS batch,
        CASE WHEN j.state = 'scheduled' THEN j.last_error END AS error, count(*) AS jobs, min(j.job) AS job,
        -- The earliest scheduled start, and its job.
        min(ARRAY[extract(epoch FROM j.run_at), j.job]) FILTER (WHERE j.state = 'scheduled') AS next
      FROM awaited j WHERE j.state IN ('queued', 'interrupted', 'scheduled', 'paused')
      GROUP BY 1, 2, 3, 4, 5
      UNION ALL
      SELECT q.name, n.name, CASE WHEN c.interrupted THEN 'interrupted' ELSE 'queued' END::haul.job_state, NULL, NULL,
        c.jobs, c.job, NULL
      FROM counted c JOIN haul.queue q ON q.id = c.queue JOIN haul.host_name n ON n.id = c.host),
    waiting AS MATERIALIZED (
      SELECT p.queue, p.host, sum(p.jobs) AS jobs,
        coalesce(sum(p.jobs) FILTER (WHERE p.state <> 'scheduled'), 0) AS due, min(p.job) AS job,
        bool_or(p.state = 'interrupted') AS interrupted, bool_or(p.state = 'queued') AS is_free
      FROM parts p WHERE p.state <> 'paused' GROUP BY 1, 2),
    -- Without the columns that count waiting jobs.
    queues AS (
      SELECT q.queue, q.store, q.paused, q.running, q.max_running FROM haul.queues q
      WHERE q.queue IN (SELECT w.queue FROM waiting w)),
    -- The view hosts would check the lanes of each host.
    hosts AS MATERIALIZED (
      SELECT n.name AS host, h.in_flight AS running, haul.places(h.cap, h.failures) AS places, h.block_reason,
        CASE WHEN h.blocked_until > clock_timestamp() THEN h.blocked_until END AS blocked_until,
        CASE WHEN h.in_flight < h.policy_cap THEN CASE WHEN h.failures < 0 THEN 'unanswered' ELSE 'adaptive' END END
          AS lowered,
        haul.next_start(h.min_interval, h.burst, h.next_start) > clock_timestamp()
          AND h.min_interval >= interval '1 second' AS rests
      FROM haul.host_name n JOIN haul.host h ON h.id = n.id WHERE n.name IN (SELECT w.host FROM waiting w)),
    workers AS (
      SELECT w.worker, w.machine, w.pid, w.stores, w.queues, w.trouble, w.running, w.concurrency FROM haul.workers w
      WHERE w.state IN ('alive', 'silent')),
    serving AS MATERIALIZED (
      -- Trouble with another store does not affect this queue.
      SELECT q.queue, w.worker, w.machine, w.pid, w.running, w.concurrency,
        CASE WHEN starts_with(w.trouble, q.store || ': ') OR strpos(w.trouble, '; ' || q.store || ': ') > 0
          THEN w.trouble END AS trouble
      FROM queues q JOIN workers w ON q.store = ANY (w.stores) AND (w.queues IS NULL OR q.queue = ANY (w.queues))),
    -- Each cause with the queue, the host or both that it affects.
    lasting (kind, name, seconds, reason, running, places, queue, host) AS MATERIALIZED (
      SELECT 'unserved', q.queue, NULL::float8, NULL, NULL::bigint, NULL::bigint, q.queue, NULL::text FROM queues q
      WHERE NOT EXISTS (SELECT FROM serving s WHERE s.queue = q.queue)
      UNION ALL SELECT 'paused', q.queue, NULL, NULL, NULL, NULL, q.queue, NULL FROM queues q WHERE q.paused
      UNION ALL (
        SELECT DISTINCT ON (s.queue) 'trouble', format('worker %s (%s, pid %s)', s.worker, s.machine, s.pid),
          NULL::float8, s.trouble, NULL::bigint, NULL::bigint, s.queue, NULL::text
        FROM serving s WHERE NOT EXISTS (SELECT FROM serving o WHERE o.queue = s.queue AND o.trouble IS NULL)
        ORDER BY s.queue, s.worker)
      UNION ALL SELECT 'blocked', h.host, extract(epoch FROM nullif(h.blocked_until, 'infinity') - clock_timestamp()),
        h.block_reason, NULL, NULL, NULL, h.host
      FROM hosts h WHERE h.blocked_until IS NOT NULL),
    able AS MATERIALIZED (
      SELECT w.* FROM waiting w
      WHERE w.due > 0 AND w.queue NOT IN (SELECT k.queue FROM lasting k WHERE k.queue IS NOT NULL)
        AND w.host NOT IN (SELECT k.host FROM lasting k WHERE k.host IS NOT NULL)),
    passing (kind, name, seconds, reason, running, places, queue, host) AS MATERIALIZED (
      SELECT 'full', h.host, NULL::float8, h.lowered, h.running::bigint, h.places::bigint, NULL::text, h.host
      FROM hosts h WHERE h.running >= h.places AND h.host IN (SELECT a.host FROM able a)
      UNION ALL SELECT 'interval', h.host, NULL, NULL, NULL, NULL, NULL, h.host
      FROM hosts h WHERE h.running < h.places AND h.rests AND h.host IN (SELECT a.host FROM able a)
      UNION ALL SELECT 'limited', q.queue, NULL, NULL, q.running, q.max_running, q.queue, NULL FROM queues q
      WHERE q.running >= q.max_running AND q.queue IN (SELECT a.queue FROM able a)
      UNION ALL SELECT 'busy', s.queue, NULL, NULL, sum(s.running)::bigint, sum(s.concurrency), s.queue, NULL
      FROM serving s WHERE s.queue IN (SELECT a.queue FROM able a)
      GROUP BY s.queue HAVING bool_and(s.running >= s.concurrency)
      UNION ALL SELECT 'away', a.queue, NULL, NULL, NULL, NULL, a.queue, a.host FROM able a
      WHERE a.interrupted AND NOT a.is_free AND EXISTS (
        SELECT FROM haul.vitals v WHERE v.vital = 'stranded_lanes' AND v.subject = a.queue AND v.value > 0)),
    -- Join by queue and by host separately. With OR, each cause would be compared with all waiting jobs.
    concerned (kind, name, seconds, reason, running, places, queue, host, jobs, due) AS (
      SELECT k.*, w.jobs, w.due FROM lasting k JOIN waiting w ON w.queue = k.queue
      UNION ALL SELECT k.*, w.jobs, w.due FROM lasting k JOIN waiting w ON w.host = k.host
      UNION ALL SELECT k.*, a.due, a.due FROM passing k JOIN able a ON a.host = k.host WHERE k.queue IS NULL
      UNION ALL SELECT k.*, a.due, a.due FROM passing k JOIN able a ON a.queue = k.queue WHERE k.host IS NULL
      UNION ALL SELECT k.*, a.due, a.due FROM passing k JOIN able a ON a.queue = k.queue AND a.host = k.host),
    found AS (
      SELECT c.kind, c.name, min(c.seconds) AS seconds, min(c.reason) AS reason, min(c.running) AS running,
        min(c.places) AS places, sum(c.jobs) AS jobs, sum(c.due) AS due, NULL::bigint AS next
      FROM concerned c GROUP BY 1, 2
      UNION ALL
      SELECT 'held', p.batch, NULL, NULL, NULL, NULL, sum(p.jobs), 0, NULL
      FROM parts p WHERE p.state = 'paused' GROUP BY 2
      UNION ALL
      SELECT 'early', '', (min(p.next))[1] - extract(epoch FROM clock_timestamp()), p.error, NULL, NULL, sum(p.jobs), 0,
        (min(p.next))[2]::bigint
      FROM parts p WHERE p.state = 'scheduled' GROUP BY p.error),
    listed AS (
      SELECT f.*, row_number() OVER (ORDER BY f.kind IN ('unserved', 'paused', 'trouble', 'held')
        OR f.kind = 'blocked' AND f.seconds IS NULL DESC, f.jobs DESC, array_position(
          '{unserved,paused,trouble,blocked,held,full,interval,limited,busy,away,early}'::text[], f.kind),
        f.seconds, f.name) AS place
      FROM found f)
    SELECT json_build_object(
      'waiting', (SELECT coalesce(sum(w.jobs), 0) FROM waiting w),
      'due', (SELECT coalesce(sum(w.due), 0) FROM waiting w),
      'free', (SELECT coalesce(sum(a.due), 0) FROM able a
        WHERE a.host NOT IN (SELECT k.host FROM passing k WHERE k.queue IS NULL)
          AND a.queue NOT IN (SELECT k.queue FROM passing k WHERE k.host IS NULL)
          AND (a.queue, a.host) NOT IN (
            SELECT k.queue, k.host FROM passing k WHERE k.queue IS NOT NULL AND k.host IS NOT NULL)),
      'more', (SELECT greatest(count(*) - 100, 0) FROM found f),
      'causes', (SELECT coalesce(json_agg(to_json(v) ORDER BY v.place), '[]') FROM (
        SELECT l.place, l.kind, l.name, l.jobs, l.due, l.seconds, l.reason, l.running, l.places,
          (SELECT t.failures + 1 FROM haul.attempt_history(l.next) t) AS attempt,
          (SELECT coalesce(haul.number_option(j.options, 'max_attempts'), 5) FROM haul.job j WHERE j.id = l.next)
            AS max_attempts,
          (SELECT coalesce(haul.number_option(j.options, 'max_host_wait'), 86400) FROM haul.job j WHERE j.id = l.next)
            AS max_wait,
          CASE WHEN l.kind IN ('unserved', 'busy') THEN (
            -- Without --queue it serves all queues of the store.
            SELECT json_build_object('store', q.store, 'queue', m.queue,
              'schemes', ARRAY(
                SELECT DISTINCT s.scheme FROM (
                  SELECT (SELECT substring(j.url FROM '^(s?ftps?):') FROM haul.job j WHERE j.id = w.job) AS scheme
                  FROM waiting w JOIN queues o ON o.queue = w.queue
                  WHERE o.store = q.store AND o.queue = coalesce(m.queue, o.queue) ORDER BY w.job LIMIT 100) s
                WHERE s.scheme IS NOT NULL ORDER BY 1),
              'hosts', ARRAY(
                SELECT DISTINCT w.host FROM waiting w JOIN queues o ON o.queue = w.queue
                WHERE o.store = q.store AND o.queue = coalesce(m.queue, o.queue)
                  AND w.host ~ '^(localhost|[0-9.]+|\[.*\])(:[0-9]+)?$' ORDER BY 1 LIMIT 100))
            FROM queues q CROSS JOIN LATERAL (
              SELECT CASE WHEN EXISTS (
                SELECT FROM workers w WHERE q.store = ANY (w.stores)) THEN q.queue END AS queue) m
            WHERE q.queue = l.name) END AS start
        FROM listed l WHERE l.place <= 100) v)));
END
$$;
COMMENT ON FUNCTION haul.causes(text[], bigint[], jsonb) IS
  'Why jobs do not start. Covers the jobs of these batches, these jobs and, if p_ready is not NULL, the ready jobs of '
  'its "queue" and "host", which are only counted. Returns {"waiting": jobs that wait, "due": of these, jobs without '
  'a later start time, "free": of these, jobs without any cause, "more": causes left out, "causes"}. Lists at most '
  '100 causes: {"kind", "name", "jobs", "due", "seconds", "reason", "running", "places", "attempt", "max_attempts", '
  '"max_wait", "start"}. Causes that need an operator come first, then those that pass; within each group, causes '
  'with more jobs come first. A job may have several causes. Reads all named jobs.';

CREATE OR REPLACE FUNCTION haul.obstacle(p_batches text[], p_jobs bigint[]) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_causes json := haul.causes(p_batches, p_jobs);
BEGIN
  RETURN (
    SELECT c.cause FROM json_array_elements(v_causes -> 'causes') AS c(cause)
    CROSS JOIN LATERAL (
      SELECT c.cause ->> 'kind' AS kind, (c.cause ->> 'seconds')::float8 AS seconds, array_position(
        '{held,unserved,paused,trouble,blocked,full,interval,limited,busy,away,early}'::text[], c.cause ->> 'kind')
        AS rank) k
    WHERE CASE WHEN k.kind = 'held' THEN (v_causes ->> 'waiting')::bigint = 0 WHEN k.rank <= 4 THEN true
      WHEN (v_causes ->> 'free')::bigint > 0 THEN false
      WHEN k.kind = 'early' THEN (v_causes ->> 'due')::bigint = 0 AND k.seconds > 1 ELSE true END
    ORDER BY k.rank, k.seconds, (c.cause ->> 'place')::bigint LIMIT 1);
END
$$;
COMMENT ON FUNCTION haul.obstacle(text[], bigint[]) IS
  'The main reason why the waiting jobs of these batches, and these jobs, do not start: one of the causes of '
  'causes(). Prefers causes that need an operator. Returns a cause that passes only if it affects all the jobs. NULL '
  '= a job may start at any moment. Reads all the jobs.';
