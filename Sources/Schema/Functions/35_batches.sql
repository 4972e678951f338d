-- Counts a batch's jobs by outcome. Triggers add a row to `batch_change` for each statement that creates or ends jobs,
-- so no function can forget to count. The leader, the session that runs maintenance, adds these rows up.

-- count_jobs() counts new, moved and removed jobs. count_outcomes() counts jobs that have ended or wait again.
CREATE OR REPLACE FUNCTION haul.count_jobs() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
    SELECT coalesce(j.batch, 0), clock_timestamp(), count(*), 0, 0, 0, 0 FROM new_rows j GROUP BY 1 ORDER BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
    SELECT coalesce(j.batch, 0), clock_timestamp(), -count(*), 0, 0, 0, 0 FROM old_rows j GROUP BY 1 ORDER BY 1;
  ELSE
    -- A new submission may move a job to another batch. Do not join old and new rows: PostgreSQL reuses the plan for
    -- later statements. If ten thousand jobs move, a plan that was made for one job would read all rows ten thousand
    -- times.
    INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
    SELECT m.batch, clock_timestamp(), sum(m.sign), 0, 0, 0, 0 FROM (
      SELECT coalesce(o.batch, 0) AS batch, -1 AS sign FROM old_rows o
      UNION ALL SELECT coalesce(n.batch, 0), 1 FROM new_rows n) m
    GROUP BY 1 HAVING sum(m.sign) <> 0 ORDER BY 1;
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION haul.count_jobs() IS
  'Runs as a trigger. Records in batch_change how many jobs a statement has created in each batch, removed, or moved '
  'from one batch to another. Batch 0 = the jobs without a batch.';

CREATE OR REPLACE FUNCTION haul.count_outcomes() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET enable_hashjoin = on AS $$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
    SELECT coalesce(j.batch, 0), clock_timestamp(), 0, -count(*) FILTER (WHERE o.state = 'completed'),
      -count(*) FILTER (WHERE o.state = 'failed'), -count(*) FILTER (WHERE o.state = 'cancelled'),
        -coalesce(haul.whole(sum(o.bytes)), 0)
    FROM old_rows o JOIN haul.job_rows(ARRAY(SELECT r.job FROM old_rows r)) j ON j.id = o.job GROUP BY 1 ORDER BY 1;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
    SELECT coalesce(j.batch, 0), clock_timestamp(), 0, count(*) FILTER (WHERE o.state = 'completed'),
      count(*) FILTER (WHERE o.state = 'failed'), count(*) FILTER (WHERE o.state = 'cancelled'),
        coalesce(haul.whole(sum(o.bytes)), 0)
    FROM new_rows o JOIN haul.job_rows(ARRAY(SELECT r.job FROM new_rows r)) j ON j.id = o.job GROUP BY 1 ORDER BY 1;
  END IF;
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION haul.count_outcomes() IS
  'Runs as a trigger. Records in batch_change how many jobs of each batch a statement has ended, and the sizes of '
  'their files in bytes. Subtracts ended jobs that now wait again. Batch 0 = the jobs without a batch.';

