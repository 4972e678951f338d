-- The database's clock may be ahead, for example after a virtual machine boots, and be set back later (a clock step).
-- Times that were written before the step are in the future after it: a dead worker looks alive, and no waiting job
-- becomes due.

CREATE OR REPLACE FUNCTION haul.mend_clock(p_now timestamptz, p_step interval) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  -- First correct the remaining retry times of an earlier clock step.
  PERFORM haul.mend_waits(2147483647);
  UPDATE haul.pulse SET round_at = '-infinity', grace_until = '-infinity', promoted_at = NULL,
    stepped_at = p_now, step = p_step;
  INSERT INTO haul.clock_step AS c (stepped_at, step, mended_to) VALUES (p_now, p_step, 0)
  ON CONFLICT (single) DO UPDATE SET stepped_at = p_now, step = p_step, mended_to = 0;
  -- If a host still has the same block as at an earlier clock step, its times need the correction for both steps.
  INSERT INTO haul.clock_host AS c (host, blocked_until, step)
  SELECT h.id, CASE WHEN h.blocked_until > p_now AND h.block_reason IS DISTINCT FROM 'operator' THEN h.blocked_until
    END, p_step
  FROM haul.host h
  WHERE greatest(h.last_start, h.trouble_since, h.next_start, h.range_unsafe_until) > p_now
    OR h.blocked_until > p_now AND h.block_reason IS DISTINCT FROM 'operator'
    OR h.id IN (SELECT l.host FROM haul.lane l WHERE l.next_at > p_now)
  ON CONFLICT (host) DO UPDATE SET blocked_until = excluded.blocked_until,
    step = CASE WHEN c.blocked_until = excluded.blocked_until THEN c.step ELSE '0' END + p_step;
  -- If swept_at were in the future, the leader would not continue a command on a batch after the operator's program has
  -- ended. Skip a locked batch: the step of the command that holds the lock updates swept_at itself.
  UPDATE haul.batch b SET swept_at = p_now FROM (
    SELECT k.id FROM haul.batch k WHERE k.sweep IS NOT NULL AND k.swept_at > p_now
    ORDER BY k.id FOR UPDATE SKIP LOCKED) k
  WHERE b.id = k.id;
  -- Forget how far claims have looked at the lanes of their queues.
  UPDATE haul.worker_call c SET seen = '{}' FROM (
    SELECT k.worker FROM haul.worker_call k WHERE k.seen <> '{}' ORDER BY k.worker FOR UPDATE) k
  WHERE c.worker = k.worker;
  -- A live worker soon sends its next heartbeat. A dead worker expires as if it had sent its last heartbeat now.
  UPDATE haul.worker w SET heartbeat_at = least(w.heartbeat_at, p_now), steady_since = least(w.steady_since, p_now),
    expires_at = least(w.expires_at, p_now + haul.lease_expiry()), stopped_at = least(w.stopped_at, p_now)
  FROM (
    SELECT k.id FROM haul.worker k
    WHERE greatest(k.heartbeat_at, k.steady_since, k.stopped_at, k.expires_at - haul.lease_expiry()) > p_now
    ORDER BY k.id FOR UPDATE) k
  WHERE w.id = k.id;
  -- Skip locked rows: submit(), for example, locks its submission and renews it as its last step.
  UPDATE haul.submission s SET renewed_at = p_now FROM (
    SELECT k.id FROM haul.submission k WHERE k.renewed_at > p_now ORDER BY k.id FOR UPDATE SKIP LOCKED) k
  WHERE s.id = k.id;
  PERFORM haul.mend_times(haul.mended_at_once());
  RAISE WARNING 'haul: the clock of the database was set back by %', p_step;
END
$$;
COMMENT ON FUNCTION haul.mend_clock(timestamptz, interval) IS
  'Corrects times that were written while the clock was ahead by p_step: those of leases, retries, interrupted jobs, '
  'submissions, commands on batches, automatic blocks and the next starts of hosts. Keeps times that a person has set: '
  'the start of an untried job, and an operator''s block. A time that was written before the clock was ahead also '
  'becomes earlier by p_step. Locks rows in the order that all functions use. Leaves the times of waiting jobs and '
  'hosts to mend_times(), which corrects them in steps.';

