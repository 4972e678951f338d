-- disposition() must match the table of error classes in Sources/Reports/ErrorTable.swift and docs/errors.md.
CREATE OR REPLACE FUNCTION haul.disposition(p_error text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
  WHEN p_error IN ('dns', 'connect', 'rate_limited', 'silent') THEN 'host'
  WHEN p_error IN ('timeout', 'interrupted', 'http_5xx', 'range', 'source_changed', 'protocol',
    'disk_full', 'io', 'open_files', 'tls', 'suspect_page') THEN 'job'
  WHEN p_error IN ('credential', 'proxy', 'not_permitted') THEN 'worker'
  WHEN p_error IN ('blocked_address', 'blocked_credential', 'no_credential', 'host_unreachable', 'rescued_too_often')
    THEN 'kept'
  ELSE 'permanent'
END;
COMMENT ON FUNCTION haul.disposition(text) IS
  'Returns what an error class means for the job and its host. permanent: a retry cannot help, so the job fails. kept: '
  'like permanent, but Haul keeps the saved bytes of the job for ''haul retry''. job: the job has a problem, so Haul '
  'retries it until max_attempts attempts have failed. host: the host that was asked has a problem, so no job of this '
  'host starts for a while. worker: the worker has a problem, so Haul retries the job later with any worker. If the '
  'result is host or worker, the attempt does not count toward max_attempts.';

CREATE OR REPLACE FUNCTION haul.has_class(p_error text, p_class text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN p_error = p_class OR p_class = 'http_4xx' AND p_error IN ('http_403', 'http_404', 'http_410');
COMMENT ON FUNCTION haul.has_class(text, text) IS
  'Returns whether an error matches p_class, an error class. http_4xx also matches http_403, http_404 and http_410.';

CREATE OR REPLACE FUNCTION haul.is_silence(p_error text, p_status integer, p_host text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(p_error IN ('timeout', 'silent') AND p_status IS NULL AND p_host IS NULL, false);
COMMENT ON FUNCTION haul.is_silence(text, integer, text) IS
  'Returns whether a transfer failed with p_error because the job''s own host sent no first byte in time. p_status: '
  'the HTTP status that the transfer received; NULL = none. p_host: the host that was asked last, for example after a '
  'redirect; NULL = the job''s own host.';

CREATE OR REPLACE FUNCTION haul.error_of(p_error text, p_status integer, p_host text, p_failures integer) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN haul.is_silence(p_error, p_status, p_host) AND p_failures NOT IN (0, -1) THEN 'silent'
  ELSE p_error END;
COMMENT ON FUNCTION haul.error_of(text, integer, text, integer) IS
  'Returns the error class of a failure. The result is silent if is_silence() is true and the host has not answered '
  'since an earlier failure. Otherwise the result is p_error. The class silent means that the host has a problem, not '
  'the job. p_failures: the column failures of the table host.';

CREATE OR REPLACE FUNCTION haul.keeps_progress(p_error text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(haul.has_class(p_error, 'http_4xx') OR p_error IN ('redirects', 'unverified_length')
  OR haul.disposition(p_error) <> 'permanent' AND p_error <> 'disk_full', false);
COMMENT ON FUNCTION haul.keeps_progress(text) IS
  'Returns whether Haul keeps the saved bytes of a job with this error for a retry. Haul deletes the bytes if the '
  'error is about the bytes themselves or the disk is full. Haul keeps the bytes if the server refused the request, '
  'for example because a signed URL has expired.';

CREATE OR REPLACE FUNCTION haul.host_backoff(p_failures integer, p_dice double precision, p_longest interval)
RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN least(p_longest,
  least(interval '5 minutes', interval '1 second' * 2 ^ least(p_failures, 10)) * (0.5 + p_dice / 2));
COMMENT ON FUNCTION haul.host_backoff(integer, double precision, interval) IS
  'Returns how long to block a host after p_failures consecutive failures. The upper bound doubles with each failure, '
  'up to 5 minutes. p_dice: a random number in [0, 1), which picks a time between half the bound and the full bound. '
  'The result is never longer than p_longest.';

CREATE OR REPLACE FUNCTION haul.worker_backoff(p_trouble interval, p_dice double precision) RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN (0.5 + p_dice / 2) * greatest(interval '1 second', least(interval '5 minutes', coalesce(p_trouble, '0')));
COMMENT ON FUNCTION haul.worker_backoff(interval, double precision) IS
  'Returns how long a job waits after a problem of the worker: from half a second to 5 minutes. p_trouble: how long '
  'the problem has lasted. p_dice: a random number in [0, 1), which picks a time between half of p_trouble and '
  'p_trouble. Because p_trouble is short at first, another worker can make the first retries soon.';

CREATE OR REPLACE FUNCTION haul.job_backoff(p_failures integer, p_dice double precision) RETURNS interval
LANGUAGE sql IMMUTABLE
RETURN p_dice * least(interval '10 minutes', interval '2 seconds' * 2 ^ least(p_failures, 10));
COMMENT ON FUNCTION haul.job_backoff(integer, double precision) IS
  'Returns how long a job waits after p_failures failures that count toward max_attempts. The upper bound doubles from '
  '2 seconds to 10 minutes. p_dice: a random number in [0, 1), which picks a time from 0 to the bound.';

CREATE OR REPLACE FUNCTION haul.decide(
  p_result text, p_command text, p_error text, p_failures integer, p_max_attempts integer,
  p_rescues integer, p_max_rescues integer, p_progressed boolean, p_resumable boolean,
  p_retry_after interval, p_host_failures integer, p_trouble interval, p_max_host_wait interval,
  p_dice double precision, p_tries integer DEFAULT 0, p_busy integer DEFAULT NULL,
  p_refused boolean DEFAULT false,
  OUT state haul.job_state, OUT charged boolean, OUT delay interval, OUT error text, OUT host_delay interval)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  -- The host or the workers have already used up part of the maximum wait.
  v_longest interval := greatest(p_max_host_wait - coalesce(p_trouble, '0'), interval '1 second');
  v_waiting haul.job_state := CASE WHEN p_command = 'pause' THEN 'paused' WHEN p_resumable THEN 'interrupted'
    ELSE 'queued' END;
  -- A refused connection takes no time. A silent host makes a transfer wait for seconds, so Haul asks it less often.
  v_cost integer := CASE WHEN p_error = 'silent' THEN 3 ELSE 0 END;
  v_later haul.job_state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE 'scheduled' END;
BEGIN
  charged := false;
  error := p_error;
  CASE
    WHEN p_result = 'completed' THEN state := 'completed';
    WHEN p_command = 'cancel' THEN state := 'cancelled';
    WHEN p_result = 'released' THEN state := v_waiting;
    WHEN p_result = 'rescued' THEN
      charged := NOT p_progressed;
      state := v_waiting;
      IF charged AND p_rescues + 1 > p_max_rescues THEN
        state := 'failed';
        error := 'rescued_too_often';
      END IF;
    WHEN haul.disposition(p_error) IN ('permanent', 'kept') THEN
      charged := true;
      state := 'failed';
    WHEN haul.disposition(p_error) = 'host' THEN
      IF p_trouble > p_max_host_wait OR p_retry_after > p_max_host_wait - coalesce(p_trouble, '0') THEN
        state := 'failed';
        error := 'host_unreachable';
      ELSE
        state := v_later;
        host_delay := greatest(p_retry_after, haul.host_backoff(p_host_failures + v_cost, p_dice, v_longest));
        -- A host that serves other jobs has no consecutive failures. But if the port of one job refuses connections,
        -- each attempt of this job delays the other jobs. So Haul tries this job less and less often.
        delay := greatest(p_retry_after, haul.host_backoff(greatest(p_host_failures, p_tries) + v_cost, p_dice,
          v_longest));
      END IF;
    WHEN haul.disposition(p_error) = 'worker' THEN
      IF p_refused OR p_trouble > p_max_host_wait THEN
        state := 'failed';
      ELSE
        state := v_later;
        delay := haul.worker_backoff(p_trouble, p_dice);
      END IF;
    -- The host serves other transfers now, and may serve this one when no other runs.
    WHEN p_busy < 5 THEN
      state := v_later;
      delay := haul.job_backoff(p_busy + 1, p_dice);
    ELSE
      charged := true;
      IF p_failures + 1 >= p_max_attempts THEN
        state := 'failed';
      ELSE
        state := v_later;
        delay := greatest(p_retry_after, haul.job_backoff(p_failures, p_dice));
      END IF;
  END CASE;
END
$$;
COMMENT ON FUNCTION haul.decide(text, text, text, integer, integer, integer, integer, boolean, boolean, interval,
  integer, interval, interval, double precision, integer, integer, boolean) IS
  'Decides what happens to a job when its lease ends. Depends only on its arguments. p_result: completed, failed, '
  'released (the worker returned the job) or rescued (the pool took the job from a dead worker). p_command: the '
  'command that an operator gave while the job ran, cancel or pause; NULL = none. p_failures and p_rescues: how many '
  'failures and rescues counted against the job before this attempt. p_progressed: whether this attempt made durable '
  'progress. p_resumable: whether the job has saved bytes. p_trouble: how long the host, or the workers that tried, '
  'have had problems; NULL = no problems. p_max_host_wait: maximum time that a job waits for a host or a worker. The '
  'job fails if the host asks for a longer wait. p_tries: how many attempts in a row failed because of the job''s '
  'host. p_busy: how often the host has already refused this job while it served other jobs; NULL = the host did not '
  'refuse this attempt in this way. p_refused: whether all live workers have refused the job. p_dice: a random number '
  'in [0, 1). Returns the job''s state and error, whether the attempt counts against the job (charged), the delay '
  'until the next attempt, and how long to block the host (NULL = do not block it).';
