-- What the functions mean that somebody outside may call: those of the roles, and those that the program calls as the owner.
-- docs/sql.md is made of these and of the views' comments. Those at the end are internal, and no part of the contract:
-- none of them is SECURITY DEFINER, by which scripts/sql-reference tells them from what haul_admin alone may call.
--
-- Every function that changes anything needs READ COMMITTED and raises HA005 otherwise.

COMMENT ON SCHEMA haul IS 'Haul: a pool of download workers. Views to look at, functions to act; nobody but the owner reads or writes tables.';

-- For everybody.
COMMENT ON FUNCTION haul.schema_version() IS 'The number of this database''s newest migration.';
COMMENT ON FUNCTION haul.redacted(text) IS 'A URL for people: without userinfo, and values of parameters that sign or authorise blanked.';
COMMENT ON FUNCTION haul.range_bytes(int8multirange) IS 'How many bytes a multirange has.';
COMMENT ON FUNCTION haul.session_grace() IS 'How long a worker whose session has gone may be silent before its jobs are rescued; one that is silent for longer is shown so.';
COMMENT ON FUNCTION haul.live_workers(integer[]) IS 'How many workers that have neither stopped nor died mount one of these store instances.';
COMMENT ON FUNCTION haul.serving_workers(integer) IS 'How many workers that have neither stopped nor died mount the store of this queue and claim from it.';
COMMENT ON FUNCTION haul.is_queue_served(integer, integer) IS 'Whether a live worker takes jobs of a queue, or those with a part file in one instance of its store (0 = any).';
COMMENT ON FUNCTION haul.unserved_queues() IS 'Queues that no live worker takes jobs of.';
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
COMMENT ON FUNCTION haul.register(integer, text, text, integer, integer, jsonb, text[]) IS
  'Registers a worker that mounts the stores [{"store", "marker"}] and claims from these queues, or, with NULL, from all of those stores. Returns {"worker", "secret", "pool", "stores": [{"store", "instance"}]}; the secret is given once, and all later calls carry it. Raises HA002 for a schema version that is not served, HA003 for a marker or a queue that is not known.';
COMMENT ON FUNCTION haul.require_queues(text[], text[]) IS
  'Raises HA003 for a queue that does not exist or whose store is not among those given.';
COMMENT ON FUNCTION haul.attach_session(bigint, text) IS
  'Ties this session to the worker: when it ends, the worker''s jobs are rescued after session_grace() without a heartbeat, instead of after 15 s.';
COMMENT ON FUNCTION haul.close_store(bigint, text, text, text) IS
  'Says why the worker cannot write to a store now, so that it is given no jobs for it; with NULL, that it can again.';
COMMENT ON FUNCTION haul.stop_worker(bigint, text) IS 'The last call of a worker that stops in order.';
COMMENT ON FUNCTION haul.work(bigint, text, bigint, jsonb, text[], integer) IS
  'Settles what a worker has finished, then claims up to p_free_slots jobs, in one commit. p_call is 1, 2, 3, …; the same number again changes nothing and returns what the first call gave. Returns {"settled": [{"job", "token", "state", "delay", "cause"}], "claimed": [leases], "contended", "wait": seconds, "draining"}. An ending whose token is stale is not in "settled".';
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
  'Makes jobs of the first p_limit lines of a submission, all of these or none; call again while "left". Returns {"submitted", "skipped", "requeued", "refreshed", "elsewhere": [{"kind", "name", "jobs"}], "unchecked", "unapplied", "others", "left"}. Raises HA003 for a queue that does not exist, HA008 for a path that another job has.';
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

-- Internal: only other functions and triggers call them. What they share.
COMMENT ON FUNCTION haul.require_read_committed() IS
  'Raises HA005 unless the transaction is READ COMMITTED; turns synchronous_commit on for it where that is off.';
COMMENT ON FUNCTION haul.oldest_served_version() IS 'The oldest schema version that a program may know and still be served.';
COMMENT ON FUNCTION haul.lease_expiry() IS 'How long a lease holds after its worker''s last heartbeat.';
COMMENT ON FUNCTION haul.hold_time() IS
  'How long an interrupted job waits for a worker with its part file before any may start it from zero.';
COMMENT ON FUNCTION haul.trouble_memory() IS
  'How long after the end of a host''s last block its trouble still counts as going on.';
