-- Withdraws operators' commands, so that jobs wait again.

CREATE OR REPLACE FUNCTION haul.take_back_command(
  p_selector jsonb, p_command text, p_state text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_back bigint[];
BEGIN
  WITH back AS (
    UPDATE haul.lease l SET command = NULL WHERE l.job IN (
      SELECT k.job FROM haul.lease k
      WHERE k.command = p_command AND (v_ids IS NULL OR k.job = ANY (v_ids))
        AND haul.matches(p_selector, k.job, p_state, NULL)
      ORDER BY k.job FOR NO KEY UPDATE)
    RETURNING l.job)
  SELECT coalesce(array_agg(b.job), '{}') INTO v_back FROM back b;
  RETURN v_back;
END
$$;
COMMENT ON FUNCTION haul.take_back_command(jsonb, text, text) IS
  'Withdraws p_command from all running jobs that match a selector and whose workers have not carried out the command '
  'yet. If the selector has the key "state", it matches these jobs only if the value of this key is p_state. Returns '
  'these jobs. Locks leases in job order.';

CREATE OR REPLACE FUNCTION haul.take_back(p_batch integer, p_what text[], p_sweep bigint) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.end_sweep(b.id) FROM haul.batch b WHERE b.id = p_batch AND b.sweep = ANY (p_what) AND p_sweep IS NULL;
  RETURN coalesce((SELECT b.sweeps FROM haul.batch b WHERE b.id = p_batch AND b.sweeps = coalesce(p_sweep, b.sweeps)),
    CASE WHEN p_batch IS NULL THEN 0 END);
END
$$;
COMMENT ON FUNCTION haul.take_back(integer, text[], bigint) IS
  'Ends the pending command on a whole batch for resume() and retry(), but only in the first step (p_sweep is NULL), '
  'and only if the command is one of p_what. Returns the number of the last command on the batch, to pass as p_sweep '
  'in later steps; 0 without a batch. Returns NULL if a newer command has replaced command p_sweep and takes '
  'precedence.';

-- Lets paused jobs wait again in their old order, and withdraws a pause that a worker has not carried out.
CREATE OR REPLACE FUNCTION haul.resume(
  p_selector jsonb, p_limit integer DEFAULT 10000, p_sweep bigint DEFAULT NULL, p_since timestamptz DEFAULT NULL,
  OUT changed integer, OUT more boolean, OUT sweep bigint, OUT since timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_back bigint[] := '{}';
  v_moved jsonb;
BEGIN
  since := p_since;
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  sweep := haul.take_back(haul.whole_batch(p_selector), '{pause}', p_sweep);
  IF sweep IS NULL THEN
    changed := 0;
    more := false;
    RETURN;
  END IF;
  -- Only the first call withdraws pauses, and it withdraws all of them. A pause that comes between two calls is later
  -- than the resume, and wins. If a worker pauses a job while this call waits for the job's lease, the job is paused
  -- before "since". A time in the future was written before the clock of the database was set back. It counts as
  -- earlier than "since".
  IF p_since IS NULL THEN
    v_back := haul.take_back_command(p_selector, 'pause', 'running');
    since := clock_timestamp();
  END IF;
  WITH moved AS (
    DELETE FROM haul.held h WHERE h.job IN (
      SELECT k.job FROM haul.held k
      WHERE (k.held_at < since OR k.held_at > clock_timestamp()) AND (v_ids IS NULL OR k.job = ANY (v_ids))
        AND haul.matches(p_selector, k.job, 'paused', NULL)
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
  SELECT jsonb_build_object('jobs', (SELECT coalesce(jsonb_agg(w.job), '[]') FROM moved w),
    'ready', coalesce(jsonb_agg(to_jsonb(n)), '[]'))
  INTO v_moved FROM now n;
  PERFORM haul.arm(array_agg(m.host), array_agg(m.queue), array_agg(m.instance), array_agg(m.priority),
    array_agg(m.job))
  FROM jsonb_to_recordset(v_moved -> 'ready') AS m(host integer, queue integer, instance integer, priority smallint,
    job bigint);
  PERFORM pg_notify('haul', 'queues:' || (SELECT string_agg(DISTINCT m.queue::text, ',')
    FROM jsonb_to_recordset(v_moved -> 'ready') AS m(queue integer))) WHERE v_moved -> 'ready' <> '[]';
  v_back := v_back || ARRAY(SELECT m.job::bigint FROM jsonb_array_elements_text(v_moved -> 'jobs') AS m(job));
  changed := cardinality(v_back);
  more := changed > 0;
  PERFORM haul.note_operation('resume', haul.selector_text(p_selector), changed, v_back,
    p_batches => ARRAY[p_selector ->> 'batch']);
END
$$;
COMMENT ON FUNCTION haul.resume(jsonb, integer, bigint, timestamptz) IS
  'Resumes the paused jobs that match a selector: they wait again in their old order. Call it like pause(). The first '
  'call also withdraws all pauses that workers have not carried out. p_since: "since" of the first reply. Later calls '
  'then skip jobs that are paused after the first call.';
