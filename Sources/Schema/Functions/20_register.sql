CREATE OR REPLACE FUNCTION haul.register(
  p_version integer, p_program text, p_machine text, p_pid integer, p_concurrency integer, p_stores jsonb,
  p_queues text[] DEFAULT NULL)
RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_secret text := replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '');
  v_now timestamptz := clock_timestamp();
  v_worker bigint;
  v_stores jsonb := '[]';
  v_instances integer[] := '{}';
  v_instance integer;
  v_store record;
BEGIN
  PERFORM haul.require_read_committed();
  -- This condition refuses NULL too.
  IF (p_version BETWEEN haul.oldest_served_version() AND haul.schema_version()) IS NOT TRUE THEN
    RAISE EXCEPTION 'this program knows schema version %, but the database supports only schema versions % to %',
      coalesce(p_version::text, 'NULL'), haul.oldest_served_version(), haul.schema_version() USING ERRCODE = 'HA002';
  END IF;
  PERFORM haul.require_queues(p_queues, ARRAY(SELECT s.store FROM jsonb_to_recordset(p_stores) AS s(store text)));
  FOR v_store IN SELECT * FROM jsonb_to_recordset(p_stores) AS s(store text, marker uuid) LOOP
    SELECT i.id INTO v_instance FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
    WHERE s.name = v_store.store AND i.marker = v_store.marker;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'store "%": the marker in its directory belongs to %', v_store.store, coalesce(
        (SELECT format('the store "%s"', s.name) FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
          WHERE i.marker = v_store.marker), 'another pool')
        USING ERRCODE = 'HA003', HINT = CASE
          WHEN EXISTS (SELECT FROM haul.store_instance i WHERE i.marker = v_store.marker)
            THEN 'Use the name of that store in --store.'
          ELSE format('Use that pool. Or use the directory in this pool too: haul store init --adopt %s DIRECTORY',
            v_store.store)
          END;
    END IF;
    v_instances := v_instances || v_instance;
    v_stores := v_stores || jsonb_build_object('store', v_store.store, 'instance', v_instance);
  END LOOP;
  INSERT INTO haul.worker (secret_digest, machine, pid, version, concurrency, instances, queues,
    registered_at, heartbeat_at, steady_since, expires_at)
  VALUES (sha256(convert_to(v_secret, 'UTF8')), left(p_machine, 255), p_pid, left(p_program, 255),
    least(greatest(p_concurrency, 1), 100000), v_instances, p_queues,
    v_now, v_now, v_now, v_now + haul.lease_expiry())
  RETURNING id INTO v_worker;
  INSERT INTO haul.worker_call VALUES (v_worker, 0);
  RETURN jsonb_build_object('worker', v_worker, 'secret', v_secret, 'stores', v_stores,
    'pool', (SELECT id FROM haul.pool));
END
$$;
COMMENT ON FUNCTION haul.register(integer, text, text, integer, integer, jsonb, text[]) IS
  'Registers a worker. p_version: the schema version that the program knows. p_stores: [{"store": name, "marker": '
  'uuid}], read from the directories that the worker mounts. p_queues: names of the queues that the worker claims '
  'from; NULL = all queues of its stores. Returns {"worker", "secret", "pool", "stores": [{"store", "instance"}]}. '
  'Only this call returns the secret, because the database stores only a digest of the secret. Every later call must '
  'pass the secret. Raises HA002 if this database does not support programs of p_version. Raises HA003 for an unknown '
  'marker or queue, and for a queue whose store the worker does not mount.';

CREATE OR REPLACE FUNCTION haul.tell_reach(p_worker bigint, p_secret text, p_schemes text[], p_networks inet[])
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  -- Treat a longer list as unknown.
  UPDATE haul.worker w SET
    schemes = CASE WHEN cardinality(p_schemes) <= 16
      THEN ARRAY(SELECT left(s, 16) FROM unnest(p_schemes) AS s WHERE s IS NOT NULL) END,
    networks = CASE WHEN cardinality(p_networks) <= 1000
      THEN ARRAY(SELECT n FROM unnest(p_networks) AS n WHERE n IS NOT NULL) END
  WHERE w.id = p_worker;
END
$$;
COMMENT ON FUNCTION haul.tell_reach(bigint, text, text[], inet[]) IS
  'Records what a worker can download. p_schemes: URL schemes. p_networks: networks that the worker may connect to in '
  'addition to public addresses. NULL = unknown. Commands display the values. The values do not affect which jobs the '
  'worker claims.';

CREATE OR REPLACE FUNCTION haul.require_queues(p_queues text[], p_stores text[]) RETURNS void
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_name text;
  v_store text;
BEGIN
  FOR v_name IN SELECT unnest(p_queues) LOOP
    v_store := (SELECT s.name FROM haul.store s WHERE s.id = (haul.queue_named(v_name)).store);
    IF v_store <> ALL (p_stores) THEN
      RAISE EXCEPTION 'the files of the queue "%" go to the store "%", which this worker does not mount', v_name,
        v_store
        USING ERRCODE = 'HA003';
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.require_queues(text[], text[]) IS
  'Raises HA003 if a queue does not exist or its store is not in p_stores. In both cases, a worker for this queue '
  'would never get a job. Earlier versions of Haul call this function before register(), because they do not pass '
  'queue names to register().';

