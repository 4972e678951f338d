-- Records what operators did, so that everyone can see later which command changed the pool.

CREATE OR REPLACE FUNCTION haul.selector_text(p_selector jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ids bigint[] := haul.ids(p_selector);
BEGIN
  RETURN concat_ws(', ',
    CASE WHEN v_ids IS NOT NULL THEN CASE WHEN cardinality(v_ids) = 1 THEN 'job ' ELSE 'jobs ' END
      || array_to_string(v_ids[1:10], ' ')
      || CASE WHEN cardinality(v_ids) > 10 THEN format(' and %s more', cardinality(v_ids) - 10) ELSE '' END END,
    'batch ' || (p_selector ->> 'batch'), 'queue ' || (p_selector ->> 'queue'), 'host ' || (p_selector ->> 'host'),
    'state ' || (p_selector ->> 'state'), 'error ' || (p_selector ->> 'error'));
END
$$;
COMMENT ON FUNCTION haul.selector_text(jsonb) IS
  'Returns a selector (the conditions that choose jobs) in words, such as "batch films, state failed". Lists at most '
  'the first ten ids.';

CREATE OR REPLACE FUNCTION haul.duration_text(p_time interval) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT CASE WHEN mod(t.seconds, 3600) = 0 THEN trim_scale(t.seconds / 3600) || ' h'
    WHEN mod(t.seconds, 60) = 0 THEN trim_scale(t.seconds / 60) || ' min'
    ELSE trim_scale(t.seconds) || ' s' END
  FROM (SELECT extract(epoch FROM p_time) AS seconds) t
$$;
COMMENT ON FUNCTION haul.duration_text(interval) IS
  'Returns a duration in the largest unit that gives a whole number: "10 min", "2 h" or "90 s".';

-- All steps of a command share one row. A step adds to the newest row of the same session and command, if the last step
-- was less than p_within ago. This function skips a row that another session has locked, so that operators never wait
-- for each other.
CREATE OR REPLACE FUNCTION haul.note_operation(
  p_action text, p_target text, p_jobs bigint DEFAULT NULL, p_first bigint[] DEFAULT NULL,
  p_within interval DEFAULT '10 seconds', p_batches text[] DEFAULT '{}') RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_target text := left(p_target, 500);
  v_batches text[] := array_remove(p_batches, NULL);
  v_id bigint;
BEGIN
  IF p_jobs = 0 THEN
    RETURN;
  END IF;
  UPDATE haul.operation o SET jobs = o.jobs + p_jobs, ended_at = clock_timestamp(),
    first_jobs = (o.first_jobs || coalesce(p_first, '{}'))[:100]
  WHERE o.id = (
    SELECT k.id FROM haul.operation k
    WHERE k.id > (SELECT max(m.id) FROM haul.operation m) - 100 AND k.pid = pg_backend_pid() AND k.login = session_user
      AND k.action = p_action AND k.target = v_target AND k.batches = v_batches AND k.jobs IS NOT NULL
      AND k.ended_at > clock_timestamp() - p_within
    ORDER BY k.id DESC LIMIT 1 FOR UPDATE SKIP LOCKED) AND p_jobs IS NOT NULL;
  IF FOUND THEN
    RETURN;
  END IF;
  INSERT INTO haul.operation (at, ended_at, login, pid, action, target, jobs, first_jobs, batches)
  -- The command began when this statement began, before it changed its first job.
  VALUES (statement_timestamp(), clock_timestamp(), session_user, pg_backend_pid(), p_action, v_target, p_jobs,
    coalesce(p_first[:100], '{}'), v_batches)
  RETURNING id INTO v_id;
  DELETE FROM haul.operation o WHERE o.id IN (
    SELECT k.id FROM haul.operation k WHERE k.id <= v_id - 10000 ORDER BY k.id LIMIT 100 FOR UPDATE SKIP LOCKED);
END
$$;
COMMENT ON FUNCTION haul.note_operation(text, text, bigint, bigint[], interval, text[]) IS
  'Records an operator''s command for the view operations. p_action: name of the command. p_target: the jobs, queue, '
  'host or worker that the command is applied to. p_jobs: number of changed jobs; NULL = not a command on jobs. A '
  'command that changed 0 jobs is not recorded. p_first: ids of changed jobs; at most 100 are kept. If the same '
  'session recorded the same command less than p_within ago, adds to the row of that command. p_batches: names of the '
  'batches that p_target names; ignores NULL elements. Keeps the newest 10,000 commands.';
