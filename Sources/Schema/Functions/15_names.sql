CREATE OR REPLACE FUNCTION haul.names(p_kind text, p_prefix text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
  (SELECT q.name FROM haul.queue q WHERE p_kind = 'queue' AND q.deleted_at IS NULL AND starts_with(q.name, p_prefix)
   ORDER BY q.name LIMIT 100)
  UNION ALL
  (SELECT s.name FROM haul.store s WHERE p_kind = 'store' AND starts_with(s.name, p_prefix) ORDER BY s.name LIMIT 100)
  UNION ALL
  (SELECT b.name FROM haul.batch b WHERE p_kind = 'batch' AND starts_with(b.name, p_prefix) ORDER BY b.id DESC
    LIMIT 100)
  UNION ALL
  (SELECT h.name FROM haul.host_name h WHERE p_kind IN ('host', 'listed host') AND starts_with(h.name, p_prefix)
     AND (h.used OR p_kind = 'listed host' AND EXISTS (
       SELECT FROM haul.host b WHERE b.name = h.name AND b.blocked_until > clock_timestamp()))
   ORDER BY h.name LIMIT 100)
  UNION ALL
  (SELECT p.pattern FROM haul.host_policy p WHERE p_kind = 'policy' AND starts_with(p.pattern, p_prefix)
    ORDER BY p.pattern LIMIT 100)
  UNION ALL
  (SELECT w.id::text FROM haul.worker w
   WHERE p_kind = 'worker' AND w.stopped_at IS NULL AND w.expires_at > clock_timestamp()
     AND starts_with(w.id::text, p_prefix)
   ORDER BY w.id DESC LIMIT 100)
$$;
COMMENT ON FUNCTION haul.names(text, text) IS
  'Returns up to 100 names that begin with p_prefix, to complete a command line. p_kind is the kind of names: queue, '
  'store, batch, policy, worker (ids), host (the hosts of jobs) or listed host (the hosts in the view hosts).';
