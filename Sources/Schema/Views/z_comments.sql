-- What the functions mean that somebody outside may call: those of the roles, and those that the program calls as the owner.
-- docs/sql.md is made of these and of the views' comments. A function without a comment is no part of the contract.
--
-- Every function that changes anything needs READ COMMITTED and raises HA005 otherwise.

COMMENT ON SCHEMA haul IS 'Haul: a pool of download workers. Views to look at, functions to act; nobody but the owner reads or writes tables.';

-- For everybody.
COMMENT ON FUNCTION haul.schema_version() IS 'The number of this database''s newest migration.';
COMMENT ON FUNCTION haul.redacted(text) IS 'A URL for people: without userinfo, and values of parameters that sign or authorise blanked.';
COMMENT ON FUNCTION haul.range_bytes(int8multirange) IS 'How many bytes a multirange has.';
COMMENT ON FUNCTION haul.session_grace() IS 'How long a worker whose session has gone may be silent before its jobs are rescued; one that is silent for longer is shown so.';
COMMENT ON FUNCTION haul.live_workers(integer[]) IS 'How many workers that have neither stopped nor died mount one of these store instances.';
COMMENT ON FUNCTION haul.is_served(integer, integer) IS 'Whether a live worker takes jobs for a store, or for one instance of it (0 = any).';
COMMENT ON FUNCTION haul.stalled_queues() IS 'Queues that are paused, limited or served by no worker.';
COMMENT ON FUNCTION haul.held_snapshots() IS
  'Sessions and prepared transactions that keep dead rows of this database from being cleared away, and for how long. Of sessions of other users only as many as haul_admin may see: see sees_all_sessions().';
COMMENT ON FUNCTION haul.sees_all_sessions() IS 'Whether haul_admin is a member of pg_read_all_stats, so that held_snapshots() is complete.';
COMMENT ON FUNCTION haul.places(integer, integer) IS 'How many transfers a host with this cap and so many failures in a row may see now.';
COMMENT ON FUNCTION haul.next_start(interval, integer, timestamptz) IS 'When the interval of a host allows its next start; NULL = at any time.';
COMMENT ON FUNCTION haul.disposition(text) IS
  'What an error class means: permanent (the job fails), job (it is tried again, a limited number of times), host (it waits for its host), worker (it waits for a worker that can), kept (it fails, and a retry goes on where it was).';
COMMENT ON FUNCTION haul.keeps_progress(text) IS 'Whether what is durable of a job that has failed so stays, for a retry to go on with.';
COMMENT ON FUNCTION haul.check_selector(jsonb) IS
  'Raises HA003 for a name or an id of a selector that does not exist, HA004 for an empty one. A selector is {"ids": [..], "batch", "queue", "host", "state", "error"}; what is absent does not narrow.';
COMMENT ON FUNCTION haul.names(text, text) IS
  'At most a hundred names of a kind (queue, store, batch, host: of jobs, listed host: as in the view hosts, policy or worker) that begin with the prefix, for completion.';
COMMENT ON FUNCTION haul.pool_id() IS 'The id that tells this pool''s part files from another''s on the same store.';

-- For workers. A token is a lease's; a call that names another worker's lease changes nothing of it.
COMMENT ON FUNCTION haul.register(integer, text, text, integer, integer, jsonb) IS
  'Registers a worker that mounts the stores [{"store", "marker"}]. Returns {"worker", "secret", "pool", "stores": [{"store", "instance"}]}; the secret is given once, and all later calls carry it. Raises HA002 for a schema version that is not served, HA003 for a marker that is not known.';
COMMENT ON FUNCTION haul.require_queues(text[], text[]) IS
  'Raises HA003 for a queue that does not exist or whose store is not among those given.';
COMMENT ON FUNCTION haul.attach_session(bigint, text) IS
  'Ties this session to the worker: when it ends, the worker''s jobs are rescued after session_grace() without a heartbeat, instead of after 15 s.';
COMMENT ON FUNCTION haul.close_store(bigint, text, text, text) IS
  'Says why the worker cannot write to a store now, so that it is given no jobs for it; with NULL, that it can again.';
