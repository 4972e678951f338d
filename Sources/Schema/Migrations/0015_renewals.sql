-- Every statement may find its work done: databases of the days between two versions have some of it.

-- A submission without a session's key lives by its sender's renewals. -infinity marks a dead one.
ALTER TABLE haul.submission ALTER COLUMN session_key DROP NOT NULL,
  ADD COLUMN IF NOT EXISTS renewed_at timestamptz NOT NULL DEFAULT clock_timestamp();
-- Since when no two rounds of the leader have been half a minute apart.
ALTER TABLE haul.pulse ADD COLUMN IF NOT EXISTS watched_since timestamptz;

-- These functions have one more parameter, or another name.
DROP FUNCTION IF EXISTS haul.begin_submission(text), haul.check_submission(uuid, text, text, boolean, integer),
  haul.require_submission(uuid);
