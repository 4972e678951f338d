-- Views for monitoring. They run with their owner's rights and show no credentials. Every SELECT reads a snapshot and
-- takes no lock that a claim waits for. The columns are a contract: new ones are added at the end, and none changes its
-- meaning.
--
-- Functions called by views run with the caller's rights and search path. They use RETURN, which resolves names once,
-- at creation. Otherwise a caller's own regexp_replace() would get the text that redacted() hides.

CREATE OR REPLACE FUNCTION haul.redacted(p_url text) RETURNS text
LANGUAGE sql IMMUTABLE STRICT
RETURN regexp_replace(regexp_replace(p_url, '^([a-zA-Z][a-zA-Z0-9+.-]*://)[^/?#]*@', '\1'),
  '([?&;#/](?:[^=&;#?/]*(?:sig|token|key|secret|pass|pwd|credential|auth|expire|policy|code|hmac|hash|jwt|'
  'sid|session|md5|sha1|sha256|hdn|verify|ticket|grant|access|x-amz-|x-goog-|x-oss-|x-cos-|x-ms-|skoid|sktid|'
  '%[0-9a-f]{2})[^=&;#?/]*|se|sp|sv|sr|st|si|ss|spr|sip|ske|sks|skt|skv|e|s|h|ex|is|hm|pw|p)=)[^&;#]*',
  '\1…', 'gi');
COMMENT ON FUNCTION haul.redacted(text) IS
  'Returns the URL for display. Removes the user name and password. Shows "…" instead of the values of parameters that '
  'sign or authorise the request. Treats a parameter with a percent-encoded name in the same way.';

