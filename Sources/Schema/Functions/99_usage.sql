-- Counts files and bytes by day and by queue, batch, host and worker. end_together(), count_failed() and note_fetched()
-- add rows to `usage_change` that contain ids only. The leader, the session that runs maintenance, adds these rows up
-- in `usage` under names.

CREATE OR REPLACE FUNCTION haul.count_failed(p_job bigint, p_host integer, p_worker bigint) RETURNS void
LANGUAGE sql SET search_path = pg_catalog, haul, pg_temp AS $$
  INSERT INTO haul.usage_change (day, queue, batch, host, worker, files, failed, bytes, fetched)
  SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date, j.queue, coalesce(j.batch, 0), coalesce(p_host, j.host),
    coalesce(p_worker, 0), 0, 1, 0, 0
  FROM haul.job_rows(ARRAY[p_job]) j
$$;
COMMENT ON FUNCTION haul.count_failed(bigint, integer, bigint) IS
  'Records in usage_change that a job has failed without a decision of end_leases(). p_host: NULL = the host of the '
  'job''s URL. p_worker: NULL = the job failed without a worker.';

-- A deleted queue has a longer name, see delete_queue(). Its files count under the name that it had, up to 40
-- characters.
CREATE OR REPLACE FUNCTION haul.unfolded_usage(p_changes bigint[]) RETURNS TABLE (
  day date, kind text, name text, files bigint, failed bigint, bytes bigint, fetched bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
  SELECT n.day, n.kind, n.name, haul.whole(sum(n.files)), haul.whole(sum(n.failed)), haul.whole(sum(n.bytes)),
    haul.whole(sum(n.fetched))
  FROM (
    SELECT g.day, g.kind, g.files, g.failed, g.bytes, g.fetched,
      CASE WHEN g.id = 0 THEN '' ELSE left(coalesce(CASE g.kind
        WHEN 'queue' THEN (
          SELECT CASE WHEN q.deleted_at IS NULL THEN q.name ELSE regexp_replace(q.name, '\.deleted-[0-9]+$', '') END
          FROM haul.queue q WHERE q.id = g.id)
        WHEN 'batch' THEN (SELECT b.name FROM haul.batch b WHERE b.id = g.id)
        WHEN 'host' THEN (SELECT h.name FROM haul.host_name h WHERE h.id = g.id)
        ELSE (SELECT w.id || ' (' || w.machine || ')' FROM haul.worker w WHERE w.id = g.id)
      END, g.kind || ' ' || g.id), 300) END AS name
    FROM (
      SELECT c.day, k.kind, k.id, sum(c.files) AS files, sum(c.failed) AS failed, sum(c.bytes) AS bytes,
        sum(c.fetched) AS fetched
      FROM haul.usage_change c CROSS JOIN LATERAL (
        VALUES ('queue', c.queue::bigint), ('batch', c.batch), ('host', c.host), ('worker', c.worker)) k(kind, id)
      WHERE c.id = ANY (coalesce(p_changes, ARRAY(SELECT a.id FROM haul.usage_change a)))
      GROUP BY 1, 2, 3) g) n
  GROUP BY 1, 2, 3
$$;
COMMENT ON FUNCTION haul.unfolded_usage(bigint[]) IS
  'Returns the sums of files and bytes that the leader has not added up yet, with the columns of usage_by_day. An '
  'empty name stands for jobs without a batch or without a worker. p_changes: ids of rows of usage_change; NULL = all.';

CREATE OR REPLACE FUNCTION haul.fold_usage(p_limit integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_first_day date := (clock_timestamp() AT TIME ZONE 'UTC')::date - 400;
  v_changes bigint[];
BEGIN
  PERFORM haul.require_read_committed();
  DELETE FROM haul.usage u WHERE u.ctid = ANY (ARRAY(
    SELECT o.ctid FROM haul.usage o WHERE o.day < v_first_day ORDER BY o.day LIMIT greatest(p_limit, 0)
    FOR UPDATE SKIP LOCKED));
  v_changes := ARRAY(SELECT c.id FROM haul.usage_change c ORDER BY c.id LIMIT greatest(p_limit, 0)
    FOR UPDATE SKIP LOCKED);
  IF v_changes = '{}' THEN
    RETURN 0;
  END IF;
  -- Lock rows in key order, so that two sessions cannot deadlock.
  INSERT INTO haul.usage AS u (day, kind, name, files, failed, bytes, fetched)
  SELECT n.day, n.kind, n.name, n.files, n.failed, n.bytes, n.fetched FROM haul.unfolded_usage(v_changes) n
  ORDER BY n.day, n.kind COLLATE "C", n.name COLLATE "C"
  ON CONFLICT (day, kind, name) DO UPDATE SET files = haul.whole(u.files::numeric + excluded.files),
    failed = haul.whole(u.failed::numeric + excluded.failed), bytes = haul.whole(u.bytes::numeric + excluded.bytes),
    fetched = haul.whole(u.fetched::numeric + excluded.fetched);
  DELETE FROM haul.usage_change c WHERE c.id = ANY (v_changes);
  RETURN cardinality(v_changes);
END
$$;
COMMENT ON FUNCTION haul.fold_usage(integer) IS
  'Maintenance: deletes up to p_limit rows from usage_change and adds their numbers to the usage of each day. Also '
  'deletes up to p_limit rows of usage that are older than 400 days. Returns the number of rows deleted from '
  'usage_change. Concurrent calls are safe.';

-- A pool with many hosts, batches or workers would otherwise keep a row for each of them and each day.
CREATE OR REPLACE FUNCTION haul.shrink_usage(p_limit integer, p_now timestamptz) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_most CONSTANT bigint := 10 * p_limit;
  v_day date;
  v_rows bigint;
BEGIN
  v_day := (SELECT min(u.day) FROM haul.usage u
    WHERE u.day > (SELECT t.usage_day FROM haul.prune_turn t) AND u.day < (p_now AT TIME ZONE 'UTC')::date - 35);
  IF v_day IS NULL THEN
    RETURN false;
  END IF;
  WITH large AS (
    SELECT t.place FROM unnest(ARRAY['queue', 'batch', 'host', 'worker']) AS k(kind)
    CROSS JOIN LATERAL (
      SELECT u.ctid AS place FROM haul.usage u
      WHERE u.day = v_day AND u.kind = k.kind AND u.name NOT IN ('', '*')
      ORDER BY greatest(u.bytes, u.fetched) DESC, u.name LIMIT 100) t
  ), small AS (
    DELETE FROM haul.usage u WHERE u.ctid = ANY (ARRAY(
      SELECT d.ctid FROM haul.usage d WHERE d.day = v_day AND d.name NOT IN ('', '*')
        AND NOT EXISTS (SELECT FROM large l WHERE l.place = d.ctid)
      LIMIT v_most))
    RETURNING u.kind, u.files, u.failed, u.bytes, u.fetched
  ), summed AS (
    INSERT INTO haul.usage AS u (day, kind, name, files, failed, bytes, fetched)
    SELECT v_day, s.kind, '*', haul.whole(sum(s.files)), haul.whole(sum(s.failed)), haul.whole(sum(s.bytes)),
      haul.whole(sum(s.fetched))
    FROM small s GROUP BY s.kind
    ON CONFLICT (day, kind, name) DO UPDATE SET files = haul.whole(u.files::numeric + excluded.files),
      failed = haul.whole(u.failed::numeric + excluded.failed), bytes = haul.whole(u.bytes::numeric + excluded.bytes),
      fetched = haul.whole(u.fetched::numeric + excluded.fetched))
  SELECT count(*) INTO v_rows FROM small;
  UPDATE haul.prune_turn SET usage_day = v_day WHERE v_rows < v_most;
  RETURN true;
END
$$;
COMMENT ON FUNCTION haul.shrink_usage(integer, timestamptz) IS
  'Makes the usage of one day smaller that is more than 35 days old: keeps the 100 largest rows of each kind, and adds '
  'up to 10 * p_limit other rows to a row with the name *. Returns whether there may be more to do. The caller must '
  'have locked the row of prune_turn.';
