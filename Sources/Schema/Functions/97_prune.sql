-- Removes jobs that ended long ago. What stays of them are the sums in batch_pruned and, of completed jobs, a row in
-- known.

CREATE OR REPLACE FUNCTION haul.keep_time(p_state haul.job_state, p_queue haul.queue, p_pool haul.pool)
RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN nullif(CASE p_state
  WHEN 'completed' THEN coalesce((p_queue).keep_completed, (p_pool).keep_completed)
  WHEN 'failed' THEN coalesce((p_queue).keep_failed, (p_pool).keep_failed)
  WHEN 'cancelled' THEN coalesce((p_queue).keep_cancelled, (p_pool).keep_cancelled) END, interval '1000 years');
COMMENT ON FUNCTION haul.keep_time(haul.job_state, haul.queue, haul.pool) IS
  'Returns how long the pool keeps a job of this queue after it has ended in this state; NULL = for ever.';

-- The next two functions write the bounds of the partition into their statements, so that PostgreSQL locks and reads
-- only this partition.
CREATE OR REPLACE FUNCTION haul.ended_jobs(p_partition bigint, p_condition text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN format($q$
  FROM haul.outcome o CROSS JOIN LATERAL (
    -- LIMIT: look up each row by its id, whatever the planner knows of the tables.
    SELECT k.* FROM haul.job k WHERE k.id = o.job AND k.id >= %1$s AND k.id < %2$s LIMIT 1) j
  CROSS JOIN LATERAL (SELECT k FROM haul.queue k WHERE k.id = j.queue LIMIT 1) r(q) CROSS JOIN haul.pool p
  WHERE o.job >= %1$s AND o.job < %2$s AND %3$s $q$,
  p_partition * haul.partition_size(), (p_partition + 1) * haul.partition_size(), p_condition);
COMMENT ON FUNCTION haul.ended_jobs(bigint, text) IS
  'Returns the text of FROM and WHERE for the ended jobs of a partition that meet a condition. o is the outcome, j the '
  'job, q the row of its queue, p the pool.';

CREATE OR REPLACE FUNCTION haul.jobs_to_remove(
  p_partition bigint, p_from bigint, p_selector jsonb, p_look integer,
  OUT jobs bigint[], OUT last bigint, OUT due_at timestamptz)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off SET enable_sort = off AS $$
BEGIN
  -- Take the outcomes first. In one query with the other tables, the planner may read all outcomes of the partition
  -- and sort them. An outcome without its job, which a manual repair may leave, is looked at and not removed.
  EXECUTE format('SELECT array_agg(f.job ORDER BY f.job) FILTER (WHERE f.due_at <= $3), max(f.job), '
    'min(f.due_at) FILTER (WHERE f.due_at > $3) FROM (SELECT o.job, '
    'CASE WHEN (q).id IS NOT NULL AND haul.is_selected($2, o.state, (q).name, j.batch) '
    'THEN least(o.finished_at, $3) + haul.kept_for($2, o.state, q, p) END AS due_at '
    'FROM (SELECT e.job, e.state, e.finished_at FROM haul.outcome e WHERE e.job >= %1$s AND e.job < %2$s '
    'AND e.job >= $1 ORDER BY e.job LIMIT $4) o '
    'LEFT JOIN LATERAL (SELECT k.queue, k.batch FROM haul.job k '
    'WHERE k.id = o.job AND k.id >= %1$s AND k.id < %2$s LIMIT 1) j ON true '
    'LEFT JOIN LATERAL (SELECT k FROM haul.queue k WHERE k.id = j.queue LIMIT 1) r(q) ON true '
    'CROSS JOIN haul.pool p) f',
    p_partition * haul.partition_size(), (p_partition + 1) * haul.partition_size())
  INTO jobs, last, due_at USING p_from, p_selector, clock_timestamp(), p_look;
END
$$;
COMMENT ON FUNCTION haul.jobs_to_remove(bigint, bigint, jsonb, integer) IS
  'Looks at up to p_look ended jobs of a partition with ids from p_from. Returns those that match the selector and '
  'may be removed now, the last job that it has looked at (NULL = there was none), and when the first of the others '
  'that match may be removed (NULL = never). p_selector: as for prune_jobs(); {} = all jobs, when their retention '
  'ends. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.kept_for(
  p_selector jsonb, p_state haul.job_state, p_queue haul.queue, p_pool haul.pool) RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN coalesce(make_interval(secs => (p_selector ->> 'older')::double precision),
  haul.keep_time(p_state, p_queue, p_pool));