CREATE OR REPLACE FUNCTION haul.mended_at_once() RETURNS integer LANGUAGE sql IMMUTABLE RETURN 20000;
COMMENT ON FUNCTION haul.mended_at_once() IS
  'Returns a limit for one maintenance round: mend_times() corrects at most this many retries, this many hosts and '
  'this many interrupted jobs.';

CREATE OR REPLACE FUNCTION haul.mend_times(p_limit integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_latest timestamptz := clock_timestamp() + haul.hold_time();
BEGIN
  PERFORM haul.mend_waits(p_limit);
  UPDATE haul.ready r SET hold_until = v_latest FROM (
    SELECT k.job FROM haul.ready k WHERE k.instance <> 0 AND k.hold_until > v_latest
    ORDER BY k.hold_until LIMIT p_limit FOR UPDATE SKIP LOCKED) k
  WHERE r.job = k.job;
  PERFORM haul.mend_hosts(p_limit);
END
$$;
COMMENT ON FUNCTION haul.mend_times(integer) IS
  'Corrects waiting times that mend_clock() has not corrected. One call corrects at most p_limit retries, p_limit '
  'hosts and p_limit interrupted jobs (jobs that wait for a worker with their part file). Does nothing once all times '
  'are correct.';

CREATE OR REPLACE FUNCTION haul.mend_waits(p_limit integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_from bigint;
  v_step interval;
  v_stepped timestamptz;
  v_latest timestamptz;
  v_last bigint;
BEGIN
  SELECT c.mended_to, c.step, c.stepped_at INTO v_from, v_step, v_stepped FROM haul.clock_step c;
  IF FOUND THEN
    SELECT max(t.job) INTO v_last FROM (
      (SELECT h.job FROM haul.held h WHERE h.job > v_from ORDER BY h.job LIMIT p_limit)
      UNION ALL (SELECT s.job FROM haul.scheduled s WHERE s.job > v_from ORDER BY s.job LIMIT p_limit)
      ORDER BY job LIMIT p_limit) t;
    UPDATE haul.clock_step SET mended_to = v_last WHERE v_last IS NOT NULL;
    DELETE FROM haul.clock_step WHERE v_last IS NULL;
    -- If the clock was set back once more, times later than now may have been written since the earlier clock step.
    v_latest := greatest(v_now, (SELECT p.round_at FROM haul.pulse p));
    -- Keep the time of an untried job, because a person has set it. Keep the wait of a job that was tried or submitted
    -- again after the step, because it is correct.
    INSERT INTO haul.clock_wait AS w (job, run_at, step)
    SELECT k.job, k.run_at, v_step FROM (
      SELECT h.job, h.run_at FROM haul.held h WHERE h.job > v_from AND h.job <= v_last
      UNION ALL SELECT s.job, s.run_at FROM haul.scheduled s WHERE s.job > v_from AND s.job <= v_last) k
    WHERE k.run_at > v_now AND EXISTS (SELECT FROM haul.attempt a WHERE a.job = k.job)
      AND NOT EXISTS (
        SELECT FROM haul.attempt a WHERE a.job = k.job AND a.ended_at BETWEEN v_stepped AND v_latest)
      AND NOT EXISTS (SELECT FROM haul.job j WHERE j.id = k.job AND j.submitted_at BETWEEN v_stepped AND v_latest)
    ON CONFLICT (job) DO UPDATE SET run_at = excluded.run_at,
      step = CASE WHEN w.run_at = excluded.run_at THEN w.step ELSE '0' END + excluded.step;
  END IF;
  IF NOT EXISTS (SELECT FROM haul.clock_wait) THEN
    RETURN;
  END IF;
  WITH free AS MATERIALIZED (
    SELECT w.job, w.step FROM haul.clock_wait w JOIN haul.held k ON k.job = w.job AND k.run_at = w.run_at
    ORDER BY w.job LIMIT p_limit FOR UPDATE OF k SKIP LOCKED)
  UPDATE haul.held h SET run_at = greatest(v_now, h.run_at - f.step) FROM free f WHERE h.job = f.job;
  WITH free AS MATERIALIZED (
    SELECT w.job, w.step FROM haul.clock_wait w JOIN haul.scheduled k ON k.job = w.job AND k.run_at = w.run_at
    ORDER BY w.job LIMIT p_limit FOR UPDATE OF k SKIP LOCKED)
  UPDATE haul.scheduled s SET run_at = greatest(v_now, s.run_at - f.step) FROM free f WHERE s.job = f.job;
  -- Remove the corrected jobs, and those that got another time or no longer wait.
  DELETE FROM haul.clock_wait w
  WHERE NOT EXISTS (SELECT FROM haul.held h WHERE h.job = w.job AND h.run_at = w.run_at)
    AND NOT EXISTS (SELECT FROM haul.scheduled s WHERE s.job = w.job AND s.run_at = w.run_at);
END
$$;
COMMENT ON FUNCTION haul.mend_waits(integer) IS
  'Corrects the retry times of the next p_limit waiting jobs whose ids are above clock_step.mended_to, as described in '
  'mend_clock(). Does nothing once all jobs have been checked. Never waits: a job that another session has locked '
  'stays in clock_wait until a later call.';

CREATE OR REPLACE FUNCTION haul.mend_hosts(p_limit integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
  v_hosts integer[];
BEGIN
  IF NOT EXISTS (SELECT FROM haul.clock_host) THEN
    RETURN;
  END IF;
  -- A host stays in clock_host while another session has locked it or one of its lanes.
  v_hosts := ARRAY(
    SELECT h.id FROM haul.clock_host c JOIN haul.host h ON h.id = c.host
    ORDER BY c.host LIMIT p_limit FOR UPDATE OF h SKIP LOCKED);
  WITH free AS MATERIALIZED (
    SELECT l.host, l.queue, l.instance FROM haul.lane l WHERE l.host = ANY (v_hosts) AND l.head IS NOT NULL
    ORDER BY l.host, l.queue, l.instance FOR UPDATE SKIP LOCKED
  ), taken AS (
    SELECT l.host, l.queue, l.instance FROM haul.lane l WHERE l.host = ANY (v_hosts) AND l.head IS NOT NULL
    EXCEPT SELECT f.host, f.queue, f.instance FROM free f
  )
  SELECT ARRAY(SELECT unnest(v_hosts) EXCEPT SELECT t.host FROM taken t) INTO v_hosts;
  -- Lower the times of the host, except blocked_until, only to the latest value that they may have now. So a time that
  -- was written after the clock step stays.
  UPDATE haul.host h SET last_start = least(h.last_start, v_now), trouble_since = least(h.trouble_since, v_now),
    next_start = least(h.next_start, v_now + h.min_interval * h.burst),
    range_unsafe_until = least(h.range_unsafe_until, v_now + interval '1 hour'),
    blocked_until = CASE WHEN h.block_reason IS DISTINCT FROM 'operator' AND h.blocked_until > v_now
      THEN greatest(v_now, haul.mended_block(h.id, h.blocked_until)) ELSE h.blocked_until END
  WHERE h.id = ANY (v_hosts);
  UPDATE haul.range_unsafe u SET until = v_now + interval '1 hour'
  WHERE u.host = ANY (v_hosts) AND u.until > v_now + interval '1 hour';
  -- A lane may become due too early. Then the next claim finds no job that may start, and sets the right time.
  PERFORM haul.wake_lanes(v_hosts);
  -- Also remove from clock_host the hosts that were deleted meanwhile.
  DELETE FROM haul.clock_host c WHERE c.host = ANY (v_hosts)
    OR NOT EXISTS (SELECT FROM haul.host h WHERE h.id = c.host);
END
$$;
COMMENT ON FUNCTION haul.mend_hosts(integer) IS
  'Corrects the times of at most p_limit hosts in the table clock_host, and of their lanes (the waiting jobs of one '
  'queue for one host), as described in mend_clock(). A host stays in clock_host while another session has locked it '
  'or one of its lanes. Locks hosts by id, then lanes, and never waits.';

CREATE OR REPLACE FUNCTION haul.mended_block(p_host integer, p_until timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN coalesce((SELECT p_until - c.step FROM haul.clock_host c WHERE c.host = p_host AND c.blocked_until = p_until),
    p_until);
END
$$;
COMMENT ON FUNCTION haul.mended_block(integer, timestamptz) IS
  'Returns the end of a host''s block. If this time was written while the database''s clock was ahead and mend_hosts() '
  'has not corrected it yet, returns the corrected end. p_until: host.blocked_until. The caller must have locked the '
  'host.';
