CREATE OR REPLACE FUNCTION haul.set_host(p_name text, p_cap integer, p_interval double precision, p_burst integer)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  IF p_name !~ '^(\*|(\*\.)?([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?)$' THEN
    RAISE EXCEPTION '"%" is not a host such as example.org, example.org:8443, *.example.org or *', p_name
      USING ERRCODE = 'HA004';
  END IF;
  PERFORM haul.lock_policies();
  INSERT INTO haul.host_policy AS h (pattern, cap, min_interval, burst)
  VALUES (p_name, coalesce(p_cap, 4), make_interval(secs => coalesce(p_interval, 0)), coalesce(p_burst, 1))
  ON CONFLICT (pattern) DO UPDATE SET cap = coalesce(p_cap, h.cap), burst = coalesce(p_burst, h.burst),
    min_interval = coalesce(make_interval(secs => p_interval), h.min_interval);
  PERFORM haul.policy_changed(p_name);
  PERFORM haul.note_operation('host set', concat_ws(', ', 'host ' || p_name, 'cap ' || p_cap,
    'interval ' || p_interval || ' s', 'burst ' || p_burst));
END
$$;
COMMENT ON FUNCTION haul.set_host(text, integer, double precision, integer) IS
  'Sets the limits of a host for the whole pool. p_name: a host, *.suffix, or * for all hosts. p_cap: maximum number '
  'of concurrent transfers. p_interval: minimum time between two starts, in seconds. p_burst: how many transfers may '
  'start together after a period without starts. NULL = keep the present value. A lower p_cap applies to new starts; '
  'running transfers continue. Changes up to 1,000 hosts that match; for the others, call apply_policies() or wait for '
  'the leader. Raises HA004 for an invalid host name.';

CREATE OR REPLACE FUNCTION haul.block_host(p_name text, p_for interval) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  IF p_name !~ '^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$' THEN
    RAISE EXCEPTION '"%" is not a host such as example.org or example.org:8443', p_name USING ERRCODE = 'HA004';
  END IF;
  PERFORM haul.ensure_hosts(ARRAY[p_name], p_used => false);
  -- Lock in one statement and read in the next, because mended_block() depends on the host.
  PERFORM FROM haul.host h WHERE h.name = p_name FOR UPDATE;
  UPDATE haul.host SET block_reason = 'operator', blocked_until = greatest(
    coalesce(clock_timestamp() + p_for, 'infinity'),
    CASE WHEN block_reason <> 'operator' THEN haul.mended_block(id, blocked_until) END)
  WHERE name = p_name;
  PERFORM haul.note_operation('host block', concat_ws(' for ', 'host ' || p_name, haul.duration_text(p_for)));
END
$$;
COMMENT ON FUNCTION haul.block_host(text, interval) IS
  'Blocks a host: Haul starts no more jobs of this host for p_for; NULL = until unblock_host() is called. Running '
  'transfers continue. Never shortens a block that the host requested or that failures caused, but may shorten an '
  'operator''s block. Raises HA004 for an invalid host name.';

CREATE OR REPLACE FUNCTION haul.unblock_host(
  p_name text, OUT scheduled integer, OUT next_due double precision, OUT last_due double precision)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_host integer;
BEGIN
  PERFORM haul.require_read_committed();
  -- Scheduled jobs have no index by host, so counting takes a while. Count them before the host is locked.
  SELECT count(*), extract(epoch FROM min(s.run_at) - clock_timestamp()),
    extract(epoch FROM max(s.run_at) - clock_timestamp())
  INTO scheduled, next_due, last_due
  FROM haul.scheduled s WHERE s.host = (SELECT n.id FROM haul.host_name n WHERE n.name = p_name)
    AND s.run_at > clock_timestamp();
  UPDATE haul.host SET blocked_until = NULL, block_reason = NULL, failures = 0, trouble_since = NULL,
    cap = policy_cap, successes = 0
  WHERE name = p_name RETURNING id INTO v_host;
  IF v_host IS NULL THEN
    RAISE EXCEPTION 'there is no host "%"', p_name USING ERRCODE = 'HA003', HINT = 'See ''haul hosts''.';
  END IF;
  PERFORM haul.wake_lanes(ARRAY[v_host]);
  PERFORM haul.note_operation('host unblock', 'host ' || p_name);
END
$$;
COMMENT ON FUNCTION haul.unblock_host(text) IS
  'Unblocks a host and clears its failures. Returns how many of its jobs still wait for their own start time, and in '
  'how many seconds the first and the last of them are due (NULL = there are none). Raises HA003 if the host is '
  'unknown.';

