CREATE OR REPLACE FUNCTION haul.partition_size() RETURNS bigint
LANGUAGE sql IMMUTABLE RETURN 1048576;
COMMENT ON FUNCTION haul.partition_size() IS
  'Returns the number of job ids in each partition of job, outcome and attempt.';

CREATE OR REPLACE FUNCTION haul.partition_numbers() RETURNS SETOF bigint
LANGUAGE sql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT substr(c.relname, 5)::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'haul.job'::regclass AND c.relname ~ '^job_[0-9]+$'
$$;
COMMENT ON FUNCTION haul.partition_numbers() IS
  'Returns the numbers of the partitions that exist. Partition n has the job ids from n * partition_size().';

-- Create tables separately and attach them, because ATTACH PARTITION takes no lock that a claim waits for. CREATE TABLE
-- … PARTITION OF would wait for every reader.
CREATE OR REPLACE FUNCTION haul.ensure_partitions(p_ids_ahead bigint) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp
SET lock_timeout = '5s' AS $$
DECLARE
  c_size CONSTANT bigint := haul.partition_size();
  v_last bigint;
  v_from bigint;
  v_parent text;
  v_name text;
  v_made integer := 0;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.heed_origin(true);
  IF p_ids_ahead > 100 * c_size THEN
    RAISE EXCEPTION 'cannot create partitions for more than % future jobs', 100 * c_size USING ERRCODE = 'HA004';
  END IF;
  SELECT last_value INTO v_last FROM haul.job_id;
  v_from := (v_last / c_size) * c_size;
  WHILE v_from <= v_last + p_ids_ahead LOOP
    v_name := format('job_%s', v_from / c_size);
    IF to_regclass('haul.' || v_name) IS NULL THEN
      -- Only one session at a time creates partitions. A session that waited here finds that the partition exists. Only
      -- the owner can lock this row, so no other login can hold it.
      PERFORM FROM haul.pool FOR UPDATE;
      -- Do not call to_regclass() again: it caches the negative result, and waiting for a row lock does not clear the
      -- cache.
      IF NOT EXISTS (SELECT FROM pg_class c WHERE c.relname = v_name AND c.relnamespace = 'haul'::regnamespace) THEN
        FOREACH v_parent IN ARRAY ARRAY['job', 'outcome', 'attempt'] LOOP
          v_name := format('%s_%s', v_parent, v_from / c_size);
          EXECUTE format('CREATE TABLE haul.%I (LIKE haul.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
            v_name, v_parent);
          EXECUTE format('ALTER TABLE haul.%I ATTACH PARTITION haul.%I FOR VALUES FROM (%s) TO (%s)',
            v_parent, v_name, v_from, v_from + c_size);
        END LOOP;
        v_made := v_made + 1;
      END IF;
    END IF;
    v_from := v_from + c_size;
  END LOOP;
  RETURN v_made;
END
$$;
COMMENT ON FUNCTION haul.ensure_partitions(bigint) IS
  'Creates the partitions of job, outcome and attempt that the next p_ids_ahead jobs need. Returns the number of new '
  'partitions of each table. Call it before you take any other lock. Raises HA004 if p_ids_ahead needs more than 100 '
  'partitions.';

-- A generic plan, which PostgreSQL keeps, locks every partition, even partitions that it does not read. With hundreds
-- of partitions each call would take milliseconds, and a few concurrent calls would fill the server's table of locks.
-- So the functions that workers call read job and attempt only through job_rows() and attempt_rows(), and through
-- functions with the setting force_custom_plan. For an array of ids of one partition, the planner leaves out the
-- others.

CREATE OR REPLACE FUNCTION haul.by_partition(p_jobs bigint[]) RETURNS TABLE (jobs bigint[])
LANGUAGE sql IMMUTABLE AS $$
  SELECT array_agg(u.job) FROM unnest(p_jobs) AS u(job) WHERE u.job IS NOT NULL GROUP BY u.job / haul.partition_size()
$$;
COMMENT ON FUNCTION haul.by_partition(bigint[]) IS
  'Returns the ids as one array for each partition that contains them.';

CREATE OR REPLACE FUNCTION haul.job_rows(p_jobs bigint[]) RETURNS SETOF haul.job
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  FOR v_jobs IN SELECT n.jobs FROM haul.by_partition(p_jobs) n LOOP
    RETURN QUERY SELECT j.* FROM haul.job j WHERE j.id = ANY (v_jobs);
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.job_rows(bigint[]) IS
  'Returns the rows of these jobs in the table job, in no particular order. Locks only the partitions that contain '
  'these ids.';

CREATE OR REPLACE FUNCTION haul.attempt_rows(p_jobs bigint[]) RETURNS SETOF haul.attempt
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  v_jobs bigint[];
BEGIN
  FOR v_jobs IN SELECT n.jobs FROM haul.by_partition(p_jobs) n LOOP
    RETURN QUERY SELECT a.* FROM haul.attempt a WHERE a.job = ANY (v_jobs);
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.attempt_rows(bigint[]) IS
  'Returns the attempts of these jobs, in no particular order. Locks only the partitions that contain these ids.';

CREATE OR REPLACE FUNCTION haul.count_attempts(p_jobs bigint[]) RETURNS integer[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET enable_hashjoin = on AS $$
BEGIN
  RETURN ARRAY(SELECT coalesce(c.attempts, 0) FROM unnest(p_jobs) WITH ORDINALITY AS u(job, nth)
    LEFT JOIN (SELECT a.job, count(*)::integer AS attempts FROM haul.attempt_rows(p_jobs) a GROUP BY a.job) c
      ON c.job = u.job
    ORDER BY u.nth);
END
$$;
COMMENT ON FUNCTION haul.count_attempts(bigint[]) IS
  'Returns how many attempts each job has had, in the order of p_jobs.';

CREATE OR REPLACE FUNCTION haul.attempt_notes(p_jobs bigint[]) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_object_agg(n.job, n.notes), '{}') FROM (
    SELECT a.job, jsonb_strip_nulls(jsonb_build_object('changes', sum(a.changes) FILTER (WHERE NOT a.forgiven),
      'rescued', CASE WHEN bool_or(a.result IN ('rescued', 'paused', 'cancelled')) THEN true END)) AS notes
    FROM haul.attempt_rows(p_jobs) a GROUP BY a.job) n);
END
$$;
COMMENT ON FUNCTION haul.attempt_notes(bigint[]) IS
  'Returns what a worker must know about the earlier attempts of these jobs: {"job id": {"changes": how often the '
  'source''s file has changed, "rescued": true if an attempt was rescued, paused or cancelled}}. Leaves out jobs '
  'without an attempt.';
