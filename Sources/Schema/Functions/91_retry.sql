CREATE OR REPLACE FUNCTION haul.redo(p_jobs bigint[]) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  PERFORM haul.require_read_committed();
  SELECT array_agg(t.job) INTO v_jobs FROM (
    SELECT o.job FROM haul.outcome o WHERE o.job = ANY (p_jobs) AND o.state = 'completed'
    ORDER BY o.job FOR UPDATE) t;
  v_jobs := haul.requeue(v_jobs, true);
  PERFORM haul.arm_jobs(v_jobs);
  PERFORM pg_notify('haul', 'queues:all');
  -- haul verify calls this for one file after another, which may take hours. So calls within one day of each other
  -- count as one command.
  PERFORM haul.note_operation('verify --requeue', 'missing and damaged files', cardinality(v_jobs), v_jobs,
    '1 day');
  RETURN cardinality(v_jobs);
END
$$;
COMMENT ON FUNCTION haul.redo(bigint[]) IS
  'Queues the completed jobs of p_jobs again. haul verify --requeue calls it for missing and damaged files. Returns '
  'the number of jobs.';

CREATE OR REPLACE FUNCTION haul.retry(
  p_selector jsonb, p_limit integer DEFAULT 10000, p_sweep bigint DEFAULT NULL, p_if_exists text DEFAULT NULL,
  p_since timestamptz DEFAULT NULL,
  OUT changed integer, OUT more boolean, OUT sweep bigint, OUT since timestamptz)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
  v_ended bigint[];
  v_jobs bigint[];
  v_late bigint[];
  v_due integer;
  v_back bigint[] := '{}';
BEGIN
  since := p_since;
  PERFORM haul.require_read_committed();
  PERFORM haul.check_selector(p_selector);
  IF p_if_exists NOT IN ('fail', 'skip', 'replace', 'rename') THEN
    RAISE EXCEPTION 'if_exists must be fail, skip, replace or rename, not "%"', p_if_exists
      USING ERRCODE = 'HA004';
  END IF;
  sweep := haul.take_back(
    (SELECT b.id FROM haul.batch b WHERE b.name = p_selector ->> 'batch'), '{pause,cancel}', p_sweep);
  IF sweep IS NULL THEN
    changed := 0;
    more := false;
    RETURN;
  END IF;
  -- A running job with a cancel command counts as cancelled. When the command has been withdrawn, the job keeps
  -- running. If its worker has already stopped the job, the job waits again. Only the first call withdraws commands,
  -- and it withdraws all of them. A command that comes between two calls is later than the retry, and wins. If a worker
  -- ends a lease while this call waits for that lease, the job ends before "since". A time in the future was written
  -- before the clock of the database was set back. It counts as earlier than "since".
  IF p_since IS NULL THEN
    v_back := haul.take_back_command(p_selector, 'cancel', 'cancelled');
    since := clock_timestamp();
  END IF;
  v_ended := ARRAY(
    SELECT o.job FROM haul.outcome o
    WHERE o.state <> 'completed' AND (o.finished_at < since OR o.finished_at > clock_timestamp())
      AND (v_ids IS NULL OR o.job = ANY (v_ids))
      AND haul.matches(p_selector, o.job, o.state::text, o.error) LIMIT p_limit);
  v_jobs := haul.requeue(v_ended);
  -- Do this in the first call only: later calls would find jobs that were scheduled again meanwhile.
  v_late := ARRAY(
    SELECT s.job FROM haul.scheduled s
    WHERE s.job = ANY (v_ids) AND s.run_at > clock_timestamp() AND p_since IS NULL
      AND EXISTS (SELECT FROM haul.attempt a WHERE a.job = s.job AND NOT a.forgiven)
      AND haul.matches(p_selector, s.job, 'scheduled',
        (SELECT a.error FROM haul.attempt a WHERE a.job = s.job ORDER BY a.token DESC LIMIT 1)));
  UPDATE haul.job j SET options = j.options || jsonb_build_object('if_exists', p_if_exists)
  WHERE j.id = ANY (v_jobs || v_late) AND p_if_exists IS NOT NULL;
  UPDATE haul.scheduled s SET run_at = clock_timestamp() WHERE s.job IN (
    SELECT k.job FROM haul.scheduled k WHERE k.job = ANY (v_late) ORDER BY k.job FOR UPDATE);
  GET DIAGNOSTICS v_due = ROW_COUNT;
  PERFORM haul.arm_jobs(v_jobs);
  PERFORM pg_notify('haul', 'queues:all');
  changed := cardinality(v_jobs) + v_due + cardinality(v_back);
  more := cardinality(v_ended) = p_limit;
  PERFORM haul.note_operation(
    CASE WHEN current_setting('haul_session.action', true) = 'cancel --undo' THEN 'cancel --undo' ELSE 'retry' END,
    haul.selector_text(p_selector), changed, v_jobs || v_late || v_back,
    p_batches => ARRAY[p_selector ->> 'batch']);
END
$$;
COMMENT ON FUNCTION haul.retry(jsonb, integer, bigint, text, timestamptz) IS
  'Requeues failed and cancelled jobs that match a selector, and forgives their earlier attempts, which then no longer '
  'count. Call it like pause(). The first call also withdraws all cancellations that workers have not carried out. If '
  'a job is selected by id and waits for its next attempt, it becomes due immediately. p_if_exists (fail, skip, '
  'replace or rename): what the jobs do from now on if their file exists; NULL = as before. p_since: "since" of the '
  'first reply. Later calls then skip jobs that fail or are cancelled after the first call. If the setting '
  'haul_session.action is ''cancel --undo'', the view operations lists the command under this name.';
