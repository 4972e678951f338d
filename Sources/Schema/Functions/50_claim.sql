CREATE OR REPLACE FUNCTION haul.claim_band(
  p_worker bigint, p_call bigint, p_queue integer, p_limited boolean, p_instance integer, p_part_instance integer,
  p_priority smallint, p_floor smallint, p_since timestamptz, p_free_slots integer,
  OUT claimed integer, OUT seen timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_sweeping boolean := EXISTS (SELECT FROM haul.batch b WHERE b.sweep IS NOT NULL);
  v_swept integer := 0;
  -- Maximum number of jobs taken from one lane in one pass. A claim that took only one from each lane would lock too
  -- many hosts. Sessions that end leases would wait for these hosts: with 200 hosts and 10 workers, throughput would
  -- halve.
  v_depth integer := greatest(1, least(4, p_free_slots / 8));
  v_lanes tid[];
  v_hosts tid[];
  v_jobs bigint[];
  v_places tid[];
  v_of tid[];
  v_away bigint[];
  v_from timestamptz := p_since;
  v_due timestamptz;
  v_passed timestamptz;
BEGIN
  claimed := 0;
  WHILE claimed < p_free_slots AND v_swept < 1000 LOOP
    -- 1. Lock due lanes and their hosts, in the order of the due times. A lane whose host another session has locked
    -- stays due for the next claim.
    SELECT array_agg(t.place), array_agg(t.host), max(t.next_at) INTO v_lanes, v_hosts, v_due FROM (
      SELECT l.ctid AS place, h.ctid AS host, l.next_at FROM haul.lane l
      CROSS JOIN LATERAL haul.host_now(l.host) n JOIN haul.host h ON h.ctid = n.place
      WHERE l.queue = p_queue AND l.instance = p_instance AND l.priority = p_priority
        AND l.next_at >= v_from AND l.next_at <= v_now AND l.next_at IS NOT NULL
      ORDER BY l.next_at LIMIT (p_free_slots - claimed + v_depth - 1) / v_depth
      FOR UPDATE OF l, h SKIP LOCKED) t;
    EXIT WHEN v_lanes IS NULL;
    SELECT least(v_passed, min(t.next_at)) INTO v_passed FROM (
      SELECT l.next_at FROM haul.lane l
      WHERE l.queue = p_queue AND l.instance = p_instance AND l.priority = p_priority
        AND l.next_at >= v_from AND l.next_at < v_due AND l.next_at IS NOT NULL AND l.ctid <> ALL (v_lanes)
      ORDER BY l.next_at LIMIT 1) t;
    v_from := v_due;
    seen := least(v_due, v_passed);
    -- 2. In new statements, choose the jobs that may start and create their leases.
    SELECT c.* INTO v_jobs, v_places, v_of
    FROM haul.choose_jobs(p_queue, p_instance, p_part_instance, v_lanes, v_hosts, p_floor, v_depth,
      p_free_slots - claimed, v_now) c;
    IF v_sweeping AND v_jobs IS NOT NULL THEN
      v_away := haul.put_away(v_jobs);
      v_swept := v_swept + cardinality(v_away);
      SELECT array_agg(u.place), array_agg(u.host) INTO v_places, v_of
      FROM unnest(v_jobs, v_places, v_of) AS u(job, place, host) WHERE u.job <> ALL (v_away);
    END IF;
    IF v_places IS NOT NULL THEN
      claimed := claimed + haul.lease_jobs(p_worker, p_call, p_queue, p_limited, p_part_instance, v_places, v_of);
    END IF;
    -- 3. In another new statement, find the next job of each lane, and when it is due.
    PERFORM haul.move_lanes_on(p_queue, p_instance, p_part_instance, v_lanes);
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.claim_band(bigint, bigint, integer, boolean, integer, integer, smallint, smallint,
  timestamptz, integer) IS
  'Claims up to p_free_slots jobs of one priority from the lanes of a queue for one store instance (a directory of a '
  'store). A lane contains the waiting jobs of one queue for one host and store instance. p_instance: 0 = the lanes of '
  'jobs that every instance may run. Creates leases for call p_call of worker p_worker. p_floor: NULL = take the first '
  'jobs of each lane. Otherwise take from each lane the jobs of the priority that lower_priority() returns. p_since: '
  'ignore lanes that were due before this time. A later claim that looks at all lanes finds them. Returns the number '
  'of jobs and "seen", the due time of the last lane that the call read. If another session had locked an earlier '
  'lane, "seen" is the due time of that lane. It is NULL if the call read no lane. Skips locked rows and never waits.';

CREATE OR REPLACE FUNCTION haul.choose_jobs(
  p_queue integer, p_instance integer, p_own integer, p_lanes tid[], p_hosts tid[], p_floor smallint, p_depth integer,
  p_free_slots integer, p_now timestamptz, OUT jobs bigint[], OUT places tid[], OUT hosts tid[])
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
BEGIN
  -- Take one job from each host, then a second from each, and so on. Locked rows keep their ctids, and so do the jobs
  -- of locked lanes. So read them by ctid, which reads no old row versions.
  SELECT array_agg(p.job), array_agg(p.place), array_agg(p.host) INTO jobs, places, hosts FROM (
    SELECT r.job, r.place, u.host
    FROM unnest(p_lanes, p_hosts) AS u(place, host)
    JOIN haul.lane l ON l.ctid = u.place JOIN haul.host h ON h.ctid = u.host
    CROSS JOIN LATERAL (SELECT CASE WHEN l.priority < p_floor
      THEN haul.lower_priority(p_queue, h.id, p_instance, p_floor) ELSE l.priority END AS priority) w
    -- OFFSET 0: look this up once per lane, by index.
    CROSS JOIN LATERAL (SELECT CASE WHEN w.priority = l.priority THEN l.head ELSE 0 END AS job) b
    CROSS JOIN LATERAL (SELECT CASE WHEN h.failures > 0
      THEN haul.any_job(p_queue, h.id, p_instance, w.priority, b.job) ELSE b.job END AS job OFFSET 0) f
    CROSS JOIN LATERAL (
      SELECT r.job, r.ctid AS place, row_number() OVER (ORDER BY r.priority, r.job) AS nth
      FROM haul.ready r
      WHERE r.queue = p_queue AND r.host = h.id AND r.instance = p_instance AND r.priority = w.priority
        AND r.job >= f.job
      ORDER BY r.priority, r.job
      LIMIT least(greatest(haul.places(h.cap, h.failures) - h.in_flight
          - CASE WHEN p_instance = 0 AND haul.has_interrupted(p_queue, h.id, p_own)
            -- A subquery, so that it is computed once at most.
            THEN haul.reserved_places(p_queue, h.id, p_own, w.priority, p_now,
              (SELECT haul.free_slots(p_queue, p_now)))
            ELSE 0 END, 0),
        CASE WHEN cardinality(p_lanes) * p_depth >= p_free_slots THEN p_depth ELSE p_free_slots END,
        haul.starts(h.min_interval, h.burst, h.next_start, p_now))) r
    WHERE (h.blocked_until IS NULL OR h.blocked_until <= p_now)
      AND coalesce(haul.next_start(h.min_interval, h.burst, h.next_start) <= p_now, true)
    ORDER BY r.nth, l.next_at, l.host
    LIMIT p_free_slots) p;
END
$$;
COMMENT ON FUNCTION haul.choose_jobs(integer, integer, integer, tid[], tid[], smallint, integer, integer,
  timestamptz) IS
  'Chooses up to p_free_slots waiting jobs that may start at p_now, about p_depth from each lane. A lane contains the '
  'waiting jobs of one queue for one host and store instance. p_lanes and p_hosts: the ctids of the lanes and of their '
  'hosts, which the caller must have locked. p_own: the worker''s store instance. p_floor: as for claim_band(). Leaves '
  'places of the hosts free for interrupted jobs, see reserved_places(). Returns the jobs, the ctids of their rows in '
  'the table ready (places), and the ctid of the host of each job. All are NULL if there are none. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.lease_jobs(
  p_worker bigint, p_call bigint, p_queue integer, p_limited boolean, p_part_instance integer, p_places tid[],
  p_hosts tid[]) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
