-- Does not use the view jobs, which would read too many rows on a large pool.
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
  'Returns the number of unfinished jobs in each state. p_queue: only jobs of this queue; NULL = any. p_host: only '
  'jobs of this host; NULL = any. Does not read jobs that have ended.';

-- This is plpgsql, so that each call is planned for the batches and jobs that it names.
CREATE OR REPLACE FUNCTION haul.causes(p_batches text[], p_jobs bigint[], p_ready jsonb, p_silence boolean) RETURNS json
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
      SELECT r.queue, r.host, r.instance, count(*) AS jobs, min(r.job) AS job FROM haul.ready r
      WHERE p_ready IS NOT NULL
        AND (p_ready ->> 'queue' IS NULL
          OR r.queue = (SELECT q.id FROM haul.queue q WHERE q.name = p_ready ->> 'queue' AND q.deleted_at IS NULL))
        AND (p_ready ->> 'host' IS NULL
          OR r.host = (SELECT n.id FROM haul.host_name n WHERE n.name = p_ready ->> 'host'))
      GROUP BY 1, 2, 3),
    parts AS MATERIALIZED (
      SELECT j.queue, j.host, j.state, CASE WHEN j.state = 'paused' THEN coalesce(j.batch, '') END AS batch,
        CASE WHEN j.state = 'scheduled' THEN j.last_error END AS error,
        CASE WHEN j.state = 'interrupted' THEN (SELECT r.instance FROM haul.ready r WHERE r.job = j.job)
          END AS instance,
        count(*) AS jobs, min(j.job) AS job,
        -- The earliest scheduled start, and its job.
        min(ARRAY[extract(epoch FROM j.run_at), j.job]) FILTER (WHERE j.state = 'scheduled') AS next
      FROM awaited j WHERE j.state IN ('queued', 'interrupted', 'scheduled', 'paused')
      GROUP BY 1, 2, 3, 4, 5, 6
      UNION ALL
      SELECT q.name, n.name, CASE WHEN c.instance <> 0 THEN 'interrupted' ELSE 'queued' END::haul.job_state, NULL, NULL,
        c.instance, c.jobs, c.job, NULL
      FROM counted c JOIN haul.queue q ON q.id = c.queue JOIN haul.host_name n ON n.id = c.host),
    -- Directories of part files that no worker can continue.
    away AS MATERIALIZED (
      SELECT k.queue, k.instance, format('%s on %s', i.root, i.machine) AS directory
      FROM (SELECT DISTINCT p.queue, p.instance FROM parts p WHERE p.instance <> 0) k
      JOIN haul.queue q ON q.name = k.queue AND q.deleted_at IS NULL
      JOIN haul.store_instance i ON i.id = k.instance
      WHERE NOT haul.is_queue_served(q.id, k.instance)),
    waiting AS MATERIALIZED (
      SELECT p.queue, p.host, a.instance AS away, sum(p.jobs) AS jobs,
        coalesce(sum(p.jobs) FILTER (WHERE p.state <> 'scheduled'), 0) AS due, min(p.job) AS job
      FROM parts p LEFT JOIN away a ON a.queue = p.queue AND a.instance = p.instance
      WHERE p.state <> 'paused' GROUP BY 1, 2, 3),
    -- Running jobs whose worker sends no heartbeats, or has ended.
    abandoned AS MATERIALIZED (
      SELECT l.worker, q.name AS queue, n.name AS host, w.id IS NOT NULL AS is_silent, count(*) AS jobs,
        min(l.job) AS job
      FROM haul.lease l JOIN haul.queue q ON q.id = l.queue JOIN haul.host_name n ON n.id = l.host
      LEFT JOIN haul.worker w ON w.id = l.worker AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
      WHERE p_silence AND coalesce(w.heartbeat_at < clock_timestamp() - haul.session_grace(), true) AND (
        l.job = ANY (p_jobs)
        OR p_batches <> '{}' AND EXISTS (
          SELECT FROM haul.job j JOIN haul.batch b ON b.id = j.batch WHERE j.id = l.job AND b.name = ANY (p_batches))
        OR p_ready IS NOT NULL AND q.name = coalesce(p_ready ->> 'queue', q.name)
          AND n.name = coalesce(p_ready ->> 'host', n.name))
      GROUP BY 1, 2, 3, 4),
    -- The jobs that lasting causes affect. Paused jobs are included, because the cause remains when they are resumed.
    concerning AS MATERIALIZED (
      SELECT w.queue, w.host, w.jobs, w.due, 0::numeric AS held, w.job FROM waiting w
      UNION ALL
      SELECT p.queue, p.host, sum(p.jobs), 0, sum(p.jobs), min(p.job) FROM parts p WHERE p.state = 'paused'
      GROUP BY 1, 2),
    needs AS MATERIALIZED (
      SELECT c.queue, c.host, c.job FROM concerning c UNION ALL SELECT a.queue, a.host, a.job FROM abandoned a),
    -- Leave out the columns that count waiting jobs, because they are slow.
    queues AS (
      SELECT q.queue, q.store, q.paused, q.running, q.max_running FROM haul.queues q
      WHERE q.queue IN (SELECT n.queue FROM needs n)),
    -- Do not read the view hosts, because it would check the lanes of each host.
    hosts AS MATERIALIZED (
      SELECT n.name AS host, h.in_flight AS running, haul.places(h.cap, h.failures) AS places, h.block_reason,
        CASE WHEN h.blocked_until > clock_timestamp() THEN h.blocked_until END AS blocked_until,
        CASE WHEN h.in_flight < h.policy_cap THEN CASE WHEN h.failures < 0 THEN 'unanswered' ELSE 'adaptive' END END
          AS lowered,
        haul.next_start(h.min_interval, h.burst, h.next_start) > clock_timestamp()
          AND h.min_interval >= interval '1 second' AS rests,
        haul.starts(h.min_interval, h.burst, h.next_start, clock_timestamp()) AS starts
      FROM haul.host_name n JOIN haul.host h ON h.id = n.id WHERE n.name IN (SELECT c.host FROM needs c)),
    workers AS (
      SELECT w.worker, w.machine, w.pid, w.stores, w.queues, w.trouble, w.running, w.concurrency,
        w.state = 'silent' AND p_silence AS is_silent, clock_timestamp() - w.heartbeat_at AS silence
      FROM haul.workers w WHERE w.state IN ('alive', 'silent')),
    serving AS MATERIALIZED (
      -- Trouble with another store does not affect this queue.
      SELECT q.queue, w.worker, w.machine, w.pid, w.running, w.concurrency, w.is_silent, w.silence,
        CASE WHEN starts_with(w.trouble, q.store || ': ') OR strpos(w.trouble, '; ' || q.store || ': ') > 0
          THEN w.trouble END AS trouble
      FROM queues q JOIN workers w ON q.store = ANY (w.stores) AND (w.queues IS NULL OR q.queue = ANY (w.queues))),
    -- Each cause, with the queue or the host that it affects.
    lasting (kind, name, seconds, reason, running, places, queue, host) AS MATERIALIZED (
      SELECT 'unserved', q.queue, NULL::float8, NULL, NULL::bigint, NULL::bigint, q.queue, NULL::text FROM queues q
      WHERE NOT EXISTS (SELECT FROM serving s WHERE s.queue = q.queue)
      UNION ALL SELECT 'unheard', s.queue, extract(epoch FROM min(s.silence)), NULL, NULL, NULL, s.queue, NULL
      FROM serving s GROUP BY s.queue HAVING bool_and(s.is_silent)
      UNION ALL SELECT 'paused', q.queue, NULL, NULL, NULL, NULL, q.queue, NULL FROM queues q WHERE q.paused
      UNION ALL (
        SELECT DISTINCT ON (s.queue) 'trouble', format('worker %s (%s, pid %s)', s.worker, s.machine, s.pid),
          NULL::float8, s.trouble, NULL::bigint, NULL::bigint, s.queue, NULL::text
        FROM serving s WHERE NOT EXISTS (SELECT FROM serving o WHERE o.queue = s.queue AND o.trouble IS NULL)
        ORDER BY s.queue, s.worker)
      UNION ALL SELECT 'blocked', h.host, extract(epoch FROM nullif(h.blocked_until, 'infinity') - clock_timestamp()),
        h.block_reason, NULL, NULL, NULL, h.host
      FROM hosts h WHERE h.blocked_until IS NOT NULL),
    clear AS MATERIALIZED (
      SELECT w.* FROM waiting w
      WHERE w.due > 0 AND w.queue NOT IN (SELECT k.queue FROM lasting k WHERE k.queue IS NOT NULL)
        AND w.host NOT IN (SELECT k.host FROM lasting k WHERE k.host IS NOT NULL)),
    able AS MATERIALIZED (SELECT c.* FROM clear c WHERE c.away IS NULL),
    passing (kind, name, seconds, reason, running, places, queue, host) AS MATERIALIZED (
      SELECT 'full', h.host, NULL::float8, h.lowered, h.running::bigint, h.places::bigint, NULL::text, h.host
      FROM hosts h WHERE h.running >= h.places AND h.host IN (SELECT a.host FROM able a)
      UNION ALL SELECT 'interval', h.host, NULL, CASE WHEN NOT h.rests THEN 'brief' END, NULL, NULL, NULL, h.host
      FROM hosts h JOIN (SELECT a.host, sum(a.due) AS due FROM able a GROUP BY 1) d ON d.host = h.host
      WHERE h.running < h.places AND (h.rests OR p_silence AND h.starts < d.due)
      UNION ALL SELECT 'limited', q.queue, NULL, NULL, q.running, q.max_running, q.queue, NULL FROM queues q
      WHERE q.running >= q.max_running AND q.queue IN (SELECT a.queue FROM able a)
      UNION ALL SELECT 'busy', s.queue, NULL, NULL, sum(s.running)::bigint, sum(s.concurrency), s.queue, NULL
      FROM serving s WHERE s.queue IN (SELECT a.queue FROM able a)
      GROUP BY s.queue HAVING bool_and(s.running >= s.concurrency)),
    -- Join by queue and by host separately. With OR, each cause would be compared with all waiting jobs.
    concerned (kind, name, seconds, reason, running, places, queue, host, jobs, due, held) AS (
      SELECT k.*, c.jobs, c.due, c.held FROM lasting k JOIN concerning c ON c.queue = k.queue
      UNION ALL SELECT k.*, c.jobs, c.due, c.held FROM lasting k JOIN concerning c ON c.host = k.host
      UNION ALL SELECT k.*, a.due, a.due, 0 FROM passing k JOIN able a ON a.host = k.host
      UNION ALL SELECT k.*, a.due, a.due, 0 FROM passing k JOIN able a ON a.queue = k.queue),
    found AS (
      SELECT c.kind, c.name, min(c.seconds) AS seconds, min(c.reason) AS reason, min(c.running) AS running,
        min(c.places) AS places, sum(c.jobs) AS jobs, sum(c.due) AS due, sum(c.held) AS held, NULL::bigint AS next,
        CASE WHEN c.kind IN ('unserved', 'busy') THEN c.name END AS queue
      FROM concerned c GROUP BY 1, 2
      UNION ALL
      SELECT 'away', c.queue, NULL, a.directory, NULL, NULL, sum(c.due), sum(c.due), 0, NULL, NULL
      FROM clear c JOIN away a ON a.queue = c.queue AND a.instance = c.away GROUP BY 2, 4
      UNION ALL
      -- 'alone': no other worker can take its jobs over.
      SELECT 'silent', format('worker %s (%s, pid %s)', w.id, w.machine, w.pid),
        extract(epoch FROM clock_timestamp() - w.heartbeat_at), CASE WHEN NOT bool_and(EXISTS (
          SELECT FROM serving s WHERE s.queue = a.queue AND NOT s.is_silent)) THEN 'alone' END,
        NULL, NULL, sum(a.jobs), 0, 0, NULL, min(a.queue)
      FROM abandoned a JOIN haul.worker w ON w.id = a.worker WHERE a.is_silent GROUP BY w.id
      UNION ALL
      SELECT 'lost', a.queue, NULL, NULL, NULL, NULL, sum(a.jobs), 0, 0, NULL, a.queue
      FROM abandoned a WHERE NOT a.is_silent GROUP BY a.queue
      UNION ALL
      SELECT 'held', p.batch, NULL, NULL, NULL, NULL, sum(p.jobs), 0, sum(p.jobs), NULL, NULL
      FROM parts p WHERE p.state = 'paused' GROUP BY 2
      UNION ALL
      SELECT 'early', '', (min(p.next))[1] - extract(epoch FROM clock_timestamp()), p.error, NULL, NULL, sum(p.jobs), 0,
        0, (min(p.next))[2]::bigint, NULL
      FROM parts p WHERE p.state = 'scheduled' GROUP BY p.error),
    listed AS (
      SELECT f.*, row_number() OVER (ORDER BY f.kind IN ('silent', 'lost') DESC, f.kind = 'unheard' DESC,
        f.kind IN ('unserved', 'paused', 'trouble', 'held') OR f.kind = 'blocked' AND f.seconds IS NULL DESC,
        f.jobs DESC, array_position(
          '{silent,lost,unheard,unserved,paused,trouble,blocked,held,full,interval,limited,busy,away,early}'::text[],
          f.kind),
        f.seconds, f.name) AS place
      FROM found f)
    SELECT json_build_object(
      'waiting', (SELECT coalesce(sum(w.jobs), 0) FROM waiting w),
      'due', (SELECT coalesce(sum(w.due), 0) FROM waiting w),
      'free', (SELECT coalesce(sum(a.due), 0) FROM able a
        WHERE a.host NOT IN (SELECT k.host FROM passing k WHERE k.host IS NOT NULL)
          AND a.queue NOT IN (SELECT k.queue FROM passing k WHERE k.queue IS NOT NULL)),
      'more', (SELECT greatest(count(*) - 100, 0) FROM found f),
      'causes', (SELECT coalesce(json_agg(to_json(v) ORDER BY v.place), '[]') FROM (
        SELECT l.place, l.kind, l.name, l.jobs, l.due, l.held, l.seconds, l.reason, l.running, l.places,
          CASE WHEN l.kind IN ('lost', 'early') THEN coalesce(
            (haul.last_pulse()).round_at < clock_timestamp() - interval '10 seconds', NOT pg_is_in_recovery())
            END AS leaderless,
          (SELECT t.failures + 1 FROM haul.attempt_history(l.next) t) AS attempt,
          (SELECT coalesce(haul.number_option(j.options, 'max_attempts'), 5) FROM haul.job j WHERE j.id = l.next)
            AS max_attempts,
          (SELECT coalesce(haul.number_option(j.options, 'max_host_wait'), 86400) FROM haul.job j WHERE j.id = l.next)
            AS max_wait,
          CASE WHEN l.queue IS NOT NULL THEN (
            -- If queue is NULL, the suggested worker runs without --queue and serves all queues of the store.
            SELECT json_build_object('store', q.store, 'queue', m.queue,
              'schemes', ARRAY(
                SELECT DISTINCT s.scheme FROM (
                  SELECT (SELECT substring(j.url FROM '^(s?ftps?):') FROM haul.job j WHERE j.id = w.job) AS scheme
                  FROM needs w JOIN queues o ON o.queue = w.queue
                  WHERE o.store = q.store AND o.queue = coalesce(m.queue, o.queue) ORDER BY w.job LIMIT 100) s
                WHERE s.scheme IS NOT NULL ORDER BY 1),
              'hosts', ARRAY(
                SELECT DISTINCT w.host FROM needs w JOIN queues o ON o.queue = w.queue
                WHERE o.store = q.store AND o.queue = coalesce(m.queue, o.queue)
                  AND w.host ~ '^(localhost|[0-9.]+|\[.*\])(:[0-9]+)?$'
                  AND w.host NOT IN (
                    SELECT h.host FROM hosts h WHERE h.blocked_until IS NOT NULL AND h.block_reason = 'operator')
                ORDER BY 1 LIMIT 100),
              'roots', (SELECT coalesce(json_agg(r), '[]') FROM (
                SELECT DISTINCT i.machine, i.root FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
                WHERE s.name = q.store ORDER BY 1, 2 LIMIT 100) r))
            FROM queues q CROSS JOIN LATERAL (
              SELECT CASE WHEN EXISTS (
                SELECT FROM workers w WHERE q.store = ANY (w.stores) AND NOT w.is_silent) THEN q.queue END AS queue) m
            WHERE q.queue = l.queue) END AS start
        FROM listed l WHERE l.place <= 100) v)));
