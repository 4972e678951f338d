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

-- The function has one more parameter.
DROP FUNCTION IF EXISTS haul.leases_of(bigint, bigint);
