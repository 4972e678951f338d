-- Rights on functions and views. No role gets rights on tables, except INSERT into staging for sessions that know a
-- submission's key. Grants of earlier versions are revoked first.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA haul FROM PUBLIC, haul_worker, haul_submitter, haul_monitor;
REVOKE ALL ON TYPE haul.job_state, haul.attempt_result FROM PUBLIC;
GRANT USAGE ON TYPE haul.job_state, haul.attempt_result TO haul_worker, haul_submitter, haul_monitor;
GRANT USAGE ON SCHEMA haul TO haul_worker, haul_submitter, haul_monitor;

GRANT EXECUTE ON FUNCTION haul.schema_version(), haul.oldest_served_version()
TO haul_worker, haul_submitter, haul_monitor;

GRANT EXECUTE ON FUNCTION
  haul.register(integer, text, text, integer, integer, jsonb, text[]),
  haul.tell_reach(bigint, text, text[], inet[]),
  haul.require_queues(text[], text[]),
  haul.attach_session(bigint, text),
  haul.close_store(bigint, text, text, text),
  haul.stop_worker(bigint, text),
  haul.lead(),
  haul.work(bigint, text, bigint, jsonb, text[], integer),
  haul.is_idle(bigint, text, text[]),
  haul.heartbeat(bigint, text, bigint, jsonb, jsonb),
  haul.checkpoint(bigint, text, jsonb),
  haul.unneeded_parts(bigint, text, integer, jsonb),
  haul.sign_stores(bigint, text, jsonb),
  haul.rescue(),
  haul.promote(integer),
  haul.roll_up(integer), haul.fold_usage(integer), haul.prune(integer),
  haul.sweep_on(integer),
  haul.clear_submissions(integer)
TO haul_worker;

GRANT INSERT (submission, line, url, host, path, priority, options) ON haul.staging TO haul_submitter;
GRANT EXECUTE ON FUNCTION
  haul.begin_submission(text, boolean),
  haul.renew_submission(uuid),
  haul.check_submission(uuid, text, text, boolean, integer, bigint),
  haul.submit(uuid, text, text, smallint, jsonb, interval, text, boolean, integer),
  haul.replace(uuid, text, text, smallint, jsonb, interval, integer, boolean),
  haul.end_submission(uuid),
  haul.export(jsonb, boolean, bigint, integer),
  haul.manifest(jsonb, text, boolean, bigint, integer),
  haul.pause(jsonb, integer, bigint),
  haul.resume(jsonb, integer, bigint, timestamptz),
  haul.cancel(jsonb, integer, bigint),
  haul.retry(jsonb, integer, bigint, text, timestamptz),
  haul.prioritize(jsonb, smallint, integer),
  haul.redo(bigint[]),
  haul.record_verification(integer[])
TO haul_submitter;
GRANT EXECUTE ON FUNCTION haul.ensure_partitions(bigint) TO haul_worker, haul_submitter;

GRANT EXECUTE ON FUNCTION
  haul.redacted(text), haul.shown_options(jsonb), haul.url_in_use(text, jsonb, smallint),
  haul.range_bytes(int8multirange), haul.whole(numeric), haul.session_grace(), haul.live_workers(integer[]),
  haul.serving_workers(integer), haul.held_of(integer, integer),
  haul.is_queue_served(integer, integer), haul.unserved_queues(), haul.stalled_queues(),
  haul.held_snapshots(), haul.standby_snapshots(), haul.open_transactions(), haul.sees_all_sessions(),
  haul.places(integer, integer), haul.next_start(interval, integer, timestamptz), haul.session_lock(bigint),
  haul.live_progress(), haul.progress_of(bigint, bigint), haul.last_pulse(),
  haul.disposition(text), haul.has_class(text, text), haul.keeps_progress(text), haul.check_selector(jsonb),
  haul.first_jobs(jsonb, integer), haul.oldest_ready(), haul.names(text, text), haul.pool_id(),
  haul.known_files(text[]), haul.jobs_of_paths(text[]), haul.recorded_digests(), haul.live_jobs(text, text),
  haul.causes(text[], bigint[], jsonb),
  haul.causes(text[], bigint[], jsonb, boolean), haul.obstacle(text[], bigint[], boolean),
  haul.obstacle(text[], bigint[]), haul.unfolded_usage(bigint[]), haul.find_jobs(jsonb, text, bigint, integer, integer)
TO haul_monitor, haul_submitter, haul_worker;
GRANT SELECT ON haul.jobs, haul.running, haul.workers, haul.received, haul.queues, haul.stores, haul.hosts,
  haul.policies, haul.attempts,
  haul.handoffs, haul.batches, haul.failures, haul.throughput, haul.usage_by_day, haul.health, haul.vitals,
  haul.operations
TO haul_monitor, haul_submitter, haul_worker;