END
$$;
COMMENT ON FUNCTION haul.causes(text[], bigint[], jsonb, boolean) IS
  'Returns why jobs do not start. Covers the jobs of the batches p_batches and the jobs p_jobs. p_ready: {"queue", '
  '"host"}; the ready jobs of this queue and host also count; a missing key = any. NULL = none. The result is '
  '{"waiting": number of waiting jobs, "due": how many of the waiting jobs have no later start time, "free": number of '
  'due jobs that no cause delays, "more": number of causes left out, "causes": up to 100 causes}. A cause is {"kind", '
  '"name", "jobs", "due", "held": how many of its jobs are paused, "seconds" and "reason": details that depend on '
  '"kind", "running": number of jobs that run, "places": how many may run, "leaderless": whether no maintenance runs, '
  '"attempt", "max_attempts" and "max_wait": of the scheduled job that starts next, "start": the options for a worker '
  'that would help}. A key is null if it does not apply. If p_silence is true, also finds silent workers and jobs of '
  'dead workers, and lists them first. Next come causes that need an operator, then causes that pass without help. '
  'Within each group, causes of more jobs come first. A job may have several causes. Reads all jobs of p_batches and '
  'p_jobs.';

CREATE OR REPLACE FUNCTION haul.causes(p_batches text[], p_jobs bigint[], p_ready jsonb DEFAULT NULL) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT haul.causes(p_batches, p_jobs, p_ready, false)
$$;
COMMENT ON FUNCTION haul.causes(text[], bigint[], jsonb) IS
  'Does the same as causes() with p_silence = false. Earlier versions of Haul call this function, because they do not '
  'know the causes that p_silence adds.';

