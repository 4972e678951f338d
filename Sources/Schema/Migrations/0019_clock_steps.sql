-- Every statement may find its work done.

-- The last job whose retry was brought back after the database's clock was set back; NULL = all.
ALTER TABLE haul.pulse ADD COLUMN IF NOT EXISTS mended_to bigint;