-- Claims pass due times in ascending order. A lane must not get a due time that they have already passed.
CREATE OR REPLACE FUNCTION haul.wake_lanes(p_hosts integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM FROM haul.lane l WHERE l.host = ANY (p_hosts) AND l.head IS NOT NULL
  ORDER BY l.host, l.queue, l.instance FOR UPDATE;
  -- A lane must not keep a later time while its host is full: when a transfer of the host ends, only parked lanes
  -- (lanes without a due time) become due. So make the lane due now, and the next claim parks it.
  UPDATE haul.lane l SET next_at = clock_timestamp() FROM haul.host h
  WHERE l.host = ANY (p_hosts) AND h.id = l.host AND l.head IS NOT NULL AND (l.next_at > clock_timestamp()
    OR l.next_at IS NULL AND h.in_flight < haul.places(h.cap, h.failures));
  PERFORM pg_notify('haul', 'queues:all');
END
$$;
COMMENT ON FUNCTION haul.wake_lanes(integer[]) IS
  'Makes waiting jobs of these hosts due now, so that workers can claim them. Changes lanes (the waiting jobs of one '
  'queue for one host) that have a later due time. If the host of a lane allows more transfers, also changes the lane '
  'if it is parked (has no due time). The caller must have locked the hosts. Locks lanes in key order.';

CREATE OR REPLACE FUNCTION haul.unset_host(p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.lock_policies();
  DELETE FROM haul.host_policy p WHERE p.pattern = p_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no policy for "%"', p_name
      USING ERRCODE = 'HA003', HINT = '''haul host policies'' lists all policies.';
  END IF;
  PERFORM haul.policy_changed(p_name);
  PERFORM haul.note_operation('host unset', 'host ' || p_name);
END
$$;
COMMENT ON FUNCTION haul.unset_host(text) IS
  'Deletes the policy for a pattern. The hosts that match the pattern get the next matching policy, or the default. '
  'Raises HA003 if there is no such policy.';

-- set_host() and unset_host() call this first, so that they run one after the other. apply_policies() locks the table,
-- too, so it cannot compare a host with policies that another session is changing.
CREATE OR REPLACE FUNCTION haul.lock_policies() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET lock_timeout = '10s' AS $$
BEGIN
  LOCK TABLE haul.host_policy IN SHARE ROW EXCLUSIVE MODE;
EXCEPTION WHEN lock_not_available THEN
  RAISE EXCEPTION 'another session is changing the limits of hosts' USING ERRCODE = 'HA007',
    HINT = 'Try again when its transaction has ended.';
END
$$;
COMMENT ON FUNCTION haul.lock_policies() IS
  'Waits up to 10 s until no other session changes or applies policies (limits that operators set), and keeps it so '
  'until the transaction ends. Raises HA007 after that time.';

CREATE OR REPLACE FUNCTION haul.policy_changed(p_pattern text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  INSERT INTO haul.host_change (host, resets)
  SELECT h.id, true FROM haul.host h
  WHERE h.name = p_pattern
    OR (p_pattern LIKE '*%' AND right(h.name, length(p_pattern) - 1) = substr(p_pattern, 2))
  ORDER BY h.id
  ON CONFLICT (host) DO UPDATE SET resets = true WHERE NOT host_change.resets;
  -- Most patterns match few hosts, so most changes count at once.
  PERFORM haul.apply_policies(1000, p_pattern);
END
$$;
COMMENT ON FUNCTION haul.policy_changed(text) IS
  'Makes the hosts that match p_pattern follow the policies: up to 1,000 hosts now, and the others in later calls of '
  'apply_policies(). The caller must have called lock_policies().';

-- Thousands of hosts must not be locked at once, because claims would wait for all of them. So this function also finds
-- the policies of the hosts before it locks the hosts. OFFSET 0 keeps the planner from doing so for all hosts.
CREATE OR REPLACE FUNCTION haul.apply_policies(
  p_limit integer, p_name text DEFAULT NULL, OUT applied integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET enable_mergejoin = off
SET lock_timeout = '200ms' AS $$
DECLARE
  v_only integer := (SELECT n.id FROM haul.host_name n WHERE n.name = p_name);
  v_after integer := coalesce(v_only, 0) - 1;
  v_found record;
  v_free integer[] := '{}';
  v_changed integer[];
BEGIN
  PERFORM haul.require_read_committed();
  applied := 0;
  more := CASE WHEN p_name IS NULL THEN EXISTS (SELECT FROM haul.host_change)
    WHEN p_name LIKE '*%' THEN EXISTS (SELECT FROM haul.host_change c WHERE c.resets)
    ELSE EXISTS (SELECT FROM haul.host_change c WHERE c.host = v_only) END;
  IF NOT more THEN
    RETURN;
  END IF;
  BEGIN
    LOCK TABLE haul.host_policy IN SHARE MODE NOWAIT;
  EXCEPTION WHEN lock_not_available THEN
    RETURN;
  END;
  -- If other sessions have locked all these hosts, look at the next ones.
  FOR v_try IN 1..20 LOOP
    SELECT array_agg(c.host) AS ids, array_agg(c.resets) AS resets, array_agg(p.cap) AS caps,
      array_agg(p.min_interval) AS intervals, array_agg(p.burst) AS bursts, max(c.host) AS last
    INTO v_found FROM (
      SELECT c.host, c.resets FROM haul.host_change c WHERE c.host > v_after AND c.host <= coalesce(v_only, 2147483647)
      ORDER BY c.host LIMIT greatest(p_limit, 0) FOR UPDATE SKIP LOCKED) c
    CROSS JOIN LATERAL (SELECT n.name FROM haul.host_name n WHERE n.id = c.host OFFSET 0) n
    CROSS JOIN LATERAL haul.policy_of(n.name) p;
    EXIT WHEN v_found.ids IS NULL;
    v_after := v_found.last;
    v_free := haul.lock_free_hosts(v_found.ids);
    EXIT WHEN v_free <> '{}';
  END LOOP;
  IF v_free <> '{}' THEN
    WITH changed AS (
      UPDATE haul.host h SET cap = w.cap, policy_cap = w.cap, successes = 0, min_interval = w.min_interval,
        burst = w.burst, next_start = least(h.next_start, clock_timestamp() + w.min_interval)
      FROM unnest(v_found.ids, v_found.resets, v_found.caps, v_found.intervals, v_found.bursts)
        AS w(id, resets, cap, min_interval, burst)
      JOIN unnest(v_free) AS f(id) ON f.id = w.id
      WHERE h.id = w.id
        AND (w.resets OR (h.policy_cap, h.min_interval, h.burst) IS DISTINCT FROM (w.cap, w.min_interval, w.burst))
      RETURNING h.id)
    SELECT array_agg(c.id) INTO v_changed FROM changed c;
    IF v_changed IS NOT NULL THEN
      PERFORM haul.wake_lanes(v_changed);
    END IF;
    DELETE FROM haul.host_change c WHERE c.host = ANY (v_free);
  END IF;
  applied := cardinality(v_free);
  more := CASE WHEN v_only IS NULL THEN EXISTS (SELECT FROM haul.host_change c WHERE c.resets)
    ELSE EXISTS (SELECT FROM haul.host_change c WHERE c.host = v_only) END;
END
$$;
COMMENT ON FUNCTION haul.apply_policies(integer, text) IS
  'Gives up to p_limit hosts the limits of the current policies: hosts whose policy was set or removed, and new hosts. '
  'Makes the waiting jobs of changed hosts due. p_name: only the host with this name; NULL or a pattern = all hosts. '
  'Returns the number of hosts in "applied", and in "more" whether such hosts are left. Leaves out hosts that another '
  'session has locked, and all hosts while another session changes a policy. Never waits longer than 200 ms. Locks '
  'hosts, then lanes (the waiting jobs of one queue for one host).';

CREATE OR REPLACE FUNCTION haul.lock_free_hosts(p_hosts integer[]) RETURNS integer[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_mergejoin = off AS $$
DECLARE
  v_hosts integer[];
  v_lanes tid[];
BEGIN
  SELECT coalesce(array_agg(t.id), '{}') INTO v_hosts FROM (
    SELECT h.id FROM haul.host h WHERE h.id = ANY (p_hosts) ORDER BY h.id FOR UPDATE SKIP LOCKED) t;
  SELECT coalesce(array_agg(t.place), '{}') INTO v_lanes FROM (
    SELECT l.ctid AS place FROM haul.lane l WHERE l.host = ANY (v_hosts) AND l.head IS NOT NULL
    ORDER BY l.host, l.queue, l.instance FOR UPDATE SKIP LOCKED) t;
  RETURN ARRAY(SELECT u.id FROM unnest(v_hosts) AS u(id) EXCEPT
    SELECT l.host FROM haul.lane l WHERE l.host = ANY (v_hosts) AND l.head IS NOT NULL
      AND NOT EXISTS (SELECT FROM unnest(v_lanes) AS k(place) WHERE k.place = l.ctid));
END
$$;
COMMENT ON FUNCTION haul.lock_free_hosts(integer[]) IS
  'Locks those hosts of p_hosts that no other session has locked, and their lanes with waiting jobs. Returns these '
  'hosts, but not a host if another session has locked one of its lanes. Never waits.';
