CREATE OR REPLACE FUNCTION haul.leases_of(p_worker bigint, p_call bigint, p_job bigint DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_jobs haul.job[] := ARRAY(SELECT j FROM haul.job_rows(ARRAY(SELECT l.job FROM haul.lease l
    WHERE l.worker = p_worker AND l.call = p_call AND (p_job IS NULL OR l.job = p_job))) j);
  v_again bigint[] := ARRAY(SELECT l.job FROM haul.lease l
    WHERE l.worker = p_worker AND l.call = p_call AND (p_job IS NULL OR l.job = p_job) AND l.attempt > 1);
  v_notes jsonb := haul.attempt_notes(v_again);
BEGIN
  -- Jobs of one submission usually have the same options, so check each different value only once.
  PERFORM haul.readable_options(o.options) FROM (
    SELECT DISTINCT j.options FROM unnest(v_jobs) j WHERE j.options <> '{}') o;
  RETURN (
  WITH leases AS MATERIALIZED (
    SELECT l.host, l.queue FROM haul.lease l
    WHERE l.worker = p_worker AND l.call = p_call AND (p_job IS NULL OR l.job = p_job)
  ), hosts AS MATERIALIZED (
    SELECT l.host AS id, h.name, h.range_unsafe_until, h.failures
    FROM (SELECT DISTINCT l.host FROM leases l) l CROSS JOIN LATERAL haul.host_now(l.host) h
  ), queues AS MATERIALIZED (
    SELECT q.id, q.name, s.name AS store FROM haul.queue q JOIN haul.store s ON s.id = q.store
    WHERE q.id = ANY (ARRAY(SELECT DISTINCT l.queue FROM leases l))
  )
  SELECT coalesce(jsonb_agg(jsonb_build_object(
    'job', l.job, 'token', l.token, 'queue', q.name,
    'batch', (SELECT b.name FROM haul.batch b WHERE b.id = j.batch), 'store', q.store, 'instance', l.instance,
    'url', haul.url_in_use(j.url, j.options, j.mirror), 'host', h.name, 'path', j.path,
    'options', j.options, 'attempt', l.attempt)
    || CASE WHEN h.failures <> 0 THEN jsonb_build_object('host_failures', h.failures) ELSE '{}' END
    -- A first attempt has no history to add.
    || CASE WHEN c.job IS NULL AND l.attempt = 1 AND h.range_unsafe_until IS NULL THEN '{}'
      ELSE jsonb_strip_nulls(jsonb_build_object(
        'resume', c.resume::text, 'resume_instance', c.instance, 'resume_token', c.token, 'intent', c.intent,
        'range_unsafe', CASE WHEN h.range_unsafe_until > clock_timestamp() THEN (
          SELECT true FROM haul.range_unsafe u
          WHERE u.host = h.id AND u.directory = haul.url_directory(haul.url_in_use(j.url, j.options, j.mirror))
            AND u.until > clock_timestamp()) END,
        'earlier', CASE WHEN l.attempt > 1 THEN (
          SELECT jsonb_build_object('path', f.path, 'bytes', f.bytes, 'digest', f.digest, 'source', f.source)
          FROM haul.refresh f WHERE f.job = l.job) END))
      || coalesce(v_notes -> l.job::text, '{}') END ORDER BY l.token), '[]')
  FROM unnest(v_jobs) j
  JOIN haul.lease l ON l.job = j.id AND l.worker = p_worker AND l.call = p_call
  JOIN hosts h ON h.id = l.host
  JOIN queues q ON q.id = l.queue
  LEFT JOIN haul.checkpoint c ON c.job = l.job);
END
$$;
COMMENT ON FUNCTION haul.leases_of(bigint, bigint, bigint) IS
  'Returns the leases that call p_call of a worker created; [] = none. Each lease has everything that the worker needs '
  'to start or continue the job. p_job: only the lease of this job; NULL = all. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.readable_options(p_options jsonb) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF haul.wrong_option(p_options) IS NOT NULL THEN
    RAISE EXCEPTION 'the option "%" has an invalid value', haul.wrong_option(p_options)
      USING ERRCODE = 'invalid_parameter_value';
  END IF;
  RETURN p_options;
END
$$;
COMMENT ON FUNCTION haul.readable_options(jsonb) IS
  'Returns p_options. Raises SQLSTATE 22023 for options that earlier versions accepted but no worker can read.';

CREATE OR REPLACE FUNCTION haul.claimed_by(p_worker bigint, p_call bigint) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_lease record;
  v_found jsonb;
  v_claimed jsonb[] := '{}';
  v_bytes bigint := 0;
  v_released jsonb[] := '{}';
BEGIN
  RETURN haul.leases_of(p_worker, p_call);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
  FOR v_lease IN SELECT l.job, l.token FROM haul.lease l WHERE l.worker = p_worker AND l.call = p_call ORDER BY l.job
  LOOP
    BEGIN
      v_found := CASE WHEN v_released = '{}' THEN haul.leases_of(p_worker, p_call, v_lease.job) -> 0 END;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
      PERFORM haul.set_aside(p_worker, to_jsonb(v_lease.job), to_jsonb(v_lease.token),
        format('the database cannot give this job to a worker: %s (%s)', SQLERRM, SQLSTATE));
      CONTINUE;
    END;
    v_bytes := v_bytes + pg_column_size(v_found);
    -- Perhaps no job is at fault, but one reply cannot hold all jobs.
    IF v_found IS NULL OR v_claimed <> '{}' AND v_bytes > 16777216 THEN
      v_released := v_released || jsonb_build_object('job', v_lease.job, 'token', v_lease.token, 'result', 'released');
    ELSE
      v_claimed := v_claimed || v_found;
    END IF;
  END LOOP;
  PERFORM haul.end_leases(p_worker, to_jsonb(v_released)) WHERE v_released <> '{}';
  RETURN to_jsonb(v_claimed);
END
$$;
COMMENT ON FUNCTION haul.claimed_by(bigint, bigint) IS
  'Returns the leases of one call of a worker, like leases_of(). If the data of a job raise an error, this job fails '
  'with the error class internal. If one reply cannot hold all jobs, returns 16 MiB of them and releases the rest.';

CREATE OR REPLACE FUNCTION haul.work(
  p_worker bigint, p_secret text, p_call bigint, p_endings jsonb, p_queues text[], p_free_slots integer)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
-- Also applies to the functions that work() calls. The plans are pinned, so a custom plan would be the same, but
-- PostgreSQL would make it again at each call.
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  v_last record;
  v_settled jsonb;
  v_is_known boolean;
  v_room record;
  v_claim record;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  -- Read the newest version first, as host_now() does.
  SELECT c.ctid AS place, c.call, c.claims, c.seen, c.held INTO v_last FROM haul.worker_call c
  WHERE c.worker >= p_worker AND c.worker <= p_worker ORDER BY c.worker DESC LIMIT 1 FOR UPDATE;
  IF p_call < v_last.call THEN
    RAISE EXCEPTION 'call % of worker % is older than the last call of this worker, %', p_call, p_worker, v_last.call
      USING ERRCODE = 'HA006';
  ELSIF p_call = v_last.call THEN
    v_settled := haul.settled_before(p_endings);
    RETURN jsonb_build_object('settled', v_settled, 'later', haul.still_open(p_worker, p_endings, v_settled),
      'claimed', haul.claimed_by(p_worker, p_call), 'contended', true, 'draining', false);
  END IF;
  v_settled := haul.end_leases(p_worker, p_endings);
  v_is_known := haul.heed_origin(false);
  PERFORM haul.note_fetched(p_worker, p_endings) WHERE jsonb_array_length(v_settled) < jsonb_array_length(p_endings);
  v_room := haul.room(p_worker, v_last.held - jsonb_array_length(v_settled),
    CASE WHEN v_is_known THEN least(p_free_slots, 1000) ELSE 0 END);
  v_claim := haul.claim_jobs(p_worker, p_call, v_last.claims + 1, p_queues, v_room.jobs, v_last.seen);
  UPDATE haul.worker_call SET call = p_call,
    claims = claims + CASE WHEN p_free_slots > 0 AND v_is_known THEN 1 ELSE 0 END,
    seen = v_claim.seen, held = v_room.held + v_claim.claimed
  WHERE ctid = v_last.place;
  RETURN jsonb_build_object('settled', v_settled, 'later', haul.still_open(p_worker, p_endings, v_settled),
    'claimed', CASE WHEN v_claim.claimed > 0 THEN haul.claimed_by(p_worker, p_call) ELSE '[]' END,
    'contended', v_claim.contended OR NOT v_is_known, 'wait', v_claim.wait, 'draining', v_claim.draining);
END
$$;
COMMENT ON FUNCTION haul.work(bigint, text, bigint, jsonb, text[], integer) IS
  'Ends the leases of jobs that a worker has finished, then claims up to p_free_slots jobs (0 = none), in one commit. '
  'p_call is 1, 2, 3, … for each worker. A repeated number changes nothing and returns the first result. A smaller '
  'number raises HA006. p_endings: as for end_leases(), with the results completed, failed and released. p_queues: '
  'names; NULL = all queues whose store the worker mounts. The worker gets no jobs of queues that it has not '
  'registered for, or of stores closed by close_store(). A worker holds at most most_leases() jobs. Returns '
  '{"settled": [{"job", "token", "state", "delay", "cause"}], "claimed": [leases], "contended": true = another session '
  'locked due jobs, ask again soon, "wait": seconds until the next known job is due, "draining", "later": [tokens]}. '
  '"later" has leases that another session blocks; pass their endings to a later call. The reply omits lost leases.';

CREATE OR REPLACE FUNCTION haul.claim_jobs(
  p_worker bigint, p_call bigint, p_claim bigint, p_queues text[], p_free_slots integer, p_seen jsonb,
  OUT claimed integer, OUT seen jsonb, OUT contended boolean, OUT wait double precision, OUT draining boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_worker record;
  v_queue record;
  v_claim record;
  v_next interval;
  v_now timestamptz := clock_timestamp();
  v_looked jsonb := '{}';
BEGIN
  claimed := 0;
  seen := p_seen;
  contended := false;
  SELECT w.instances, w.closed_stores, w.draining OR w.expires_at <= clock_timestamp() AS closed, w.draining,
    CASE WHEN w.queues IS NULL THEN p_queues WHEN p_queues IS NULL THEN w.queues
      ELSE ARRAY(SELECT u.name FROM unnest(p_queues) AS u(name) WHERE u.name = ANY (w.queues)) END AS queues
  INTO v_worker FROM haul.worker w WHERE w.id = p_worker;
  draining := v_worker.draining;
  IF p_free_slots <= 0 OR v_worker.closed THEN
    RETURN;
  END IF;
  FOR v_queue IN
    SELECT q.id, q.max_running, i.id AS instance FROM haul.queues_to_look_at(v_worker.queues, p_seen) n
    JOIN haul.queue q ON q.id = n.queue
    JOIN haul.store_instance i ON i.store = q.store AND i.id = ANY (v_worker.instances)
    WHERE NOT q.paused AND q.deleted_at IS NULL
      AND NOT coalesce(v_worker.closed_stores ? i.id::text, false)
    ORDER BY -ln(1 - random()) / q.weight  -- a queue with a higher weight is first more often
  LOOP
    v_claim := haul.claim_thoroughly(p_worker, p_call, p_claim, v_queue.id, v_queue.max_running, v_queue.instance,
      p_free_slots - claimed, p_seen -> v_queue.id::text);
    v_looked := v_looked || jsonb_build_object(v_queue.id, v_claim.seen || jsonb_build_object('used', CASE
      WHEN v_claim.claimed > 0 THEN to_jsonb(v_now)
      ELSE coalesce(v_looked -> v_queue.id::text -> 'used', v_claim.seen -> 'used') END));
    claimed := claimed + v_claim.claimed;
    EXIT WHEN claimed >= p_free_slots;
    contended := contended OR v_claim.held;
    IF v_queue.max_running IS NOT NULL THEN
      wait := least(wait, 1);  -- a job that ends makes room in the queue, but sends no notification
    END IF;
    -- The worker can take more. Did other sessions lock due jobs? When is the next job due?
    SELECT nullif(min(n.next_at), 'infinity') - clock_timestamp() INTO v_next
    FROM haul.next_due(v_queue.id, v_queue.instance,
      CASE WHEN NOT v_claim.complete THEN p_seen -> v_queue.id::text END) n;
    contended := contended OR coalesce(v_next <= '0', false);
    wait := least(wait, extract(epoch FROM v_next));
    IF v_next IS NULL AND v_looked #>> ARRAY[v_queue.id::text, 'used'] IS NULL THEN
      v_looked := v_looked - v_queue.id::text;
    END IF;
  END LOOP;
  -- Forget queues from which no job was claimed for an hour, and those that are deleted, paused or closed.
  seen := v_looked || CASE WHEN claimed >= p_free_slots THEN p_seen - ARRAY(SELECT jsonb_object_keys(v_looked))
    ELSE '{}' END;
  seen := seen - ARRAY(SELECT s.key FROM jsonb_each(seen) s
    WHERE (s.value ->> 'used')::timestamptz < v_now - interval '1 hour');
  wait := CASE WHEN wait > 0 THEN wait WHEN wait IS NOT NULL THEN 0 END;
END
$$;
COMMENT ON FUNCTION haul.claim_jobs(bigint, bigint, bigint, text[], integer, jsonb) IS
  'Claims up to p_free_slots jobs for a worker from its queues. Weights decide how often each queue comes first. '
  'p_claim: number of the worker''s claim. p_seen: how far earlier claims have looked in each queue. Returns the '
  'number of jobs, the new "seen", whether other sessions locked due jobs, the seconds until the next known job '
  'becomes due (NULL = unknown), and whether the worker drains. A draining or expired worker gets no jobs.';

-- While an old snapshot lasts, the index of due lanes has many old entries of queues that the worker has claimed from.
-- So this function returns these queues without reading it. The claim reads on from where earlier claims stopped.
CREATE OR REPLACE FUNCTION haul.queues_to_look_at(p_queues text[], p_seen jsonb) RETURNS TABLE (queue integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  v_known integer;
  v_from integer := 0;
BEGIN
  IF p_queues IS NOT NULL THEN
    RETURN QUERY SELECT q.id FROM haul.queue q WHERE q.name = ANY (p_queues);
    RETURN;
  END IF;
  FOREACH v_known IN ARRAY ARRAY(SELECT k::integer FROM jsonb_object_keys(p_seen) AS k ORDER BY 1) || 2147483647 LOOP
    LOOP
      queue := (SELECT l.queue FROM haul.lane l
        WHERE l.next_at IS NOT NULL AND l.queue > v_from AND l.queue < v_known ORDER BY l.queue LIMIT 1);
      EXIT WHEN queue IS NULL;
      RETURN NEXT;
      v_from := queue;
    END LOOP;
    queue := v_known;
    RETURN NEXT;
    v_from := v_known;
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.queues_to_look_at(text[], jsonb) IS
  'Returns the queues that a claim looks at. If p_queues is not NULL, these are the queues in p_queues. Otherwise, '
  'these are the queues that have jobs with a due time, and the queues in p_seen. p_seen: how far earlier claims have '
  'looked in each queue. The claim skips all other queues. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.claim_thoroughly(
  p_worker bigint, p_call bigint, p_claim bigint, p_queue integer, p_max_running integer, p_instance integer,
  p_free_slots integer, p_seen jsonb, OUT claimed integer, OUT seen jsonb, OUT held boolean, OUT complete boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_claim record := haul.claim_queue(p_worker, p_call, p_claim, p_queue, p_max_running, p_instance, p_free_slots,
    p_seen);
  v_looked timestamptz;
BEGIN
  claimed := v_claim.claimed;
  seen := coalesce(v_claim.seen, '{}');
  held := v_claim.held;
  complete := claimed < p_free_slots AND NOT held AND coalesce((seen ->> 'look_at')::timestamptz
    NOT BETWEEN clock_timestamp() AND clock_timestamp() + interval '1 minute', true);
  IF complete THEN
    -- A complete look finds lanes that became due in a late commit or were locked when an earlier claim passed them. It
    -- reads all row versions that an old snapshot keeps, so it runs only 2 % of the time, but at least once a minute.
    v_looked := clock_timestamp();
    v_claim := haul.claim_queue(p_worker, p_call, p_claim, p_queue, p_max_running, p_instance, p_free_slots - claimed,
      NULL);
    claimed := claimed + v_claim.claimed;
    held := v_claim.held;
    seen := seen || jsonb_build_object('look_at', clock_timestamp()
      + greatest(interval '1 second', least(interval '1 minute', 50 * (clock_timestamp() - v_looked))));
  END IF;
END
$$;
COMMENT ON FUNCTION haul.claim_thoroughly(bigint, bigint, bigint, integer, integer, integer, integer, jsonb) IS
  'Claims jobs from one queue like claim_queue(). If it finds fewer than p_free_slots jobs, it looks at all waiting '
  'jobs again, at most once a second. complete: whether it has looked at all of them.';

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
  'Returns when waiting jobs of a queue become due next. Returns a row for each priority with waiting jobs, for this '
  'store instance (a directory of a store) and for 0 (any instance). p_seen: as for claim_queue().';

CREATE OR REPLACE FUNCTION haul.look_from(p_seen jsonb, p_instance integer, p_priority integer) RETURNS timestamptz
LANGUAGE sql STABLE AS $$
  SELECT coalesce((p_seen -> 'from' ->> (p_instance || ':' || p_priority))::timestamptz, '-infinity')
$$;
COMMENT ON FUNCTION haul.look_from(jsonb, integer, integer) IS
  'Returns the earliest due time that a claim looks at, for one priority and store instance (directory of a store). '
  'Earlier claims have looked at jobs due before. -infinity = all jobs. p_seen: as for claim_queue().';

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
  'Returns whether no job of these queues is queued, scheduled, interrupted or running. p_queues: names; NULL = all '
  'queues whose store the worker mounts.';