CREATE OR REPLACE FUNCTION haul.obstacle(p_batches text[], p_jobs bigint[], p_silence boolean) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_causes json := haul.causes(p_batches, p_jobs, NULL, p_silence);
BEGIN
  RETURN (
    SELECT c.cause FROM json_array_elements(v_causes -> 'causes') AS c(cause)
    CROSS JOIN LATERAL (
      SELECT c.cause ->> 'kind' AS kind, (c.cause ->> 'seconds')::float8 AS seconds, array_position(
        '{held,unserved,paused,trouble,silent,lost,unheard,blocked,full,interval,limited,busy,away,early}'::text[],
        c.cause ->> 'kind') AS rank) k
    WHERE CASE WHEN k.kind = 'held' THEN (v_causes ->> 'waiting')::bigint = 0
      -- The cause affects only paused jobs.
      WHEN (c.cause ->> 'jobs')::bigint = (c.cause ->> 'held')::bigint THEN false
      WHEN k.kind IN ('unserved', 'paused', 'trouble') THEN true
      WHEN (v_causes ->> 'free')::bigint > 0 OR c.cause ->> 'reason' = 'brief' THEN false
      -- Some of the jobs may start as soon as the interval is over.
      WHEN k.kind <> 'lost' AND EXISTS (
        SELECT FROM json_array_elements(v_causes -> 'causes') AS o(cause) WHERE o.cause ->> 'reason' = 'brief')
      THEN false
      WHEN k.kind = 'early' THEN (v_causes ->> 'due')::bigint = 0 AND k.seconds > 1 ELSE true END
    ORDER BY k.rank, k.seconds, (c.cause ->> 'place')::bigint LIMIT 1);
END
$$;
COMMENT ON FUNCTION haul.obstacle(text[], bigint[], boolean) IS
  'Returns the main reason why waiting jobs do not start: one of the causes that causes() returns. Considers the jobs '
  'of the batches p_batches and the jobs p_jobs. Prefers causes that need an operator. Returns a cause that passes '
  'without help only if it affects all the jobs. Returns NULL if a job may start at any moment. p_silence: as for '
  'causes(). Reads all the jobs.';

CREATE OR REPLACE FUNCTION haul.obstacle(p_batches text[], p_jobs bigint[]) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT haul.obstacle(p_batches, p_jobs, false)
$$;
COMMENT ON FUNCTION haul.obstacle(text[], bigint[]) IS
  'Does the same as obstacle() with p_silence = false. Earlier versions of Haul call this function.';