COMMENT ON FUNCTION haul.stop_worker(bigint, text) IS 'The last call of a worker that stops in order.';
COMMENT ON FUNCTION haul.work(bigint, text, bigint, jsonb, text[], integer) IS
  'Settles what a worker has finished, then claims up to p_room jobs, in one commit. p_call is 1, 2, 3, …; the same number again changes nothing and returns what the first call gave. Returns {"settled": [{"job", "token", "state", "delay", "cause"}], "claimed": [leases], "contended", "wait": seconds, "draining"}. An ending whose token is stale is not in "settled".';
COMMENT ON FUNCTION haul.is_idle(bigint, text, text[]) IS
  'Whether nothing is queued, scheduled, interrupted or running in these queues; NULL: in all that the worker mounts.';
COMMENT ON FUNCTION haul.heartbeat(bigint, text, bigint, jsonb, jsonb) IS
  'A sign of life: the worker''s leases hold for "expiry" seconds from when it was sent. p_holding is all it believes it holds: [{"job", "token", "bytes", "total", "rate"}], p_received what haul.received shows: [{"queue", "batch", "rate"}]. Returns {"expiry", "draining", "lost": [tokens], "commands": [{"job", "token", "command"}], "unlisted": [{"job", "token"}]}.';
COMMENT ON FUNCTION haul.checkpoint(bigint, text, jsonb) IS
  'Records durable progress after the bytes have reached the disk: [{"job", "token", "instance", "durable", "length", "resume", "intent"}]. Returns the tokens that are live; a stale one changes nothing.';
COMMENT ON FUNCTION haul.unneeded_parts(bigint, text, integer, jsonb) IS
  'Which of these part files, [{"job", "token"}], of a store instance nobody needs any more.';
COMMENT ON FUNCTION haul.lead() IS
  'Whether this session is to keep house now: it is or becomes the leader, or the leader has kept none for 2 s.';
COMMENT ON FUNCTION haul.rescue() IS
  'Housekeeping, every second: takes back the jobs of dead workers. Returns {"grace", "rescued": [{"job", "token", "state"}], "workers"}.';
COMMENT ON FUNCTION haul.promote(integer) IS
  'Housekeeping: lets scheduled jobs that are due wait, and frees interrupted ones that nobody with their part file has taken in time.';
COMMENT ON FUNCTION haul.roll_up(integer) IS 'Housekeeping: adds up to p_limit changes to the totals of batches. Returns how many it added.';
COMMENT ON FUNCTION haul.sweep_on(integer) IS
  'Housekeeping: goes on with cancelling or pausing a batch whose operator''s program has ended. Returns how many jobs it changed.';
COMMENT ON FUNCTION haul.clear_submissions(integer) IS
  'Housekeeping: removes staged lines of submissions whose sessions have ended. Returns how many.';
COMMENT ON FUNCTION haul.ensure_partitions(bigint) IS
  'Makes partitions for so many more jobs than there are, at most a hundred million. Returns how many it made.';

-- For submitters.
COMMENT ON FUNCTION haul.begin_submission(text) IS
  'Begins a submission to a queue and returns its key. Lines are then copied into haul.staging (submission, line, url, host, path, priority, options). It lives as long as this session. Raises HA003 for a queue that does not exist.';
COMMENT ON FUNCTION haul.check_submission(uuid, text, text, boolean, integer) IS
  'What of a submission''s lines contradicts each other or what is there: {"count", "first": [{"line", "path", "other_line", "job"}]}. With p_remove these lines are taken out.';
COMMENT ON FUNCTION haul.submit(uuid, text, text, smallint, jsonb, interval, text, boolean, integer) IS
  'Makes jobs of the first p_limit lines of a submission, all of these or none; call again while "left". Returns {"submitted", "skipped", "requeued", "refreshed", "elsewhere": [{"kind", "name", "jobs"}], "unchecked", "unapplied", "others", "left"}. Raises HA003 for a queue that does not exist, HA004 for a path that another URL has.';
COMMENT ON FUNCTION haul.replace(uuid, text, text, smallint, jsonb, interval, integer) IS
  'Before submit(): lines whose paths have jobs take these over. Returns {"replaced", "skipped", "waiting", "left"}.';
