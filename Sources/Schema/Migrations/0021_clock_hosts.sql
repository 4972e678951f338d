-- Every statement may find its work done.

-- The hosts whose times are still to be corrected after the database's clock was set back; NULL = none.
ALTER TABLE haul.pulse ADD COLUMN IF NOT EXISTS hosts_left integer[];

DROP FUNCTION IF EXISTS haul.mend_hosts(timestamptz, interval);
