-- Politeness that learns, limits and weights of queues, totals of batches. Columns without a stored default rewrite nothing;
-- the index on `lease` is partial and empty.

-- What the policy allows. `cap` is what holds now: a host that refuses lowers it, one that serves raises it again up to here.
ALTER TABLE haul.host ADD COLUMN policy_cap integer;
UPDATE haul.host SET policy_cap = cap;
ALTER TABLE haul.host ALTER COLUMN policy_cap SET NOT NULL;
-- Starts that may follow each other at once after a pause.
ALTER TABLE haul.host ADD COLUMN burst integer NOT NULL DEFAULT 1;
-- When the next start is due if all came evenly (the theoretical arrival time of GCRA, ITU-T I.371); NULL = never started.
ALTER TABLE haul.host ADD COLUMN next_start timestamptz;
-- Completed jobs since `cap` was last changed.
ALTER TABLE haul.host ADD COLUMN successes integer NOT NULL DEFAULT 0;
-- Why it is blocked: an error class, or `operator`.
ALTER TABLE haul.host ADD COLUMN block_reason text;
ALTER TABLE haul.host_policy ADD COLUMN burst integer NOT NULL DEFAULT 1
  CONSTRAINT policy_burst CHECK (burst BETWEEN 1 AND 10000);

-- A worker that serves several queues asks them in turns of these weights.
ALTER TABLE haul.queue ADD COLUMN weight integer NOT NULL DEFAULT 1
  CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000);
-- A deleted queue has given its name free; its finished jobs still say where they belonged.
ALTER TABLE haul.queue ADD COLUMN deleted_at timestamptz;

-- Leases of queues with `max_running`, so that these can be counted and the others cost nothing.
ALTER TABLE haul.lease ADD COLUMN limited boolean NOT NULL DEFAULT false;
CREATE INDEX lease_limited ON haul.lease (queue) WHERE limited;
-- A token comes from a sequence and is looked up with its job: an index of its own costs every claim and finish.
ALTER TABLE haul.lease DROP CONSTRAINT lease_token_key;
-- Whoever claims from such a queue holds its row meanwhile.
CREATE TABLE haul.queue_gate (
  queue integer PRIMARY KEY
) WITH (fillfactor = 50);
INSERT INTO haul.queue_gate SELECT id FROM haul.queue WHERE max_running IS NOT NULL;

-- How far a worker's claims have seen the due lanes of each (queue, instance, priority): where they begin to look, so
-- that they need not step over what earlier claims have left behind. Complete looks go on from time to time.
ALTER TABLE haul.worker_call ADD COLUMN claims bigint NOT NULL DEFAULT 0;
ALTER TABLE haul.worker_call ADD COLUMN seen jsonb NOT NULL DEFAULT '{}';
ALTER TABLE haul.worker_call ADD COLUMN looked_at timestamptz NOT NULL DEFAULT '-infinity';

-- An operator's word on a whole batch counts at once: claims pass over its jobs up to `sweep_below`, and these are moved
-- bit by bit. `swept` is the last one moved, `swept_at` when.
ALTER TABLE haul.batch ADD COLUMN sweep text CONSTRAINT batch_sweep CHECK (sweep IN ('cancel', 'pause'));
ALTER TABLE haul.batch ADD COLUMN sweep_below bigint;
ALTER TABLE haul.batch ADD COLUMN swept bigint;
ALTER TABLE haul.batch ADD COLUMN swept_at timestamptz;
CREATE INDEX batch_sweeping ON haul.batch (id) WHERE sweep IS NOT NULL;

-- What has become of a batch's jobs, without counting them: every change adds a row to `batch_change`, the leader adds them
-- up in `batch_total`. Batch 0 is that of the jobs without one.
CREATE TABLE haul.batch_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  batch integer NOT NULL,
  at timestamptz NOT NULL,
  jobs bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  bytes bigint NOT NULL
);
CREATE TABLE haul.batch_total (
  batch integer PRIMARY KEY,
  jobs bigint NOT NULL,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  bytes bigint NOT NULL
) WITH (fillfactor = 50);
-- The same by minute, of jobs that ended, for a week.
CREATE TABLE haul.minute (
  at timestamptz PRIMARY KEY,
  completed bigint NOT NULL,
  failed bigint NOT NULL,
  cancelled bigint NOT NULL,
  bytes bigint NOT NULL
) WITH (fillfactor = 50);
