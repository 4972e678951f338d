CREATE OR REPLACE FUNCTION haul.init_store(p_name text, p_marker uuid, p_machine text, p_root text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_store integer;
  v_instance integer;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.heed_origin(true);
  INSERT INTO haul.store (name) VALUES (p_name) ON CONFLICT (name) DO NOTHING;
  SELECT id INTO v_store FROM haul.store WHERE name = p_name;
  INSERT INTO haul.store_instance AS i (store, marker, machine, root) VALUES (v_store, p_marker, p_machine, p_root)
  ON CONFLICT (marker) DO UPDATE SET machine = excluded.machine, root = excluded.root WHERE i.store = excluded.store
  RETURNING id INTO v_instance;
  IF v_instance IS NULL THEN
    RAISE EXCEPTION 'this directory already belongs to the store "%"',
      (SELECT s.name FROM haul.store_instance i JOIN haul.store s ON s.id = i.store WHERE i.marker = p_marker)
      USING ERRCODE = 'HA004';
  END IF;
  INSERT INTO haul.queue (name, store) VALUES (p_name, v_store) ON CONFLICT (name) DO NOTHING;
  IF NOT EXISTS (SELECT FROM haul.queue WHERE name = 'default') THEN
    INSERT INTO haul.queue (name, store) VALUES ('default', v_store) ON CONFLICT (name) DO NOTHING;
  END IF;
  RETURN v_instance;
END
$$;
COMMENT ON FUNCTION haul.init_store(text, uuid, text, text) IS
  'Records a directory as an instance of the store p_name. p_marker: the id in the directory''s marker file. Creates '
  'the store if it does not exist, and a queue of the same name. For the first store, also creates the queue default '
  'for this store. If the marker is known, only updates machine and root. Returns the id of the instance. Raises HA004 '
  'if the marker belongs to another store.';

CREATE OR REPLACE FUNCTION haul.pool_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT p.id FROM haul.pool p
$$;
COMMENT ON FUNCTION haul.pool_id() IS
  'Returns the id of the pool. The id distinguishes part files of this pool from part files of other pools in the same '
  'store.';

CREATE OR REPLACE FUNCTION haul.create_queue(p_name text, p_store text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue integer;
BEGIN
  PERFORM haul.require_read_committed();
  INSERT INTO haul.queue (name, store) SELECT p_name, s.id FROM haul.store s WHERE s.name = p_store
  ON CONFLICT (name) DO NOTHING RETURNING id INTO v_queue;
  IF v_queue IS NOT NULL THEN
    PERFORM haul.note_operation('queue create', format('queue %s, store %s', p_name, p_store));
    RETURN v_queue;
  END IF;
  IF NOT EXISTS (SELECT FROM haul.store s WHERE s.name = p_store) THEN
    RAISE EXCEPTION 'there is no store "%"', p_store USING ERRCODE = 'HA003',
      HINT = coalesce('Stores: ' || (SELECT string_agg(name, ', ' ORDER BY name) FROM haul.store),
        'Run ''haul store init'' first.');
  END IF;
  RAISE EXCEPTION 'the queue "%" already exists', p_name USING ERRCODE = 'HA004', HINT = 'Nothing was changed.';
END
$$;
COMMENT ON FUNCTION haul.create_queue(text, text) IS
  'Creates a queue for a store. Raises HA003 if the store does not exist, and HA004 if the queue exists.';

CREATE OR REPLACE FUNCTION haul.set_queue(p_name text, p_settings jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue haul.queue;
  v_limit integer;
BEGIN
  PERFORM haul.require_read_committed();
  IF p_name = '*' THEN
    PERFORM haul.set_pool(p_settings);
    RETURN;
  END IF;
  PERFORM haul.require_options(p_settings -> 'defaults');
  v_queue := haul.queue_named(p_name);
  PERFORM haul.prune_anew() WHERE p_settings ?| '{keep_completed,keep_failed,keep_cancelled}';
  PERFORM FROM haul.queue q WHERE q.id = v_queue.id FOR NO KEY UPDATE;
  UPDATE haul.queue q SET
    paused = coalesce((p_settings ->> 'paused')::boolean, q.paused),
    max_running = CASE WHEN p_settings ? 'max_running' THEN (p_settings ->> 'max_running')::integer ELSE q.max_running
      END,
    limit_set_at = CASE WHEN p_settings ? 'max_running' THEN 'infinity' ELSE q.limit_set_at END,
    weight = coalesce((p_settings ->> 'weight')::integer, q.weight),
    defaults = jsonb_strip_nulls(q.defaults || coalesce(p_settings -> 'defaults', '{}')),
    keep_completed = haul.new_keep_time(p_settings, 'keep_completed', q.keep_completed),
    keep_failed = haul.new_keep_time(p_settings, 'keep_failed', q.keep_failed),
    keep_cancelled = haul.new_keep_time(p_settings, 'keep_cancelled', q.keep_cancelled),
    keep_known = haul.new_keep_time(p_settings, 'keep_known', q.keep_known)
  WHERE q.id = v_queue.id RETURNING q.max_running INTO v_limit;
  IF v_limit IS NOT NULL THEN
    INSERT INTO haul.queue_gate VALUES (v_queue.id) ON CONFLICT DO NOTHING;
    -- Also count jobs that started while the queue had no limit.
    UPDATE haul.lease SET limited = true WHERE job IN (
      SELECT l.job FROM haul.lease l WHERE l.queue = v_queue.id AND NOT l.limited ORDER BY l.job FOR NO KEY UPDATE);
  END IF;
  PERFORM pg_notify('haul', 'queues:' || v_queue.id);
  PERFORM haul.note_operation(CASE p_settings WHEN '{"paused": true}' THEN 'queue pause'
      WHEN '{"paused": false}' THEN 'queue resume' END, 'queue ' || p_name)
  WHERE p_settings IN ('{"paused": true}', '{"paused": false}');
  PERFORM haul.note_operation('queue set', format('queue %s: %s', p_name, coalesce(nullif(concat_ws(', ',
    CASE WHEN p_settings - 'defaults' <> '{}' THEN (p_settings - 'defaults')::text END,
    'defaults ' || (SELECT string_agg(k, ' ') FROM jsonb_object_keys(p_settings -> 'defaults') AS k)), ''),
    'no change')))
  WHERE p_settings NOT IN ('{"paused": true}', '{"paused": false}');
END
$$;
COMMENT ON FUNCTION haul.set_queue(text, jsonb) IS
  'Changes the settings of a queue. p_settings: {"paused", "max_running": null = no limit, "weight": 1 to 1000, '
  '"defaults": options for jobs submitted from now on, "keep_completed", "keep_failed", "keep_cancelled" and '
  '"keep_known": seconds or "forever", null = as for the pool}. Missing keys change nothing. null removes an option '
  'from "defaults". A lower max_running applies to new starts. The leader removes completed, failed and cancelled jobs '
  'when this time has passed since they ended. It remembers the paths of completed jobs for "keep_known". p_name: * = '
  'the pool''s own retention, which applies to all queues without one. Raises HA003 if the queue does not exist, and '
  'HA004 for an invalid option or time.';

CREATE OR REPLACE FUNCTION haul.set_pool(p_settings jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  IF coalesce(jsonb_typeof(p_settings) <> 'object', true)
    OR p_settings - '{keep_completed,keep_failed,keep_cancelled,keep_known}'::text[] <> '{}' THEN
    RAISE EXCEPTION 'only the retention can be set for all queues' USING ERRCODE = 'HA004',
      HINT = 'Set other settings for each queue.';
  END IF;
  PERFORM haul.prune_anew();
  UPDATE haul.pool p SET keep_completed = haul.new_keep_time(p_settings, 'keep_completed', p.keep_completed),
    keep_failed = haul.new_keep_time(p_settings, 'keep_failed', p.keep_failed),
    keep_cancelled = haul.new_keep_time(p_settings, 'keep_cancelled', p.keep_cancelled),
    keep_known = haul.new_keep_time(p_settings, 'keep_known', p.keep_known);
  PERFORM haul.note_operation('queue set', 'all queues: ' || p_settings::text);
END
$$;
COMMENT ON FUNCTION haul.set_pool(jsonb) IS
  'Changes the retention of all queues that have none of their own. p_settings: as for set_queue(). Raises HA004 for '
  'other settings.';

-- Intervals have no infinity before PostgreSQL 17, so 1000 years stand for it.
CREATE OR REPLACE FUNCTION haul.new_keep_time(p_settings jsonb, p_key text, p_old interval) RETURNS interval
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_value jsonb := p_settings -> p_key;
BEGIN
  IF v_value IS NULL THEN
    RETURN p_old;
  ELSIF v_value = 'null' THEN
    RETURN NULL;
  ELSIF v_value = '"forever"' THEN
    RETURN interval '1000 years';
  ELSIF (CASE WHEN jsonb_typeof(v_value) = 'number' THEN v_value::numeric BETWEEN 0 AND 3155760000 ELSE false END) THEN
    RETURN make_interval(secs => v_value::double precision);
  END IF;
  RAISE EXCEPTION 'the time "%" must be a number of seconds up to 100 years, "forever" or null', p_key
    USING ERRCODE = 'HA004';
END
$$;
COMMENT ON FUNCTION haul.new_keep_time(jsonb, text, interval) IS
  'Returns the retention that p_settings sets for p_key, or p_old if they do not mention it. 1000 years = for ever. '
  'Raises HA004 for a value that is not a time.';

CREATE OR REPLACE FUNCTION haul.prune_anew() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET lock_timeout = '10s' AS $$
BEGIN
  UPDATE haul.prune_turn SET next_at = '-infinity';
  DELETE FROM haul.prune_pass;
END
$$;
COMMENT ON FUNCTION haul.prune_anew() IS
  'Makes prune() search all partitions again, because a retention changes. Waits up to 10 s '
  'for a call of prune() or prune_jobs() that has not committed yet.';

CREATE OR REPLACE FUNCTION haul.delete_queue(p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue haul.queue;
BEGIN
  PERFORM haul.require_read_committed();
  v_queue := haul.queue_named(p_name);
  -- Wait for an uncommitted submission, which has locked the row. A later submission finds the queue deleted.
  PERFORM FROM haul.queue q WHERE q.id = v_queue.id FOR UPDATE;
  UPDATE haul.queue SET deleted_at = clock_timestamp(), paused = true, name = left(name, 40) || '.deleted-' || id
  WHERE id = v_queue.id;
  IF EXISTS (SELECT FROM haul.ready r WHERE r.queue = v_queue.id)
    OR EXISTS (SELECT FROM haul.scheduled s WHERE s.queue = v_queue.id)
    OR EXISTS (SELECT FROM haul.held h WHERE h.queue = v_queue.id)
    OR EXISTS (SELECT FROM haul.lease l WHERE l.queue = v_queue.id) THEN
    RAISE EXCEPTION 'jobs of the queue "%" still wait or run', p_name USING ERRCODE = 'HA004',
      HINT = format('Wait until these jobs have ended, or cancel them with ''haul cancel --queue %s'' first.', p_name);
  END IF;
  PERFORM haul.note_operation('queue delete', 'queue ' || p_name);
END
$$;
COMMENT ON FUNCTION haul.delete_queue(text) IS
  'Deletes a queue and frees its name. Finished jobs stay. Raises HA003 if the queue does not exist, and HA004 while '
  'its jobs wait or run.';
