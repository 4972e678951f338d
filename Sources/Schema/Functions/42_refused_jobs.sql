-- Workers that have died or are draining do not count. The operator of a worker without permission finds the reason in
-- the error of the attempt.
CREATE OR REPLACE FUNCTION haul.is_refused_by_all(p_job bigint, p_worker bigint, p_queue integer, p_error text)
RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  RETURN coalesce(p_error = 'not_permitted', false) AND NOT EXISTS (
    SELECT FROM haul.queue q JOIN haul.store_instance i ON i.store = q.store
    JOIN haul.worker w ON i.id = ANY (w.instances) AND (w.queues IS NULL OR q.name = ANY (w.queues))
    WHERE q.id = p_queue AND w.id <> p_worker AND w.stopped_at IS NULL AND NOT w.draining
      AND w.expires_at > clock_timestamp() AND NOT EXISTS (
        SELECT FROM haul.attempt a
        WHERE a.job = p_job AND a.worker = w.id AND a.error = 'not_permitted' AND NOT a.forgiven));
END
$$;
COMMENT ON FUNCTION haul.is_refused_by_all(bigint, bigint, integer, text) IS
  'Returns whether no live worker of a queue has permission to write the file of a job. Returns true if p_error, the '
  'error of worker p_worker, is not_permitted and every other live worker of the queue has failed with the same error '
  'for this job. Draining workers do not count.';