-- Create the triggers only once. Creating a trigger waits for all writers of its table, and no writer can start before
-- the commit. So this block counts earlier jobs, and the triggers count later ones.
DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'haul.job'::regclass AND t.tgname = 'count_inserted') THEN
    CREATE TRIGGER count_inserted AFTER INSERT ON haul.job
      REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION haul.count_jobs();
    CREATE TRIGGER count_updated AFTER UPDATE ON haul.job
      REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION haul.count_jobs();
    CREATE TRIGGER count_inserted AFTER INSERT ON haul.outcome
      REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION haul.count_outcomes();
    CREATE TRIGGER count_updated AFTER UPDATE ON haul.outcome
      REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION haul.count_outcomes();
    CREATE TRIGGER count_deleted AFTER DELETE ON haul.outcome
      REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION haul.count_outcomes();
    INSERT INTO haul.batch_total (batch, jobs, completed, failed, cancelled, bytes)
    SELECT coalesce(j.batch, 0), count(*), count(*) FILTER (WHERE o.state = 'completed'),
      count(*) FILTER (WHERE o.state = 'failed'), count(*) FILTER (WHERE o.state = 'cancelled'),
        coalesce(haul.whole(sum(o.bytes)), 0)
    FROM haul.job j LEFT JOIN haul.outcome o ON o.job = j.id GROUP BY 1;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = 'haul.job'::regclass AND t.tgname = 'count_deleted') THEN
    CREATE TRIGGER count_deleted AFTER DELETE ON haul.job
      REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION haul.count_jobs();
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION haul.roll_up(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_week_ago timestamptz := clock_timestamp() - interval '7 days';
  v_changes jsonb;
  v_count integer;
  v_ended integer[];
BEGIN
  PERFORM haul.require_read_committed();
  WITH gone AS (
    DELETE FROM haul.batch_change c WHERE c.id IN (
      SELECT d.id FROM haul.batch_change d ORDER BY d.id LIMIT p_limit FOR UPDATE SKIP LOCKED)
    RETURNING c.*
  ), alike AS (
    SELECT g.batch, date_trunc('minute', g.at) AS at, count(*) AS changes, sum(g.jobs) AS jobs,
      sum(g.completed) AS completed,
      sum(g.failed) AS failed, sum(g.cancelled) AS cancelled, sum(g.bytes) AS bytes,
      -- A job that was requeued still counts in the minute in which it ended.
      sum(greatest(g.completed, 0)) AS completed_then, sum(greatest(g.failed, 0)) AS failed_then,
      sum(greatest(g.cancelled, 0)) AS cancelled_then, sum(greatest(g.bytes, 0)) AS bytes_then
    FROM gone g GROUP BY 1, 2)
  SELECT jsonb_agg(to_jsonb(a)), sum(a.changes) INTO v_changes, v_count FROM alike a;
  IF v_count IS NULL THEN
    RETURN 0;
  END IF;
  WITH added AS (
    INSERT INTO haul.batch_total AS t (batch, jobs, completed, failed, cancelled, bytes)
    SELECT c.batch, sum(c.jobs), sum(c.completed), sum(c.failed), sum(c.cancelled), haul.whole(sum(c.bytes))
    FROM jsonb_to_recordset(v_changes) AS c(batch integer, jobs bigint, completed bigint, failed bigint,
      cancelled bigint, bytes numeric)
    GROUP BY 1 ORDER BY 1
    ON CONFLICT (batch) DO UPDATE SET jobs = t.jobs + excluded.jobs, completed = t.completed + excluded.completed,
      failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
        bytes = haul.whole(t.bytes::numeric + excluded.bytes)
    RETURNING t.*)
  SELECT array_agg(a.batch) INTO v_ended FROM added a
  WHERE a.batch <> 0 AND a.jobs <= a.completed + a.failed + a.cancelled;
  INSERT INTO haul.minute AS m (at, completed, failed, cancelled, bytes)
  SELECT c.at, sum(c.completed_then), sum(c.failed_then), sum(c.cancelled_then), haul.whole(sum(c.bytes_then))
  FROM jsonb_to_recordset(v_changes) AS c(at timestamptz, completed_then bigint, failed_then bigint,
    cancelled_then bigint, bytes_then numeric)
  GROUP BY 1 HAVING sum(c.completed_then + c.failed_then + c.cancelled_then) > 0 ORDER BY 1
  ON CONFLICT (at) DO UPDATE SET completed = m.completed + excluded.completed, failed = m.failed + excluded.failed,
    cancelled = m.cancelled + excluded.cancelled, bytes = haul.whole(m.bytes::numeric + excluded.bytes);
  DELETE FROM haul.minute WHERE at < v_week_ago;
  PERFORM pg_notify('haul', 'batch:' || b.name) FROM haul.batch b WHERE b.id = ANY (v_ended);
  RETURN v_count;
END
$$;
COMMENT ON FUNCTION haul.roll_up(integer) IS
  'Maintenance: deletes up to p_limit rows from batch_change and adds their numbers to the totals of each batch and '
  'each minute. When all jobs of a batch have ended, notifies the sessions that wait for this batch. Returns the '
  'number of deleted rows. Concurrent calls are safe.';

-- Skip locked rows: a session that is withdrawing one of the jobs may wait for a lane that this session has locked.
CREATE OR REPLACE FUNCTION haul.take_ready(p_jobs bigint[]) RETURNS SETOF haul.ready
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY DELETE FROM haul.ready r USING (
      SELECT k.ctid AS place FROM haul.ready k WHERE k.job = ANY (p_jobs) FOR UPDATE SKIP LOCKED) k
    WHERE r.ctid = k.place RETURNING r.*;
END
$$;
COMMENT ON FUNCTION haul.take_ready(bigint[]) IS
  'Deletes jobs from the table ready and returns their rows. The caller must have locked the lanes (the waiting jobs '
  'of one queue for one host) that contain these jobs. Skips jobs that another session has locked.';

CREATE OR REPLACE FUNCTION haul.put_away(p_jobs bigint[]) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_cancelled bigint[];
  v_paused bigint[];
BEGIN
  SELECT coalesce(array_agg(j.id) FILTER (WHERE b.sweep = 'cancel'), '{}'),
    coalesce(array_agg(j.id) FILTER (WHERE b.sweep = 'pause'), '{}') INTO v_cancelled, v_paused
  FROM haul.job_rows(p_jobs) j
  JOIN haul.batch b ON b.id = j.batch AND b.sweep IS NOT NULL AND j.id <= b.sweep_below;
  INSERT INTO haul.outcome (job, state, finished_at)
  SELECT w.job, 'cancelled', clock_timestamp() FROM haul.take_ready(v_cancelled) w;
  INSERT INTO haul.held (job, queue, host, instance, priority, held_at)
  SELECT w.job, w.queue, w.host, w.instance, w.priority, clock_timestamp() FROM haul.take_ready(v_paused) w;
  RETURN v_cancelled || v_paused;
END
$$;
COMMENT ON FUNCTION haul.put_away(bigint[]) IS
  'Cancels or pauses those waiting jobs of p_jobs whose batch is being cancelled or paused. A claim calls this '
  'function for the jobs that it has found. Skips rows of ready that another session has locked. Returns all jobs '
  'whose batch is being cancelled or paused, including the skipped ones.';

CREATE OR REPLACE FUNCTION haul.begin_sweep(p_batch integer, p_what text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM FROM haul.batch b WHERE b.id = p_batch FOR NO KEY UPDATE;
  UPDATE haul.batch SET sweep = p_what, sweeps = sweeps + 1, swept = 0, swept_at = clock_timestamp(),
    sweep_below = (SELECT max(j.id) FROM haul.job j WHERE j.batch = p_batch)
  -- A pause does not replace a cancellation. Otherwise two operators would restart each other's commands and never
  -- finish.
  WHERE id = p_batch AND (sweep IS NULL OR sweep = 'pause' AND p_what = 'cancel');
  IF NOT FOUND THEN
    -- If the same command is given again, it also applies to jobs that were submitted since the first time.
    UPDATE haul.batch SET sweep_below = (SELECT max(j.id) FROM haul.job j WHERE j.batch = p_batch)
    WHERE id = p_batch AND sweep = p_what;
  END IF;
  RETURN (SELECT b.sweeps FROM haul.batch b WHERE b.id = p_batch);
END
$$;
COMMENT ON FUNCTION haul.begin_sweep(integer, text) IS
  'Records a command to cancel or pause all jobs submitted to a batch so far. p_what is ''cancel'' or ''pause''. After '
  'the commit, no worker can claim these jobs, and sweep() cancels or pauses them. A pause does not replace a '
  'cancellation. Each new command on a batch gets the next number. Returns the number of the command that is now '
  'active. Locks the batch.';

CREATE OR REPLACE FUNCTION haul.end_sweep(p_batch integer) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, haul, pg_temp AS $$
  UPDATE haul.batch SET sweep = NULL, swept = NULL, swept_at = NULL, sweep_below = NULL WHERE id = p_batch AND sweep
    IS NOT NULL
$$;
COMMENT ON FUNCTION haul.end_sweep(integer) IS
  'Removes the pending command on a whole batch. Jobs that the command has already changed stay changed.';

-- The settings of this function pin its plan. Otherwise, on a table that has never been analysed, the planner would
-- read and sort the whole batch at each step.
CREATE OR REPLACE FUNCTION haul.batch_jobs(p_batch integer, p_after bigint, p_last bigint, p_limit integer)
  RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
BEGIN
  RETURN ARRAY(SELECT j.id FROM haul.job j WHERE j.batch = p_batch AND j.id > p_after AND j.id <= p_last
    ORDER BY j.id LIMIT p_limit);
END
$$;
COMMENT ON FUNCTION haul.batch_jobs(integer, bigint, bigint, integer) IS
  'Returns up to p_limit job ids of a batch, in ascending order: those above p_after, up to and including p_last. {} = '
  'there are none. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.sweep(p_batch integer, p_limit integer, OUT changed integer, OUT more boolean)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_batch record;
  v_jobs bigint[];
  v_done bigint[];
  v_missed bigint;
BEGIN
  changed := 0;
  SELECT b.* INTO v_batch FROM haul.batch b WHERE b.id = p_batch AND b.sweep IS NOT NULL FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    more := false;
    RETURN;
  END IF;
  v_jobs := haul.batch_jobs(p_batch, v_batch.swept, v_batch.sweep_below, greatest(p_limit, 1));
  IF v_jobs = '{}' THEN
    PERFORM haul.end_sweep(p_batch);
    more := false;
    RETURN;
  END IF;
  more := true;
  v_done := CASE v_batch.sweep WHEN 'cancel' THEN haul.cancel_jobs(v_jobs) ELSE haul.hold_jobs(v_jobs) END;
  changed := cardinality(v_done);
  -- This step misses a job that moves between the tables meanwhile. It cannot change such a job now, because it has
  -- locked rows of `ready`, and leases must be locked before these rows. So the next step begins with this job.
  SELECT min(u.job) INTO v_missed FROM (SELECT unnest(v_jobs) EXCEPT SELECT unnest(v_done)) AS u(job)
  WHERE NOT EXISTS (SELECT FROM haul.outcome o WHERE o.job = u.job)
    AND NOT EXISTS (SELECT FROM haul.held h WHERE h.job = u.job AND v_batch.sweep = 'pause')
    AND NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = u.job AND l.command IN (v_batch.sweep, 'cancel'));
  UPDATE haul.batch SET swept = coalesce(v_missed - 1, v_jobs[cardinality(v_jobs)]), swept_at = clock_timestamp()
  WHERE id = p_batch;
END
$$;
COMMENT ON FUNCTION haul.sweep(integer, integer) IS
  'Continues the command that begin_sweep() recorded, for up to p_limit more jobs of a batch. Cancels or pauses '
  'waiting jobs, and sends the command to the workers of running jobs. Returns the number of changed jobs and whether '
  'there may be more. If there are no more, removes the command. Locks the batch.';

CREATE OR REPLACE FUNCTION haul.steer_batch(
  p_batch integer, p_what text, p_limit integer, p_sweep bigint, OUT changed integer, OUT more boolean,
    OUT sweep bigint)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  sweep := coalesce(p_sweep, haul.begin_sweep(p_batch, p_what));
  PERFORM FROM haul.batch b WHERE b.id = p_batch AND b.sweep IS NOT NULL AND b.sweeps = steer_batch.sweep
    FOR NO KEY UPDATE;
  IF FOUND THEN
    SELECT s.* INTO changed, more FROM haul.sweep(p_batch, p_limit) s;
  ELSE
    changed := 0;
    more := false;
  END IF;
END
$$;
COMMENT ON FUNCTION haul.steer_batch(integer, text, integer, bigint) IS
  'Cancels or pauses up to p_limit jobs, as one step of a command on a whole batch. p_what is ''cancel'' or ''pause''. '
  'p_sweep: NULL in the first step; in later steps, the number (sweep) that the first step returned. Does nothing if '
  'another session has ended the command meanwhile. Locks the batch.';

CREATE OR REPLACE FUNCTION haul.sweep_on(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET lock_timeout = '200ms' AS $$
DECLARE
  v_batch integer;
BEGIN
  PERFORM haul.require_read_committed();
  SELECT b.id INTO v_batch FROM haul.batch b
  WHERE b.sweep IS NOT NULL AND b.swept_at < clock_timestamp() - interval '5 seconds' ORDER BY b.swept_at LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED;
  RETURN CASE WHEN v_batch IS NULL THEN 0 ELSE (SELECT s.changed FROM haul.sweep(v_batch, p_limit) s) END;
EXCEPTION WHEN lock_not_available THEN
  -- Another session has locked one of the jobs of this batch. Process the other batches first.
  UPDATE haul.batch SET swept_at = clock_timestamp() WHERE id = v_batch AND sweep IS NOT NULL;
  RETURN 0;
END
$$;
COMMENT ON FUNCTION haul.sweep_on(integer) IS
  'Maintenance: continues to cancel or pause a batch if the operator''s program has ended. The program counts as ended '
  'if its last step was more than 5 seconds ago. Changes up to p_limit jobs and returns the number of changed jobs.';
