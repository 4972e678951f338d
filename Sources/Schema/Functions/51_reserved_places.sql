-- Keeps places of a host free for interrupted jobs. Without this, a worker that ends a transfer takes the free place in
-- the same call, and a worker with the part file of an interrupted job never gets one.

CREATE OR REPLACE FUNCTION haul.reserved_places(
  p_queue integer, p_host integer, p_own integer, p_priority smallint, p_now timestamptz, p_free jsonb)
RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
BEGIN
  RETURN (
    SELECT coalesce(sum(least(h.jobs, coalesce((p_free ->> h.instance::text)::integer, 0))), 0)::integer FROM (
      SELECT f.instance, count(*)::integer AS jobs FROM (
        SELECT r.instance FROM haul.ready r
        WHERE r.queue = p_queue AND r.host = p_host AND r.instance > 0 AND r.instance <> p_own
          AND r.priority <= p_priority
          AND r.hold_until > p_now
        LIMIT 1000) f
      GROUP BY f.instance) h);
END
$$;
COMMENT ON FUNCTION haul.reserved_places(integer, integer, integer, smallint, timestamptz, jsonb) IS
  'Returns how many places of a host a claim must leave free for interrupted jobs of this queue, at p_now. A place is '
  'one of the concurrent transfers that a host allows. Counts jobs with the priority p_priority or a higher one, up to '
  'the number of jobs that the workers with their part files can take now. p_own: the store instance of the claiming '
  'worker, whose interrupted jobs do not count. p_free: the result of free_slots(). Locks nothing.';

CREATE OR REPLACE FUNCTION haul.free_slots(p_queue integer, p_now timestamptz) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  RETURN (
    SELECT coalesce(jsonb_object_agg(f.instance, f.slots), '{}') FROM (
      SELECT i.id AS instance, least(sum(greatest(w.concurrency - c.held, 0)), 1000) AS slots
      FROM haul.queue q JOIN haul.worker w ON w.queues IS NULL OR q.name = ANY (w.queues)
      JOIN haul.worker_call c ON c.worker = w.id CROSS JOIN LATERAL unnest(w.instances) AS i(id)
      WHERE q.id = p_queue AND w.stopped_at IS NULL AND NOT w.draining AND w.expires_at > p_now
        AND w.heartbeat_at > p_now - haul.session_grace() AND NOT coalesce(w.closed_stores ? i.id::text, false)
      GROUP BY i.id) f);
END
$$;
COMMENT ON FUNCTION haul.free_slots(integer, timestamptz) IS
  'Returns how many more jobs of this queue the workers of each store instance (a directory of a store) can take: '
  '{"id of the instance": number up to 1,000}. Counts live workers with recent heartbeats that do not drain, serve the '
  'queue and can write to the directory. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.has_interrupted(p_queue integer, p_host integer, p_own integer) RETURNS boolean
LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM haul.lane_key k CROSS JOIN LATERAL haul.lane_now(k.host, k.queue, k.instance) n
    WHERE k.host = p_host AND k.queue = p_queue AND k.instance > 0 AND k.instance <> p_own AND n.head IS NOT NULL)
$$;
COMMENT ON FUNCTION haul.has_interrupted(integer, integer, integer) IS
  'Returns whether interrupted jobs of this queue and host may wait for a worker with their part files. p_own: a store '
  'instance whose jobs do not count. Locks nothing.';
