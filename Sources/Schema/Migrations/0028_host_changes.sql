-- Each statement also works on a database where its change was made already.

-- Hosts whose limits must be compared with the policies again. apply_policies() removes the rows.
CREATE TABLE IF NOT EXISTS haul.host_change (
  host integer PRIMARY KEY,
  -- Whether an operator set the limits. Then a lower cap that Haul has learned ends, too.
  resets boolean NOT NULL
);
CREATE INDEX IF NOT EXISTS host_change_order ON haul.host_change (resets DESC, host);

-- apply_policies() now applies a number of waiting changes, and not a pattern.
DROP FUNCTION IF EXISTS haul.apply_policies(text);
