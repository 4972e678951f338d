-- Commands of operators on jobs. Each function takes a selector, see check_selector(), and changes up to p_limit jobs
-- per call. It returns the number of changed jobs and whether there may be more. If there are more, call the function
-- again, with the `sweep` of the first reply as p_sweep. If two operators steer the same batch, the later command wins,
-- but a pause does not replace a cancellation.

CREATE OR REPLACE FUNCTION haul.matches(
  p_selector jsonb, p_job bigint, p_state text, p_error text) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT EXISTS (SELECT FROM haul.job j WHERE j.id = p_job
    AND (p_selector -> 'state' IS NULL OR p_selector ->> 'state' = p_state)
    AND (p_selector -> 'error' IS NULL OR haul.has_class(p_error, p_selector ->> 'error'))
    AND (p_selector -> 'batch' IS NULL
      OR j.batch = (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch'))
    AND (p_selector -> 'queue' IS NULL
      OR j.queue = (SELECT q.id FROM haul.queue q WHERE q.name = p_selector ->> 'queue'))
    AND (p_selector -> 'host' IS NULL
      OR j.host = (SELECT h.id FROM haul.host_name h WHERE h.name = p_selector ->> 'host')))
$$;
COMMENT ON FUNCTION haul.matches(jsonb, bigint, text, text) IS
  'Returns whether a selector matches a job with this state and error (NULL = none). Ignores "ids" in the selector.';

-- Callers compare the ids before they call matches(), because matches() looks up each job.
CREATE OR REPLACE FUNCTION haul.ids(p_selector jsonb) RETURNS bigint[]
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN p_selector ? 'ids' THEN
    ARRAY(SELECT i::bigint FROM jsonb_array_elements_text(p_selector -> 'ids') AS i) END
$$;
COMMENT ON FUNCTION haul.ids(jsonb) IS 'Returns the ids in a selector; NULL if the selector has no "ids".';

CREATE OR REPLACE FUNCTION haul.check_selector(p_selector jsonb) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_missing text;
BEGIN
  IF p_selector IS NULL OR p_selector = '{}' OR jsonb_typeof(p_selector) <> 'object' THEN
    RAISE EXCEPTION 'name the jobs: ids, a batch, a queue, a host, a state or an error class' USING ERRCODE = 'HA004';
  END IF;
  -- A misspelt key would not filter, and the command would affect all jobs.
  SELECT k INTO v_missing FROM jsonb_object_keys(p_selector) AS k
  WHERE k NOT IN ('ids', 'batch', 'queue', 'host', 'state', 'error') LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'unknown selector key "%"', v_missing USING ERRCODE = 'HA004';
  END IF;
  SELECT 'batch "' || (p_selector ->> 'batch') || '"' INTO v_missing WHERE p_selector ? 'batch'
    AND NOT EXISTS (SELECT FROM haul.batch WHERE name = p_selector ->> 'batch')
  UNION ALL SELECT 'queue "' || (p_selector ->> 'queue') || '"' WHERE p_selector ? 'queue'
    AND NOT EXISTS (SELECT FROM haul.queue WHERE name = p_selector ->> 'queue')
  UNION ALL SELECT 'host "' || (p_selector ->> 'host') || '"' WHERE p_selector ? 'host'
    AND NOT EXISTS (SELECT FROM haul.host_name WHERE name = p_selector ->> 'host' AND used)
  UNION ALL SELECT 'job ' || i FROM jsonb_array_elements_text(p_selector -> 'ids') AS i
    WHERE NOT EXISTS (SELECT FROM haul.job WHERE id = i::bigint)
  LIMIT 1;
  IF v_missing IS NOT NULL THEN
    RAISE EXCEPTION 'there is no %', v_missing USING ERRCODE = 'HA003';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.check_selector(jsonb) IS
  'Checks a selector, which chooses the jobs for a command: {"ids": [..], "batch", "queue", "host", "state", "error"}. '
  'Missing keys do not filter. "error" is an error class; has_class() compares it. Raises HA003 if a name or an id '
  'does not exist. Raises HA004 if the selector is empty or has an unknown key. Commands that list jobs also call this '
  'function, so that an unknown name is an error and not an empty list.';

CREATE OR REPLACE FUNCTION haul.command_jobs(p_jobs bigint[], p_command text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  SELECT coalesce(array_agg(t.job), '{}') INTO v_jobs FROM (
    SELECT l.job FROM haul.lease l
    WHERE l.job = ANY (p_jobs) AND l.command IS DISTINCT FROM p_command AND l.command IS DISTINCT FROM 'cancel'
    ORDER BY l.job FOR NO KEY UPDATE) t;
  UPDATE haul.lease l SET command = p_command WHERE l.job = ANY (v_jobs);
  -- The payload of a notification must be shorter than 8,000 bytes. The ids of a thousand workers take more.
  PERFORM pg_notify('haul', 'workers:' || (
    SELECT CASE WHEN count(DISTINCT l.worker) > 300 THEN 'all' ELSE string_agg(DISTINCT l.worker::text, ',') END
    FROM haul.lease l WHERE l.job = ANY (v_jobs))) WHERE v_jobs <> '{}';
  RETURN v_jobs;
END
$$;
COMMENT ON FUNCTION haul.command_jobs(bigint[], text) IS
  'Asks the workers of running jobs to cancel or pause these jobs, and notifies the workers immediately. p_command is '
  '''cancel'' or ''pause''. Never replaces a cancellation. Returns the jobs that did not have the command yet. Locks '
  'leases in job order.';

-- Works in job order, with a pinned plan. Waits for a claim that is taking a job; a claim never waits. Does not lock
-- lanes, because that would cost more than everything else if the jobs have many hosts. So the job that a lane records
-- as its first may be gone. The next claim then finds the job after it.
CREATE OR REPLACE FUNCTION haul.withdraw(p_jobs bigint[])
RETURNS TABLE (job bigint, queue integer, host integer, instance integer, priority smallint, run_at timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_column
DECLARE
  v_jobs bigint[];
BEGIN
  SELECT array_agg(t.job) INTO v_jobs FROM (
    SELECT s.job FROM haul.scheduled s WHERE s.job = ANY (p_jobs) ORDER BY s.job FOR UPDATE) t;
  RETURN QUERY DELETE FROM haul.scheduled s WHERE s.job = ANY (v_jobs)
    RETURNING s.job, s.queue, s.host, s.instance, s.priority, s.run_at;
  RETURN QUERY DELETE FROM haul.ready r WHERE r.job = ANY (p_jobs)
    RETURNING r.job, r.queue, r.host, r.instance, r.priority, NULL::timestamptz;
END
$$;
COMMENT ON FUNCTION haul.withdraw(bigint[]) IS
  'Deletes jobs from the tables scheduled and ready and returns their rows. run_at is NULL if the row was in ready. '
  'Waits for a worker that is claiming one of the jobs. Locks no rows of the table lane.';

-- This reads leases first and waiting jobs later. A job that is claimed in between is missing from both. So callers
-- repeat the call until it returns no jobs.
CREATE OR REPLACE FUNCTION haul.live_jobs(
  p_selector jsonb, p_command text, p_limit integer, p_but smallint DEFAULT NULL) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
BEGIN
  RETURN ARRAY(SELECT t.job FROM (
    SELECT l.job FROM haul.lease l
    WHERE (v_ids IS NULL OR l.job = ANY (v_ids)) AND l.priority IS DISTINCT FROM p_but
      AND (p_command IS NULL OR l.command IS NULL OR l.command <> p_command AND l.command <> 'cancel')
      AND haul.matches(p_selector, l.job, 'running', NULL)
    UNION ALL
    SELECT r.job FROM haul.ready r WHERE (v_ids IS NULL OR r.job = ANY (v_ids)) AND r.priority IS DISTINCT FROM p_but
      AND haul.matches(p_selector, r.job, CASE WHEN r.instance = 0 THEN 'queued' ELSE 'interrupted' END, NULL)
    UNION ALL
    SELECT s.job FROM haul.scheduled s
    WHERE (v_ids IS NULL OR s.job = ANY (v_ids)) AND s.priority IS DISTINCT FROM p_but
      AND haul.matches(p_selector, s.job, 'scheduled', NULL)
    UNION ALL
    SELECT d.job FROM haul.held d
    WHERE (p_command = 'cancel' OR p_command IS NULL) AND d.priority IS DISTINCT FROM p_but
      AND (v_ids IS NULL OR d.job = ANY (v_ids)) AND haul.matches(p_selector, d.job, 'paused', NULL)
    ) t LIMIT p_limit);
END
$$;
COMMENT ON FUNCTION haul.live_jobs(jsonb, text, integer, smallint) IS
  'Returns up to p_limit jobs that match a selector: waiting jobs, and running jobs that have not received p_command '
  'or cancel. If p_command is cancel, also returns paused jobs. If p_command is NULL, returns all unfinished jobs '
  'whose priority is not p_but. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.hold_jobs(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_commanded bigint[] := haul.command_jobs(p_jobs, 'pause');
  v_held bigint[];
BEGIN
  WITH held AS (
    INSERT INTO haul.held (job, queue, host, instance, priority, run_at, held_at)
    SELECT w.job, w.queue, w.host, w.instance, w.priority, w.run_at, clock_timestamp() FROM haul.withdraw(p_jobs) w
    RETURNING job)
  SELECT coalesce(array_agg(h.job), '{}') INTO v_held FROM held h;
  RETURN v_commanded || v_held;
END
$$;
COMMENT ON FUNCTION haul.hold_jobs(bigint[]) IS
  'Pauses those of p_jobs that wait. Asks the workers of running jobs to pause these jobs and keep their progress. '
  'Returns all changed jobs. Locks leases first, and no rows of the table lane.';

CREATE OR REPLACE FUNCTION haul.cancel_jobs(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_commanded bigint[] := haul.command_jobs(p_jobs, 'cancel');
  v_ended bigint[];
BEGIN
  WITH held AS (
    DELETE FROM haul.held h WHERE h.job IN (
      SELECT k.job FROM haul.held k WHERE k.job = ANY (p_jobs) ORDER BY k.job FOR UPDATE)
    RETURNING h.job)
  SELECT array_agg(h.job) INTO v_ended FROM held h;
  SELECT coalesce(v_ended, '{}') || coalesce(array_agg(w.job), '{}') INTO v_ended FROM haul.withdraw(p_jobs) w;
  INSERT INTO haul.outcome (job, state, finished_at)
  SELECT u.job, 'cancelled', clock_timestamp() FROM unnest(v_ended) AS u(job);
  RETURN v_commanded || v_ended;
END
$$;
COMMENT ON FUNCTION haul.cancel_jobs(bigint[]) IS
  'Cancels those of p_jobs that wait or are paused, and asks the workers of running jobs to cancel these jobs. Keeps '
  'part files as long as part_grace() says. Returns all changed jobs. Locks leases first, and no rows of the table '
  'lane.';

CREATE OR REPLACE FUNCTION haul.whole_batch(p_selector jsonb) RETURNS integer
LANGUAGE sql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT b.id FROM haul.batch b WHERE p_selector = jsonb_build_object('batch', b.name)
$$;
COMMENT ON FUNCTION haul.whole_batch(jsonb) IS
  'Returns the id of the batch if "batch" is the only key of a selector; otherwise NULL.';

CREATE OR REPLACE FUNCTION haul.take_out(
  p_what text, p_selector jsonb, p_limit integer, p_sweep bigint, OUT changed integer, OUT more boolean,
    OUT sweep bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  IF haul.whole_batch(p_selector) IS NOT NULL THEN
    SELECT s.* INTO changed, more, sweep FROM haul.steer_batch(haul.whole_batch(p_selector), p_what, p_limit,
      p_sweep) s;
  ELSE
    v_jobs := haul.live_jobs(p_selector, p_what, p_limit);
    v_jobs := CASE p_what WHEN 'cancel' THEN haul.cancel_jobs(v_jobs) ELSE haul.hold_jobs(v_jobs) END;
    changed := cardinality(v_jobs);
    more := changed > 0 OR haul.live_jobs(p_selector, p_what, 1) <> '{}';
  END IF;
  PERFORM haul.note_operation(p_what, haul.selector_text(p_selector), changed, v_jobs,
    p_batches => ARRAY[p_selector ->> 'batch']);
END
$$;
COMMENT ON FUNCTION haul.take_out(text, jsonb, integer, bigint) IS
  'Implements pause() and cancel(). p_what is ''pause'' or ''cancel''. For a whole batch, does one step of '
  'steer_batch(). Otherwise changes up to p_limit jobs and returns NULL as sweep.';

CREATE OR REPLACE FUNCTION haul.pause(
  p_selector jsonb, p_limit integer DEFAULT 10000, p_sweep bigint DEFAULT NULL,
  OUT changed integer, OUT more boolean, OUT sweep bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  SELECT s.* FROM haul.take_out('pause', p_selector, p_limit, p_sweep) s
$$;
COMMENT ON FUNCTION haul.pause(jsonb, integer, bigint) IS
  'Pauses the waiting jobs that match a selector. Asks the workers of running jobs to stop these jobs and keep their '
  'progress. Changes up to p_limit jobs per call. If "more" is true, call it again with p_sweep = "sweep" of the first '
  'reply.';

CREATE OR REPLACE FUNCTION haul.cancel(
  p_selector jsonb, p_limit integer DEFAULT 10000, p_sweep bigint DEFAULT NULL,
  OUT changed integer, OUT more boolean, OUT sweep bigint)
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  SELECT s.* FROM haul.take_out('cancel', p_selector, p_limit, p_sweep) s
$$;
COMMENT ON FUNCTION haul.cancel(jsonb, integer, bigint) IS
  'Cancels the waiting and paused jobs that match a selector, and asks the workers of running jobs to stop these jobs. '
  'Call it like pause(). Keeps part files for an hour. Within that time, retry() can continue these downloads.';

-- Changes the priority of waiting, paused and running jobs. A running job uses the new priority when it waits again.
CREATE OR REPLACE FUNCTION haul.prioritize(
  p_selector jsonb, p_priority smallint, p_limit integer DEFAULT 10000, OUT changed integer, OUT more boolean)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  IF p_priority NOT BETWEEN 0 AND 9 THEN
    RAISE EXCEPTION 'a priority is a number from 0 (first) to 9, not %', p_priority USING ERRCODE = 'HA004';
  END IF;
  v_jobs := haul.live_jobs(p_selector, NULL, p_limit, p_priority);
  changed := cardinality(v_jobs);
  more := changed > 0;
  PERFORM haul.move_to_priority(v_jobs, p_priority) WHERE changed > 0;
  PERFORM haul.note_operation('prioritize', format('%s, to %s', haul.selector_text(p_selector), p_priority), changed,
    v_jobs, p_batches => ARRAY[p_selector ->> 'batch']);
END
$$;
COMMENT ON FUNCTION haul.prioritize(jsonb, smallint, integer) IS
  'Changes the priority of unfinished jobs that match a selector, up to p_limit per call. p_priority: 0 (first) to 9; '
  'another number raises HA004. Call it again while "more" is true.';

CREATE OR REPLACE FUNCTION haul.move_to_priority(p_jobs bigint[], p_priority smallint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off AS $$
DECLARE
  v_moved jsonb;
BEGIN
  UPDATE haul.lease SET priority = p_priority WHERE job IN (
    SELECT l.job FROM haul.lease l WHERE l.job = ANY (p_jobs) ORDER BY l.job FOR NO KEY UPDATE);
  UPDATE haul.held SET priority = p_priority WHERE job IN (
    SELECT h.job FROM haul.held h WHERE h.job = ANY (p_jobs) ORDER BY h.job FOR UPDATE);
  -- Do this before any lane is locked: a submission that queues one of these jobs again has already locked the job when
  -- it locks lanes.
  UPDATE haul.job SET priority = p_priority WHERE id = ANY (p_jobs);
  SELECT coalesce(jsonb_agg(to_jsonb(w)), '[]') INTO v_moved FROM haul.withdraw(p_jobs) w;
  INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
  SELECT m.job, m.queue, m.host, m.instance, p_priority, m.run_at
  FROM jsonb_to_recordset(v_moved) AS m(job bigint, queue integer, host integer, instance integer, run_at timestamptz)
  WHERE m.run_at IS NOT NULL ORDER BY m.job;
  INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
  SELECT m.queue, m.host, m.instance, p_priority, m.job, CASE WHEN m.instance <> 0
    THEN clock_timestamp() + haul.hold_time() END
  FROM jsonb_to_recordset(v_moved) AS m(job bigint, queue integer, host integer, instance integer, run_at timestamptz)
  WHERE m.run_at IS NULL ORDER BY m.job;
  PERFORM haul.arm(array_agg(m.host), array_agg(m.queue), array_agg(m.instance), array_agg(p_priority),
    array_agg(m.job))
  FROM jsonb_to_recordset(v_moved) AS m(job bigint, queue integer, host integer, instance integer, run_at timestamptz)
  WHERE m.run_at IS NULL;
END
$$;
COMMENT ON FUNCTION haul.move_to_priority(bigint[], smallint) IS
  'Changes the priority of jobs, and calls arm() for waiting jobs, so that workers claim them in the new order. Locks '
  'rows of lease, held, job, scheduled, ready and lane, in this order.';
