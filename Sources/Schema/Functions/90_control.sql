-- What operators do to jobs. Each takes a selector and handles up to p_limit jobs a call, returning how many it changed
-- and whether there may be more: call again while that is so. A selector is {"ids": [..], "batch", "queue", "host", "state", "error"}; what is absent does
-- not narrow. Names that do not exist raise HA003.

CREATE OR REPLACE FUNCTION haul.matches(
  p_selector jsonb, p_job bigint, p_state text, p_error text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT EXISTS (SELECT FROM haul.job j WHERE j.id = p_job
    AND (p_selector -> 'state' IS NULL OR p_selector ->> 'state' = p_state)
    AND (p_selector -> 'error' IS NULL OR p_selector ->> 'error' = p_error)
    AND (p_selector -> 'batch' IS NULL
      OR j.batch = (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch'))
    AND (p_selector -> 'queue' IS NULL
      OR j.queue = (SELECT q.id FROM haul.queue q WHERE q.name = p_selector ->> 'queue'))
    AND (p_selector -> 'host' IS NULL
      OR j.host = (SELECT h.id FROM haul.host h WHERE h.name = p_selector ->> 'host')))
$$;

-- The ids a selector names, or NULL: compared before matches(), which looks the job up.
CREATE OR REPLACE FUNCTION haul.ids(p_selector jsonb) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_selector ? 'ids' THEN
    ARRAY(SELECT i::bigint FROM jsonb_array_elements_text(p_selector -> 'ids') AS i) END
$$;

-- Also what lists ask before they look, so that a name that does not exist is no empty list.
CREATE OR REPLACE FUNCTION haul.check_selector(p_selector jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_missing text;
BEGIN
  IF p_selector = '{}' THEN
    RAISE EXCEPTION 'name the jobs: ids, a batch, a queue, a host, a state or an error class' USING ERRCODE = 'HA004';
  END IF;
  SELECT 'batch "' || (p_selector ->> 'batch') || '"' INTO v_missing WHERE p_selector ? 'batch'
    AND NOT EXISTS (SELECT FROM haul.batch WHERE name = p_selector ->> 'batch')
  UNION ALL SELECT 'queue "' || (p_selector ->> 'queue') || '"' WHERE p_selector ? 'queue'
    AND NOT EXISTS (SELECT FROM haul.queue WHERE name = p_selector ->> 'queue')
  UNION ALL SELECT 'host "' || (p_selector ->> 'host') || '"' WHERE p_selector ? 'host'
    AND NOT EXISTS (SELECT FROM haul.host WHERE name = p_selector ->> 'host')
  UNION ALL SELECT 'job ' || i FROM jsonb_array_elements_text(p_selector -> 'ids') AS i
    WHERE NOT EXISTS (SELECT FROM haul.job WHERE id = i::bigint)
  LIMIT 1;
  IF v_missing IS NOT NULL THEN
    RAISE EXCEPTION 'there is no %', v_missing USING ERRCODE = 'HA003';
  END IF;
END
$$;

-- Gives running jobs a command; the workers that hold them learn of it at once.
CREATE OR REPLACE FUNCTION haul.command(p_selector jsonb, p_command text, p_limit integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_jobs bigint[];
BEGIN
  SELECT array_agg(t.job) INTO v_jobs FROM (
    SELECT l.job FROM haul.lease l
    WHERE (v_ids IS NULL OR l.job = ANY (v_ids)) AND l.command IS DISTINCT FROM p_command AND l.command IS DISTINCT FROM 'cancel'
      AND haul.matches(p_selector, l.job, 'running', NULL)
    ORDER BY l.job LIMIT p_limit FOR UPDATE) t;
  UPDATE haul.lease l SET command = p_command WHERE l.job = ANY (v_jobs);
  -- A payload must stay below 8,000 bytes; a thousand workers' ids do not.
  PERFORM pg_notify('haul', 'workers:' || (
    SELECT CASE WHEN count(DISTINCT l.worker) > 300 THEN 'all' ELSE string_agg(DISTINCT l.worker::text, ',') END
    FROM haul.lease l WHERE l.job = ANY (v_jobs))) WHERE v_jobs IS NOT NULL;
  RETURN coalesce(array_length(v_jobs, 1), 0);
END
$$;

-- Takes waiting jobs out of scheduled and ready, the latter under their lanes' locks. Internal.
CREATE OR REPLACE FUNCTION haul.withdraw(p_selector jsonb, p_limit integer)
RETURNS TABLE (job bigint, queue integer, host integer, instance integer, priority smallint, run_at timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
#variable_conflict use_column
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_jobs bigint[];
  v_hosts integer[];
  v_queues integer[];
  v_instances integer[];
BEGIN
  SELECT array_agg(t.job) INTO v_jobs FROM (
    SELECT s.job FROM haul.scheduled s
    WHERE (v_ids IS NULL OR s.job = ANY (v_ids)) AND haul.matches(p_selector, s.job, 'scheduled', NULL)
    ORDER BY s.job LIMIT p_limit FOR UPDATE) t;
  RETURN QUERY DELETE FROM haul.scheduled s WHERE s.job = ANY (v_jobs)
    RETURNING s.job, s.queue, s.host, s.instance, s.priority, s.run_at;

  SELECT array_agg(r.job) INTO v_jobs FROM (
    SELECT r.job FROM haul.ready r
    WHERE (v_ids IS NULL OR r.job = ANY (v_ids))
      AND haul.matches(p_selector, r.job, CASE WHEN r.instance = 0 THEN 'queued' ELSE 'interrupted' END, NULL)
    LIMIT p_limit) r;
  SELECT array_agg(t.host), array_agg(t.queue), array_agg(t.instance) INTO v_hosts, v_queues, v_instances FROM (
    SELECT l.host, l.queue, l.instance FROM haul.lane l
    WHERE (l.host, l.queue, l.instance) IN (
      SELECT r.host, r.queue, r.instance FROM haul.ready r WHERE r.job = ANY (v_jobs))
    ORDER BY l.host, l.queue, l.instance FOR UPDATE) t;
  -- A new statement: what a claim took meanwhile is gone; what came back in another lane is left for the next call.
  RETURN QUERY DELETE FROM haul.ready r USING unnest(v_hosts, v_queues, v_instances) AS k(host, queue, instance)
    WHERE r.job = ANY (v_jobs) AND r.host = k.host AND r.queue = k.queue AND r.instance = k.instance
    RETURNING r.job, r.queue, r.host, r.instance, r.priority, NULL::timestamptz;
END
$$;

-- Whether a job that the selector means still waits, or runs without having been told. One that a claim took between
-- the look at the leases and the look at the waiting jobs was seen in neither.
CREATE OR REPLACE FUNCTION haul.remains(p_selector jsonb, p_command text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
BEGIN
  RETURN EXISTS (SELECT FROM haul.lease l
      WHERE (v_ids IS NULL OR l.job = ANY (v_ids)) AND l.command IS DISTINCT FROM p_command
        AND l.command IS DISTINCT FROM 'cancel' AND haul.matches(p_selector, l.job, 'running', NULL))
    OR EXISTS (SELECT FROM haul.ready r WHERE (v_ids IS NULL OR r.job = ANY (v_ids))
      AND haul.matches(p_selector, r.job, CASE WHEN r.instance = 0 THEN 'queued' ELSE 'interrupted' END, NULL))
    OR EXISTS (SELECT FROM haul.scheduled s
      WHERE (v_ids IS NULL OR s.job = ANY (v_ids)) AND haul.matches(p_selector, s.job, 'scheduled', NULL));
END
$$;

-- Holds waiting jobs and asks running ones to stop with their progress kept.
CREATE OR REPLACE FUNCTION haul.pause(
  p_selector jsonb, p_limit integer DEFAULT 10000, OUT changed integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_commanded integer;
  v_held integer;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  v_commanded := haul.command(p_selector, 'pause', p_limit);
  INSERT INTO haul.held (job, queue, host, instance, priority, run_at, held_at)
  SELECT w.job, w.queue, w.host, w.instance, w.priority, w.run_at, clock_timestamp()
  FROM haul.withdraw(p_selector, p_limit) w;
  GET DIAGNOSTICS v_held = ROW_COUNT;
  changed := v_commanded + v_held;
  more := changed > 0 OR haul.remains(p_selector, 'pause');
END
$$;

-- Lets paused jobs wait again where they stood, and takes back a pause that a worker has not carried out.
CREATE OR REPLACE FUNCTION haul.resume(
  p_selector jsonb, p_limit integer DEFAULT 10000, OUT changed integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_back integer;
  v_moved jsonb;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  UPDATE haul.lease l SET command = NULL WHERE l.job IN (
    SELECT k.job FROM haul.lease k
    WHERE k.command = 'pause' AND (v_ids IS NULL OR k.job = ANY (v_ids)) AND haul.matches(p_selector, k.job, 'running', NULL)
    ORDER BY k.job LIMIT p_limit FOR UPDATE);
  GET DIAGNOSTICS v_back = ROW_COUNT;
  WITH moved AS (
    DELETE FROM haul.held h WHERE h.job IN (
      SELECT k.job FROM haul.held k
      WHERE (v_ids IS NULL OR k.job = ANY (v_ids)) AND haul.matches(p_selector, k.job, 'paused', NULL)
      ORDER BY k.job LIMIT p_limit FOR UPDATE)
    RETURNING h.*
  ), later AS (
    INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
    SELECT m.job, m.queue, m.host, m.instance, m.priority, m.run_at FROM moved m WHERE m.run_at > clock_timestamp()
  ), now AS (
    INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
    SELECT m.queue, m.host, m.instance, m.priority, m.job,
      CASE WHEN m.instance <> 0 THEN clock_timestamp() + haul.hold_time() END
    FROM moved m WHERE m.run_at IS NULL OR m.run_at <= clock_timestamp()
    RETURNING *
  )
  SELECT jsonb_build_object('count', (SELECT count(*) FROM moved), 'ready', coalesce(jsonb_agg(to_jsonb(n)), '[]'))
  INTO v_moved FROM now n;
  PERFORM haul.arm(array_agg(m.host), array_agg(m.queue), array_agg(m.instance), array_agg(m.priority), array_agg(m.job))
  FROM jsonb_to_recordset(v_moved -> 'ready') AS m(host integer, queue integer, instance integer, priority smallint, job bigint);
  PERFORM pg_notify('haul', 'queues:' || (SELECT string_agg(DISTINCT m.queue::text, ',')
    FROM jsonb_to_recordset(v_moved -> 'ready') AS m(queue integer))) WHERE v_moved -> 'ready' <> '[]';
  changed := v_back + (v_moved ->> 'count')::integer;
  more := changed > 0;
END
$$;

-- Ends waiting and paused jobs as cancelled and asks running ones to stop.
CREATE OR REPLACE FUNCTION haul.cancel(
  p_selector jsonb, p_limit integer DEFAULT 10000, OUT changed integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_commanded integer;
  v_ended integer;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  v_commanded := haul.command(p_selector, 'cancel', p_limit);
  WITH held AS (
    DELETE FROM haul.held h WHERE h.job IN (
      SELECT k.job FROM haul.held k
      WHERE (v_ids IS NULL OR k.job = ANY (v_ids)) AND haul.matches(p_selector, k.job, 'paused', NULL)
      ORDER BY k.job LIMIT p_limit FOR UPDATE)
    RETURNING h.job)
  INSERT INTO haul.outcome (job, state, finished_at) SELECT h.job, 'cancelled', clock_timestamp() FROM held h;
  GET DIAGNOSTICS v_ended = ROW_COUNT;
  WITH ended AS (
    INSERT INTO haul.outcome (job, state, finished_at)
    SELECT w.job, 'cancelled', clock_timestamp() FROM haul.withdraw(p_selector, p_limit) w RETURNING job)
  SELECT v_ended + count(*) INTO v_ended FROM ended;
  DELETE FROM haul.checkpoint c WHERE EXISTS (SELECT FROM haul.outcome o WHERE o.job = c.job AND o.state = 'cancelled')
    AND (v_ids IS NULL OR c.job = ANY (v_ids));
  changed := v_commanded + v_ended;
  more := changed > 0 OR haul.remains(p_selector, 'cancel');
END
$$;

-- Queues failed and cancelled jobs again. With "error": exactly those that failed so.
CREATE OR REPLACE FUNCTION haul.retry(
  p_selector jsonb, p_limit integer DEFAULT 10000, OUT changed integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_jobs bigint[];
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  v_jobs := haul.requeue(ARRAY(
    SELECT o.job FROM haul.outcome o
    WHERE o.state <> 'completed' AND (v_ids IS NULL OR o.job = ANY (v_ids))
      AND haul.matches(p_selector, o.job, o.state::text, o.error) LIMIT p_limit));
  PERFORM haul.arm(array_agg(j.host), array_agg(j.queue), array_agg(0), array_agg(j.priority), array_agg(j.id))
  FROM haul.job j WHERE j.id = ANY (v_jobs);
  PERFORM pg_notify('haul', 'queues:all');
  changed := cardinality(v_jobs);
  more := changed > 0;
END
$$;
