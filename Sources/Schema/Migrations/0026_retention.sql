-- Each statement also works on a database where its change was made already.

-- How long jobs are kept after they have ended, and how long the pool then remembers that it has downloaded the file of
-- a completed job. NULL in a queue = as for the pool. NULL in the pool = for ever.
ALTER TABLE haul.pool ADD COLUMN IF NOT EXISTS keep_completed interval,
  ADD COLUMN IF NOT EXISTS keep_failed interval, ADD COLUMN IF NOT EXISTS keep_cancelled interval,
  ADD COLUMN IF NOT EXISTS keep_known interval;
ALTER TABLE haul.queue ADD COLUMN IF NOT EXISTS keep_completed interval,
  ADD COLUMN IF NOT EXISTS keep_failed interval, ADD COLUMN IF NOT EXISTS keep_cancelled interval,
  ADD COLUMN IF NOT EXISTS keep_known interval;

-- Paths whose completed jobs were removed. Each row has 100 to 108 bytes.
CREATE TABLE IF NOT EXISTS haul.known (
  -- See known_key().
  key uuid PRIMARY KEY,
  -- See url_key().
  url_key bigint NOT NULL,
  finished_at timestamptz NOT NULL,
  bytes bigint,
  -- NULL = for ever.
  forget_at timestamptz,
  sha256 bytea CONSTRAINT known_sha256 CHECK (octet_length(sha256) = 32)
);
CREATE INDEX IF NOT EXISTS known_forget ON haul.known (forget_at) WHERE forget_at IS NOT NULL;

-- Sums of the jobs that were removed, by batch; 0 = without a batch. batch_total no longer counts these jobs.
CREATE TABLE IF NOT EXISTS haul.batch_pruned (
  batch integer PRIMARY KEY,
  jobs bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  bytes bigint NOT NULL
) WITH (fillfactor = 50);

-- The same of their attempts, by result.
CREATE TABLE IF NOT EXISTS haul.attempt_pruned (
  result haul.attempt_result PRIMARY KEY,
  attempts bigint NOT NULL,
  fetched bigint NOT NULL,
  taken_over bigint NOT NULL
) WITH (fillfactor = 50);

-- How far each range of job ids was searched for jobs to remove. `partition` is the number in the names of the
-- partitions.
CREATE TABLE IF NOT EXISTS haul.prune_pass (
  partition bigint PRIMARY KEY,
  -- The search continues with this job.
  next_job bigint NOT NULL,
  -- When the first of the jobs that this search has left is to be removed; infinity = never.
  due_at timestamptz NOT NULL DEFAULT 'infinity',
  -- When the next search begins or continues.
  next_at timestamptz NOT NULL DEFAULT '-infinity'
);

-- One row. A session locks it before it removes jobs.
CREATE TABLE IF NOT EXISTS haul.prune_turn (
  single boolean PRIMARY KEY DEFAULT true CONSTRAINT prune_turn_single CHECK (single),
  next_at timestamptz NOT NULL DEFAULT '-infinity',
  -- When rows other than jobs were last removed.
  tidied_at timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO haul.prune_turn DEFAULT VALUES ON CONFLICT DO NOTHING;

-- These functions have one more parameter.
DROP FUNCTION IF EXISTS haul.choose_jobs(integer, integer, tid[], tid[], smallint, integer, integer, timestamptz);
DROP FUNCTION IF EXISTS haul.move_lanes_on(integer, integer, tid[]);