COMMENT ON FUNCTION haul.kept_for(jsonb, haul.job_state, haul.queue, haul.pool) IS
  'Returns the time "older" of a selector in seconds. If the selector has none, returns the retention of the job.';

CREATE OR REPLACE FUNCTION haul.is_selected(p_selector jsonb, p_state haul.job_state, p_queue text, p_batch integer)
RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN (p_selector -> 'state' IS NULL OR p_state::text = p_selector ->> 'state')
  AND (p_selector -> 'queue' IS NULL OR p_queue = p_selector ->> 'queue')
  AND (p_selector -> 'batch_id' IS NULL OR p_batch = (p_selector ->> 'batch_id')::integer);
COMMENT ON FUNCTION haul.is_selected(jsonb, haul.job_state, text, integer) IS
  'Returns whether a job of this state, queue and batch matches a selector of prune_jobs().';

CREATE OR REPLACE FUNCTION haul.remove_jobs(
  p_partition bigint, p_jobs bigint[], p_selector jsonb, p_shows boolean, OUT removed integer, OUT rows jsonb)
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  -- Check again under the locks: meanwhile, a job may have been queued again. Skip locked jobs.
  EXECUTE 'SELECT array_agg(t.job) FROM (SELECT o.job' || haul.ended_jobs(p_partition, 'o.job = ANY ($1) '
    'AND haul.is_selected($2, o.state, (q).name, j.batch) '
    'AND least(o.finished_at, $3) + haul.kept_for($2, o.state, q, p) <= $3')
    || ' ORDER BY o.job FOR UPDATE OF o SKIP LOCKED) t'
  INTO v_jobs USING p_jobs, p_selector, clock_timestamp();
  EXECUTE format('SELECT array_agg(t.id) FROM (SELECT j.id FROM haul.job j WHERE j.id >= %s AND j.id < %s '
    'AND j.id = ANY ($1) ORDER BY j.id FOR UPDATE SKIP LOCKED) t', p_partition * haul.partition_size(),
    (p_partition + 1) * haul.partition_size())
  INTO v_jobs USING v_jobs;
  removed := coalesce(cardinality(v_jobs), 0);
  IF removed = 0 THEN
    RETURN;
  END IF;
  IF p_shows THEN
    rows := haul.shown_before_removal(p_partition, v_jobs);
  END IF;
  EXECUTE 'WITH ended AS MATERIALIZED (SELECT o.job, o.state, o.finished_at, o.bytes, o.sha256, j.batch, j.path, '
    'j.url, (q).store, nullif(coalesce((q).keep_known, p.keep_known), interval ''1000 years'') AS keep_known'
    || haul.ended_jobs(p_partition, 'o.job = ANY ($1)') || $q$), sums AS (
      INSERT INTO haul.batch_pruned AS t (batch, jobs, completed, failed, cancelled, bytes)
      SELECT coalesce(e.batch, 0), count(*), count(*) FILTER (WHERE e.state = 'completed'),
        count(*) FILTER (WHERE e.state = 'failed'), count(*) FILTER (WHERE e.state = 'cancelled'),
        coalesce(haul.whole(sum(e.bytes)), 0)
      FROM ended e GROUP BY 1 ORDER BY 1
      ON CONFLICT (batch) DO UPDATE SET jobs = t.jobs + excluded.jobs, completed = t.completed + excluded.completed,
        failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
        bytes = haul.whole(t.bytes::numeric + excluded.bytes)
    ), paths AS (
      DELETE FROM haul.dedupe d USING (
        SELECT k.ctid AS place FROM ended e
        JOIN haul.dedupe k ON k.store = e.store AND k.path_digest = haul.path_digest(e.path) AND k.job = e.job
        ORDER BY k.store, k.path_digest FOR UPDATE OF k) g
      WHERE d.ctid = g.place
    ), remembered AS (
      INSERT INTO haul.known AS n (key, url_key, finished_at, bytes, forget_at, sha256)
      SELECT haul.known_key(e.store, e.path), haul.url_key(e.url), e.finished_at, e.bytes, f.at, e.sha256
      FROM ended e CROSS JOIN LATERAL (SELECT least(e.finished_at, clock_timestamp()) + e.keep_known AS at) f
      WHERE e.state = 'completed' AND coalesce(f.at > clock_timestamp(), true)
      ORDER BY 1
      ON CONFLICT (key) DO UPDATE SET url_key = excluded.url_key, finished_at = excluded.finished_at,
        bytes = excluded.bytes, forget_at = excluded.forget_at, sha256 = excluded.sha256
    ), tried AS (
      INSERT INTO haul.attempt_pruned AS t (result, attempts, fetched, taken_over)
      SELECT a.result, count(*), coalesce(haul.whole(sum(a.fetched)), 0), count(*) FILTER (
        WHERE a.result IN ('released', 'rescued') AND a.is_continued)
      FROM ended e CROSS JOIN LATERAL (
        SELECT n.result, n.fetched, lead(n.token) OVER (ORDER BY n.token) IS NOT NULL AS is_continued
        FROM haul.attempt n WHERE n.job = e.job) a
      GROUP BY 1 ORDER BY 1
      ON CONFLICT (result) DO UPDATE SET attempts = t.attempts + excluded.attempts,
        fetched = haul.whole(t.fetched::numeric + excluded.fetched), taken_over = t.taken_over + excluded.taken_over
    ), parts AS (
      DELETE FROM haul.checkpoint c WHERE c.job = ANY ($1)
    ), asked AS (
      DELETE FROM haul.refresh f WHERE f.job = ANY ($1)
    )
    SELECT $q$ USING v_jobs;
  PERFORM haul.delete_rows(p_partition, 'attempt', 'job', v_jobs);
  -- The trigger of outcome reads the batches of the jobs.
  PERFORM haul.delete_rows(p_partition, 'outcome', 'job', v_jobs);
  PERFORM haul.delete_rows(p_partition, 'job', 'id', v_jobs);
