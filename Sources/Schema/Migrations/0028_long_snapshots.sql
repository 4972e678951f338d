-- Each statement also works on a database where its change was made already.

-- Hosts whose limits must be compared with the policies again. apply_policies() removes the rows.
CREATE TABLE IF NOT EXISTS haul.host_change (
  host integer PRIMARY KEY,
  -- Whether an operator set the limits. Then a lower cap that Haul has learned ends, too.
  resets boolean NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX IF NOT EXISTS host_change_resets ON haul.host_change (host) WHERE resets;

-- apply_policies() now applies a number of waiting changes, and not a pattern.
DROP FUNCTION IF EXISTS haul.apply_policies(text);

-- The last call whose leases a heartbeat has compared with those that the worker holds, and when a heartbeat compared
-- all of them.
ALTER TABLE haul.worker ADD COLUMN IF NOT EXISTS checked_call bigint NOT NULL DEFAULT 0,
  ADD COLUMN IF NOT EXISTS checked_at timestamptz NOT NULL DEFAULT '-infinity';
CREATE INDEX IF NOT EXISTS lease_command ON haul.lease (worker) WHERE command IS NOT NULL;

-- When promote() first saw that `max_running` was set; infinity = not yet.
ALTER TABLE haul.queue ADD COLUMN IF NOT EXISTS limit_set_at timestamptz NOT NULL DEFAULT '-infinity';

-- The schema in which the pool was last used. A restored schema has another oid. NULL = not known yet.
ALTER TABLE haul.pool ADD COLUMN IF NOT EXISTS namespace oid;

-- The last day whose usage is small already, see shrink_usage().
ALTER TABLE haul.prune_turn ADD COLUMN IF NOT EXISTS usage_day date NOT NULL DEFAULT '-infinity';
