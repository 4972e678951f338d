-- Where a host answers range requests wrongly. `host.range_unsafe_until` says until when there may be rows of it.
CREATE TABLE haul.range_unsafe (
  host integer NOT NULL,
  -- The digest of the URL without query and last path segment: see url_directory().
  directory uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (host, directory)
);

-- The mirror that a job uses, see Functions/38_mirrors.sql. The statement waits for sessions that use jobs. It changes
-- the catalogue and no rows.
ALTER TABLE haul.job ADD COLUMN mirror smallint;
-- The host that was asked; NULL in attempts of earlier versions.
ALTER TABLE haul.attempt ADD COLUMN host integer;
-- Hosts that jobs with mirrors have left. promote() moves the other jobs that wait for these hosts. A crash of the
-- server empties the table; then each job asks the host once.
CREATE UNLOGGED TABLE haul.leaving (
  host integer NOT NULL
);

-- They return more, or are told more.
DROP FUNCTION IF EXISTS haul.decide_endings(tid[], jsonb);
DROP FUNCTION IF EXISTS haul.decide(text, text, text, integer, integer, integer, integer, boolean, boolean, interval,
  integer, interval, interval, double precision, integer);
DROP FUNCTION IF EXISTS haul.replace(uuid, text, text, smallint, jsonb, interval, integer);
