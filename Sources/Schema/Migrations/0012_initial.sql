-- The first schema. Takes no lock that anybody waits for: everything here is new.

CREATE TYPE haul.job_state AS ENUM (
  'queued', 'scheduled', 'running', 'interrupted', 'paused', 'completed', 'failed', 'cancelled');
CREATE TYPE haul.attempt_result AS ENUM (
  'completed', 'failed', 'released', 'rescued', 'cancelled', 'paused');

-- Job ids and tokens. A token is drawn for every lease and only grows: a later lease has a larger one.
CREATE SEQUENCE haul.job_id AS bigint;
CREATE SEQUENCE haul.token AS bigint;
CREATE SEQUENCE haul.session_key AS bigint;

-- One row: what tells this pool's part files apart from another's on the same store.
CREATE TABLE haul.pool (
  single boolean PRIMARY KEY DEFAULT true CONSTRAINT pool_single CHECK (single),
  id uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO haul.pool DEFAULT VALUES;

---------------------------------------------------------------------------------------------------
-- Configuration: written rarely, by people.

CREATE TABLE haul.store (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CONSTRAINT store_name CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One directory that carries a marker. Two machines that mount the same share see one instance;
-- two local disks under one name are two.
CREATE TABLE haul.store_instance (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  store integer NOT NULL REFERENCES haul.store,
  marker uuid NOT NULL UNIQUE,
  machine text NOT NULL,
  root text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE haul.queue (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CONSTRAINT queue_name CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$'),
  store integer NOT NULL REFERENCES haul.store,
  paused boolean NOT NULL DEFAULT false,
  max_running integer CONSTRAINT queue_max_running CHECK (max_running > 0),
  defaults jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- A worker that serves several queues asks them in turns of these weights.
  weight integer NOT NULL DEFAULT 1 CONSTRAINT queue_weight CHECK (weight BETWEEN 1 AND 1000),
  -- A deleted queue has given its name free; its finished jobs still say where they belonged.
  deleted_at timestamptz
);
-- A row for each queue with `max_running`. Whoever claims from such a queue holds its row meanwhile.
CREATE TABLE haul.queue_gate (
  queue integer PRIMARY KEY
) WITH (fillfactor = 50);

CREATE TABLE haul.batch (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CONSTRAINT batch_name CHECK (length(name) BETWEEN 1 AND 200),
  submitted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- An operator's word on a whole batch counts at once: claims pass over its jobs up to `sweep_below`, and these are
  -- moved bit by bit. `swept` is the last one moved, `swept_at` when, `sweeps` the number of such words so far.
  sweep text CONSTRAINT batch_sweep CHECK (sweep IN ('cancel', 'pause')),
  sweep_below bigint,
  swept bigint,
  swept_at timestamptz,
  sweeps bigint NOT NULL DEFAULT 0
);
CREATE INDEX batch_sweeping ON haul.batch (id) WHERE sweep IS NOT NULL;

-- What a host may be asked for, by exact name or `*.suffix`. The most specific pattern counts.
CREATE TABLE haul.host_policy (
  pattern text COLLATE "C" PRIMARY KEY,
  cap integer NOT NULL DEFAULT 4 CONSTRAINT policy_cap CHECK (cap BETWEEN 1 AND 10000),
  min_interval interval NOT NULL DEFAULT '0' CONSTRAINT policy_interval CHECK (min_interval >= '0'),
  -- Starts that may follow each other at once after a pause.
  burst integer NOT NULL DEFAULT 1 CONSTRAINT policy_burst CHECK (burst BETWEEN 1 AND 10000)
);

---------------------------------------------------------------------------------------------------
-- Jobs: written once. Three tables share ranges of job ids, so that retention is a partition drop.

CREATE TABLE haul.job (
  id bigint NOT NULL PRIMARY KEY,
  queue integer NOT NULL,
  host integer NOT NULL,
  batch integer,
  priority smallint NOT NULL CONSTRAINT job_priority CHECK (priority BETWEEN 0 AND 9),
  submitted_at timestamptz NOT NULL,
  url text NOT NULL,
  path text NOT NULL,
  options jsonb NOT NULL
) PARTITION BY RANGE (id);
CREATE INDEX job_batch ON haul.job (batch, id) WHERE batch IS NOT NULL;

-- How a job ended; exactly one row for a completed, failed or cancelled job.
CREATE TABLE haul.outcome (
  job bigint NOT NULL PRIMARY KEY,
  state haul.job_state NOT NULL
    CONSTRAINT outcome_state CHECK (state IN ('completed', 'failed', 'cancelled')),
  finished_at timestamptz NOT NULL,
  bytes bigint,
  path text,
  digest text,
  error text COLLATE "C",
  message text,
  -- What the source said of the file: the transfer's own record, by which the source can be asked whether it still has
  -- the same. NULL where nothing was brought.
  source jsonb
) PARTITION BY RANGE (job);
CREATE INDEX outcome_failed ON haul.outcome (error, job) WHERE state <> 'completed';

-- One lease's life, written when it ends. `charged` attempts count against the job's limits until an operator queues
-- the job again: that sets `forgiven`.
CREATE TABLE haul.attempt (
  job bigint NOT NULL,
  token bigint NOT NULL,
  worker bigint NOT NULL,
  result haul.attempt_result NOT NULL,
  charged boolean NOT NULL,
  forgiven boolean NOT NULL DEFAULT false,
  started_at timestamptz NOT NULL,
  ended_at timestamptz NOT NULL,
  resumed_at bigint NOT NULL DEFAULT 0,
  fetched bigint NOT NULL DEFAULT 0,
  durable bigint NOT NULL DEFAULT 0,
  changes smallint NOT NULL DEFAULT 0,
  status smallint,
  error text,
  message text,
  PRIMARY KEY (job, token)
) PARTITION BY RANGE (job);

-- One row a job: where its result goes. The digest is that of the path (sha-256, first 16 bytes).
CREATE TABLE haul.dedupe (
  store integer NOT NULL,
  path_digest uuid NOT NULL,
  job bigint NOT NULL,
  PRIMARY KEY (store, path_digest)
);

---------------------------------------------------------------------------------------------------
-- Waiting. A job stands in exactly one of ready, scheduled, held, lease, outcome. No foreign keys to
-- or from these tables: their key-share locks make claims skip and submissions wait.

-- Waiting jobs, narrow. `instance` is the store instance that holds the job's part file; 0 = none.
CREATE TABLE haul.ready (
  queue integer NOT NULL,
  host integer NOT NULL,
  instance integer NOT NULL,
  priority smallint NOT NULL,
  job bigint NOT NULL,
  hold_until timestamptz,
  PRIMARY KEY (queue, host, instance, priority, job)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
CREATE UNIQUE INDEX ready_job ON haul.ready (job);
CREATE INDEX ready_hold ON haul.ready (hold_until) WHERE instance <> 0;

-- Not before `run_at`. Kept apart so that a future job never stands in front of a due one.
CREATE TABLE haul.scheduled (
  job bigint PRIMARY KEY,
  queue integer NOT NULL,
  host integer NOT NULL,
  instance integer NOT NULL,
  priority smallint NOT NULL,
  run_at timestamptz NOT NULL
);
CREATE INDEX scheduled_due ON haul.scheduled (run_at, job);

-- Paused jobs. `run_at` is kept for one that was scheduled.
CREATE TABLE haul.held (
  job bigint PRIMARY KEY,
  queue integer NOT NULL,
  host integer NOT NULL,
  instance integer NOT NULL,
  priority smallint NOT NULL,
  run_at timestamptz,
  held_at timestamptz NOT NULL
);

-- Running jobs only. `call` is the worker's call that claimed it, so that a repeated call finds it again.
-- `command` is what the operator wants of it: the worker learns of it by heartbeat.
CREATE TABLE haul.lease (
  job bigint PRIMARY KEY,
  -- From a sequence, and looked up with its job: an index of its own would cost every claim and finish.
  token bigint NOT NULL,
  worker bigint NOT NULL,
  call bigint NOT NULL,
  queue integer NOT NULL,
  host integer NOT NULL,
  instance integer NOT NULL,
  priority smallint NOT NULL,
  attempt smallint NOT NULL,
  -- Durable bytes that its worker can go on from.
  resumed_at bigint NOT NULL,
  command text CONSTRAINT lease_command CHECK (command IN ('cancel', 'pause')),
  started_at timestamptz NOT NULL,
  -- Of a queue with `max_running`, so that these can be counted and the others cost nothing.
  limited boolean NOT NULL DEFAULT false
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX lease_worker ON haul.lease (worker, call);
CREATE INDEX lease_limited ON haul.lease (queue) WHERE limited;

-- Rows of `host` and `lane` change with every claim. While any transaction keeps an old snapshot none of their versions
-- can go, and a unique index would compare each new version with all that the row has had: after five minutes of a dump
-- a claim read ten thousand pages. So what is unique of them stands in tables of its own, whose rows never change.
CREATE TABLE haul.host_name (
  name text COLLATE "C" PRIMARY KEY,
  id integer NOT NULL GENERATED ALWAYS AS IDENTITY UNIQUE,
  -- Whether a job has named the host. Operators may block one before that, and misspell it: once it is free again such
  -- a host is none.
  used boolean NOT NULL DEFAULT true
);
CREATE INDEX host_name_unused ON haul.host_name (id) WHERE NOT used;

-- The origin a URL points at, the unit of politeness. The row is the mutex of its lanes.
CREATE TABLE haul.host (
  id integer NOT NULL,
  name text COLLATE "C" NOT NULL,
  in_flight integer NOT NULL DEFAULT 0 CONSTRAINT host_in_flight CHECK (in_flight >= 0),
  -- What holds now: a host that refuses lowers it, one that serves raises it again up to `policy_cap`.
  cap integer NOT NULL,
  min_interval interval NOT NULL,
  last_start timestamptz,
  blocked_until timestamptz,
  failures integer NOT NULL DEFAULT 0,
  range_unsafe_until timestamptz,
  -- Since when it could not be reached or has refused to serve, without a success in between.
  trouble_since timestamptz,
  -- What the policy allows.
  policy_cap integer NOT NULL,
  -- Starts that may follow each other at once after a pause.
  burst integer NOT NULL DEFAULT 1,
  -- When the next start is due if all came evenly (the theoretical arrival time of GCRA, ITU-T I.371); NULL = never
  -- started.
  next_start timestamptz,
  -- Completed jobs since `cap` was last changed.
  successes integer NOT NULL DEFAULT 0,
  -- Why it is blocked: an error class, or `operator`.
  block_reason text
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX host_id ON haul.host (id);
CREATE INDEX host_named ON haul.host (name);
-- Without a unique index no publication could say which row has changed.
ALTER TABLE haul.host REPLICA IDENTITY FULL;

CREATE TABLE haul.lane_key (
  host integer NOT NULL,
  queue integer NOT NULL,
  instance integer NOT NULL,
  PRIMARY KEY (host, queue, instance)
);

-- The waiting jobs of one queue for one host and instance. (priority, head) is a lower bound of what
-- waits; head NULL = nothing waits. next_at NULL = parked: nothing waits, or the host is full.
CREATE TABLE haul.lane (
  host integer NOT NULL,
  queue integer NOT NULL,
  instance integer NOT NULL,
  priority smallint NOT NULL,
  head bigint,
  next_at timestamptz
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX lane_host ON haul.lane (host, queue, instance);
ALTER TABLE haul.lane REPLICA IDENTITY FULL;
CREATE INDEX lane_due ON haul.lane (queue, instance, priority, next_at) WHERE next_at IS NOT NULL;

---------------------------------------------------------------------------------------------------
-- Workers and what they report.

-- A worker row is written by its own heartbeat alone; `id` is never used again.
CREATE TABLE haul.worker (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  secret_digest bytea NOT NULL,
  machine text NOT NULL,
  pid integer NOT NULL,
  version text NOT NULL,
  concurrency integer NOT NULL,
  instances integer[] NOT NULL,
  session_key bigint,
  registered_at timestamptz NOT NULL,
  heartbeat_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- Since when its heartbeats have come without a gap of more than 5 s.
  steady_since timestamptz NOT NULL,
  draining boolean NOT NULL DEFAULT false,
  stopped_at timestamptz,
  -- What keeps it from claiming for a store instance it mounts: {"instance id": "reason"}; NULL where nothing does.
  closed_stores jsonb,
  -- Bytes a second that it receives, by queue and batch, with the files that have ended meanwhile: most small ones end
  -- before a heartbeat could tell of them.
  received jsonb NOT NULL DEFAULT '[]',
  -- Names of the queues that it claims from; NULL = all of its stores. Names, not ids: whoever makes a queue anew under
  -- its name has its workers back.
  queues text[]
) WITH (fillfactor = 50);

-- The last call of a worker that took effect. Apart from `worker`, so that a claim that waits for
-- something cannot make the heartbeat wait.
CREATE TABLE haul.worker_call (
  worker bigint PRIMARY KEY,
  call bigint NOT NULL,
  claims bigint NOT NULL DEFAULT 0,
  -- How far its claims have seen the due lanes of each (queue, instance, priority): where they begin to look, so that
  -- they need not step over what earlier claims have left behind. When the next complete look is due stands here too.
  seen jsonb NOT NULL DEFAULT '{}'
) WITH (fillfactor = 50);

-- What a person watches; empty after a crash of the server.
CREATE UNLOGGED TABLE haul.progress (
  job bigint PRIMARY KEY,
  token bigint NOT NULL,
  worker bigint NOT NULL,
  bytes bigint NOT NULL,
  total bigint,
  rate bigint NOT NULL,
  updated_at timestamptz NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX progress_worker ON haul.progress (worker);

-- Durable progress of a job: what a crash leaves. `durable` is a subset of what is on the disk.
-- `resume` is the transfer's own record (validator, length, part file); `intent` the final name, set just before the
-- part file is renamed to it.
CREATE TABLE haul.checkpoint (
  job bigint PRIMARY KEY,
  token bigint NOT NULL,
  instance integer NOT NULL,
  durable int8multirange NOT NULL,
  length bigint,
  resume jsonb NOT NULL,
  intent text,
  saved_at timestamptz NOT NULL
) WITH (fillfactor = 50);

-- When rescue last looked. Unlogged on purpose: a crash of the server empties it, and then one full
-- expiry of grace begins in which nothing is rescued, as after any gap between two rounds.
CREATE UNLOGGED TABLE haul.pulse (
  id boolean PRIMARY KEY DEFAULT true CONSTRAINT pulse_single CHECK (id),
  server_start timestamptz NOT NULL,
  round_at timestamptz NOT NULL,
  grace_until timestamptz NOT NULL
);

---------------------------------------------------------------------------------------------------
-- Submissions: lists of any length are staged in as many transactions as it takes, and made jobs in as many.

-- Submissions whose lines are being staged. Nobody but their senders can know an `id`, and so add lines. A sender's
-- session holds an advisory lock on `session_key`: when that is gone, so is the sender.
CREATE UNLOGGED TABLE haul.submission (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  session_key bigint NOT NULL DEFAULT nextval('haul.session_key'),
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Lines do not change before they become jobs.
CREATE UNLOGGED TABLE haul.staging (
  submission uuid NOT NULL,
  line bigint NOT NULL,
  url text NOT NULL,
  host text NOT NULL,
  path text NOT NULL,
  -- NULL = the submission's.
  priority smallint,
  options jsonb,
  -- Filled by submit().
  job bigint,
  host_id integer,
  path_digest uuid,
  owner bigint
) WITH (fillfactor = 100, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX staging_line ON haul.staging (submission, line);

-- What a completed job has brought that is asked for again: from its outcome, until it has completed again. The file
-- stays meanwhile.
CREATE TABLE haul.refresh (
  job bigint PRIMARY KEY,
  path text NOT NULL,
  bytes bigint,
  digest text,
  source jsonb
);

---------------------------------------------------------------------------------------------------
-- What has become of a batch's jobs, without counting them.

-- Every change adds a row here, and the leader adds them up in `batch_total`. Batch 0 is that of the jobs without one.
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
