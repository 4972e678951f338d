-- LANGUAGE plpgsql and not sql: each of its calls is planned for the batches and jobs that it names.
CREATE OR REPLACE FUNCTION haul.obstacle(p_batches text[], p_jobs bigint[]) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  RETURN (
    WITH awaited AS NOT MATERIALIZED (
      SELECT b.job, b.queue, b.host, b.state, b.run_at FROM haul.jobs b WHERE b.batch = ANY (p_batches)
      UNION ALL
      SELECT o.job, o.queue, o.host, o.state, o.run_at FROM haul.jobs o WHERE o.job = ANY (p_jobs)),
    waiting AS MATERIALIZED (
      SELECT j.queue, j.host, min(j.run_at) AS run_at, bool_or(j.run_at IS NULL) AS is_due,
        coalesce(min(j.job) FILTER (WHERE j.run_at IS NOT NULL), min(j.job)) AS job,
        bool_or(j.state = 'interrupted') AS interrupted, bool_or(j.state = 'queued') AS is_free
      FROM awaited j WHERE j.state IN ('queued', 'interrupted', 'scheduled')
      GROUP BY j.queue, j.host),
    -- Without the columns that count what waits.
    queues AS (
      SELECT q.queue, q.store, q.paused, q.running, q.max_running FROM haul.queues q
      WHERE q.queue IN (SELECT w.queue FROM waiting w)),
    hosts AS (
      SELECT h.host, h.why_idle, h.min_interval, h.blocked_until, h.block_reason, w.is_due
      FROM (SELECT w.host, bool_or(w.is_due) AS is_due FROM waiting w GROUP BY w.host) w JOIN haul.hosts h
        ON h.host = w.host),
    workers AS (
      SELECT w.worker, w.machine, w.pid, w.stores, w.queues, w.trouble, w.running, w.concurrency FROM haul.workers w
      WHERE w.state IN ('alive', 'silent')),
    serving AS (
      SELECT q.queue, w.worker, w.machine, w.pid, w.trouble, w.running, w.concurrency
      FROM queues q JOIN workers w ON q.store = ANY (w.stores) AND (w.queues IS NULL OR q.queue = ANY (w.queues))),
    -- Each with the queue or the host whose jobs it keeps.
    obstacles (rank, kind, name, seconds, reason, queue, host) AS (
      SELECT 0, 'held', '', NULL::float8, NULL, NULL::text, NULL::text
      WHERE NOT EXISTS (SELECT FROM waiting) AND EXISTS (SELECT FROM awaited j WHERE j.state = 'paused')
      UNION ALL SELECT 1, 'unserved', q.queue, NULL, NULL, q.queue, NULL FROM queues q
      WHERE NOT EXISTS (SELECT FROM serving s WHERE s.queue = q.queue)
      UNION ALL SELECT 2, 'paused', q.queue, NULL, NULL, q.queue, NULL FROM queues q WHERE q.paused
      UNION ALL SELECT 3, 'trouble', format('worker %s (%s, pid %s)', s.worker, s.machine, s.pid), NULL, s.trouble,
        s.queue, NULL
      FROM serving s WHERE NOT EXISTS (SELECT FROM serving o WHERE o.queue = s.queue AND o.trouble IS NULL)
      UNION ALL SELECT 4, 'blocked', h.host,
        extract(epoch FROM nullif(h.blocked_until, 'infinity') - clock_timestamp()), h.block_reason, NULL, h.host
      FROM hosts h WHERE h.blocked_until IS NOT NULL
      UNION ALL SELECT 5, CASE h.why_idle WHEN 'interval' THEN 'interval' ELSE 'full' END, h.host, NULL, NULL, NULL,
        h.host
      FROM hosts h WHERE h.is_due
        AND (h.why_idle IN ('full', 'adaptive', 'unanswered')
          OR h.why_idle = 'interval' AND h.min_interval >= interval '1 second')
      UNION ALL SELECT 6, 'limited', q.queue, NULL, NULL, q.queue, NULL FROM queues q
      WHERE q.running >= q.max_running AND EXISTS (SELECT FROM waiting w WHERE w.queue = q.queue AND w.is_due)
      UNION ALL SELECT 7, 'busy', q.queue, NULL, NULL, q.queue, NULL FROM queues q
      WHERE NOT EXISTS (SELECT FROM serving s WHERE s.queue = q.queue AND s.running < s.concurrency)
        AND EXISTS (SELECT FROM waiting w WHERE w.queue = q.queue AND w.is_due)
      UNION ALL SELECT 8, 'away', w.queue, NULL, NULL, NULL, w.host FROM waiting w WHERE w.interrupted
        AND NOT w.is_free AND EXISTS (
        SELECT FROM haul.vitals v WHERE v.vital = 'stranded_lanes' AND v.subject = w.queue AND v.value > 0)
      UNION ALL SELECT 9, 'early', '', extract(epoch FROM min(w.run_at) - clock_timestamp()),
        (SELECT a.error FROM haul.attempts a WHERE a.job = min(w.job) ORDER BY a.attempt DESC LIMIT 1), NULL, NULL
      FROM waiting w HAVING NOT bool_or(w.is_due) AND min(w.run_at) > clock_timestamp() + interval '1 second')
    SELECT to_json(v) FROM (
      SELECT o.kind, o.name, o.seconds, o.reason, CASE WHEN o.kind = 'unserved' THEN (
        SELECT json_build_object('store', q.store,
          'queue', CASE WHEN EXISTS (SELECT FROM workers w WHERE q.store = ANY (w.stores)) THEN q.queue END,
          'scheme', (SELECT substring(j.url FROM '^(s?ftps?):') FROM haul.jobs j
            WHERE j.job = (SELECT min(w.job) FROM waiting w WHERE w.queue = q.queue)))
        FROM queues q WHERE q.queue = o.queue) END AS start
      FROM obstacles o
      WHERE o.rank <= 3 OR NOT EXISTS (
        SELECT FROM waiting w WHERE w.is_due
          AND w.queue NOT IN (SELECT k.queue FROM obstacles k WHERE k.queue IS NOT NULL)
          AND w.host NOT IN (SELECT k.host FROM obstacles k WHERE k.host IS NOT NULL))
      ORDER BY o.rank, o.seconds, o.name LIMIT 1) v);
END
$$;
COMMENT ON FUNCTION haul.obstacle(text[], bigint[]) IS
  'What keeps the waiting jobs of these batches, and these jobs, from being started: {"kind", "name", "seconds", '
  '"reason", "start"}. First what somebody must mend, then, where it keeps all of them, what mends itself. NULL '
  'where something may start at any moment. Reads all of the jobs.';
