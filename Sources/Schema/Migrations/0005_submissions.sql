-- Lists of any length: their lines are staged in as many transactions as it takes, and made jobs in as many.
-- What is staged at this moment is lost; its submissions fail and can be repeated.

-- Submissions whose lines are being staged. Nobody but their senders can know an `id`, and so add lines. A sender's session
-- holds an advisory lock on `session_key`: when that is gone, so is the sender.
CREATE UNLOGGED TABLE haul.submission (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  session_key bigint NOT NULL DEFAULT nextval('haul.session_key'),
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

DROP TABLE haul.staging;
CREATE UNLOGGED TABLE haul.staging (
  submission uuid NOT NULL,
  line bigint NOT NULL,
  url text NOT NULL,
  host text NOT NULL,
  path text NOT NULL,
  -- NULL = the submission's.
  priority smallint,
  options jsonb,
  -- Filled by submit().
  job bigint,
  host_id integer,
  path_digest uuid,
  owner bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX staging_line ON haul.staging (submission, line);

DROP FUNCTION IF EXISTS haul.submit(text, text, smallint, jsonb, interval);
DROP FUNCTION IF EXISTS haul.check_staged();
DROP FUNCTION IF EXISTS haul.finished_lines(text);
DROP FUNCTION IF EXISTS haul.finished_lines(text, jsonb);
DROP FUNCTION IF EXISTS haul.resubmit(text, text, jsonb, bigint[]);