-- This session holds an advisory lock until it ends. If the lock is free, the worker process or its connection is gone.
CREATE OR REPLACE FUNCTION haul.attach_session(p_worker bigint, p_secret text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_key bigint;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  v_key := haul.lock_session();
  -- If the machine of the worker vanishes, the server ends this session within about ten seconds instead of hours.
  -- These settings have no effect on a Unix socket.
  PERFORM set_config('tcp_keepalives_idle', '4', false), set_config('tcp_keepalives_interval', '2', false),
    set_config('tcp_keepalives_count', '3', false);
  UPDATE haul.worker SET session_key = v_key WHERE id = p_worker;
END
$$;
COMMENT ON FUNCTION haul.attach_session(bigint, text) IS
  'Ties this database session to the worker. If the session ends, the pool gives the worker''s jobs to other workers '
  'when the last heartbeat is older than session_grace(). While the session is open, the pool waits longer: until the '
  'last heartbeat is older than lease_expiry().';

-- Any login may take advisory locks, and could take a predictable key first.
CREATE OR REPLACE FUNCTION haul.lock_session() RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_key bigint;
BEGIN
  LOOP
    v_key := haul.session_lock(('x' || substr(replace(gen_random_uuid()::text, '-', ''), 1, 12))::bit(48)::bigint);
    IF v_key <> haul.session_lock(0) AND pg_try_advisory_lock(v_key) THEN
      RETURN v_key;
    END IF;
  END LOOP;
END
$$;
COMMENT ON FUNCTION haul.lock_session() IS
  'Takes an advisory lock under a random unused key and returns the key. The session holds the lock until it ends. '
  'Never waits.';

-- In a pool with another schema, the first 'haul' is the name of that schema, and the second name stays "haul".
CREATE OR REPLACE FUNCTION haul.session_lock(p_number bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN (((x'4861'::bigint + hashtext('haul') - hashtext('ha' || 'ul')) & 32767) << 48) | p_number;
COMMENT ON FUNCTION haul.session_lock(bigint) IS
  'Returns the key of the advisory lock that belongs to a number in this schema. Each worker''s session has a number '
  'of its own. The number 0 belongs to the leader, the session that runs maintenance.';

-- A leader may hold its lock for hours if it hangs, or if its connection broke and the server did not notice. So lead()
-- may also return true in a session without the lock. If two sessions run maintenance at the same time, one waits for
-- the rows that the other has locked.
CREATE OR REPLACE FUNCTION haul.lead() RETURNS boolean
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT pg_try_advisory_lock(haul.session_lock(0))
    OR NOT EXISTS (SELECT FROM haul.pulse p WHERE p.round_at >= clock_timestamp() - interval '2 seconds')
    OR coalesce((SELECT min(s.run_at) FROM haul.scheduled s) < clock_timestamp() - interval '30 seconds'
      AND NOT EXISTS (SELECT FROM haul.pulse p WHERE p.promoted_at >= clock_timestamp() - interval '5 seconds'), false)
$$;
COMMENT ON FUNCTION haul.lead() IS
  'Returns whether this session must run maintenance now. Returns true if the session is the leader or becomes the '
  'leader now. A session stays the leader until it ends. Also returns true if no session has run maintenance for 2 '
  'seconds, or if the server has crashed and no session has run maintenance since. Also returns true if jobs have been '
  'due for 30 seconds and no session has run promote() for 5 seconds.';

CREATE OR REPLACE FUNCTION haul.close_store(p_worker bigint, p_secret text, p_store text, p_reason text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_instance text;
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  SELECT i.id::text INTO v_instance FROM haul.store_instance i JOIN haul.store s ON s.id = i.store
  JOIN haul.worker w ON w.id = p_worker AND i.id = ANY (w.instances)
  WHERE s.name = p_store;
  UPDATE haul.worker SET closed_stores = CASE
    WHEN p_reason IS NOT NULL THEN coalesce(closed_stores, '{}') || jsonb_build_object(v_instance, left(p_reason, 500))
    ELSE nullif(closed_stores - v_instance, '{}') END
  WHERE id = p_worker AND v_instance IS NOT NULL;
END
$$;
COMMENT ON FUNCTION haul.close_store(bigint, text, text, text) IS
  'Records p_reason, the reason why the worker cannot write to a store that it mounts. The worker gets no jobs for '
  'this store until it calls this function with p_reason NULL.';

CREATE OR REPLACE FUNCTION haul.stop_worker(p_worker bigint, p_secret text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  PERFORM haul.authenticate(p_worker, p_secret);
  UPDATE haul.worker SET stopped_at = clock_timestamp(), expires_at = clock_timestamp()
  WHERE id = p_worker;
END
$$;
COMMENT ON FUNCTION haul.stop_worker(bigint, text) IS
  'Marks a worker as stopped. A worker that stops gracefully calls this last. The pool may then give the remaining '
  'jobs of the worker to other workers without delay.';

CREATE OR REPLACE FUNCTION haul.drain_worker(p_worker bigint) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  UPDATE haul.worker SET draining = true WHERE id = p_worker AND stopped_at IS NULL AND expires_at > clock_timestamp();
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM pg_notify('haul', 'workers:' || p_worker);
  PERFORM haul.note_operation('drain', 'worker ' || p_worker);
  RETURN true;
END
$$;
COMMENT ON FUNCTION haul.drain_worker(bigint) IS
  'Asks a worker to drain: to save its progress, return its jobs and end. Notifies the worker. The next heartbeat of '
  'the worker also returns the request. Returns false if the worker does not exist, has stopped or has died.';
