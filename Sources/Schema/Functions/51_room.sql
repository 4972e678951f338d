-- Limits how many jobs a worker may hold.

CREATE OR REPLACE FUNCTION haul.most_leases(p_concurrency integer) RETURNS integer
LANGUAGE sql IMMUTABLE RETURN 4 * p_concurrency;
COMMENT ON FUNCTION haul.most_leases(integer) IS
  'Returns how many jobs a worker may hold at the same time: four times p_concurrency, its maximum number of '
  'transfers. In addition to the transfers, a worker may hold p_concurrency jobs in each of three groups: jobs whose '
  'finished files the worker renames, jobs that wait for silent hosts, and jobs that wait for a disk that hangs.';

CREATE OR REPLACE FUNCTION haul.room(p_worker bigint, p_held integer, p_asked integer, OUT jobs integer,
  OUT held integer)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off AS $$
DECLARE
  v_most integer := (SELECT haul.most_leases(w.concurrency) FROM haul.worker w WHERE w.id = p_worker);
BEGIN
  jobs := p_asked;
  held := greatest(p_held, 0);
  IF jobs > 0 AND held + jobs > v_most THEN
    -- p_held may still count leases that other sessions have ended, for example by a rescue.
    held := (SELECT count(*) FROM haul.lease l WHERE l.worker = p_worker);
    jobs := least(jobs, greatest(v_most - held, 0));
  END IF;
END
$$;
COMMENT ON FUNCTION haul.room(bigint, integer, integer) IS
  'Returns "jobs": how many more jobs a worker may claim (at most p_asked) without exceeding most_leases(). Also '
  'returns "held": how many jobs the worker holds. p_held: an upper bound of "held". Counts the leases only if p_held '
  'plus p_asked exceeds most_leases().';
