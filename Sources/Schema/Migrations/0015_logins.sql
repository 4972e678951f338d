-- Every statement may find its work done: databases of the days between two versions have some of it.

-- A submission without a session's key lives by its sender's renewals. -infinity marks a dead one.
ALTER TABLE haul.submission ALTER COLUMN session_key DROP NOT NULL,
  ADD COLUMN IF NOT EXISTS renewed_at timestamptz NOT NULL DEFAULT clock_timestamp();
-- `watched_since`: since when no two rounds of the leader have been half a minute apart. `promoted_at`: when promote()
-- last ran. `holders`: since when which transactions hold rows, see watch_holders().
ALTER TABLE haul.pulse ADD COLUMN IF NOT EXISTS watched_since timestamptz,
  ADD COLUMN IF NOT EXISTS promoted_at timestamptz, ADD COLUMN IF NOT EXISTS holders jsonb NOT NULL DEFAULT '{}';
-- The server, its timeline and the database in which the last tokens were drawn: see heed_origin().
ALTER TABLE haul.pool ADD COLUMN IF NOT EXISTS server_start timestamptz, ADD COLUMN IF NOT EXISTS system bigint,
  ADD COLUMN IF NOT EXISTS timeline integer, ADD COLUMN IF NOT EXISTS database oid;
-- The signs that a worker has left in directories of stores: {"instance id": {"since": time, "unseen": [worker ids]}}.
ALTER TABLE haul.worker ADD COLUMN IF NOT EXISTS signs jsonb NOT NULL DEFAULT '{}';
-- How many jobs a worker holds, or more: what others have ended is found out when it holds too many.
ALTER TABLE haul.worker_call ADD COLUMN IF NOT EXISTS held integer NOT NULL DEFAULT 0;

-- These functions have one more parameter, or another name.
DROP FUNCTION IF EXISTS haul.begin_submission(text), haul.check_submission(uuid, text, text, boolean, integer),
  haul.require_submission(uuid), haul.move_due(integer, bigint), haul.take_due(integer),
  haul.take_over(uuid, integer, integer, smallint, jsonb, interval, bigint[], bigint[]);
