-- heartbeat() waits only for locks of the worker's own rows, so it never waits for a claim.
--
-- While a transaction keeps an old snapshot, the indexes keep all leases that have ended since. So a heartbeat must not
-- read all entries of its worker in lease_worker. It finds leases by job ("+ 0" rules the other index out), commands in
-- an index of their own, and leases that the worker does not list only among calls that are new since the last
-- heartbeat. A lease that a reply failed to tell, or that the worker has forgotten later, is found twice a minute.
CREATE OR REPLACE FUNCTION haul.heartbeat(p_worker bigint, p_secret text, p_seen bigint, p_holding jsonb,
  p_received jsonb DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_now timestamptz;
  v_draining boolean;
  v_checked bigint;
  v_checked_at timestamptz;
  v_is_full boolean;
  -- Workers of earlier versions send no p_received. For them, look up the batches of the jobs.
  v_jobs bigint[] := CASE WHEN p_received IS NULL
    THEN ARRAY(SELECT e.job FROM jsonb_to_recordset(p_holding) AS e(job bigint) WHERE e.job IS NOT NULL) END;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  -- A rescue of this worker may have locked the row. Wait until it ends, then read everything again.
  SELECT w.checked_call, w.checked_at INTO v_checked, v_checked_at FROM haul.worker w WHERE w.id = p_worker FOR UPDATE;
  v_now := clock_timestamp();
  v_is_full := v_checked_at NOT BETWEEN v_now - interval '30 seconds' AND v_now;
  UPDATE haul.worker SET heartbeat_at = v_now, checked_call = greatest(checked_call, p_seen),
    checked_at = CASE WHEN v_is_full THEN v_now ELSE checked_at END, expires_at = v_now + haul.lease_expiry(),
    -- Store the rates in the form that views read, and leave out invalid rates.
    received = coalesce((
      SELECT jsonb_agg(jsonb_build_object('queue', left(r.queue, 200), 'batch', left(r.batch, 200), 'rate',
        least(r.rate, 1000000000000)))
      FROM (
        (SELECT e.queue, e.batch, e.rate FROM jsonb_to_recordset(p_received) AS e(queue text, batch text, rate bigint)
          LIMIT 10000)
        UNION ALL
        SELECT q.name, b.name, haul.whole(sum(e.rate))
        FROM jsonb_to_recordset(CASE WHEN p_received IS NULL THEN p_holding ELSE '[]' END) AS e(job bigint,
          token bigint, rate bigint)
        JOIN haul.lease l ON l.job = e.job AND l.token = e.token AND l.worker + 0 = p_worker
        JOIN haul.queue q ON q.id = l.queue JOIN haul.job_rows(v_jobs) j ON j.id = l.job
        LEFT JOIN haul.batch b ON b.id = j.batch
        GROUP BY q.name, b.name) r
      WHERE r.rate > 0), '[]'),
    steady_since = CASE WHEN heartbeat_at < v_now - interval '5 seconds' THEN v_now ELSE steady_since END
  WHERE id = p_worker RETURNING draining INTO v_draining;

  INSERT INTO haul.progress AS p (job, token, worker, bytes, total, rate, updated_at)
  SELECT e.job, e.token, p_worker, coalesce(haul.bytes_of(e.bytes), 0), haul.bytes_of(e.total),
    coalesce(haul.bytes_of(e.rate), 0), v_now
  FROM jsonb_to_recordset(p_holding) AS e(job bigint, token bigint, bytes bigint, total bigint, rate bigint)
  JOIN haul.lease l ON l.job = e.job AND l.token = e.token AND l.worker + 0 = p_worker
  ORDER BY e.job
  ON CONFLICT (job) DO UPDATE SET token = excluded.token, worker = excluded.worker, bytes = excluded.bytes,
    total = excluded.total, rate = excluded.rate, updated_at = excluded.updated_at
  WHERE p.token <= excluded.token;
  -- Delete after the insert above, which waits for locks in job order, and do not wait here. Otherwise two workers
  -- could wait for each other if one takes over jobs of the other.
  DELETE FROM haul.progress p WHERE p.job IN (
    SELECT g.job FROM haul.progress g WHERE g.worker = p_worker AND NOT EXISTS (
      SELECT FROM jsonb_to_recordset(p_holding) AS e(token bigint) WHERE e.token = g.token)
    FOR UPDATE SKIP LOCKED);

  PERFORM haul.hear_hosts(p_worker, p_holding);
  RETURN jsonb_build_object(
    'expiry', extract(epoch FROM haul.lease_expiry()),
    'draining', v_draining,
    'peers', haul.peers(p_worker),
    'lost', coalesce((SELECT jsonb_agg(e.token) FROM jsonb_to_recordset(p_holding) AS e(job bigint, token bigint)
      WHERE NOT EXISTS (
        SELECT FROM haul.lease l WHERE l.job = e.job AND l.token = e.token AND l.worker + 0 = p_worker)), '[]'),
    'commands', coalesce((SELECT jsonb_agg(jsonb_build_object('job', l.job, 'token', l.token, 'command', l.command))
      FROM haul.lease l WHERE l.worker = p_worker AND l.command IS NOT NULL), '[]'),
    'unlisted', coalesce((SELECT jsonb_agg(jsonb_build_object('job', l.job, 'token', l.token))
      FROM haul.lease l WHERE l.worker = p_worker AND l.call <= p_seen
        AND l.call > CASE WHEN v_is_full THEN -1 ELSE v_checked END AND NOT EXISTS (
        SELECT FROM jsonb_to_recordset(p_holding) AS e(token bigint) WHERE e.token = l.token)), '[]'));
END
$$;
COMMENT ON FUNCTION haul.heartbeat(bigint, text, bigint, jsonb, jsonb) IS
  'Extends all leases of a worker and records its progress. p_seen: the last call whose reply the worker has read. '
  'p_holding: all jobs that the worker believes it holds, [{"job", "token", "bytes", "total", "rate", '
  '"waits_for_disk"}]. p_received: bytes per second of all transfers of the worker, including transfers that have just '
  'ended, [{"queue", "batch", "rate"}]; NULL = the sum of p_holding. Returns {"expiry": seconds, "draining", "peers": '
  'how many other workers could take the same jobs, "lost": [tokens], "commands": [{"job", "token", "command"}], '
  '"unlisted": [{"job", "token"}]}. "lost" has the leases in p_holding that the worker no longer has. "unlisted" has '
  'the leases of calls up to p_seen that are missing from p_holding. The worker should release these leases. Most '
  'heartbeats look only at calls after the p_seen of the heartbeat before; twice a minute, a heartbeat looks at all '
  'calls. The worker''s leases are valid for "expiry" seconds from the moment when the worker sent the call. Waits '
  'only for locks of the worker''s own rows. Also locks hosts and their lanes (the waiting jobs of one queue for one '
  'host), but skips rows that another session has locked.';

CREATE OR REPLACE FUNCTION haul.peers(p_worker bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  RETURN (
    SELECT count(*) FROM haul.worker w JOIN haul.worker o ON o.id <> w.id
    WHERE w.id = p_worker AND o.stopped_at IS NULL AND o.expires_at > clock_timestamp() AND NOT o.draining
      AND (w.queues IS NULL OR o.queues IS NULL OR w.queues && o.queues)
      AND EXISTS (
        SELECT FROM haul.store_instance i JOIN haul.store_instance n ON n.store = i.store
        WHERE i.id = ANY (w.instances) AND n.id = ANY (o.instances)
          AND NOT coalesce(o.closed_stores ? n.id::text, false)));
END
$$;
COMMENT ON FUNCTION haul.peers(bigint) IS
  'Returns how many other live workers could take the jobs of a worker. Counts workers that have a store and a queue '
  'in common with this worker and are not draining. Locks nothing.';

-- Never waits, because the next heartbeat comes soon. Skips a host if another session has locked one of its parked
-- lanes (lanes that are not due), because this function could not make that lane due.
CREATE OR REPLACE FUNCTION haul.hear_hosts(p_worker bigint, p_holding jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_hosts integer[];
  v_lanes tid[];
  v_queues text;
BEGIN
  SELECT array_agg(t.id) INTO v_hosts FROM (
    SELECT h.id FROM (
      SELECT l.host, max(l.started_at) AS started_at
      FROM jsonb_to_recordset(p_holding) AS e(job bigint, token bigint, bytes bigint,
        waits_for_disk boolean)
      JOIN haul.lease l ON l.job = e.job AND l.token = e.token AND l.worker + 0 = p_worker
      WHERE e.bytes > l.resumed_at OR e.waits_for_disk GROUP BY l.host) d
    CROSS JOIN LATERAL haul.host_now(d.host) n JOIN haul.host h ON h.ctid = n.place
    WHERE h.failures <> 0 AND coalesce(h.blocked_until <= d.started_at, true)
    ORDER BY h.id FOR UPDATE OF h SKIP LOCKED) t;
  IF v_hosts IS NULL THEN
    RETURN;
  END IF;
  -- A new statement: while the hosts are locked, no other session parks their lanes (removes the due times).
  SELECT array_agg(t.place) INTO v_lanes FROM (
    SELECT l.ctid AS place FROM haul.lane_key k
    CROSS JOIN LATERAL haul.lane_now(k.host, k.queue, k.instance) n JOIN haul.lane l ON l.ctid = n.place
    WHERE k.host = ANY (v_hosts) AND l.next_at IS NULL AND l.head IS NOT NULL
    ORDER BY k.host, k.queue, k.instance FOR UPDATE OF l SKIP LOCKED) t;
  SELECT array_agg(u.id) INTO v_hosts FROM unnest(v_hosts) AS u(id) WHERE NOT EXISTS (
    SELECT FROM haul.lane_key k CROSS JOIN LATERAL haul.lane_now(k.host, k.queue, k.instance) n
    WHERE k.host = u.id AND n.next_at IS NULL AND n.head IS NOT NULL
      AND n.place <> ALL (coalesce(v_lanes, '{}')));
  UPDATE haul.host h SET failures = 0, trouble_since = NULL
  FROM unnest(v_hosts) AS u(id) CROSS JOIN LATERAL haul.host_now(u.id) n WHERE h.ctid = n.place;
  WITH armed AS (
    UPDATE haul.lane l SET next_at = clock_timestamp()
    FROM unnest(v_lanes) AS u(place) WHERE l.ctid = u.place AND l.host = ANY (v_hosts) RETURNING l.queue)
  SELECT string_agg(DISTINCT a.queue::text, ',') INTO v_queues FROM armed a;
  IF v_queues IS NOT NULL THEN
    PERFORM pg_notify('haul', 'queues:' || v_queues);
  END IF;
END
$$;
COMMENT ON FUNCTION haul.hear_hosts(bigint, jsonb) IS
  'Restores the full limits of hosts that answer again, so that workers can claim more jobs of these hosts. A host '
  'counts as answering if a transfer of this worker has received bytes or waits for a disk. The transfer must have '
  'begun after the host''s last block. p_holding: as for heartbeat(). Skips locked rows.';

CREATE OR REPLACE FUNCTION haul.checkpoint(p_worker bigint, p_secret text, p_points jsonb) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_live bigint[];
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  SELECT coalesce(array_agg(t.token), '{}') INTO v_live FROM (
    SELECT l.token FROM jsonb_to_recordset(p_points) AS e(job bigint, token bigint)
    JOIN haul.lease l ON l.job = e.job AND l.token = e.token AND l.worker + 0 = p_worker
    -- This waits for a session that ends the lease, but not for an operator's transaction.
    ORDER BY l.job FOR KEY SHARE OF l) t;
  INSERT INTO haul.checkpoint AS c (job, token, instance, durable, length, resume, intent, saved_at)
  -- Match by job and token: one job's token gives no right to another job.
  SELECT e.job, e.token, l.instance, e.durable * int8multirange(int8range(0, haul.largest_file())),
    haul.bytes_of(e.length), e.resume::jsonb, e.intent, clock_timestamp()
  FROM jsonb_to_recordset(p_points) AS e(job bigint, token bigint, durable int8multirange, length bigint, resume text,
    intent text)
  JOIN haul.lease l ON l.job = e.job AND l.token = e.token AND l.worker + 0 = p_worker
  WHERE e.token = ANY (v_live) AND octet_length(e.resume) <= 65536 AND octet_length(coalesce(e.intent, '')) <= 4096
  ORDER BY e.job
  ON CONFLICT (job) DO UPDATE SET token = excluded.token, instance = excluded.instance, durable = excluded.durable,
    length = excluded.length, resume = excluded.resume, intent = excluded.intent, saved_at = excluded.saved_at
  WHERE c.token <= excluded.token;
  RETURN v_live;
END
$$;
COMMENT ON FUNCTION haul.checkpoint(bigint, text, jsonb) IS
  'Records how many bytes of each download are safe on disk. Call it after the bytes have reached the disk, in the '
  'directory that the worker mounts for the job''s store. p_points: [{"job", "token", "durable", "length", "resume", '
  '"intent"}]. Returns the tokens whose leases still exist. An entry changes nothing if its lease has ended, its '
  '"resume" exceeds 64 KiB or its "intent" exceeds 4,096 bytes.';

CREATE OR REPLACE FUNCTION haul.part_grace(p_state haul.job_state) RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN CASE p_state WHEN 'cancelled' THEN interval '1 hour' ELSE interval '7 days' END;
COMMENT ON FUNCTION haul.part_grace(haul.job_state) IS
  'Returns how long the part file of a job that ended in this state is kept for a retry.';

CREATE OR REPLACE FUNCTION haul.unneeded_parts(p_worker bigint, p_secret text, p_instance integer, p_parts jsonb)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
DECLARE
  v_jobs bigint[] := ARRAY(SELECT e.job FROM jsonb_to_recordset(p_parts) AS e(job bigint) WHERE e.job IS NOT NULL);
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  IF v_jobs = '{}' THEN
    RETURN '[]';
  END IF;
  -- Delete the checkpoint before the worker deletes the file. A retry locks the outcome too. If the retry comes first,
  -- the part file stays. If the retry comes later, it finds no checkpoint.
  WITH late AS (
    SELECT o.job FROM haul.outcome o
    WHERE o.job = ANY (v_jobs)
      AND o.finished_at < clock_timestamp() - haul.part_grace(o.state)
    ORDER BY o.job FOR UPDATE SKIP LOCKED)
  DELETE FROM haul.checkpoint c USING late WHERE c.job = late.job AND c.instance = p_instance;
  RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('job', e.job, 'token', e.token)), '[]')
    FROM jsonb_to_recordset(p_parts) AS e(job bigint, token bigint)
    WHERE NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = e.job)
      AND NOT EXISTS (SELECT FROM haul.checkpoint c WHERE c.job = e.job AND c.instance = p_instance));
END
$$;
COMMENT ON FUNCTION haul.unneeded_parts(bigint, text, integer, jsonb) IS
  'Returns the part files of a store instance (a directory of a store) that are no longer needed. p_parts: the part '
  'files to check, [{"job", "token"}]. A part file is needed while its job runs or has a checkpoint (saved progress) '
  'in this instance. First deletes the checkpoints of jobs that ended longer ago than part_grace().';
