-- This function returns more than before.
DROP FUNCTION IF EXISTS haul.add_jobs(uuid, integer, integer, integer, smallint, jsonb, interval, bigint);
