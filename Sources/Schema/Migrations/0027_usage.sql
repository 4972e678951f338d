-- Each statement also works on a database where its change was made already.

-- Finished files and received bytes by day. Each attempt and each ended job counts once for each kind. So the rows of a
-- day are the sum of its queues, batches, hosts and workers, and not their product.
CREATE TABLE IF NOT EXISTS haul.usage (
  -- In UTC.
  day date NOT NULL,
  kind text COLLATE "C" NOT NULL CONSTRAINT usage_kind CHECK (kind IN ('queue', 'batch', 'host', 'worker')),
  -- A name and not an id, because queues, batches and workers may be removed before their usage. Empty = jobs without a
  -- batch, or jobs that failed without a worker.
  name text COLLATE "C" NOT NULL,
  files bigint NOT NULL,
  failed bigint NOT NULL,
  bytes bigint NOT NULL,
  fetched bigint NOT NULL,
  PRIMARY KEY (day, kind, name)
) WITH (fillfactor = 50);

-- end_together(), count_failed() and note_fetched() add rows here, and the leader adds them up in `usage`. Batch 0 =
-- without a batch; worker 0 = without a worker.
CREATE TABLE IF NOT EXISTS haul.usage_change (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  day date NOT NULL,
  queue integer NOT NULL,
  batch integer NOT NULL,
  host integer NOT NULL,
  worker bigint NOT NULL,
  files bigint NOT NULL,
  failed bigint NOT NULL,
  bytes bigint NOT NULL,
  fetched bigint NOT NULL
);

-- decide_endings() now returns another column, so PostgreSQL cannot replace it in place.
DROP FUNCTION IF EXISTS haul.decide_endings(tid[], jsonb);