DECLARE
  v_jobs bigint[];
  v_places tid[];
  v_hosts tid[];
  v_count bigint;
BEGIN
  -- Skip jobs that an operator has withdrawn meanwhile or is withdrawing.
  SELECT array_agg(t.job), array_agg(t.place), array_agg(t.host) INTO v_jobs, v_places, v_hosts FROM (
    SELECT k.job, k.ctid AS place, u.host FROM unnest(p_places, p_hosts) AS u(place, host)
    JOIN haul.ready k ON k.ctid = u.place FOR UPDATE OF k SKIP LOCKED) t;
  WITH taken AS (
    DELETE FROM haul.ready r USING unnest(v_places, v_hosts, haul.count_attempts(v_jobs)) AS k(place, host, attempts)
    WHERE r.ctid = k.place
    RETURNING r.job, r.host, r.priority, k.host AS host_place, k.attempts, clock_timestamp() AS at
  ), leased AS (
    INSERT INTO haul.lease (job, token, worker, call, queue, limited, host, instance, priority, attempt,
      resumed_at, started_at)
    SELECT t.job, nextval('haul.token'), p_worker, p_call, p_queue, p_limited, t.host, p_part_instance, t.priority,
      least(1 + t.attempts, 32767),
      coalesce((SELECT haul.range_bytes(c.durable) FROM haul.checkpoint c
        WHERE c.job = t.job AND c.instance = p_part_instance), 0), t.at
    FROM taken t
  ), hosts AS (
    UPDATE haul.host h SET in_flight = h.in_flight + n.started, last_start = n.at,
      next_start = CASE WHEN h.min_interval > '0'
        THEN greatest(h.next_start, n.at) + h.min_interval * n.started END
    FROM (SELECT t.host_place, count(*) AS started, max(t.at) AS at FROM taken t GROUP BY t.host_place) n
    WHERE h.ctid = n.host_place
  )
  SELECT count(*) INTO v_count FROM taken;
  RETURN v_count;
