-- Updates hosts when leases end.

CREATE OR REPLACE FUNCTION haul.distrust_ranges(p_done jsonb, p_until timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_hosts integer[] := (SELECT array_agg(DISTINCT d.host_id)
    FROM jsonb_to_recordset(p_done) AS d(host_id integer, range_unsafe uuid) WHERE d.range_unsafe IS NOT NULL);
BEGIN
  IF v_hosts IS NULL THEN
    RETURN;
  END IF;
  DELETE FROM haul.range_unsafe u WHERE u.host = ANY (v_hosts) AND u.until < clock_timestamp();
  INSERT INTO haul.range_unsafe (host, directory, until)
  SELECT DISTINCT d.host_id, d.range_unsafe, p_until
  FROM jsonb_to_recordset(p_done) AS d(host_id integer, range_unsafe uuid) WHERE d.range_unsafe IS NOT NULL
  ON CONFLICT (host, directory) DO UPDATE SET until = excluded.until;
  UPDATE haul.host h SET range_unsafe_until = p_until
  FROM unnest(v_hosts) AS u(id) CROSS JOIN LATERAL haul.host_now(u.id) k WHERE h.ctid = k.place;
END
$$;
COMMENT ON FUNCTION haul.distrust_ranges(jsonb, timestamptz) IS
  'Disables range requests until p_until for URL directories where a server has answered a range request wrongly. '
  'p_done: as for settle_hosts(), with "range_unsafe", the url_directory() of the URL. The caller must have locked the '
  'hosts.';

CREATE OR REPLACE FUNCTION haul.settle_hosts(p_done jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_ids integer[];
  v_blocked text[];
  v_freed integer[];
  v_queues text;
BEGIN
  SELECT array_agg(DISTINCT d.host_id),
    array_agg(DISTINCT d.blocks) FILTER (WHERE d.state = 'scheduled' AND haul.disposition(d.error) = 'host'
      AND d.blocks IS NOT NULL),
    string_agg(DISTINCT d.queue::text, ',') FILTER (WHERE d.state IN ('queued', 'interrupted'))
  INTO v_ids, v_blocked, v_queues
  FROM jsonb_to_recordset(p_done)
    AS d(host_id integer, state haul.job_state, error text, blocks text, queue integer);

  IF v_blocked IS NOT NULL THEN
    SELECT v_ids || array_agg(n.id) INTO v_ids FROM haul.host_name n
    WHERE n.name = ANY (v_blocked) AND n.id <> ALL (v_ids);
  END IF;
  PERFORM FROM unnest(v_ids) AS u(id) CROSS JOIN LATERAL haul.host_now(u.id) n JOIN haul.host h ON h.ctid = n.place
  ORDER BY u.id FOR UPDATE OF h;  -- also locks rows that have changed meanwhile, but does not always return them

  v_freed := haul.give_back_places(p_done);
  IF v_blocked IS NOT NULL THEN
    PERFORM haul.block_hosts(p_done, v_now);
  END IF;
  PERFORM haul.distrust_ranges(p_done, v_now + interval '1 hour');

  IF v_freed IS NOT NULL THEN
    -- Claims of other workers leave the free places to workers that can resume jobs, see reserved_places().
    SELECT concat_ws(',', v_queues, string_agg(DISTINCT k.queue::text, ',')) INTO v_queues
    FROM haul.lane_key k CROSS JOIN LATERAL haul.lane_now(k.host, k.queue, k.instance) l
    WHERE k.host = ANY (v_freed) AND k.instance <> 0 AND l.head IS NOT NULL;
    v_queues := nullif(v_queues, '');
  END IF;
  IF v_freed IS NOT NULL OR v_queues IS NOT NULL THEN
    PERFORM haul.arm(array_agg(a.host), array_agg(a.queue), array_agg(a.instance), array_agg(a.priority),
      array_agg(a.head))
    FROM (
      SELECT d.host_id AS host, d.queue, d.instance, d.priority, d.head
      FROM jsonb_to_recordset(p_done) AS d(host_id integer, queue integer, instance integer,
        priority smallint, head bigint, state haul.job_state)
      WHERE d.state IN ('queued', 'interrupted')
      UNION ALL
      -- No other session changes whether these lanes are due, because their hosts are locked.
      SELECT k.host, k.queue, k.instance, l.priority, l.head
      FROM haul.lane_key k CROSS JOIN LATERAL haul.lane_now(k.host, k.queue, k.instance) l
      WHERE k.host = ANY (v_freed) AND l.next_at IS NULL AND l.head IS NOT NULL) a;
  END IF;
  IF v_queues IS NOT NULL THEN
    PERFORM pg_notify('haul', 'queues:' || v_queues);
  END IF;
END
$$;
COMMENT ON FUNCTION haul.settle_hosts(jsonb) IS
  'Updates the hosts of ended leases, as the second half of end_leases(). Frees the places that the leases used. A '
  'place is one of the concurrent transfers that a host allows. Blocks hosts in trouble. Calls arm() for jobs that '
  'wait again, and for hosts that were full and now have free places, so that workers can claim these jobs. p_done: '
  'one element for each group of leases that ended in the same way, with the number of leases ("ended"), the first job '
  '("head") and "delay", the longest time in seconds to block the host. Locks hosts by id, then lanes (the waiting '
  'jobs of one queue for one host).';

CREATE OR REPLACE FUNCTION haul.give_back_places(p_done jsonb) RETURNS integer[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_freed integer[];
BEGIN
  WITH ended AS (
    SELECT d.host_id, sum(d.ended) AS ended, bool_or(d.answered) AS answered,
      coalesce(sum(d.ended) FILTER (WHERE d.result = 'completed'), 0) AS completed, sum(d.too_many) AS too_many,
      coalesce(sum(d.silent), 0) AS silent
    FROM jsonb_to_recordset(p_done)
      AS d(host_id integer, result text, ended integer, answered boolean, too_many integer, silent integer)
    GROUP BY d.host_id
  ), back AS (
    UPDATE haul.host h SET
      in_flight = greatest(h.in_flight - e.ended, 0),
      failures = CASE WHEN e.answered THEN 0 WHEN e.silent > 0 AND h.failures < 1 THEN -2
        ELSE h.failures END,
      trouble_since = CASE WHEN NOT e.answered THEN h.trouble_since END,
      cap = CASE WHEN e.too_many > 0 THEN least(h.cap, greatest(1, h.in_flight - e.too_many))
        WHEN e.grows THEN h.cap + 1 ELSE h.cap END,
      successes = CASE WHEN h.cap < h.policy_cap AND NOT e.grows AND e.too_many = 0
        THEN h.successes + e.completed ELSE 0 END
    FROM (
      SELECT k.place, k.in_flight >= haul.places(k.cap, k.failures) AS was_full, n.*,
        k.cap < k.policy_cap AND k.successes + n.completed >= haul.successes_to_grow() AS grows
      FROM ended n CROSS JOIN LATERAL haul.host_now(n.host_id) k) e
    WHERE h.ctid = e.place
    RETURNING h.id, e.was_full AND h.in_flight < haul.places(h.cap, h.failures) AS freed)
  SELECT array_agg(b.id) FILTER (WHERE b.freed) INTO v_freed FROM back b;
  RETURN v_freed;
END
$$;
COMMENT ON FUNCTION haul.give_back_places(jsonb) IS
  'Frees the places of leases that have ended. A place is one of the concurrent transfers that a host allows. The '
  'caller must have locked these hosts. p_done: as for settle_hosts(). If a host has answered, sets its '
  'number of failures to 0. After successes_to_grow() completed jobs, raises a lowered limit by 1. If a host sent a '
  'transfer no first byte in time, allows this host one transfer at a time until it answers. If a host refused some '
  'requests while others ran, lowers the limit of this host to the number of requests that it served. Returns the ids '
  'of the hosts that were full and now have free places, or NULL if there are none.';

CREATE OR REPLACE FUNCTION haul.block_hosts(p_done jsonb, p_now timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  UPDATE haul.host h SET
    blocked_until = greatest(b.until, p_now + make_interval(secs => b.delay)),
    block_reason = CASE WHEN b.until > p_now THEN h.block_reason ELSE b.error END,
    -- Several transfers that fail together count as one failure. If a host reports too many requests, halve its limit.
    failures = CASE WHEN b.until > p_now THEN h.failures ELSE greatest(h.failures, 0) + 1 END,
    cap = CASE WHEN b.error = 'rate_limited' AND (b.until > p_now) IS NOT TRUE
      THEN greatest(1, h.cap / 2) ELSE h.cap END,
    successes = 0,
    trouble_since = CASE WHEN b.until > p_now - haul.trouble_memory()
      THEN coalesce(h.trouble_since, p_now) ELSE p_now END
  FROM (
    SELECT d.delay, d.error, k.place, haul.mended_block(n.id, k.blocked_until) AS until
    FROM (
      SELECT d.blocks AS name, max(d.delay) AS delay, max(d.error) AS error
      FROM jsonb_to_recordset(p_done)
        AS d(blocks text, delay double precision, state haul.job_state, error text)
      WHERE d.state = 'scheduled' AND haul.disposition(d.error) = 'host' GROUP BY d.blocks) d
    JOIN haul.host_name n ON n.name = d.name CROSS JOIN LATERAL haul.host_now(n.id) k) b
  WHERE h.ctid = b.place;
END
$$;
COMMENT ON FUNCTION haul.block_hosts(jsonb, timestamptz) IS
  'Blocks the hosts whose transfers failed because of a problem of the host. A block begins at p_now and lasts for the '
  'longest "delay" of the host in p_done. The caller must have locked these hosts. p_done: as for settle_hosts().';
