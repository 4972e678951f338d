-- Where a host answers range requests wrongly. `host.range_unsafe_until` says until when there may be rows of it.
CREATE TABLE haul.range_unsafe (
  host integer NOT NULL,
  -- The digest of the URL without query and last path segment: see url_directory().
  directory uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (host, directory)
);

-- Which of its mirrors a job uses, see Functions/38_mirrors.sql. Waits for whoever uses jobs, and then only writes
-- the catalogue.
ALTER TABLE haul.job ADD COLUMN mirror smallint;
-- The host that was asked; NULL in attempts of earlier versions.
ALTER TABLE haul.attempt ADD COLUMN host integer;
-- Hosts from which jobs with mirrors have turned away, until promote() has moved those that still wait for them. Lost
-- in a crash of the server: then each of these jobs asks the host once.
CREATE UNLOGGED TABLE haul.leaving (
  host integer NOT NULL
);

-- They return more, or are told more.
DROP FUNCTION IF EXISTS haul.decide_endings(tid[], jsonb);
DROP FUNCTION IF EXISTS haul.decide(text, text, text, integer, integer, integer, integer, boolean, boolean, interval,
  integer, interval, interval, double precision, integer);
DROP FUNCTION IF EXISTS haul.replace(uuid, text, text, smallint, jsonb, interval, integer);