END
$$;
COMMENT ON FUNCTION haul.lease_jobs(bigint, bigint, integer, boolean, integer, tid[], tid[]) IS
  'Moves jobs from the table ready to the table lease, for call p_call of worker p_worker. Adds them to the number of '
  'running jobs of their hosts. p_places and p_hosts: the ctids that choose_jobs() returned. The caller must have '
  'locked the hosts. Skips jobs that another session has locked or taken. Returns the number of leases.';

CREATE OR REPLACE FUNCTION haul.move_lanes_on(p_queue integer, p_instance integer, p_own integer, p_lanes tid[])
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_bitmapscan = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  UPDATE haul.lane l SET
    priority = coalesce(n.priority, l.priority),
    head = n.job,
    -- A lane that is empty or whose host is full is not due (it is parked). If the free places of the host are reserved
    -- for interrupted jobs, look again after a second.
    next_at = CASE
      WHEN n.job IS NULL OR h.in_flight >= haul.places(h.cap, h.failures) THEN NULL
      ELSE greatest(clock_timestamp() + CASE WHEN p_instance = 0 AND haul.has_interrupted(p_queue, k.host, p_own)
          AND h.in_flight + haul.reserved_places(p_queue, k.host, p_own, n.priority, v_now,
            (SELECT haul.free_slots(p_queue, v_now))) >= haul.places(h.cap, h.failures)
        THEN interval '1 second' ELSE '0' END,
        h.blocked_until, haul.next_start(h.min_interval, h.burst, h.next_start)) END
  FROM unnest(p_lanes) AS u(place) JOIN haul.lane k ON k.ctid = u.place
  CROSS JOIN LATERAL haul.host_now(k.host) h
  LEFT JOIN LATERAL (
    SELECT r.priority, r.job FROM haul.ready r
    WHERE r.queue = p_queue AND r.host = k.host AND r.instance = p_instance
      AND (r.priority, r.job) >= (k.priority, coalesce(k.head, 0))
    ORDER BY r.priority, r.job LIMIT 1) n ON true
  WHERE l.ctid = u.place;
END
$$;
COMMENT ON FUNCTION haul.move_lanes_on(integer, integer, integer, tid[]) IS
  'Records the next waiting job of each lane and when the lane is due. A lane contains the waiting jobs of one queue '
  'for one host and store instance. p_own: the worker''s store instance. p_lanes: the ctids of the lanes. The caller '
  'must have locked the lanes and their hosts. Workers skip a lane that is empty or whose host is full, until arm() is '
  'called for the lane.';

