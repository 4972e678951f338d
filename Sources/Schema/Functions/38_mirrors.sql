-- A job may have mirrors: other URLs of its file. Haul tries them in the given order. `job.mirror` is the number of the
-- mirror in use, from 1; NULL = the job's own URL. `job.host` is the host of the URL in use.

CREATE OR REPLACE FUNCTION haul.url_in_use(p_url text, p_options jsonb, p_mirror smallint) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN coalesce(p_mirror, 0) < 1 THEN p_url
  ELSE coalesce(p_options -> 'mirrors' ->> (p_mirror - 1), p_url) END;
COMMENT ON FUNCTION haul.url_in_use(text, jsonb, smallint) IS
  'Returns the URL that a job requests now. p_url: the job''s own URL. p_mirror: the number of the mirror in use; NULL '
  'or 0 = none.';

CREATE OR REPLACE FUNCTION haul.count_urls(p_options jsonb) RETURNS integer
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(p_options -> 'mirrors') = 'array' THEN 1 + jsonb_array_length(p_options -> 'mirrors')
  ELSE 1 END;
COMMENT ON FUNCTION haul.count_urls(jsonb) IS
  'Returns the number of URLs of a job with these options, including the job''s own URL.';

CREATE OR REPLACE FUNCTION haul.next_mirror(p_mirror smallint, p_options jsonb) RETURNS smallint
LANGUAGE sql IMMUTABLE
RETURN ((coalesce(p_mirror, 0) + 1) % haul.count_urls(p_options))::smallint;
COMMENT ON FUNCTION haul.next_mirror(smallint, jsonb) IS
  'Returns the number of the mirror that follows p_mirror. Returns 0, the job''s own URL, after the last mirror.';