COMMENT ON FUNCTION haul.end_submission(uuid) IS 'Forgets a submission and whatever of it is still staged.';
COMMENT ON FUNCTION haul.export(jsonb, boolean, bigint, integer) IS
  'Up to p_limit jobs of a selector with ids above p_after, as they were submitted, whole URLs included; p_left leaves out completed ones.';
COMMENT ON FUNCTION haul.pause(jsonb, integer, bigint) IS
  'Holds waiting jobs of a selector and asks running ones to stop with their progress kept; up to p_limit a call: again with p_sweep = sweep while "more".';
COMMENT ON FUNCTION haul.resume(jsonb, integer, bigint) IS 'Lets paused jobs of a selector wait again where they stood; called as pause().';
COMMENT ON FUNCTION haul.cancel(jsonb, integer, bigint) IS
  'Ends waiting and paused jobs of a selector as cancelled and asks running ones to stop; called as pause().';
COMMENT ON FUNCTION haul.retry(jsonb, integer, bigint, text, timestamptz) IS
  'Queues failed and cancelled jobs of a selector again, with earlier attempts forgiven; called as pause(). One that waits for its next try and is named by its id is due at once. p_if_exists (fail, skip, replace or rename) is what they do from now on where a file stands in their way; NULL = what they did. p_since = since of the first call, so that what fails again meanwhile is not queued twice.';
COMMENT ON FUNCTION haul.prioritize(jsonb, smallint, integer) IS
  'Gives jobs of a selector that have not ended another priority, 0 (first) to 9; up to p_limit a call: again while "more".';
COMMENT ON FUNCTION haul.redo(bigint[]) IS 'Queues completed jobs again whose files are no longer what they were. Returns how many.';

-- For operators: members of haul_admin.
COMMENT ON FUNCTION haul.init_store(text, uuid, text, text) IS
  'Records a directory''s marker under a store''s name; makes the store, and a queue of that name, where they are new. Returns the instance''s id. Raises HA004 for a marker of another store.';
COMMENT ON FUNCTION haul.create_queue(text, text) IS 'Makes a queue on a store. Raises HA003 for a store that does not exist, HA004 for a queue that does.';
COMMENT ON FUNCTION haul.set_queue(text, jsonb) IS
  'Changes what it is given of a queue: {"paused", "max_running", "weight", "defaults"}. Raises HA003 for a queue that does not exist.';
COMMENT ON FUNCTION haul.delete_queue(text) IS 'Deletes a queue; HA004 while jobs of it wait or run.';
COMMENT ON FUNCTION haul.set_host(text, integer, double precision, integer) IS
  'Sets the policy of a host, of *.suffix or of *: transfers at once, seconds between starts, starts at once after a pause. NULL leaves what there is.';
COMMENT ON FUNCTION haul.unset_host(text) IS 'Forgets the policy of that pattern. Raises HA003 where there is none.';
COMMENT ON FUNCTION haul.block_host(text, interval) IS 'Starts nothing on a host for so long; NULL = until unblock_host().';
COMMENT ON FUNCTION haul.unblock_host(text) IS 'Ends what keeps a host from being asked, and forgets its trouble. Tells how many of its jobs wait for a time of their own all the same, and in how many seconds the next and the last are due. Raises HA003 for one that is not known.';
COMMENT ON FUNCTION haul.drain_worker(bigint) IS 'Asks a worker to drain; false for one that has stopped or died.';
COMMENT ON FUNCTION haul.rescue_workers(bigint[]) IS
  'Takes back the jobs of workers that the caller knows to be gone, at once. Returns [{"job", "token", "state"}].';
COMMENT ON FUNCTION haul.finished_lines(uuid, text, jsonb) IS
  'Lines of a submission whose path has a completed job with the same URL, and where its file is; for haul get.';
COMMENT ON FUNCTION haul.resubmit(uuid, text, text, jsonb, bigint[]) IS
  'Before submit(), for whoever wants files now: removes the lines that are done, and lets others take over the jobs that they meet. Returns {"taken_over", "unfinished"}. Raises HA007 for a job that is running.';