COMMENT ON FUNCTION haul.path_digest(text) IS 'The key of a path in dedupe: the first 16 bytes of its SHA-256. NULL for NULL.';
COMMENT ON FUNCTION haul.starts(interval, integer, timestamptz, timestamptz) IS
  'How many starts the interval of a host allows at p_now; below 1 = none yet, NULL = any number.';
COMMENT ON FUNCTION haul.successes_to_grow() IS
  'How many completed jobs, without a block in between, give a host below its policy''s cap one transfer more.';
COMMENT ON FUNCTION haul.host_now(integer) IS
  'The newest version of a host and where its row is, whatever old snapshots keep; no row where there is none. Locks nothing.';
COMMENT ON FUNCTION haul.lane_now(integer, integer, integer) IS
  'The newest version of a lane and where its row is, as host_now() of a host; no row where there is none. Locks nothing.';
COMMENT ON FUNCTION haul.policy_of(text) IS
  'What holds for a host of this name: its own policy, else that of the longest *.suffix, else that of *, else the default. One row.';
COMMENT ON FUNCTION haul.ensure_hosts(text[], boolean) IS
  'Makes hosts that are missing, with their policies, in name order. With p_used all of them are marked as hosts that jobs name.';
COMMENT ON FUNCTION haul.arm(integer[], integer[], integer[], smallint[], bigint[]) IS
  'Lets claims find lanes in which something waits: makes those that are missing and lowers the first (priority, job) of each. Locks them in key order, the last locks that its caller waits for.';
COMMENT ON FUNCTION haul.authenticate(bigint, text) IS
  'Raises HA001 unless the worker is known and the secret is its own. Locks nothing.';
COMMENT ON FUNCTION haul.session_lock(bigint) IS
  'The key of an advisory lock by its number: a worker''s session has one of its own, the leader 0.';
COMMENT ON FUNCTION haul.decide(text, text, text, integer, integer, integer, integer, boolean, boolean, interval, integer, interval, interval, double precision, integer) IS
  'The retry decision, by its arguments alone: a job''s state and error when its lease ends, whether the attempt is charged, after which delay it is tried again and for how long its host is left alone (NULL = not).';

-- Internal: batches.
COMMENT ON FUNCTION haul.count_jobs() IS
  'Trigger: adds to batch_change how many jobs a statement has brought to each batch or moved from it; 0 = no batch.';
COMMENT ON FUNCTION haul.count_outcomes() IS
  'Trigger: adds to batch_change how many jobs of each batch a statement has let end, and their bytes, less those that it lets wait again; 0 = no batch.';
COMMENT ON FUNCTION haul.take_ready(bigint[]) IS
  'Takes jobs, whose lanes the caller has locked, out of ready and returns their rows. One that somebody else has locked stays.';
COMMENT ON FUNCTION haul.put_away(bigint[]) IS
  'Ends or holds those of these jobs whose batch is being cancelled or paused, but leaves rows of ready that somebody else has locked. Returns all such jobs, those left as well.';
COMMENT ON FUNCTION haul.begin_sweep(integer, text) IS
  'Notes that all jobs of a batch so far are to be cancelled or paused; a pause does not replace a cancellation. Returns the number of what holds now. Locks the batch.';
COMMENT ON FUNCTION haul.end_sweep(integer) IS
  'Takes back what is to be done to the whole of a batch. What has been done to its jobs stays.';
COMMENT ON FUNCTION haul.batch_jobs(integer, bigint, bigint, integer) IS
  'The first p_limit jobs of a batch above p_after, up to p_last, by id; {} = none. Locks nothing.';
COMMENT ON FUNCTION haul.sweep(integer, integer) IS
  'Cancels or pauses up to p_limit more jobs of a batch, as begin_sweep() has noted. Returns how many it changed, and whether there may be more; when not, the note is gone. Locks the batch.';
COMMENT ON FUNCTION haul.steer_batch(integer, text, integer, bigint) IS
  'One step of cancelling or pausing a whole batch, the first with p_sweep NULL, by up to p_limit jobs. Changes nothing where somebody has ended it meanwhile. Locks the batch.';

-- Internal: how leases end.
COMMENT ON FUNCTION haul.end_leases(bigint, jsonb) IS
  'Ends leases of a worker, or of any where p_worker is NULL, and locks them in job order. Returns [{"job", "token", "state", "delay": seconds, "cause"}]; a stale token changes nothing and is not in it.';