-- Each host has one name. For other spellings, host_of() returns the same name or NULL. It returns NULL for non-ASCII
-- names, percent-encoded names, and IPv4 addresses that are not four decimal numbers. Programs of Haul never send these
-- forms.
CREATE OR REPLACE FUNCTION haul.host_of(p_url text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_parts text[] := regexp_match(p_url,
    '^([A-Za-z][A-Za-z0-9+.-]*)://(?:[^/?#]*@)?(\[[^]/?#@]+\]|[^]:/?#@[]+)(?::([0-9]*))?(?:[/?#]|$)');
  v_name text := lower(v_parts[2]);
  v_port text := ltrim(v_parts[3], '0');
BEGIN
  IF v_name ~ '^\[' THEN
    -- Remove the zone of the address.
    v_name := haul.ipv6_name(regexp_replace(btrim(v_name, '[]'), '%.*$', ''));
  ELSE
    v_name := regexp_replace(v_name, '\.$', '');
    IF v_name = '' OR v_parts[2] ~ '[^!-~]|%'
      OR v_name ~ '^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+)){0,3}$'
        AND v_name !~ '^(0|[1-9][0-9]{0,2})(\.(0|[1-9][0-9]{0,2})){3}$' THEN
      RETURN NULL;
    END IF;
  END IF;
  RETURN CASE
    WHEN v_parts[3] ~ '^0+$' THEN NULL
    WHEN coalesce(v_port, '') = '' OR v_port = CASE lower(v_parts[1]) WHEN 'https' THEN '443' WHEN 'http' THEN '80'
      WHEN 'ftp' THEN '21' WHEN 'ftps' THEN '990' WHEN 'sftp' THEN '22' END THEN v_name
    ELSE v_name || ':' || v_port END;
END
$$;
COMMENT ON FUNCTION haul.host_of(text) IS
  'Returns the host name of a URL in the form that the table host uses: in lower case, without a default port or a '
  'final dot. Returns NULL if the URL has no host, or if the host is in a form that Haul never sends, for example with '
  'non-ASCII letters.';

CREATE OR REPLACE FUNCTION haul.ipv6_name(p_address text) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN CASE WHEN family(p_address::inet) = 6 THEN '[' || host(p_address::inet) || ']' END;
EXCEPTION WHEN invalid_text_representation THEN
  RETURN NULL;
END
$$;
COMMENT ON FUNCTION haul.ipv6_name(text) IS
  'Returns the host name for an IPv6 address, in brackets and in its shortest form. Returns NULL for any other text.';

CREATE OR REPLACE FUNCTION haul.host_id(p_url text) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN (SELECT n.id FROM haul.host_name n WHERE n.name = haul.host_of(p_url));
END
$$;
COMMENT ON FUNCTION haul.host_id(text) IS 'Returns the id of a URL''s host; NULL if the pool does not know that host.';

CREATE OR REPLACE FUNCTION haul.mirror_hosts(p_submission uuid, p_last bigint) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  RETURN ARRAY(SELECT DISTINCT haul.host_of(m.url) FROM haul.staging s
    CROSS JOIN LATERAL jsonb_array_elements_text(
      CASE WHEN haul.count_urls(s.options) > 1 THEN s.options -> 'mirrors' ELSE '[]' END) AS m(url)
    WHERE s.submission = p_submission AND s.line <= p_last AND s.options ? 'mirrors'
      AND haul.host_of(m.url) IS NOT NULL);
END
$$;
COMMENT ON FUNCTION haul.mirror_hosts(uuid, bigint) IS
  'Returns the host names of all mirrors in the lines of a submission, up to line number p_last.';

CREATE OR REPLACE FUNCTION haul.is_of_source(p_error text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(p_error NOT IN ('disk_full', 'io', 'open_files', 'exists', 'path_conflict', 'credential', 'proxy',
  'not_permitted', 'cancelled', 'rescued_too_often'), false);
COMMENT ON FUNCTION haul.is_of_source(text) IS
  'Returns whether another URL of the same file may help after this error. Another URL cannot help if the disk, the '
  'path, the worker or the proxy is at fault.';

CREATE OR REPLACE FUNCTION haul.turn_to_mirror(
  p_state haul.job_state, p_command text, p_error text, p_delay interval, p_failures integer, p_max_attempts integer,
  p_resumable boolean, p_urls integer, p_mirror integer, p_refusals integer, p_dice double precision,
  OUT moves boolean, OUT state haul.job_state, OUT delay interval)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  v_is_last boolean := coalesce(p_mirror, 0) + 1 >= p_urls;
  v_is_refused boolean := haul.disposition(p_error) IN ('permanent', 'kept');
BEGIN
  moves := false;
  state := p_state;
  delay := p_delay;
  -- decide() does not count this failure against the job, because the host is in trouble. But the job's earlier
  -- failures have already reached max_attempts.
  IF v_is_last AND p_urls > 1 AND p_failures >= p_max_attempts AND p_state = 'scheduled' AND NOT p_resumable
    AND haul.is_of_source(p_error) THEN
    state := 'failed';
    delay := NULL;
    RETURN;
  END IF;
  IF p_urls < 2 OR NOT haul.is_of_source(p_error) OR p_state NOT IN ('scheduled', 'paused', 'failed')
    -- Stay with this URL: the saved bytes came from it, and it may send the rest.
    OR p_resumable AND p_state <> 'failed'
    OR v_is_refused AND p_refusals + 1 >= p_urls
    OR p_state = 'failed' AND v_is_last AND (NOT v_is_refused OR p_failures + 1 >= p_max_attempts) THEN
    RETURN;
  END IF;
  moves := true;
  IF p_state = 'failed' THEN
    state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE 'scheduled' END;
    delay := haul.job_backoff(p_failures, p_dice);
  END IF;
  IF NOT v_is_last THEN
    delay := '0';
  END IF;
END
$$;
COMMENT ON FUNCTION haul.turn_to_mirror(haul.job_state, text, text, interval, integer, integer, boolean, integer,
  integer, integer, double precision) IS
  'Decides whether a job with several URLs switches to its next URL after a failed attempt (moves), and what happens '
  'to the job then (state and delay). Depends only on its arguments. p_state and p_delay: what decide() returned for '
  'this attempt. p_command, p_error, p_failures, p_max_attempts, p_resumable and p_dice: as for decide(). p_urls: '
  'number of URLs of the job. p_mirror: number of the mirror in use; NULL or 0 = the job''s own URL. p_refusals: '
  'number of permanent failures in a row before this attempt. If the job switches, it tries the next URL immediately. '
  'After the last URL, it waits and then tries the first URL again. The job fails if its last p_urls attempts have all '
  'failed permanently. After an attempt at the last URL, the job also fails in two cases: if p_max_attempts failures '
  'count against it, or if decide() returned failed for an error that is not permanent.';

CREATE OR REPLACE FUNCTION haul.refusals(p_job bigint) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
  RETURN (SELECT count(*) FROM haul.attempt a
    WHERE a.job = p_job AND NOT a.forgiven AND a.result = 'failed' AND a.token > coalesce((
      SELECT max(o.token) FROM haul.attempt o WHERE o.job = p_job AND o.result = 'failed'
      AND haul.disposition(o.error) NOT IN ('permanent', 'kept')), 0));
END
$$;
COMMENT ON FUNCTION haul.refusals(bigint) IS
  'Returns how many permanent failures a job has had since its last failure of another kind. Ignores attempts that did '
  'not fail, and forgiven attempts, which no longer count.';

-- An ETag says nothing about the file at another URL, because servers derive ETags from length and time. Only the job's
-- digest proves that bytes from two URLs belong to one file. The key `moved` in the resume data makes the worker
-- compare some bytes first.
CREATE OR REPLACE FUNCTION haul.is_part_of_mirror(p_resume jsonb, p_options jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(p_options ? 'digest' AND (left(p_resume ->> 'validator', 1) = '"'
  OR p_resume ->> 'validator' = 'digest'), false);
COMMENT ON FUNCTION haul.is_part_of_mirror(jsonb, jsonb) IS
  'Returns whether a job with these options may resume its saved bytes from another URL. p_resume: the data that the '
  'job has saved for a resume.';

CREATE OR REPLACE FUNCTION haul.use_mirrors(p_moves jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off SET plan_cache_mode = force_custom_plan
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_jobs bigint[] := ARRAY(SELECT m.job FROM jsonb_to_recordset(p_moves) AS m(job bigint) ORDER BY m.job);
BEGIN
  PERFORM FROM haul.job j WHERE j.id = ANY (v_jobs) ORDER BY j.id FOR NO KEY UPDATE;
  UPDATE haul.job j SET mirror = nullif(m.mirror, 0), host = m.next_host
  FROM jsonb_to_recordset(p_moves) AS m(job bigint, mirror smallint, next_host integer)
  WHERE j.id = m.job AND j.id = ANY (v_jobs);
  DELETE FROM haul.checkpoint c USING jsonb_to_recordset(p_moves) AS m(job bigint, keeps boolean)
  WHERE c.job = m.job AND m.keeps IS NOT TRUE;
  UPDATE haul.checkpoint c SET resume = jsonb_set(c.resume, '{moved}', 'true') WHERE c.job = ANY (v_jobs);
  -- A validator of one URL is meaningless for another.
  UPDATE haul.refresh f SET source = NULL WHERE f.job = ANY (v_jobs);
  INSERT INTO haul.leaving (host)
  SELECT DISTINCT m.host_id FROM jsonb_to_recordset(p_moves) AS m(host_id integer, in_trouble boolean)
  WHERE m.in_trouble;
END
$$;
COMMENT ON FUNCTION haul.use_mirrors(jsonb) IS
  'Switches jobs to another of their URLs. p_moves: [{"job", "mirror": number of the mirror, 0 = the job''s own URL, '
  '"next_host": id of the new host, "host_id": id of the old host, "in_trouble": whether the old host is in trouble, '
  '"keeps": whether the job may continue its saved bytes from the new URL}]. The caller must have ended the leases of '
  'these jobs. Locks jobs by id.';

CREATE OR REPLACE FUNCTION haul.mirror_of(p_url text, p_options jsonb) RETURNS smallint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
BEGIN
  RETURN (SELECT m.at FROM jsonb_array_elements_text(
    CASE WHEN haul.count_urls(p_options) > 1 THEN p_options -> 'mirrors' ELSE '[]' END) WITH ORDINALITY AS m(url, at)
    WHERE m.url = p_url LIMIT 1);
END
$$;
COMMENT ON FUNCTION haul.mirror_of(text, jsonb) IS
  'Returns the number of a URL among the mirrors in these options, or NULL if the URL is not one of these mirrors.';

-- If a failed job switches from a host in trouble to a mirror, untried jobs of this host do the same. Jobs with saved
-- bytes or an earlier file do not, because only use_mirrors() prepares such jobs for another URL.
CREATE OR REPLACE FUNCTION haul.jobs_to_move(p_hosts integer[], p_limit integer) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN (SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') FROM (
    SELECT w.job, w.queue, w.host, w.priority, w.mirror, n.id AS next_host
    FROM unnest(p_hosts) AS g(host)
    CROSS JOIN LATERAL haul.host_now(g.host) h
    JOIN haul.lane_key k ON k.host = g.host AND k.instance = 0
    CROSS JOIN LATERAL (
      SELECT r.job, r.queue, r.host, r.priority, j.options, j.url,
        haul.next_mirror(j.mirror, j.options) AS mirror
      FROM haul.ready r JOIN haul.job j ON j.id = r.job
      WHERE r.queue = k.queue AND r.host = k.host AND r.instance = 0 ORDER BY r.priority, r.job LIMIT 10000) w
    JOIN haul.host_name n ON n.name = haul.host_of(haul.url_in_use(w.url, w.options, w.mirror))
    CROSS JOIN LATERAL haul.host_now(n.id) t
    WHERE h.failures > 0 AND t.failures <= 0 AND haul.count_urls(w.options) > 1 AND n.id <> g.host
      AND NOT EXISTS (SELECT FROM haul.attempt a WHERE a.job = w.job AND NOT a.forgiven)
      AND NOT EXISTS (SELECT FROM haul.checkpoint c WHERE c.job = w.job)
      AND NOT EXISTS (SELECT FROM haul.refresh f WHERE f.job = w.job)
    LIMIT p_limit) t);
END
$$;
COMMENT ON FUNCTION haul.jobs_to_move(integer[], integer) IS
  'Returns up to p_limit waiting jobs that may switch to their next URL: [{"job", "queue", "host", "priority", '
  '"mirror", "next_host"}]. p_hosts: hosts in trouble. Returns only untried jobs that wait for one of these hosts and '
  'whose next URL is on a host without trouble. Reads the first 10,000 jobs of each queue. Locks nothing.';

CREATE OR REPLACE FUNCTION haul.move_waiting(p_moves jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, haul, pg_temp SET jit = off
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  v_mine bigint[];
BEGIN
  -- Do not wait for rows here: a session that has locked a row of one of these jobs may wait for one of the caller's
  -- lanes.
  SELECT array_agg(t.job) INTO v_mine FROM (
    SELECT r.job FROM jsonb_to_recordset(p_moves) AS m(job bigint)
    JOIN haul.ready r ON r.job = m.job JOIN haul.job j ON j.id = m.job
    ORDER BY m.job FOR UPDATE OF r SKIP LOCKED FOR NO KEY UPDATE OF j SKIP LOCKED) t;
  -- Check again in a new statement, because an operator or another submission may have changed the jobs meanwhile.
  WITH mine AS MATERIALIZED (
    SELECT m.* FROM jsonb_to_recordset(p_moves)
      AS m(job bigint, queue integer, host integer, priority smallint, mirror smallint, next_host integer)
    JOIN haul.ready r ON r.job = m.job AND r.queue = m.queue AND r.host = m.host AND r.priority = m.priority
      AND r.instance = 0
    JOIN haul.job j ON j.id = m.job AND haul.next_mirror(j.mirror, j.options) = m.mirror
      AND haul.host_id(haul.url_in_use(j.url, j.options, m.mirror)) = m.next_host
    WHERE m.job = ANY (v_mine) AND NOT EXISTS (SELECT FROM haul.checkpoint c WHERE c.job = m.job)
      AND NOT EXISTS (SELECT FROM haul.refresh f WHERE f.job = m.job)
  ), moved AS (
    UPDATE haul.ready r SET host = m.next_host FROM mine m WHERE r.job = m.job
  )
  UPDATE haul.job j SET mirror = nullif(m.mirror, 0), host = m.next_host FROM mine m WHERE j.id = m.job;
END
$$;
COMMENT ON FUNCTION haul.move_waiting(jsonb) IS
  'Switches waiting jobs to another of their URLs. p_moves: the result of jobs_to_move(). The caller must first call '
  'arm() for the old and the new lane of each job, because arm() locks these lanes. A lane contains the waiting jobs '
  'of one queue for one host. Skips jobs that another session has locked, or has changed since jobs_to_move().';