-- A host in trouble gets one job at a time. If that were always the first job, jobs that never succeed, for example at
-- a closed port, would keep all others from being tried. So pick a random job among the next n jobs, counted from the
-- first job or from a random id between the first and the last. The number n is random too, from 1 to 8192: each range
-- between two powers of two is equally likely. So no run of failing jobs and no gap in the ids hides the other jobs.
CREATE OR REPLACE FUNCTION haul.any_job(p_queue integer, p_host integer, p_instance integer, p_priority smallint,
  p_first bigint)
RETURNS bigint
LANGUAGE sql VOLATILE SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off
  SET enable_bitmapscan = off AS $$
  WITH ends AS MATERIALIZED (
    SELECT f.job AS first, t.job AS last
    FROM (SELECT r.job FROM haul.ready r WHERE r.queue = p_queue AND r.host = p_host AND r.instance = p_instance
        AND r.priority = p_priority AND r.job >= p_first ORDER BY r.job LIMIT 1) f
    CROSS JOIN (SELECT r.job FROM haul.ready r WHERE r.queue = p_queue AND r.host = p_host AND r.instance = p_instance
        AND r.priority = p_priority ORDER BY r.job DESC LIMIT 1) t
  ), start AS MATERIALIZED (
    SELECT CASE WHEN random() < 0.5 THEN e.first ELSE e.first + floor(random() * (e.last - e.first + 1))::bigint
      END AS job
    FROM ends e
  )
  SELECT n.job FROM (
    SELECT r.job FROM haul.ready r WHERE r.queue = p_queue AND r.host = p_host AND r.instance = p_instance
      AND r.priority = p_priority AND r.job >= (SELECT s.job FROM start s)
    ORDER BY r.job LIMIT (2 ^ (13 * random()))::integer) n
  ORDER BY random() LIMIT 1
$$;
COMMENT ON FUNCTION haul.any_job(integer, integer, integer, smallint, bigint) IS
  'Returns a random waiting job of this queue, host, store instance and priority, with an id of at least p_first. '
  'Returns NULL if there is none. p_instance: 0 = only jobs that every instance (directory of the store) may run. '
  'Locks nothing.';

CREATE OR REPLACE FUNCTION haul.lower_priority(p_queue integer, p_host integer, p_instance integer, p_floor smallint)
RETURNS smallint
LANGUAGE sql STABLE SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off SET enable_sort = off AS $$
  SELECT coalesce(
    (SELECT r.priority FROM haul.ready r WHERE r.queue = p_queue AND r.host = p_host AND r.instance = p_instance
      AND r.priority >= p_floor ORDER BY r.priority LIMIT 1),
    (SELECT r.priority FROM haul.ready r WHERE r.queue = p_queue AND r.host = p_host AND r.instance = p_instance
      AND r.priority < p_floor ORDER BY r.priority DESC LIMIT 1))
$$;
COMMENT ON FUNCTION haul.lower_priority(integer, integer, integer, smallint) IS
  'Looks at the waiting jobs of this queue, host and store instance. p_instance: 0 = only jobs that every instance '
  '(directory of the store) may run. Returns their lowest priority number that is p_floor or higher. If there is none, '
  'returns their highest priority number below p_floor. Returns NULL if no job waits.';

CREATE OR REPLACE FUNCTION haul.claim_order(p_claim bigint, OUT priorities smallint[], OUT floor smallint)
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  priorities := '{0,1,2,3,4,5,6,7,8,9}';
  IF p_claim % 8 = 0 THEN
    floor := 1 + (p_claim / 16) % 9;
    IF p_claim % 16 = 8 THEN
      priorities := priorities[floor + 1:10] || ARRAY(SELECT generate_series(floor - 1, 0, -1)::smallint);
    END IF;
  END IF;
