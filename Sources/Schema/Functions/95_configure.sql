-- Records a directory's marker under a store's name; makes the store, and a queue of the same name on it (the first
-- store also gets the queue `default`). Repeating it with the same marker only refreshes machine and root.
CREATE OR REPLACE FUNCTION haul.init_store(p_name text, p_marker uuid, p_machine text, p_root text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_store integer;
  v_instance integer;
BEGIN
  PERFORM haul.require_read_committed();
  INSERT INTO haul.store (name) VALUES (p_name) ON CONFLICT (name) DO NOTHING;
  SELECT id INTO v_store FROM haul.store WHERE name = p_name;
  INSERT INTO haul.store_instance AS i (store, marker, machine, root) VALUES (v_store, p_marker, p_machine, p_root)
  ON CONFLICT (marker) DO UPDATE SET machine = excluded.machine, root = excluded.root WHERE i.store = excluded.store
  RETURNING id INTO v_instance;
  IF v_instance IS NULL THEN
    RAISE EXCEPTION 'this directory is an instance of another store already' USING ERRCODE = 'HA004';
  END IF;
  INSERT INTO haul.queue (name, store) VALUES (p_name, v_store) ON CONFLICT (name) DO NOTHING;
  IF NOT EXISTS (SELECT FROM haul.queue WHERE name = 'default') THEN
    INSERT INTO haul.queue (name, store) VALUES ('default', v_store) ON CONFLICT (name) DO NOTHING;
  END IF;
  RETURN v_instance;
END
$$;

-- What tells this pool's part files from another's on the same store.
CREATE OR REPLACE FUNCTION haul.pool_id() RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
  SELECT p.id FROM haul.pool p
$$;

CREATE OR REPLACE FUNCTION haul.create_queue(p_name text, p_store text) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_queue integer;
BEGIN
  INSERT INTO haul.queue (name, store) SELECT p_name, s.id FROM haul.store s WHERE s.name = p_store
  RETURNING id INTO v_queue;
  IF v_queue IS NULL THEN
    RAISE EXCEPTION 'there is no store "%"', p_store USING ERRCODE = 'HA003';
  END IF;
  RETURN v_queue;
END
$$;

-- How many transfers at once a host may see, pool-wide. p_name may be a `*.suffix`, or `*` for any host. A lower cap holds for
-- starts from now on; what runs above it runs out.
CREATE OR REPLACE FUNCTION haul.set_host_cap(p_name text, p_cap integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  IF p_name !~ '^(\*|(\*\.)?([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?)$' THEN
    RAISE EXCEPTION '"%" is not a host such as example.org or example.org:8443, nor *.example.org, nor *', p_name
      USING ERRCODE = 'HA004';
  END IF;
  INSERT INTO haul.host_policy (pattern, cap) VALUES (p_name, p_cap)
  ON CONFLICT (pattern) DO UPDATE SET cap = excluded.cap;
  PERFORM haul.apply_policies(p_name);
END
$$;

-- Forgets the policy of p_name: hosts that it held for get the next one that fits, or the default.
CREATE OR REPLACE FUNCTION haul.unset_host(p_name text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  PERFORM haul.require_read_committed();
  DELETE FROM haul.host_policy p WHERE p.pattern = p_name;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'there is no policy for "%"', p_name
      USING ERRCODE = 'HA003', HINT = '''haul host policies'' lists them.';
  END IF;
  PERFORM haul.apply_policies(p_name);
END
$$;

-- Brings the hosts that p_pattern means to their policies as they are now, and wakes their lanes.
CREATE OR REPLACE FUNCTION haul.apply_policies(p_pattern text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_ids integer[];
BEGIN
  SELECT array_agg(t.id) INTO v_ids FROM (
    SELECT h.id FROM haul.host h
    WHERE h.name = p_pattern
      OR (p_pattern LIKE '*%' AND right(h.name, length(p_pattern) - 1) = substr(p_pattern, 2))
    ORDER BY h.id FOR UPDATE) t;
  UPDATE haul.host h SET cap = p.cap, min_interval = p.min_interval
  FROM haul.host i CROSS JOIN LATERAL haul.policy_of(i.name) p
  WHERE h.id = ANY (v_ids) AND i.id = h.id;
  PERFORM haul.arm(array_agg(l.host), array_agg(l.queue), array_agg(l.instance), array_agg(l.priority), array_agg(l.head))
  FROM haul.lane l JOIN haul.host h ON h.id = l.host AND h.in_flight < h.cap
  WHERE l.host = ANY (v_ids) AND l.next_at IS NULL AND l.head IS NOT NULL;
  PERFORM pg_notify('haul', 'queues:all');
END
$$;