COMMENT ON FUNCTION haul.attempt_history(bigint) IS
  'Of a job''s attempts that are not forgiven: charged failures, charged rescues, for how long its host or its workers have been in trouble without a break (NULL = they are not), and how often it asked the host in vain in that time.';
COMMENT ON FUNCTION haul.settle_hosts(jsonb) IS
  'Gives hosts the places of ended leases back, blocks those in trouble, and arms the lanes of what waits again and of hosts that are no longer full. Locks hosts by id, then lanes.';

-- Internal: claims.
COMMENT ON FUNCTION haul.claim_band(bigint, bigint, integer, boolean, integer, integer, smallint, smallint, timestamptz, integer) IS
  'Claims up to p_free_slots jobs from a queue''s lanes of one instance and priority that were due at p_since or later. Returns how many, and how far it has seen (NULL = met no lane). Skips what is locked.';
COMMENT ON FUNCTION haul.any_job(integer, integer, integer, smallint, bigint) IS
  'One of the jobs that wait in a lane at a priority, from p_first on, by chance; NULL where none does. Locks nothing.';
COMMENT ON FUNCTION haul.lower_priority(integer, integer, integer, smallint) IS
  'The first priority from p_floor on at which something waits in a lane, else the last one before it; NULL where nothing waits.';
COMMENT ON FUNCTION haul.claim_order(bigint) IS
  'In which order a worker''s claim of this number looks at the priorities, and from which one on within a lane; NULL = the best.';
COMMENT ON FUNCTION haul.claim_queue(bigint, bigint, bigint, integer, integer, integer, integer, jsonb) IS
  'Claims up to p_free_slots jobs of a queue. Returns how many, how far claims have seen by now, and whether somebody else holds the gate of a limited queue. p_max_running NULL = no limit, p_seen NULL = a complete look. Skips what is locked.';
COMMENT ON FUNCTION haul.leases_of(bigint, bigint) IS
  'The leases of one call of a worker, each with what it needs to begin or go on; [] = none. Locks nothing.';
COMMENT ON FUNCTION haul.next_due(integer, integer, jsonb) IS
  'When the next lane of a queue is due, a row for each priority, of this instance and of 0, that has one armed. p_seen as for claim_queue().';
COMMENT ON FUNCTION haul.look_from(jsonb, integer, integer) IS
  'The due time from which a claim looks at lanes of an instance and priority, after what p_seen says; -infinity = at all of them.';
COMMENT ON FUNCTION haul.settled_before(jsonb) IS
  'What became of endings whose call had taken effect already: [{"job", "token", "state": by now, "cause", "delay": seconds}]. One that was rescued before is not in it.';

-- Internal: submissions.
COMMENT ON FUNCTION haul.wrong_option(jsonb) IS
  'The first of a job''s options, by name, whose value is not of its kind; "options" where they are no object, NULL where all is right.';
COMMENT ON FUNCTION haul.require_options(jsonb, uuid, bigint) IS
  'Raises HA004 for options that no worker can read: those given, or those of a submission''s lines up to p_last (NULL = all).';
COMMENT ON FUNCTION haul.require_submission(uuid) IS
  'Raises HA004 for a submission that is not there, as its session has ended. Locks nothing.';
COMMENT ON FUNCTION haul.add_jobs(uuid, integer, integer, integer, smallint, jsonb, interval, bigint) IS
  'Makes jobs of a submission''s lines up to p_last whose paths nobody has, and removes these lines. Returns how many, and the lanes that the caller arms, with the first job of each. p_after NULL or 0 = at once; else there are no lanes to arm.';
COMMENT ON FUNCTION haul.begin_step(uuid, text, text, integer) IS
  'The queue of a submission, kept until the commit, its batch (NULL = none), how many of its lines the next step is about and the last of these (NULL = none is left). Makes batch, partitions and hosts that are missing. Raises HA003 for a queue, HA004 for a submission that is not there.';
COMMENT ON FUNCTION haul.keep_queue(text) IS
  'The queue of this name, locked FOR KEY SHARE, so that nobody deletes it before the commit. Raises HA003 where there is none.';
COMMENT ON FUNCTION haul.queue_named(text) IS
  'The queue of this name, unless it is deleted. Raises HA003 where there is none. Locks nothing.';
