-- Ends the leases of finished, released and rescued jobs. A job leaves the state `running` in no other way.

CREATE OR REPLACE FUNCTION haul.end_leases(p_worker bigint, p_endings jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET lock_timeout = '200ms' AS $$
BEGIN
  RETURN haul.end_together(p_worker, p_endings);
EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded OR lock_not_available THEN
  RETURN haul.end_by_host(p_worker, p_endings);
END
$$;
COMMENT ON FUNCTION haul.end_leases(bigint, jsonb) IS
  'Ends leases of worker p_worker; NULL = of any worker. p_endings: an array with an ending for each lease, {"job", '
  '"token", "result": completed, failed, released or rescued}. An ending may also have "error", "message", "status", '
  '"retry_after": seconds, "host": the host that answered, "bytes", "path", "digest", "fetched", "resumed_at", '
  '"changes", "range_unsafe": true if the server answered a range request wrongly, "source": as in the table outcome. '
  'Returns [{"job", "token", "state", "delay": seconds, "cause": error class}]. An ending changes nothing and is '
  'missing from the reply if its token is not the token of the job''s current lease. If the data of a job raise an '
  'error (SQLSTATE class 22, 23 or 54), this job fails with the error class internal and the other leases end '
  'normally. If rows that an ending needs stay locked for longer than 200 ms, the lease stays, and the ending is '
  'missing from the reply. Pass this ending to another call. Locks leases in job order.';

CREATE OR REPLACE FUNCTION haul.end_together(p_worker bigint, p_endings jsonb) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_leases tid[] := haul.lock_leases(p_worker, p_endings);
  v_done jsonb;
  v_alike jsonb;
  v_moves jsonb;
BEGIN
  IF v_leases IS NULL THEN
    RETURN '[]';
  END IF;
  -- Read in a new statement. The locked leases stay in place, and the statement sees the latest committed version of
  -- everything else.
  WITH decided AS MATERIALIZED (
    SELECT * FROM haul.decide_endings(v_leases, p_endings)
  ), gone AS (
    DELETE FROM haul.lease l USING decided d WHERE l.ctid = d.place
  ), kept AS (
    INSERT INTO haul.attempt (job, token, worker, result, charged, started_at, ended_at, resumed_at, fetched,
      durable, changes, status, error, message, host)
    SELECT d.job, d.token, d.worker,
      CASE WHEN d.state IN ('cancelled', 'paused') THEN d.state::text ELSE d.result END::haul.attempt_result,
      d.charged, d.started_at, clock_timestamp(), d.began_at, greatest(d.seen, 0), d.durable,
      coalesce(d.changes, 0), d.status, d.error, left(d.message, 2000), d.host_id
    FROM decided d
  ), ended_for_good AS (
    INSERT INTO haul.outcome (job, state, finished_at, bytes, path, digest, sha256, source, error, message)
    SELECT d.job, d.state, clock_timestamp(), d.bytes,
      CASE WHEN d.state = 'completed' THEN coalesce(d.path, d.job_path) END,
      CASE WHEN d.digest !~ '^sha-256=[0-9a-f]{64}$' THEN d.digest END,
      CASE WHEN d.digest ~ '^sha-256=[0-9a-f]{64}$' THEN decode(substr(d.digest, 9), 'hex') END,
      d.source, CASE WHEN d.state = 'failed' THEN d.cause END,
      CASE WHEN d.state = 'failed' THEN left(CASE WHEN d.cause = 'rescued_too_often'
        THEN format('%s workers of this job died one after the other without any progress', d.rescues + 1)
        WHEN d.cause = 'host_unreachable' THEN haul.waited_in_vain(d.message, d.trouble, d.asked_wait)
        ELSE d.message END, 2000) END
    FROM decided d WHERE d.state IN ('completed', 'failed', 'cancelled')
  ), no_checkpoint AS (
    DELETE FROM haul.checkpoint c WHERE c.job = ANY (ARRAY(
      SELECT d.job FROM decided d WHERE d.resumable AND (d.state = 'completed'
        OR d.state = 'failed' AND NOT haul.keeps_progress(d.cause))))
  ), refreshed AS (
    DELETE FROM haul.refresh f WHERE f.job = ANY (ARRAY(
      SELECT d.job FROM decided d WHERE d.state = 'completed' AND d.attempt > 1))
  ), doubted AS (
    UPDATE haul.refresh f SET source = d.source
    FROM decided d WHERE f.job = d.job AND d.attempt > 1 AND d.state <> 'completed' AND d.source IS NOT NULL
  ), later AS (
    INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
    SELECT d.job, d.queue, d.next_host, d.wait_instance, d.priority, clock_timestamp() + d.delay
    FROM decided d WHERE d.state = 'scheduled'
  ), paused AS (
    INSERT INTO haul.held (job, queue, host, instance, priority, run_at, held_at)
    SELECT d.job, d.queue, d.next_host, d.wait_instance, d.priority, clock_timestamp() + d.delay, clock_timestamp()
    FROM decided d WHERE d.state = 'paused'
  ), again AS (
    INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
    SELECT d.queue, d.host_id, d.wait_instance, d.priority, d.job,
      CASE WHEN d.wait_instance <> 0 THEN clock_timestamp() + haul.hold_time() END
    FROM decided d WHERE d.state IN ('queued', 'interrupted')
  ), used AS (
    INSERT INTO haul.usage_change (day, queue, batch, host, worker, files, failed, bytes, fetched)
    SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, d.queue,
      coalesce(d.batch, 0), d.host_id, d.worker,
      count(*) FILTER (WHERE d.state = 'completed'), count(*) FILTER (WHERE d.state = 'failed'),
      coalesce(haul.whole(sum(d.bytes) FILTER (WHERE d.state = 'completed')), 0),
      haul.whole(sum(greatest(d.seen, 0)))
    FROM decided d GROUP BY 1, 2, 3, 4, 5
    HAVING count(*) FILTER (WHERE d.state IN ('completed', 'failed')) > 0 OR sum(greatest(d.seen, 0)) > 0
  )
  SELECT (SELECT jsonb_agg(jsonb_build_object('job', d.job, 'token', d.token, 'state', d.state,
      'delay', extract(epoch FROM d.delay), 'cause', d.cause)) FROM decided d),
    (SELECT jsonb_agg(jsonb_build_object('job', d.job, 'mirror', d.mirror, 'next_host', d.next_host, 'host_id',
      d.host_id, 'in_trouble', haul.disposition(d.error) = 'host', 'keeps', d.keeps))
      FROM decided d WHERE d.moves),
    jsonb_agg(to_jsonb(g)) INTO v_done, v_moves, v_alike
  FROM (
    SELECT d.host_id, d.queue, d.wait_instance AS instance, d.priority, d.state, d.result, d.error, d.answered,
      -- Call host_to_block() only for the few transfers that were redirected to another host.
      CASE WHEN d.host IS NULL THEN d.host_name ELSE haul.host_to_block(d.worker, d.host_name, d.host) END AS blocks,
      d.range_unsafe, count(*) AS ended,
      min(d.job) AS head,
      max(extract(epoch FROM d.host_delay)) AS delay,
      -- Count only a job's first refusal: a URL that the host always refuses says nothing about the host's limit.
      count(*) FILTER (WHERE d.busy = 0 AND d.state = 'scheduled' AND NOT d.charged) AS too_many,
      count(*) FILTER (WHERE haul.is_silence(d.error, d.status, d.host)) AS silent
    FROM decided d
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10) g;
  IF v_moves IS NOT NULL THEN
    PERFORM haul.use_mirrors(v_moves);
  END IF;
  PERFORM haul.settle_hosts(v_alike);
  RETURN coalesce(v_done, '[]');
END
$$;
COMMENT ON FUNCTION haul.end_together(bigint, jsonb) IS
  'Implements end_leases() for all leases in p_endings in one step. If one of them raises an error, no lease ends.';

-- A worker's report must not block a host that only other workers use.
CREATE OR REPLACE FUNCTION haul.host_to_block(p_worker bigint, p_own text, p_answered text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN CASE
    WHEN p_answered IS NULL OR p_answered = p_own THEN p_own
    WHEN EXISTS (SELECT FROM haul.host_name n JOIN haul.lease l ON l.worker = p_worker AND l.host = n.id
      WHERE n.name = p_answered) THEN p_answered END;
END
$$;
COMMENT ON FUNCTION haul.host_to_block(bigint, text, text) IS
  'Returns the host to block after a failure that is a problem of the host. p_own: the job''s host. p_answered: the '
  'host that answered, for example after a redirect; NULL = p_own answered. Returns NULL if another host answered and '
  'worker p_worker runs no job of that host. Then no host is blocked. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.waited_in_vain(p_message text, p_trouble interval, p_asked interval) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN concat_ws('; ', p_message,
    CASE WHEN p_trouble >= interval '1 second'
      THEN format('the host has been in trouble for %s s', round(extract(epoch FROM p_trouble))) END,
    CASE WHEN p_asked > interval '0'
      THEN format('the host asks for a wait of %s s', round(extract(epoch FROM p_asked))) END);
END
$$;
COMMENT ON FUNCTION haul.waited_in_vain(text, interval, interval) IS
  'Returns the error message of a job that waited too long for its host. Adds to p_message how long the host has been '
  'in trouble (p_trouble) and how long the host asks clients to wait (p_asked).';

CREATE OR REPLACE FUNCTION haul.lock_leases(p_worker bigint, p_endings jsonb) RETURNS tid[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- Lock in job order. If two sessions end one lease, the second finds that the lease no longer exists.
  RETURN (SELECT array_agg(t.place) FROM (
    -- Use lists and look up each job by its id: a join with the endings would read all leases. Two separate lists
    -- suffice, because no token belongs to two jobs.
    SELECT l.ctid AS place
    FROM haul.lease l
    WHERE l.job = ANY (ARRAY(SELECT e.job FROM jsonb_to_recordset(p_endings) AS e(job bigint)))
      AND l.token = ANY (ARRAY(SELECT e.token FROM jsonb_to_recordset(p_endings) AS e(token bigint)))
      AND (p_worker IS NULL OR l.worker = p_worker)
    ORDER BY l.job FOR UPDATE) t);
END
$$;
COMMENT ON FUNCTION haul.lock_leases(bigint, jsonb) IS
  'Locks the leases that p_endings name, in job order. p_endings: [{"job", "token"}]. Skips an element if its token is '
  'not the token of the job''s current lease. p_worker: locks only leases of this worker; NULL = of any worker. '
  'Returns the ctids of the locked leases, or NULL if there are none.';

CREATE OR REPLACE FUNCTION haul.attempt_histories(p_jobs bigint[]) RETURNS TABLE (
  job bigint, failures integer, rescues integer, trouble interval, tries integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN QUERY SELECT a.job, count(*) FILTER (WHERE a.result = 'failed' AND a.charged)::integer,
    count(*) FILTER (WHERE a.result = 'rescued' AND a.charged)::integer,
    clock_timestamp() - min(a.ended_at) FILTER (WHERE a.is_vain),
    count(*) FILTER (WHERE a.is_vain AND haul.disposition(a.error) = 'host')::integer
  FROM (
    SELECT n.*, haul.disposition(n.error) IN ('host', 'worker') AND n.token > coalesce(
      max(n.token) FILTER (WHERE coalesce(haul.disposition(n.error) NOT IN ('host', 'worker'), true))
        OVER (PARTITION BY n.job), 0) AS is_vain
    FROM haul.attempt_rows(p_jobs) n) a
  WHERE NOT a.forgiven GROUP BY a.job;
END
$$;
COMMENT ON FUNCTION haul.attempt_histories(bigint[]) IS
  'Summarises the attempts of each job. Ignores forgiven attempts, which no longer count, and leaves out jobs without '
  'others. failures and rescues: how many failures and rescues count against the job. trouble: the time since the '
  'job''s attempts began to fail, one after another, because of the host or a worker; NULL = the last attempt did not '
  'fail in this way. tries: how many attempts since then failed because of the host.';

CREATE OR REPLACE FUNCTION haul.attempt_history(
  p_job bigint, OUT failures integer, OUT rescues integer, OUT trouble interval, OUT tries integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  SELECT coalesce(sum(h.failures), 0), coalesce(sum(h.rescues), 0), max(h.trouble), coalesce(sum(h.tries), 0)
  INTO failures, rescues, trouble, tries FROM haul.attempt_histories(ARRAY[p_job]) h;
END
$$;
COMMENT ON FUNCTION haul.attempt_history(bigint) IS
  'Returns the numbers of attempt_histories() for one job, with 0 for a job without attempts that count.';

CREATE OR REPLACE FUNCTION haul.refused_alone(p_job bigint) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  RETURN (SELECT count(*) FROM haul.attempt a WHERE a.job = p_job AND NOT a.forgiven AND NOT a.charged
    AND a.status = 503 AND a.error = 'http_5xx');
END
$$;
COMMENT ON FUNCTION haul.refused_alone(bigint) IS
  'Returns how often the host has refused only this job with status 503 while its other transfers continued. Ignores '
  'forgiven attempts, which no longer count.';

-- This is plpgsql, because PostgreSQL would plan an SQL function at each call. The function has no settings of its own:
-- the settings of the caller determine the plan. It is STABLE, so that it reads job, host and checkpoint as the calling
-- statement sees them, after the leases are locked.
CREATE OR REPLACE FUNCTION haul.decide_endings(p_leases tid[], p_endings jsonb) RETURNS TABLE (
  place tid, job bigint, token bigint, worker bigint, queue integer, host_id integer, priority smallint,
  attempt smallint, started_at timestamptz, result text, error text, message text, status smallint, host text,
  bytes bigint, path text, digest text, source jsonb, changes smallint, range_unsafe text, job_path text,
  host_name text, resumable boolean, wait_instance integer, durable bigint, began_at bigint, seen bigint,
  busy integer, trouble interval, asked_wait interval,
  state haul.job_state, charged boolean, delay interval, host_delay interval, cause text, rescues integer,
  answered boolean, moves boolean, mirror smallint, next_host integer, keeps boolean, batch integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  -- OFFSET 0: find each row by its ctid. Otherwise a plan that was made while few jobs ran would read all leases, and
  -- PostgreSQL would keep that plan.
  v_jobs bigint[] := ARRAY(SELECT l.job FROM unnest(p_leases) AS u(place)
    CROSS JOIN LATERAL (SELECT k.job FROM haul.lease k WHERE k.ctid = u.place OFFSET 0) l);
  -- The histories of the jobs that did not complete, by id. One call for each job would take longer.
  v_past jsonb := (SELECT coalesce(jsonb_object_agg(h.job, jsonb_build_object('failures', h.failures,
      'rescues', h.rescues, 'trouble', extract(epoch FROM h.trouble), 'tries', h.tries)), '{}')
    FROM haul.attempt_histories(ARRAY(
      SELECT e.job FROM jsonb_to_recordset(p_endings) AS e(job bigint, result text)
      WHERE e.result <> 'completed' AND e.job = ANY (v_jobs))) h);
BEGIN
  RETURN QUERY WITH endings AS MATERIALIZED (
    -- Shorten, limit or drop values that are out of range.
    SELECT e.job, e.token, e.result, left(e.error, 200) AS error, e.message, e.status, e.retry_after,
      CASE WHEN octet_length(e.host) <= 300 THEN e.host END AS host, haul.bytes_of(e.bytes) AS bytes,
      CASE WHEN octet_length(e.path) <= 4096 THEN e.path END AS path, left(e.digest, 200) AS digest,
      haul.bytes_of(e.fetched) AS fetched, haul.bytes_of(e.resumed_at) AS resumed_at,
      least(greatest(e.changes, 0), 1000)::smallint AS changes, e.range_unsafe,
      CASE WHEN pg_column_size(e.source) <= 65536 THEN e.source END AS source
    FROM jsonb_to_recordset(p_endings) AS e(job bigint, token bigint, result text, error text, message text,
      status smallint, retry_after double precision, host text, bytes bigint, path text, digest text,
      fetched bigint, resumed_at bigint, changes integer, range_unsafe text, source jsonb)
  ), ended AS MATERIALIZED (
    SELECT DISTINCT ON (l.job) e.job, e.token, e.result, haul.error_of(e.error, e.status, e.host, h.failures) AS error,
      e.message, e.status, e.retry_after, e.host, e.bytes, e.path, e.digest, e.fetched, e.resumed_at, e.changes,
      e.range_unsafe, e.source, l.place, l.worker, l.queue, l.host AS host_id, l.priority, l.command, l.attempt,
      l.started_at, c.job IS NOT NULL AS resumable, CASE WHEN c.job IS NOT NULL THEN c.instance ELSE 0 END
        AS wait_instance, haul.is_part_of_mirror(c.resume, j.options) AND haul.keeps_progress(e.error) AS keeps,
      coalesce(c.token = l.token, false) AS progressed, coalesce(haul.range_bytes(c.durable), 0) AS durable,
      coalesce(e.resumed_at, l.resumed_at) AS began_at,
      -- For a dead worker, use the bytes that it had reported or made durable.
      coalesce(e.fetched, greatest(p.bytes, haul.range_bytes(c.durable)) - l.resumed_at, 0) AS seen,
      -- If the host refused only this job while its other transfers continue: how often it has done so before.
      CASE WHEN e.status = 503 AND e.error = 'http_5xx' AND e.host IS NULL AND e.retry_after IS NULL AND h.in_flight > 1
        THEN haul.refused_alone(l.job) END AS busy,
      j.options, j.batch, j.url AS job_url, haul.url_in_use(j.url, j.options, j.mirror) AS url, j.mirror,
      j.path AS job_path,
      h.name AS host_name, greatest(h.failures, 0) AS host_failures,
      -- Ignore old trouble if the last block ended more than trouble_memory() ago: it says nothing about the host now.
      -- And a job cannot have waited for its host longer than the job exists.
      CASE WHEN h.blocked_until > clock_timestamp() - haul.trouble_memory()
        THEN greatest(h.trouble_since, j.submitted_at) END AS trouble_since
    FROM haul.job_rows(v_jobs) j
    CROSS JOIN LATERAL (SELECT k.*, k.ctid AS place FROM haul.lease k WHERE k.job = j.id OFFSET 0) l
    JOIN endings e ON e.job = l.job AND e.token = l.token
    -- Do not read the host of a completed job, because its row is not needed.
    LEFT JOIN LATERAL haul.host_now(CASE WHEN e.result <> 'completed' THEN l.host END) h ON true
    LEFT JOIN haul.checkpoint c ON c.job = l.job
    LEFT JOIN haul.progress p ON p.job = l.job AND p.token = l.token
    ORDER BY l.job)
  SELECT n.place, n.job, n.token, n.worker, n.queue, n.host_id, n.priority, n.attempt, n.started_at, n.result, n.error,
    n.message, n.status, n.host, n.bytes, n.path, n.digest, n.source, n.changes,
    CASE WHEN n.range_unsafe IS NOT NULL THEN haul.url_directory(n.url)::text END, n.job_path,
    n.host_name, n.resumable, CASE WHEN t.moves AND NOT n.keeps THEN 0 ELSE n.wait_instance END, n.durable,
    n.began_at, n.seen,
    n.busy, d.trouble, make_interval(secs => least(greatest(n.retry_after, 0), 86400)),
    coalesce(t.state, d.state), d.charged, CASE WHEN t.state IS NULL THEN d.delay ELSE t.delay END,
    coalesce(d.host_delay, t.host_delay), d.error,
    d.rescues,
    -- The job's own host has answered, whatever the answer was. A web page instead of the file does not count, because
    -- it may be the login page of a network.
    n.result = 'completed' OR n.status IS NOT NULL AND n.host IS NULL
      AND coalesce(haul.disposition(n.error) NOT IN ('host', 'worker') AND n.error <> 'suspect_page', true),
    coalesce(t.moves, false), t.mirror, CASE WHEN t.moves THEN t.next_host ELSE n.host_id END, n.keeps,
    n.batch
  FROM ended n
  -- A completed job needs no decision. This saves two function calls per row.
  CROSS JOIN LATERAL (
    SELECT 'completed'::haul.job_state AS state, false AS charged, NULL::interval AS delay, n.error,
      NULL::interval AS host_delay, 0 AS rescues, NULL::interval AS trouble, 0 AS failures
    WHERE n.result = 'completed'
    UNION ALL
    SELECT d.state, d.charged, d.delay, d.error, d.host_delay, past.rescues, past.trouble, past.failures
    FROM (
      SELECT coalesce((a.past ->> 'failures')::integer, 0) AS failures,
        coalesce((a.past ->> 'rescues')::integer, 0) AS rescues, coalesce((a.past ->> 'tries')::integer, 0) AS tries,
        greatest(make_interval(secs => (a.past ->> 'trouble')::double precision),
          clock_timestamp() - n.trouble_since) AS trouble
      FROM (SELECT v_past -> n.job::text AS past) a) past
    CROSS JOIN LATERAL haul.decide(n.result, n.command, n.error,
      past.failures, coalesce(haul.number_option(n.options, 'max_attempts'), 5), past.rescues,
      coalesce(haul.number_option(n.options, 'max_rescues'), 3),
      n.progressed, n.resumable, make_interval(secs => least(greatest(n.retry_after, 0), 86400)), n.host_failures,
      past.trouble,
      coalesce(make_interval(secs => haul.number_option(n.options, 'max_host_wait')), interval '1 day'), random(),
      past.tries, n.busy, haul.is_refused_by_all(n.job, n.worker, n.queue, n.error)) d
    WHERE n.result <> 'completed') d
  LEFT JOIN LATERAL (
    SELECT m.*, u.mirror, haul.host_id(u.url) AS next_host,
      -- decide() blocks no host if the job fails. This job switches to a mirror instead, so block the host in trouble
      -- here, for at least a second.
      CASE WHEN haul.disposition(n.error) = 'host' THEN greatest(interval '1 second',
        make_interval(secs => least(greatest(n.retry_after, 0), 86400))) END AS host_delay
    FROM (SELECT k.mirror, haul.url_in_use(n.job_url, n.options, k.mirror) AS url
      FROM (SELECT haul.next_mirror(n.mirror, n.options) AS mirror) k) u
    CROSS JOIN LATERAL haul.turn_to_mirror(d.state, n.command, n.error, d.delay, d.failures,
      coalesce(haul.number_option(n.options, 'max_attempts'), 5), n.resumable, haul.count_urls(n.options), n.mirror,
      haul.refusals(n.job), random()) m
    WHERE n.result = 'failed' AND n.options ? 'mirrors' AND (m.state = 'failed' OR haul.host_id(u.url) IS NOT NULL)
    -- OFFSET 0 gives this part its own plan. For nearly all rows, that plan checks only the first two conditions.
    OFFSET 0) t ON true;
END
$$;
COMMENT ON FUNCTION haul.decide_endings(tid[], jsonb) IS
  'Decides what happens to jobs whose leases end. p_leases: the ctids of these leases, which the caller must have '
  'locked. p_endings: as for end_leases(). Returns a row for each lease, with the values from p_endings, the result of '
  'decide() and the following columns. wait_instance: the store instance (directory of a store) where the job waits; 0 '
  '= any. moves: whether turn_to_mirror() switches the job to another of its URLs. mirror: the number of the new URL '
  'among the mirrors; 0 = the job''s own URL. next_host: the host that the job waits for. keeps: whether the job may '
  'continue its saved bytes from another URL. Changes and locks nothing.';
