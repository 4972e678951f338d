-- Records results of `haul verify` and reports them to `haul check`.

CREATE OR REPLACE FUNCTION haul.record_verification(p_instances integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM FROM haul.store_instance i WHERE i.id = ANY (p_instances) ORDER BY i.id FOR NO KEY UPDATE;
  UPDATE haul.store_instance i SET verified_at = clock_timestamp() WHERE i.id = ANY (p_instances);
END
$$;
COMMENT ON FUNCTION haul.record_verification(integer[]) IS
  'Records that the files in these store instances (directories of stores) were just verified. Ignores ids that do not '
  'exist. Locks the instances in the order of their ids.';

CREATE OR REPLACE FUNCTION haul.recorded_digests(OUT ended bigint, OUT completed bigint, OUT without_digest bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
BEGIN
  SELECT count(*), count(*) FILTER (WHERE n.state = 'completed'),
    count(*) FILTER (WHERE n.state = 'completed' AND n.digest IS NULL AND n.sha256 IS NULL)
  INTO ended, completed, without_digest
  FROM (SELECT o.state, o.digest, o.sha256 FROM haul.outcome o ORDER BY o.job DESC LIMIT 1000000) n;
END
$$;
COMMENT ON FUNCTION haul.recorded_digests() IS
  'Returns counts of the jobs that have ended: all of them (ended), those that completed (completed), and the '
  'completed ones whose file has no known digest (without_digest). Counts only the million ended jobs with the highest '
  'ids. Locks nothing.';
