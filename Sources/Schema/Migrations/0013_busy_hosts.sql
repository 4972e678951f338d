-- Where a host answers range requests wrongly. `host.range_unsafe_until` says until when there may be rows of it.
CREATE TABLE haul.range_unsafe (
  host integer NOT NULL,
  -- The digest of the URL without query and last path segment: see url_directory().
  directory uuid NOT NULL,
  until timestamptz NOT NULL,
  PRIMARY KEY (host, directory)
);

-- They return more, or are told more.
DROP FUNCTION IF EXISTS haul.decide_endings(tid[], jsonb);
DROP FUNCTION IF EXISTS haul.decide(text, text, text, integer, integer, integer, integer, boolean, boolean, interval,
  integer, interval, interval, double precision, integer);
