-- What an error class means for the job and for its host: the column of the table of error classes
-- (Sources/Worker/ErrorTable.swift, docs/errors.md) that the database decides by.
--   permanent: asking again will not change it; the job fails
--   job:       the job's own trouble; back off, counted against max_attempts
--   host:      the host's trouble; the host that answered is blocked, the job's attempts are not used up
-- worker:    the trouble of the worker that tried; again after a while, by whichever worker claims it then, not counted
--   kept:      asking again from here will not change it; the job fails, but through no fault of its own
CREATE OR REPLACE FUNCTION haul.disposition(p_error text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
  WHEN p_error IN ('dns', 'connect', 'rate_limited') THEN 'host'
  WHEN p_error IN ('timeout', 'interrupted', 'http_5xx', 'range', 'source_changed', 'protocol',
    'disk_full', 'io', 'open_files', 'tls', 'suspect_page') THEN 'job'
  WHEN p_error IN ('credential', 'proxy') THEN 'worker'
  WHEN p_error IN ('blocked_address', 'blocked_credential', 'no_credential', 'host_unreachable', 'rescued_too_often')
    THEN 'kept'
  ELSE 'permanent'
END;
COMMENT ON FUNCTION haul.disposition(text) IS
  'What an error class means: permanent (the job fails), job (it is tried again, a limited number of times), host '
  '(it waits for its host), worker (it waits for a worker that can), kept (it fails, and a retry goes on where it '
  'was).';

CREATE OR REPLACE FUNCTION haul.keeps_progress(p_error text) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN coalesce(haul.disposition(p_error) <> 'permanent' AND p_error <> 'disk_full', false);
COMMENT ON FUNCTION haul.keeps_progress(text) IS
  'Whether what is durable of a job that has failed so stays, for a retry to go on with.';

-- The retry decision, pure: what becomes of a job whose lease ends, after which `delay` it is tried again, and for how
-- long its host is left alone (`host_delay`). All durations as intervals; p_dice in [0, 1).
--   p_result      completed | failed | released (by the worker) | rescued (from a dead one)
--   p_command     cancel | pause | NULL: what the operator had asked for meanwhile
--   p_failures, p_rescues   charged ones before this
--   p_progressed  this attempt made durable progress
--   p_resumable   there is a checkpoint
--   p_trouble     for how long the host, or the workers that tried, have been in trouble; NULL = they were not
--   p_tries       how often in a row this very job has asked its host in vain before this
-- p_max_host_wait  longer than this nobody waits for a host or a worker; nor where it says itself that it will take
-- longer
CREATE OR REPLACE FUNCTION haul.decide(
  p_result text, p_command text, p_error text, p_failures integer, p_max_attempts integer,
  p_rescues integer, p_max_rescues integer, p_progressed boolean, p_resumable boolean,
  p_retry_after interval, p_host_failures integer, p_trouble interval, p_max_host_wait interval,
  p_dice double precision, p_tries integer DEFAULT 0,
  OUT state haul.job_state, OUT charged boolean, OUT delay interval, OUT error text, OUT host_delay interval)
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, haul, pg_temp AS $$
DECLARE
  -- Nobody waits much longer than he is ready to.
  v_longest interval := greatest(p_max_host_wait - coalesce(p_trouble, '0'), interval '1 second');
  v_waiting haul.job_state := CASE WHEN p_resumable THEN 'interrupted' ELSE 'queued' END;
BEGIN
  charged := false;
  error := p_error;
  CASE
    WHEN p_result = 'completed' THEN
      state := 'completed';
    WHEN p_command = 'cancel' THEN
      state := 'cancelled';
    WHEN p_result = 'released' THEN
      state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE v_waiting END;
    WHEN p_result = 'rescued' THEN
      charged := NOT p_progressed;
      IF charged AND p_rescues + 1 > p_max_rescues THEN
        state := 'failed';
        error := 'rescued_too_often';
      ELSE
        state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE v_waiting END;
      END IF;
    WHEN haul.disposition(p_error) IN ('permanent', 'kept') THEN
      charged := true;
      state := 'failed';
    WHEN haul.disposition(p_error) = 'host' THEN
      IF p_trouble > p_max_host_wait OR p_retry_after > p_max_host_wait - coalesce(p_trouble, '0') THEN
        state := 'failed';
        error := 'host_unreachable';
      ELSE
        state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE 'scheduled' END;
        -- Half of the bound is certain: a blocked host must not be asked again at once.
        host_delay := greatest(p_retry_after, least(
          least(interval '5 minutes', interval '1 second' * 2 ^ least(p_host_failures, 10)) * (0.5 + p_dice / 2),
            v_longest));
        -- A host that serves others has no failures in a row. A job has that asks where nobody listens, at another port
        -- of it: each time it holds the others up, and so less and less often.
        delay := greatest(p_retry_after, least(
          least(interval '5 minutes', interval '1 second' * 2 ^ least(greatest(p_host_failures, p_tries),
            10)) * (0.5 + p_dice / 2),
          v_longest));
      END IF;
    WHEN haul.disposition(p_error) = 'worker' THEN
      IF p_trouble > p_max_host_wait THEN
        state := 'failed';
      ELSE
        state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE 'scheduled' END;
        -- About as long again as it has waited already: soon at first, in case another worker is better off.
        delay := greatest(interval '1 second', least(interval '5 minutes',
          coalesce(p_trouble, '0'))) * (0.5 + p_dice / 2);
      END IF;
    ELSE
      charged := true;
      IF p_failures + 1 >= p_max_attempts THEN
        state := 'failed';
      ELSE
        state := CASE WHEN p_command = 'pause' THEN 'paused' ELSE 'scheduled' END;
        -- Full jitter, never less than what the server asked for.
        delay := greatest(p_retry_after,
          p_dice * least(interval '10 minutes', interval '2 seconds' * 2 ^ least(p_failures, 10)));
      END IF;
  END CASE;
END
$$;
COMMENT ON FUNCTION haul.decide(text, text, text, integer, integer, integer, integer, boolean, boolean, interval,
  integer, interval, interval, double precision, integer) IS
  'The retry decision, by its arguments alone: a job''s state and error when its lease ends, whether the attempt is '
  'charged, after which delay it is tried again and for how long its host is left alone (NULL = not).';
