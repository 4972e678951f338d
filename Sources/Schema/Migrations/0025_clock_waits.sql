-- Each statement also works on a database where its change was made already.

-- Waiting jobs whose times have not been corrected yet since the database's clock was set back.
CREATE TABLE IF NOT EXISTS haul.clock_wait (
  job bigint PRIMARY KEY,
  -- The time that is too late by `step`. A job with another time got that time after the step.
  run_at timestamptz NOT NULL,
  step interval NOT NULL
);
