-- Every statement may find its work done: databases of the days between two versions have some of it.

-- The file's SHA-256, where it was computed and no other digest stands in `digest`: 32 bytes instead of a text of 72.
ALTER TABLE haul.outcome ADD COLUMN IF NOT EXISTS sha256 bytea;
ALTER TABLE haul.outcome DROP CONSTRAINT IF EXISTS outcome_sha256,
  ADD CONSTRAINT outcome_sha256 CHECK (octet_length(sha256) = 32) NOT VALID;
-- When `haul verify` last compared its files; NULL = never.
ALTER TABLE haul.store_instance ADD COLUMN IF NOT EXISTS verified_at timestamptz;
