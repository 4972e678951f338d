-- Every statement may find its work done: databases of the days between two versions have some of it.

-- What submitters may write. Haul's programs check this before, so their users never meet these errors.
ALTER TABLE haul.staging
  DROP CONSTRAINT IF EXISTS staging_url, DROP CONSTRAINT IF EXISTS staging_path,
  DROP CONSTRAINT IF EXISTS staging_host,
  ADD CONSTRAINT staging_url CHECK (octet_length(url) <= 8000) NOT VALID,
  ADD CONSTRAINT staging_path CHECK (octet_length(path) <= 4096) NOT VALID,
  ADD CONSTRAINT staging_host CHECK (octet_length(host) <= 300) NOT VALID;
-- A start long after the end of time would stop every claim that meets it.
ALTER TABLE haul.host_policy
  DROP CONSTRAINT IF EXISTS policy_longest_interval,
  ADD CONSTRAINT policy_longest_interval CHECK (min_interval <= interval '1 day') NOT VALID;

-- Keys of sessions are random now.
ALTER TABLE haul.submission ALTER COLUMN session_key DROP DEFAULT;
DROP SEQUENCE IF EXISTS haul.session_key;
-- When the database's clock was last found set back, and by how much.
ALTER TABLE haul.pulse ADD COLUMN IF NOT EXISTS stepped_at timestamptz, ADD COLUMN IF NOT EXISTS step interval;
-- Since when which transactions hold rows: see watch_holders().
ALTER TABLE haul.pulse ADD COLUMN IF NOT EXISTS holders jsonb NOT NULL DEFAULT '{}';

-- The server, its timeline and the database in which the last tokens were drawn: see heed_origin().
ALTER TABLE haul.pool ADD COLUMN IF NOT EXISTS server_start timestamptz, ADD COLUMN IF NOT EXISTS system bigint,
  ADD COLUMN IF NOT EXISTS timeline integer, ADD COLUMN IF NOT EXISTS database oid;

-- These functions have one more parameter, or another name.
DROP FUNCTION IF EXISTS haul.leases_of(bigint, bigint);
DROP FUNCTION IF EXISTS haul.move_due(integer, bigint);
DROP FUNCTION IF EXISTS haul.take_due(integer);
DROP FUNCTION IF EXISTS haul.take_over(uuid, integer, integer, smallint, jsonb, interval, bigint[], bigint[]);

-- The signs that a worker has left in directories of stores: {"instance id": {"since": time, "unseen": [worker ids]}}.
ALTER TABLE haul.worker ADD COLUMN IF NOT EXISTS signs jsonb NOT NULL DEFAULT '{}';
-- How many jobs a worker holds, or more: what others have ended is found out when it holds too many.
ALTER TABLE haul.worker_call ADD COLUMN IF NOT EXISTS held integer NOT NULL DEFAULT 0;
