-- Workers that name the same store instance must share its directory. If the directory was copied with its marker, each
-- copy has files that the other lacks. So each worker writes a sign into the directory, a file with the worker's id in
-- its name, and looks for the signs of the others.

CREATE OR REPLACE FUNCTION haul.sign_stores(p_worker bigint, p_secret text, p_signs jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp SET jit = off AS $$
DECLARE
  v_now timestamptz := clock_timestamp();
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  UPDATE haul.worker w SET signs = coalesce((
    SELECT jsonb_object_agg(e.instance, jsonb_build_object(
      'since', coalesce(CASE WHEN NOT e.fresh THEN w.signs #> ARRAY[e.instance::text, 'since'] END, to_jsonb(v_now)),
      'unseen', to_jsonb(coalesce(e.unseen[:1000], '{}'))))
    FROM jsonb_to_recordset(p_signs) AS e(instance integer, fresh boolean, unseen bigint[])
    WHERE e.instance = ANY (w.instances)), '{}')
  WHERE w.id = p_worker;
  RETURN (
    SELECT coalesce(jsonb_agg(jsonb_build_object('instance', i.id, 'worker', o.id, 'machine', o.machine,
      'age', extract(epoch FROM v_now - (o.signs #>> ARRAY[i.id::text, 'since'])::timestamptz),
      'misses', o.signs #> ARRAY[i.id::text, 'unseen'] @> to_jsonb(p_worker)) ORDER BY o.id), '[]')
    FROM haul.worker w CROSS JOIN LATERAL unnest(w.instances) AS i(id)
    JOIN haul.worker o ON o.id <> w.id AND o.signs ? i.id::text
    WHERE w.id = p_worker AND o.stopped_at IS NULL AND o.heartbeat_at >= v_now - haul.session_grace()
      -- Ignore a worker that has found its own directory to be a copy.
      AND NOT coalesce(o.closed_stores ? i.id::text, false));
END
$$;
COMMENT ON FUNCTION haul.sign_stores(bigint, text, jsonb) IS
  'Records the signs of a worker. A sign is a file in a store directory, with the worker''s id in its name. Workers '
  'of one instance share its directory, so each finds the signs of the others. If a worker does not find one, one of '
  'the two directories is a copy. p_signs has one element for each store directory (instance) that the '
  'worker could write and read: [{"instance", "fresh": true = made just now, "unseen": [workers whose signs this '
  'worker did not find]}]. Returns the other live workers that have signed the same instances: [{"instance", "worker", '
  '"machine", "age": age of the sign in seconds, "misses": whether that worker cannot find the caller''s sign}].';
