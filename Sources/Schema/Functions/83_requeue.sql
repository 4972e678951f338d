-- Puts jobs that have ended back into the queue.

CREATE OR REPLACE FUNCTION haul.waiting_again(p_jobs bigint[]) RETURNS TABLE (
  queue integer, host integer, instance integer, priority smallint, job bigint, hold_until timestamptz)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_instances integer[] := ARRAY(SELECT DISTINCT i.instance FROM haul.worker w, unnest(w.instances) AS i(instance)
    WHERE w.stopped_at IS NULL AND w.expires_at > clock_timestamp() AND NOT w.draining);
BEGIN
  RETURN QUERY SELECT j.queue, j.host, coalesce(c.instance, 0), j.priority, j.id,
    CASE WHEN c.instance <> 0 THEN clock_timestamp() + haul.hold_time() END
  FROM haul.job j LEFT JOIN haul.checkpoint c ON c.job = j.id AND c.instance = ANY (v_instances)
  WHERE j.id = ANY (p_jobs) ORDER BY j.id;
END
$$;
COMMENT ON FUNCTION haul.waiting_again(bigint[]) IS
  'Returns the rows to insert into the table ready for jobs that wait again. If a live worker mounts the directory '
  'with the part file of a job, the job waits up to hold_time() for a worker with this directory.';

CREATE OR REPLACE FUNCTION haul.arm_jobs(p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  PERFORM haul.arm(array_agg(r.host), array_agg(r.queue), array_agg(r.instance), array_agg(r.priority),
    array_agg(r.job))
  FROM haul.ready r WHERE r.job = ANY (p_jobs);
END
$$;
COMMENT ON FUNCTION haul.arm_jobs(bigint[]) IS
  'Calls arm() for those of p_jobs that are in the table ready, so that workers can claim them. The rules for calling '
  'arm() apply.';

CREATE OR REPLACE FUNCTION haul.requeue(p_jobs bigint[], p_completed boolean DEFAULT false,
  p_queue integer DEFAULT NULL)
RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
  v_orphan bigint;
BEGIN
  SELECT coalesce(array_agg(t.job), '{}') INTO v_jobs FROM (
    SELECT o.job FROM haul.outcome o WHERE o.job = ANY (p_jobs) AND (o.state <> 'completed' OR p_completed)
    ORDER BY o.job FOR UPDATE) t;
  -- Lock the queues that still exist, so that they cannot be deleted before this transaction commits.
  PERFORM FROM haul.queue q WHERE q.id IN (SELECT j.queue FROM haul.job j WHERE j.id = ANY (v_jobs)) ORDER BY q.id
    FOR KEY SHARE;
  UPDATE haul.job j SET queue = p_queue WHERE j.id = ANY (v_jobs) AND p_queue IS NOT NULL
    AND (SELECT q.deleted_at FROM haul.queue q WHERE q.id = j.queue) IS NOT NULL;
  SELECT j.id INTO v_orphan FROM haul.job j JOIN haul.queue q ON q.id = j.queue AND q.deleted_at IS NOT NULL
  WHERE j.id = ANY (v_jobs) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the queue of job % has been deleted', v_orphan USING ERRCODE = 'HA004',
      HINT = 'Submit the URL of the job again to an existing queue.';
  END IF;
  PERFORM haul.forgive(v_jobs);
  -- Jobs without saved bytes start again with their own URL, not with a mirror.
  UPDATE haul.job j SET mirror = NULL, host = coalesce(haul.host_id(j.url), j.host)
  WHERE j.id = ANY (v_jobs) AND j.mirror IS NOT NULL AND NOT p_completed
    AND NOT EXISTS (SELECT FROM haul.checkpoint c WHERE c.job = j.id);
  WITH gone AS (
    DELETE FROM haul.outcome o WHERE o.job = ANY (v_jobs)
  )
  INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
  SELECT w.* FROM haul.waiting_again(v_jobs) w;
  RETURN v_jobs;
END
$$;
COMMENT ON FUNCTION haul.requeue(bigint[], boolean, integer) IS
  'Puts failed and cancelled jobs back into the table ready and forgives their earlier attempts, which then no longer '
  'count. If p_completed is true, does the same for completed jobs. Moves jobs of a deleted queue to p_queue; if '
  'p_queue is NULL, raises HA004 for these jobs. Returns the jobs. The caller must then call arm() for these jobs, so '
  'that workers can claim them. Locks outcomes in job order.';

CREATE OR REPLACE FUNCTION haul.forgive(p_jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  UPDATE haul.attempt a SET forgiven = true WHERE a.job = ANY (p_jobs) AND NOT a.forgiven;
  UPDATE haul.checkpoint c SET resume = jsonb_set(c.resume, '{changes}', '0')
  WHERE c.job = ANY (p_jobs) AND c.resume -> 'changes' <> '0';
END
$$;
COMMENT ON FUNCTION haul.forgive(bigint[]) IS
  'Resets the history of jobs that the caller queues again. Earlier attempts no longer count against max_attempts. '
  'Changes of the source file in earlier attempts no longer prevent a resume.';

-- Skips waiting and running jobs, because they download the current file anyway. Skips a job that found an existing
-- file because of if_exists skip, because that file might not come from Haul. A job has an outcome only if it has no
-- lease, so no job becomes claimable while a worker may still use its lease.
CREATE OR REPLACE FUNCTION haul.refresh_jobs(p_jobs bigint[], p_since timestamptz, p_queue integer) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  -- Lock these outcomes in one pass with those of all other jobs that the caller will queue again.
  PERFORM FROM haul.outcome o WHERE o.job = ANY (p_jobs) ORDER BY o.job FOR UPDATE;
  WITH kept AS (
    INSERT INTO haul.refresh (job, path, bytes, digest, source)
    SELECT o.job, o.path, o.bytes, coalesce(o.digest, 'sha-256=' || encode(o.sha256, 'hex')), o.source
    FROM haul.outcome o JOIN haul.job j ON j.id = o.job
    WHERE o.job = ANY (p_jobs) AND o.state = 'completed'
      -- A time in the future was written before the clock of the database was set back. It counts as earlier than
      -- p_since.
      AND (o.finished_at < p_since OR o.finished_at > clock_timestamp())
      AND (o.source IS NOT NULL OR j.options ->> 'if_exists' IS DISTINCT FROM 'skip')
    RETURNING job)
  SELECT coalesce(array_agg(k.job), '{}') INTO v_jobs FROM kept k;
  RETURN haul.requeue(v_jobs, true, p_queue);
END
$$;
COMMENT ON FUNCTION haul.refresh_jobs(bigint[], timestamptz, integer) IS
  'Queues jobs of p_jobs again if they completed before p_since. These jobs then ask their servers whether the files '
  'have changed. Keeps the downloaded files until new ones replace them. Skips jobs that wait or run, and jobs that '
  'skipped their file because it existed. Returns the queued jobs. As its last step, the caller must call arm() for '
  'these jobs, so that workers can claim them. Locks the outcomes of all p_jobs in job order.';