END
$$;
COMMENT ON FUNCTION haul.remove_jobs(bigint, bigint[], jsonb, boolean) IS
  'Removes those of p_jobs, ended jobs of a partition, that match the selector and may be removed now. Returns their '
  'number and, if p_shows is true, what the pool knew of them (rows). Adds them to batch_pruned. Completed jobs leave '
  'a row in known, unless the retention of known paths has ended too. Skips jobs that another session has locked. '
  'Locks outcomes in job order.';

CREATE OR REPLACE FUNCTION haul.delete_rows(p_partition bigint, p_table text, p_column text, p_jobs bigint[])
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  EXECUTE format('DELETE FROM haul.%1$I r WHERE r.%2$I >= %3$s AND r.%2$I < %4$s AND r.%2$I = ANY ($1)',
    p_table, p_column,
    p_partition * haul.partition_size(), (p_partition + 1) * haul.partition_size()) USING p_jobs;
END
$$;
COMMENT ON FUNCTION haul.delete_rows(bigint, text, text, bigint[]) IS
  'Deletes the rows of p_jobs from one partition of job, outcome or attempt. p_column: the column with the job id.';

CREATE OR REPLACE FUNCTION haul.shown_before_removal(p_partition bigint, p_jobs bigint[]) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_material = off AS $$
DECLARE
  v_rows jsonb;
BEGIN
  EXECUTE $q$SELECT jsonb_agg(jsonb_build_object('job', o.job, 'queue', (q).name,
    'batch', (SELECT b.name FROM haul.batch b WHERE b.id = j.batch), 'state', o.state, 'url', j.url,
    'path', coalesce(o.path, j.path), 'submitted_at', j.submitted_at, 'finished_at', o.finished_at, 'bytes', o.bytes,
    'digest', coalesce(o.digest, 'sha-256=' || encode(o.sha256, 'hex')), 'error', o.error, 'message', o.message,
    'options', j.options)::text ORDER BY o.job)$q$ || haul.ended_jobs(p_partition, 'o.job = ANY ($1)')
  INTO v_rows USING p_jobs;
  RETURN v_rows;
END
$$;
COMMENT ON FUNCTION haul.shown_before_removal(bigint, bigint[]) IS
  'Returns what the pool knows of ended jobs of a partition, as an array of JSON texts, with complete URLs.';
