-- What submit() does with lines whose paths belong to jobs.

CREATE OR REPLACE FUNCTION haul.met_jobs(p_submission uuid, p_store integer, p_last bigint, p_on_duplicate text)
RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_bad record;
BEGIN
  UPDATE haul.staging s SET owner = (
    SELECT d.job FROM haul.dedupe d WHERE d.store = p_store AND d.path_digest = haul.path_digest(s.path))
  WHERE s.submission = p_submission AND s.line <= p_last;
  PERFORM haul.require_owners(p_submission, p_last);
  SELECT s.line, s.path, s.owner INTO v_bad FROM haul.staging s
  WHERE s.submission = p_submission AND s.line <= p_last
    AND (p_on_duplicate = 'error' OR EXISTS (
      SELECT FROM haul.job j WHERE j.id = s.owner AND (j.url <> s.url OR j.path <> s.path)))
  ORDER BY s.line LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'line %: job % already has the path "%"', v_bad.line, v_bad.owner, v_bad.path
      USING ERRCODE = 'HA008', HINT = 'Give this line another path.';
  END IF;
  RETURN (SELECT coalesce(array_agg(DISTINCT s.owner), '{}') FROM haul.staging s
    WHERE s.submission = p_submission AND s.line <= p_last);
END
$$;
COMMENT ON FUNCTION haul.met_jobs(uuid, integer, bigint, text) IS
  'For each line of a submission up to p_last, records which job has the path of the line. Returns these jobs. Raises '
  'HA008 if the URL of such a job differs from the URL of the line. If p_on_duplicate is error, raises HA008 if any '
  'job has the path of a line.';

CREATE OR REPLACE FUNCTION haul.require_owners(p_submission uuid, p_last bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  IF EXISTS (SELECT FROM haul.staging s WHERE s.submission = p_submission AND s.line <= p_last
      AND (SELECT j.id FROM haul.job j WHERE j.id = s.owner) IS NULL) THEN
    RAISE EXCEPTION 'a job was just removed' USING ERRCODE = 'HA010';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.require_owners(uuid, bigint) IS
  'Raises HA010 if the job (owner) of a line of the submission up to p_last does not exist any more.';

CREATE OR REPLACE FUNCTION haul.try_again(
  p_submission uuid, p_queue haul.queue, p_options jsonb, p_last bigint, p_met bigint[], p_on_duplicate text,
  OUT requeued bigint[], OUT refreshed bigint[])
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_known bigint[];
BEGIN
  refreshed := '{}';
  IF p_on_duplicate = 'refresh' THEN
    refreshed := haul.refresh_jobs(
      p_met, (SELECT b.begun_at FROM haul.submission b WHERE b.id = p_submission), p_queue.id);
  END IF;
  requeued := haul.requeue(p_met, p_queue => p_queue.id);
  v_known := haul.known_jobs(p_queue.store, requeued || refreshed);
  -- A user who submits a failed job again may have corrected its options. A refreshed job keeps options that are not
  -- given now, except those that describe the earlier file.
  UPDATE haul.job j SET options = p_queue.defaults || l.options
    -- The saved bytes came from one of these URLs.
    || CASE WHEN j.mirror IS NOT NULL THEN jsonb_build_object('mirrors', j.options -> 'mirrors') ELSE '{}' END
  FROM (
    SELECT DISTINCT ON (s.owner) s.owner,
      CASE WHEN s.owner = ANY (v_known) THEN '{"if_exists": "replace"}' ELSE '{}' END::jsonb || coalesce((
        SELECT k.options - '{digest,length}'::text[] FROM haul.job k WHERE k.id = s.owner
          AND k.id = ANY (refreshed)), '{}')
      || coalesce(p_options, '{}') || coalesce(s.options, '{}') AS options
    FROM haul.staging s
    WHERE s.submission = p_submission AND s.line <= p_last AND s.owner = ANY (requeued || refreshed)
    ORDER BY s.owner, s.line) l
  WHERE j.id = l.owner AND j.options IS DISTINCT FROM p_queue.defaults || l.options;
END
$$;
COMMENT ON FUNCTION haul.try_again(uuid, haul.queue, jsonb, bigint, bigint[], text) IS
  'Queues jobs of p_met again if they have failed or were cancelled. p_met: existing jobs that have the same path as a '
  'line of the submission. If p_on_duplicate is refresh, also queues jobs of p_met that completed before the '
  'submission began. Gives the queued jobs the options of their lines. Returns both groups of queued jobs. The caller '
  'must then call arm() for these jobs, so that workers can claim them. Locks outcomes in job order.';

CREATE OR REPLACE FUNCTION haul.compare_met(
  p_submission uuid, p_queue integer, p_batch integer, p_options jsonb, p_last bigint, p_met bigint[],
  p_again bigint[], p_others boolean) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_elsewhere jsonb;
  v_others jsonb;
  v_unchecked bigint;
  v_unapplied bigint;
BEGIN
  SELECT coalesce(jsonb_agg(jsonb_build_object('kind', e.kind, 'name', e.name, 'jobs', cardinality(e.jobs))), '[]'),
    coalesce(jsonb_agg(e.jobs) FILTER (WHERE e.kind = 'batch' AND p_others), '[]')
  INTO v_elsewhere, v_others FROM (
    SELECT 'batch' AS kind, b.name, array_agg(j.id) AS jobs FROM haul.job j LEFT JOIN haul.batch b ON b.id = j.batch
    WHERE j.id = ANY (p_met) AND j.batch IS DISTINCT FROM p_batch AND p_batch IS NOT NULL GROUP BY b.name
    UNION ALL
    SELECT 'queue', q.name, array_agg(j.id) FROM haul.job j JOIN haul.queue q ON q.id = j.queue
    WHERE j.id = ANY (p_met) AND j.queue <> p_queue AND q.deleted_at IS NULL
    GROUP BY q.name) e;
  SELECT count(DISTINCT s.owner) FILTER (
      WHERE g.options ? 'digest' AND (g.options ->> 'digest' = ANY (ARRAY[j.options ->> 'digest', j.digest]))
        IS NOT TRUE),
    count(DISTINCT s.owner) FILTER (WHERE NOT j.options @> (g.options - '{digest,length}'::text[]))
  INTO v_unchecked, v_unapplied
  FROM haul.staging s
  CROSS JOIN LATERAL (SELECT coalesce(p_options, '{}') || coalesce(s.options, '{}') AS options) g
  -- OFFSET 0: look up each job by its id.
  CROSS JOIN LATERAL (SELECT j.options, (
    SELECT coalesce(o.digest, 'sha-256=' || encode(o.sha256, 'hex')) FROM haul.outcome o WHERE o.job = j.id) AS digest
    FROM haul.job j WHERE j.id = s.owner OFFSET 0) j
  WHERE s.submission = p_submission AND s.line <= p_last AND g.options <> '{}' AND s.owner <> ALL (p_again);
  RETURN jsonb_build_object('elsewhere', v_elsewhere, 'others', v_others, 'unchecked', v_unchecked, 'unapplied',
    v_unapplied);
END
$$;
COMMENT ON FUNCTION haul.compare_met(uuid, integer, integer, jsonb, bigint, bigint[], bigint[], boolean) IS
  'Compares the lines of a submission with the jobs that they match, and returns the differences: {"elsewhere", '
  '"others", "unchecked", "unapplied"} as in the reply of submit(). Does not count p_again, the jobs that were queued '
  'again, as unchecked or unapplied: they already have the options of their lines. Locks nothing.';