COMMENT ON FUNCTION haul.ensure_batch(text) IS 'The id of the batch of this name, made where it is new; NULL for NULL.';
COMMENT ON FUNCTION haul.requeue(bigint[], boolean, integer) IS
  'Puts failed and cancelled jobs, with p_completed also completed ones, back into ready, with earlier attempts forgiven; out of a deleted queue to p_queue, HA004 where that is NULL. Returns those; the caller arms their lanes. Locks outcomes in job order.';
COMMENT ON FUNCTION haul.refresh_jobs(bigint[], timestamptz, integer) IS
  'Queues jobs again that completed before p_since, and keeps what they brought until their sources have been asked for it anew; one that only skipped a file is left alone. Returns those; the caller arms their lanes. Locks the outcomes of all in job order.';
COMMENT ON FUNCTION haul.wants_anew(jsonb) IS
  'Whether options ask for the file although one is there already: to replace it, or beside it.';
COMMENT ON FUNCTION haul.detach(bigint[], bigint[]) IS
  'Takes jobs out of wherever they wait or have ended, and locks their rows in job and those of p_others. Returns those (NULL = none), how many had ended and which had completed (likewise); one that is not free runs, or has just been changed.';
COMMENT ON FUNCTION haul.take_over(uuid, integer, integer, smallint, jsonb, interval, bigint[], bigint[]) IS
  'Makes detached jobs what the lines of a submission say that own them, lets them wait, with earlier attempts forgiven, and removes the lines. p_priority NULL = their own; p_after NULL or 0 = at once, and their lanes are armed.';
COMMENT ON FUNCTION haul.require_all_free(bigint[], bigint[]) IS
  'Raises HA007 for the first of p_jobs that is not in p_free; the message says which worker has it, if one has. Locks nothing.';

-- Internal: what operators do.
COMMENT ON FUNCTION haul.matches(jsonb, bigint, text, text) IS
  'Whether a selector means a job that has this state and error (NULL = none), whatever ids it names.';
COMMENT ON FUNCTION haul.ids(jsonb) IS 'The ids that a selector names; NULL where it does not narrow by them.';
COMMENT ON FUNCTION haul.command_jobs(bigint[], text) IS
  'Tells running jobs to cancel or pause, and notifies their workers; a cancellation stays one. Returns those that had not been told. Locks leases in job order.';
COMMENT ON FUNCTION haul.withdraw(bigint[]) IS
  'Takes jobs out of scheduled and ready and returns their rows; run_at NULL = out of ready. Waits for a claim that is taking one. Locks no lanes.';
COMMENT ON FUNCTION haul.live_jobs(jsonb, text, integer, smallint) IS
  'Up to p_limit jobs of a selector that wait, or run and have been told neither p_command nor cancel; for cancel also held ones. p_command NULL = all that have not ended and are not of priority p_but. Locks nothing.';
COMMENT ON FUNCTION haul.hold_jobs(bigint[]) IS
  'Holds those of these jobs that wait and tells running ones to pause. Returns all that it changed. Locks leases first, no lanes.';
COMMENT ON FUNCTION haul.cancel_jobs(bigint[]) IS
  'Ends those of these jobs that wait or are held and tells running ones to cancel. Returns all that it changed. Locks leases first, no lanes.';
COMMENT ON FUNCTION haul.whole_batch(jsonb) IS
  'The id of the batch that a selector means as a whole; NULL where it names anything else.';
COMMENT ON FUNCTION haul.take_out(text, jsonb, integer, bigint) IS
  'What pause() and cancel() do, p_what of these: a step of steer_batch() for a whole batch, else up to p_limit jobs, and sweep is NULL.';
COMMENT ON FUNCTION haul.take_back(integer, text[], bigint) IS
  'Where p_sweep is NULL, ends what is being done to the whole of a batch, if it is one of p_what. Returns the number of the last word on it, 0 without a batch; NULL where there has been another since p_sweep.';
COMMENT ON FUNCTION haul.move_to_priority(bigint[], smallint) IS
  'Gives jobs another priority and moves those that wait to it, and arms their lanes. Locks leases, held, job, scheduled and ready in this order, then lanes.';
COMMENT ON FUNCTION haul.wake_lanes(integer[]) IS
  'Makes lanes in which something waits due now, of hosts that have room and that the caller has locked. Locks them in key order.';
COMMENT ON FUNCTION haul.apply_policies(text) IS
  'Gives hosts that a pattern means the policies of now, and wakes their lanes. Locks the hosts in id order, then lanes.';
