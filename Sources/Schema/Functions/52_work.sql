CREATE OR REPLACE FUNCTION haul.leases_of(p_worker bigint, p_call bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN (
  WITH leases AS MATERIALIZED (
    SELECT l.* FROM haul.lease l WHERE l.worker = p_worker AND l.call = p_call
  ), hosts AS MATERIALIZED (
    SELECT l.host AS id, h.name, h.range_unsafe_until
    FROM (SELECT DISTINCT l.host FROM leases l) l CROSS JOIN LATERAL haul.host_now(l.host) h
  ), queues AS MATERIALIZED (
    SELECT q.id, q.name, s.name AS store FROM haul.queue q JOIN haul.store s ON s.id = q.store
    WHERE q.id = ANY (ARRAY(SELECT DISTINCT l.queue FROM leases l))
  )
  SELECT coalesce(jsonb_agg(jsonb_build_object(
    'job', l.job, 'token', l.token, 'queue', q.name,
    'batch', (SELECT b.name FROM haul.batch b WHERE b.id = j.batch), 'store', q.store, 'instance', l.instance,
    'url', j.url, 'host', h.name, 'path', j.path, 'options', j.options, 'attempt', l.attempt)
    -- Of a first attempt there is no more to say.
    || CASE WHEN c.job IS NULL AND l.attempt = 1 AND h.range_unsafe_until IS NULL THEN '{}'
      ELSE jsonb_strip_nulls(jsonb_build_object(
        'resume', c.resume::text, 'resume_instance', c.instance, 'resume_token', c.token, 'intent', c.intent,
        'range_unsafe', CASE WHEN h.range_unsafe_until > clock_timestamp() THEN true END,
        'earlier', CASE WHEN l.attempt > 1 THEN (
          SELECT jsonb_build_object('path', f.path, 'bytes', f.bytes, 'digest', f.digest, 'source', f.source)
          FROM haul.refresh f WHERE f.job = l.job) END,
        'changes', CASE WHEN l.attempt > 1 THEN
          (SELECT sum(a.changes) FROM haul.attempt a WHERE a.job = l.job) END,
        'rescued', CASE WHEN l.attempt > 1 AND EXISTS (
          SELECT FROM haul.attempt a WHERE a.job = l.job AND a.result IN ('rescued', 'paused', 'cancelled')) THEN true
            END)) END ORDER BY l.token), '[]')
  FROM leases l
  JOIN haul.job j ON j.id = l.job
  JOIN hosts h ON h.id = l.host
  JOIN queues q ON q.id = l.queue
  LEFT JOIN haul.checkpoint c ON c.job = l.job);
END
$$;
COMMENT ON FUNCTION haul.leases_of(bigint, bigint) IS
  'The leases of one call of a worker, each with what it needs to begin or go on; [] = none. Locks nothing.';

-- Settles what a worker has finished, then claims what it has room for: one call, one commit.
--
-- p_call      1, 2, 3, … per worker. A number that has already taken effect changes nothing and returns what the
--             first call gave: a lost reply loses nothing.
-- p_endings   as in end_leases(); results completed, failed, released
-- p_queues    names, or NULL for every queue whose store the worker mounts; never one whose store it has closed
-- p_free_slots      how many jobs it can take; 0 only settles
-- Returns     {"settled": [{"job", "token", "state", "delay", "cause"}], "claimed": […], "contended": true when
-- somebody else
--             held what was due (ask again soon), "wait": seconds until something known becomes due, "draining"}
CREATE OR REPLACE FUNCTION haul.work(
  p_worker bigint, p_secret text, p_call bigint, p_endings jsonb, p_queues text[], p_free_slots integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
-- Holds for all that is called from here: the plans are pinned, so a custom one would be the same, made anew each time.
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_last record;
  v_worker record;
  v_settled jsonb;
  v_room integer := p_free_slots;
  v_wait double precision;
  v_next record;
  v_due boolean := false;
  v_queue record;
  v_claim record;
  v_seen jsonb := '{}';
  v_here jsonb;
  v_looked timestamptz;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  -- The newest version first, as in host_now().
  SELECT c.ctid AS place, c.call, c.claims, c.seen INTO v_last FROM haul.worker_call c
  WHERE c.worker >= p_worker AND c.worker <= p_worker ORDER BY c.worker DESC LIMIT 1 FOR UPDATE;
  IF p_call < v_last.call THEN
    RAISE EXCEPTION 'call % of worker % is older than its last, %', p_call, p_worker, v_last.call
      USING ERRCODE = 'HA006';
  ELSIF p_call = v_last.call THEN
    RETURN jsonb_build_object('settled', haul.settled_before(p_endings),
      'claimed', haul.leases_of(p_worker, p_call), 'contended', true, 'draining', false);
  END IF;
  v_settled := haul.end_leases(p_worker, p_endings);

  SELECT w.instances, w.closed_stores, w.draining OR w.expires_at <= clock_timestamp() AS closed, w.draining
    INTO v_worker
  FROM haul.worker w WHERE w.id = p_worker;
  IF v_room > 0 AND NOT v_worker.closed THEN
    FOR v_queue IN
      SELECT q.id, q.max_running, i.id AS instance FROM haul.queue q
      JOIN haul.store_instance i ON i.store = q.store AND i.id = ANY (v_worker.instances)
      WHERE NOT q.paused AND q.deleted_at IS NULL AND (p_queues IS NULL OR q.name = ANY (p_queues))
        AND NOT coalesce(v_worker.closed_stores ? i.id::text, false)
      ORDER BY -ln(1 - random()) / q.weight  -- each queue is first as often as its weight says
    LOOP
      v_claim := haul.claim_queue(p_worker, p_call, v_last.claims + 1, v_queue.id, v_queue.max_running,
        v_queue.instance,
        v_room, v_last.seen -> v_queue.id::text);
      v_here := coalesce(v_claim.seen, '{}');
      v_looked := NULL;
      IF v_claim.claimed < v_room AND NOT v_claim.held AND coalesce((v_here ->> 'look_at')::timestamptz
        NOT BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 minute', true) THEN
        -- What a late commit armed in the past, or a claim skipped because it was locked, is found by a complete look.
        -- It steps over all that an old snapshot keeps: it gets a fiftieth of the time, as long as that is once a
        -- minute.
        v_room := v_room - v_claim.claimed;
        v_looked := clock_timestamp();
        v_claim := haul.claim_queue(p_worker, p_call, v_last.claims + 1, v_queue.id, v_queue.max_running,
          v_queue.instance, v_room, NULL);
        v_here := v_here || jsonb_build_object('look_at', clock_timestamp()
          + greatest(interval '1 second', least(interval '1 minute', 50 * (clock_timestamp() - v_looked))));
      END IF;
      v_seen := v_seen || jsonb_build_object(v_queue.id, v_here);
      v_room := v_room - v_claim.claimed;
      EXIT WHEN v_room <= 0;
      v_due := v_due OR v_claim.held;
      IF v_queue.max_running IS NOT NULL THEN
        v_wait := least(v_wait, 1);  -- nobody says so when a place becomes free
      END IF;
      -- Room is left: is something due that others held, and when is the next due?
      SELECT nullif(min(n.next_at), 'infinity') - clock_timestamp() AS wait INTO v_next
      FROM haul.next_due(v_queue.id, v_queue.instance, CASE WHEN v_looked IS NULL THEN v_last.seen -> v_queue.id::text
        END) n;
      v_due := v_due OR coalesce(v_next.wait <= '0', false);
      v_wait := least(v_wait, extract(epoch FROM v_next.wait));
    END LOOP;
  END IF;
  UPDATE haul.worker_call SET call = p_call, claims = claims + CASE WHEN p_free_slots > 0 THEN 1 ELSE 0 END,
    seen = v_last.seen || v_seen
  WHERE ctid = v_last.place;
  RETURN jsonb_build_object('settled', coalesce(v_settled, '[]'),
    'claimed', CASE WHEN v_room < p_free_slots THEN haul.leases_of(p_worker, p_call) ELSE '[]' END,
    'contended', v_due, 'wait', CASE WHEN v_wait > 0 THEN v_wait WHEN v_wait IS NOT NULL THEN 0 END, 'draining',
      v_worker.draining);
END
$$;
COMMENT ON FUNCTION haul.work(bigint, text, bigint, jsonb, text[], integer) IS
  'Settles what a worker has finished, then claims up to p_free_slots jobs, in one commit. p_call is 1, 2, 3, …; the '
  'same number again changes nothing and returns what the first call gave. Returns {"settled": [{"job", "token", '
  '"state", "delay", "cause"}], "claimed": [leases], "contended", "wait": seconds, "draining"}. An ending whose '
  'token is stale is not in "settled".';

CREATE OR REPLACE FUNCTION haul.next_due(p_queue integer, p_instance integer, p_seen jsonb)
RETURNS TABLE (next_at timestamptz)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  RETURN QUERY SELECT n.next_at FROM unnest(ARRAY[p_instance, 0]) AS i(instance)
  CROSS JOIN generate_series(0, 9) AS p(priority)
  CROSS JOIN LATERAL (
    SELECT l.next_at FROM haul.lane l
    WHERE l.queue = p_queue AND l.instance = i.instance AND l.priority = p.priority AND l.next_at IS NOT NULL
      AND l.next_at >= haul.look_from(p_seen, i.instance, p.priority)
    ORDER BY l.next_at LIMIT 1) n;
END
$$;
COMMENT ON FUNCTION haul.next_due(integer, integer, jsonb) IS
  'When the next lane of a queue is due, a row for each priority, of this instance and of 0, that has one armed. '
  'p_seen as for claim_queue().';

CREATE OR REPLACE FUNCTION haul.look_from(p_seen jsonb, p_instance integer, p_priority integer) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT coalesce((p_seen -> 'from' ->> (p_instance || ':' || p_priority))::timestamptz, '-infinity')
$$;
COMMENT ON FUNCTION haul.look_from(jsonb, integer, integer) IS
  'The due time from which a claim looks at lanes of an instance and priority, after what p_seen says; -infinity = '
  'at all of them.';

CREATE OR REPLACE FUNCTION haul.settled_before(p_endings jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('job', a.job, 'token', a.token, 'state', j.state,
    'cause', coalesce(j.error, a.error),
    'delay', CASE WHEN j.state = 'scheduled' THEN extract(epoch FROM greatest(j.run_at - clock_timestamp(), '0'))
      END)), '[]')
  FROM jsonb_to_recordset(p_endings) AS e(job bigint, token bigint)
  JOIN haul.attempt a ON a.job = e.job AND a.token = e.token
  -- OFFSET 0: by each job's id. Free to choose, the planner reads all jobs for each ending.
  CROSS JOIN LATERAL (SELECT v.state, v.run_at, v.error FROM haul.jobs v WHERE v.job = a.job OFFSET 0) j
  WHERE a.result <> 'rescued');
END
$$;
COMMENT ON FUNCTION haul.settled_before(jsonb) IS
  'What became of endings whose call had taken effect already: [{"job", "token", "state": by now, "cause", "delay": '
  'seconds}]. One that was rescued before is not in it.';

CREATE OR REPLACE FUNCTION haul.is_idle(p_worker bigint, p_secret text, p_queues text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue record;
BEGIN
  PERFORM haul.authenticate(p_worker, p_secret);
  FOR v_queue IN
    SELECT q.id FROM haul.queue q
    JOIN haul.store_instance i ON i.store = q.store
    JOIN haul.worker w ON w.id = p_worker AND i.id = ANY (w.instances)
    WHERE p_queues IS NULL OR q.name = ANY (p_queues)
  LOOP
    IF EXISTS (SELECT FROM haul.ready r WHERE r.queue = v_queue.id)
      OR EXISTS (SELECT FROM haul.scheduled s WHERE s.queue = v_queue.id)
      OR EXISTS (SELECT FROM haul.lease l WHERE l.queue = v_queue.id) THEN
      RETURN false;
    END IF;
  END LOOP;
  RETURN true;
END
$$;
COMMENT ON FUNCTION haul.is_idle(bigint, text, text[]) IS
  'Whether nothing is queued, scheduled, interrupted or running in these queues; NULL: in all that the worker '
  'mounts.';