CREATE OR REPLACE FUNCTION haul.shown_options(p_options jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN CASE WHEN jsonb_typeof(p_options) = 'object' THEN EXISTS (
    SELECT FROM jsonb_each(p_options) e WHERE CASE jsonb_typeof(e.value)
      WHEN 'number' THEN e.value::text !~ '^-?[0-9]{1,18}$'
      WHEN 'array' THEN jsonb_path_exists(e.value, '$[*] ? (@.type() <> "string")')
      ELSE jsonb_typeof(e.value) NOT IN ('string', 'boolean') END) ELSE true END THEN (
  -- Earlier versions accepted values of the wrong kind. Show such a value as text, so that no list fails because of it.
  SELECT coalesce(jsonb_object_agg(e.key, CASE WHEN jsonb_typeof(e.value) IN ('string', 'boolean') THEN e.value
    ELSE to_jsonb(haul.redacted(e.value::text)) END), '{}')
  FROM jsonb_each(CASE WHEN jsonb_typeof(p_options) = 'object' THEN p_options
    ELSE jsonb_build_object('options', p_options) END) e)
  WHEN jsonb_typeof(p_options -> 'mirrors') = 'array' THEN p_options || jsonb_build_object('mirrors', (
  SELECT jsonb_agg(haul.redacted(m.url) ORDER BY m.at)
  FROM jsonb_array_elements_text(p_options -> 'mirrors') WITH ORDINALITY AS m(url, at))) ELSE p_options END;
COMMENT ON FUNCTION haul.shown_options(jsonb) IS
  'Returns the options of a job for display. Shows each mirror URL in the form that redacted() returns.';

CREATE OR REPLACE VIEW haul.jobs AS
SELECT j.id AS job, q.name AS queue, b.name AS batch, h.name AS host,
  CASE
    WHEN o.job IS NOT NULL THEN o.state
    WHEN l.job IS NOT NULL THEN 'running'
    WHEN s.job IS NOT NULL THEN 'scheduled'
    WHEN d.job IS NOT NULL THEN 'paused'
    WHEN r.instance <> 0 THEN 'interrupted'
    WHEN r.job IS NOT NULL THEN 'queued'
  END::haul.job_state AS state,
  coalesce(r.priority, s.priority, d.priority, l.priority, j.priority) AS priority,
  coalesce(o.path, j.path) AS path, haul.redacted(haul.url_in_use(j.url, j.options, j.mirror)) AS url, j.submitted_at,
  coalesce(s.run_at, d.run_at) AS run_at, o.finished_at, l.worker, l.token,
  coalesce(o.bytes, greatest((haul.progress_of(l.job, l.token)).bytes, haul.range_bytes(c.durable)), 0) AS bytes,
    coalesce(o.bytes, (haul.progress_of(l.job, l.token)).total, c.length) AS total,
  haul.range_bytes(c.durable) AS durable, coalesce(o.digest, 'sha-256=' || encode(o.sha256, 'hex')) AS digest,
  f.error, f.message,
  CASE WHEN o.job IS NULL THEN (
    SELECT a.error FROM haul.attempt a WHERE a.job = j.id ORDER BY a.token DESC LIMIT 1) END AS last_error,
  haul.shown_options(j.options) AS options,
  (SELECT t.name FROM haul.store t WHERE t.id = q.store) AS store, o.source ->> 'type' AS media_type
FROM haul.job j
JOIN haul.queue q ON q.id = j.queue
JOIN haul.host h ON h.id = j.host
LEFT JOIN haul.batch b ON b.id = j.batch
LEFT JOIN haul.outcome o ON o.job = j.id
-- Join the same row again for queries by error class, because their index covers only rows with this condition.
LEFT JOIN haul.outcome f ON f.job = j.id AND f.state <> 'completed'
-- The planner may join the first eight tables in any order (join_collapse_limit). The next two joins are the last of
-- these, because few jobs have a checkpoint or a lease.
LEFT JOIN haul.checkpoint c ON c.job = j.id
LEFT JOIN haul.lease l ON l.job = j.id
LEFT JOIN haul.scheduled s ON s.job = j.id
LEFT JOIN haul.held d ON d.job = j.id
LEFT JOIN haul.ready r ON r.job = j.id;
COMMENT ON VIEW haul.jobs IS
  'Every job with its state. On a large pool, filter by job, batch, queue, host, worker or error class, or use '
  'LIMIT, because a query by state alone may read millions of rows. To list running jobs, read haul.running, which '
  'is faster.';
COMMENT ON COLUMN haul.jobs.job IS 'Job id. Later submissions have higher ids.';
COMMENT ON COLUMN haul.jobs.queue IS 'Name of the job''s queue.';
COMMENT ON COLUMN haul.jobs.batch IS 'Name of the batch that the job was submitted in; NULL = none.';
COMMENT ON COLUMN haul.jobs.host IS 'Host of the URL in use, with the port unless it is the default port.';
COMMENT ON COLUMN haul.jobs.state IS 'queued, scheduled, running, interrupted, paused, completed, failed or cancelled.';
COMMENT ON COLUMN haul.jobs.priority IS 'Priority from 0 (starts first) to 9.';
COMMENT ON COLUMN haul.jobs.path IS 'Path of the finished file, relative to the root of the store.';
COMMENT ON COLUMN haul.jobs.url IS 'URL in use. Values of parameters that sign the request are hidden.';
COMMENT ON COLUMN haul.jobs.submitted_at IS 'When the job was submitted.';
COMMENT ON COLUMN haul.jobs.run_at IS 'Earliest start of a scheduled or paused job; NULL = none.';
COMMENT ON COLUMN haul.jobs.finished_at IS 'When the job completed, failed or was cancelled; NULL = it has not ended.';
COMMENT ON COLUMN haul.jobs.worker IS 'Id of the worker that runs the job now; NULL = none.';
COMMENT ON COLUMN haul.jobs.token IS 'Fencing token: the number of the job''s current lease; NULL = no lease.';
COMMENT ON COLUMN haul.jobs.bytes IS 'Number of bytes downloaded so far. For a completed job, the size of the file.';
COMMENT ON COLUMN haul.jobs.total IS 'Size of the complete file in bytes; NULL = unknown.';
COMMENT ON COLUMN haul.jobs.durable IS
  'Number of bytes that would survive if the worker crashed now; NULL = none are saved.';
COMMENT ON COLUMN haul.jobs.digest IS 'Digest of the finished file; NULL = none was verified or recorded.';
COMMENT ON COLUMN haul.jobs.error IS 'Error class of a failed job; NULL = the job has not failed.';
COMMENT ON COLUMN haul.jobs.message IS 'Error message of a failed job; NULL = the job has not failed.';
COMMENT ON COLUMN haul.jobs.last_error IS
  'Error class of the last attempt of an unfinished job; NULL = that attempt did not fail.';
COMMENT ON COLUMN haul.jobs.options IS 'The job''s options, including the defaults that its queue had at submission.';
COMMENT ON COLUMN haul.jobs.store IS 'Name of the store that holds the file, even if the queue has been deleted.';
COMMENT ON COLUMN haul.jobs.media_type IS
  'Content-Type of the finished file, without its parameters; NULL = the server sent none.';

CREATE OR REPLACE VIEW haul.running AS
SELECT l.job, l.worker, w.machine, q.name AS queue, h.name AS host, j.path, l.attempt, l.token,
  coalesce(greatest(p.bytes, haul.range_bytes(c.durable)), 0) AS bytes, coalesce(p.total, c.length) AS total,
  haul.range_bytes(c.durable) AS durable, coalesce(p.rate, 0) AS rate,
  CASE WHEN p.rate > 0 AND p.total IS NOT NULL THEN make_interval(secs => least((p.total - p.bytes) / p.rate, 1e11))
    END AS time_left,
  l.started_at, p.updated_at, l.command, b.name AS batch, l.resumed_at
FROM haul.lease l
JOIN haul.job j ON j.id = l.job
LEFT JOIN haul.batch b ON b.id = j.batch
JOIN haul.queue q ON q.id = l.queue
JOIN haul.host h ON h.id = l.host
JOIN haul.worker w ON w.id = l.worker
LEFT JOIN haul.live_progress() p ON p.job = l.job AND p.token = l.token
LEFT JOIN haul.checkpoint c ON c.job = l.job;
COMMENT ON VIEW haul.running IS 'Running jobs, with their progress at the last heartbeat of their workers.';
COMMENT ON COLUMN haul.running.job IS 'Id of the job.';
COMMENT ON COLUMN haul.running.worker IS 'Id of the worker that holds the lease.';
COMMENT ON COLUMN haul.running.machine IS 'Host name of the machine on which the worker runs.';
COMMENT ON COLUMN haul.running.queue IS 'Name of the job''s queue.';
COMMENT ON COLUMN haul.running.host IS 'Host whose transfer limit applies to the job.';
COMMENT ON COLUMN haul.running.path IS 'Path for the finished file, relative to the root of the store.';
COMMENT ON COLUMN haul.running.attempt IS '1 for the first lease of the job, 2 for the second, and so on.';
COMMENT ON COLUMN haul.running.token IS 'Fencing token: the number of the lease. Later leases have higher numbers.';
COMMENT ON COLUMN haul.running.bytes IS 'Number of bytes downloaded so far.';
COMMENT ON COLUMN haul.running.total IS 'Size of the complete file in bytes; NULL = unknown.';
COMMENT ON COLUMN haul.running.durable IS
  'Number of bytes that would survive if the worker crashed now; NULL = none are saved.';
COMMENT ON COLUMN haul.running.rate IS 'Current download rate in bytes per second.';
COMMENT ON COLUMN haul.running.time_left IS
  'Estimated time until the download ends, at the current rate; NULL = unknown.';
COMMENT ON COLUMN haul.running.started_at IS 'When the lease began.';
COMMENT ON COLUMN haul.running.updated_at IS 'When the worker last reported progress; NULL = not yet.';
COMMENT ON COLUMN haul.running.command IS
  '''cancel'' or ''pause'' if an operator requested it and the worker has not carried it out yet; NULL = none.';
COMMENT ON COLUMN haul.running.batch IS 'Name of the batch that the job was submitted in; NULL = none.';
COMMENT ON COLUMN haul.running.resumed_at IS 'Number of bytes that earlier attempts had saved when this lease began.';