END
$$;
COMMENT ON FUNCTION haul.claim_order(bigint) IS
  'Returns in which order a claim looks at the priorities. A claim is one call of a worker for jobs. p_claim: the '
  'number of the claim. floor: the argument p_floor for claim_band(). Seven of eight claims take the jobs with the '
  'highest priority; for these claims, floor is NULL. The other claims start at another priority or take other jobs '
  'from each lane (the waiting jobs of one queue for one host), so that every job gets its turn.';

-- p_seen holds the pool's record of a worker's earlier claims from a queue. "from": claims look only at lanes that are
-- due at this time or later; the key is "instance:priority". "next": the times that will replace "from". "xid" and
-- "at": when "next" was recorded. "look_at": when claim_thoroughly() looks at all lanes again. Earlier claims have read
-- the lanes before "from", so claims do not read the many old index entries of these lanes again. But a transaction
-- that was still running may have made one of these lanes due. So "next" becomes "from" only when all transactions
-- before "xid" have ended and a claim has looked from the old "from" once more. After 5 s, "next" becomes "from" in any
-- case.
CREATE OR REPLACE FUNCTION haul.claim_queue(
  p_worker bigint, p_call bigint, p_claim bigint, p_queue integer, p_max_running integer, p_instance integer,
  p_free_slots integer, p_seen jsonb, OUT claimed integer, OUT seen jsonb, OUT held boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  v_room integer := p_free_slots;
  v_order record;
  v_band record;
  v_priority smallint;
  v_instance integer;
  v_ended boolean := coalesce(pg_snapshot_xmin(pg_current_snapshot()) >= (p_seen ->> 'xid')::xid8
    OR (p_seen ->> 'at')::timestamptz < clock_timestamp() - interval '5 seconds', true);
  v_next jsonb := '{}';
BEGIN
  claimed := 0;
  seen := p_seen;
  held := false;
  IF p_max_running IS NOT NULL THEN
    PERFORM FROM haul.queue_gate g WHERE g.queue = p_queue FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
      held := true;
      RETURN;
    END IF;
    -- Read in a new statement, because earlier claims have committed by now.
    SELECT least(p_free_slots, p_max_running - count(*)) INTO v_room FROM haul.lease l WHERE l.queue = p_queue
      AND l.limited;
  END IF;
  v_order := haul.claim_order(p_claim);
  FOREACH v_priority IN ARRAY v_order.priorities LOOP
    EXIT WHEN claimed >= v_room;
    FOREACH v_instance IN ARRAY ARRAY[p_instance, 0] LOOP
      CONTINUE WHEN claimed >= v_room OR NOT EXISTS (
        SELECT FROM haul.lane l WHERE l.queue = p_queue AND l.instance = v_instance AND l.priority = v_priority
          AND l.next_at IS NOT NULL AND l.next_at >= haul.look_from(p_seen, v_instance, v_priority));
      v_band := haul.claim_band(p_worker, p_call, p_queue, p_max_running IS NOT NULL, v_instance, p_instance,
        v_priority,
        v_order.floor, haul.look_from(p_seen, v_instance, v_priority), v_room - claimed);
      claimed := claimed + v_band.claimed;
      IF v_band.seen IS NOT NULL THEN
        v_next := v_next || jsonb_build_object(v_instance || ':' || v_priority, v_band.seen);
      END IF;
    END LOOP;
  END LOOP;
  IF v_ended THEN
    seen := coalesce(p_seen, '{}') || jsonb_build_object('from',
      coalesce(p_seen -> 'from', '{}') || coalesce(p_seen -> 'next', '{}'), 'next', v_next,
      'xid', pg_snapshot_xmax(pg_current_snapshot())::text, 'at', clock_timestamp());
  END IF;
END
$$;
COMMENT ON FUNCTION haul.claim_queue(bigint, bigint, bigint, integer, integer, integer, integer, jsonb) IS
  'Claims up to p_free_slots jobs of a queue by priority. Within one priority, jobs with a part file in the worker''s '
  'own store instance (a directory of a store) come first. p_max_running: the queue''s limit on running jobs; NULL = '
  'no limit. p_seen: the due times up to which earlier claims have looked; NULL = look at all waiting jobs. Returns '
  'the number of jobs, the new p_seen ("seen"), and whether another session has locked the row of this queue in '
  'queue_gate ("held"). Only queues with a limit have a row in queue_gate. Skips locked rows.';
