-- Views with numbers of the whole pool, for metrics and the status page.

CREATE OR REPLACE VIEW haul.totals AS
SELECT t.jobs, t.completed, t.failed, t.cancelled, t.jobs - t.completed - t.failed - t.cancelled AS unfinished,
  t.bytes AS completed_bytes, r.running, r.rate, (haul.last_pulse()).round_at AS leader_round_at
FROM (
  SELECT haul.whole(coalesce(sum(n.jobs), 0)) AS jobs, haul.whole(coalesce(sum(n.completed), 0)) AS completed,
    haul.whole(coalesce(sum(n.failed), 0)) AS failed, haul.whole(coalesce(sum(n.cancelled), 0)) AS cancelled,
    haul.whole(coalesce(sum(n.bytes), 0)) AS bytes
  FROM (
    SELECT s.jobs, s.completed, s.failed, s.cancelled, s.bytes FROM haul.batch_total s
    UNION ALL
    SELECT p.jobs, p.completed, p.failed, p.cancelled, p.bytes FROM haul.batch_pruned p
    UNION ALL
    SELECT c.jobs, c.completed, c.failed, c.cancelled, c.bytes FROM haul.batch_change c) n) t
CROSS JOIN (
  SELECT (SELECT count(*) FROM haul.lease) AS running,
    (SELECT haul.whole(coalesce(sum(v.rate), 0)) FROM haul.received v) AS rate) r;
COMMENT ON VIEW haul.totals IS
  'Totals of all jobs of the pool, in one row. The job counts are stored and updated with each change, so reading '
  'them is fast for any number of jobs.';
COMMENT ON COLUMN haul.totals.jobs IS 'Number of jobs, including those that were removed after they had ended.';
COMMENT ON COLUMN haul.totals.completed IS 'Number of completed jobs.';
COMMENT ON COLUMN haul.totals.failed IS 'Number of failed jobs.';
COMMENT ON COLUMN haul.totals.cancelled IS 'Number of cancelled jobs.';
COMMENT ON COLUMN haul.totals.unfinished IS 'Number of jobs that have not ended.';
COMMENT ON COLUMN haul.totals.completed_bytes IS 'Total size in bytes of the files of completed jobs.';
COMMENT ON COLUMN haul.totals.running IS 'Number of running jobs.';
COMMENT ON COLUMN haul.totals.rate IS
  'Current rate of all transfers in bytes per second, including transfers that have just ended.';
COMMENT ON COLUMN haul.totals.leader_round_at IS
  'When a worker or coordinator last ran maintenance, which looks for dead workers; NULL = never since the pool was '
  'created or the server crashed.';

CREATE OR REPLACE VIEW haul.attempt_results AS
SELECT s.result, sum(s.attempts)::bigint AS attempts, haul.whole(sum(s.fetched)) AS fetched,
  sum(s.taken_over)::bigint AS taken_over
FROM (
  SELECT a.result, count(*) AS attempts, haul.whole(coalesce(sum(a.fetched), 0)) AS fetched,
    count(*) FILTER (WHERE a.result IN ('released', 'rescued') AND (
      EXISTS (SELECT FROM haul.lease l WHERE l.job = a.job AND l.token > a.token)
      OR EXISTS (SELECT FROM haul.attempt n WHERE n.job = a.job AND n.token > a.token))) AS taken_over
  FROM haul.attempt a GROUP BY a.result
  UNION ALL SELECT p.result, p.attempts, p.fetched, p.taken_over FROM haul.attempt_pruned p) s
GROUP BY s.result;
COMMENT ON VIEW haul.attempt_results IS
  'Number of attempts that have ended, by result, including those of removed jobs. A query reads all attempts.';
COMMENT ON COLUMN haul.attempt_results.result IS
  'completed, failed, released (the worker returned the job), rescued (the pool took the job from a dead worker), '
  'cancelled or paused.';
COMMENT ON COLUMN haul.attempt_results.attempts IS 'Number of attempts with this result.';
COMMENT ON COLUMN haul.attempt_results.fetched IS
  'Number of bytes that attempts with this result received over the network.';
COMMENT ON COLUMN haul.attempt_results.taken_over IS
  'Number of released or rescued attempts that another attempt continued.';

CREATE OR REPLACE VIEW haul.failure_classes AS
SELECT f.error, f.jobs, f.last_job, h.name AS last_host, o.message AS last_message, o.finished_at AS last_at
FROM (SELECT e.error, count(*) AS jobs, max(e.job) AS last_job FROM haul.outcome e WHERE e.state = 'failed'
  GROUP BY e.error) f
JOIN haul.outcome o ON o.job = f.last_job
JOIN haul.job j ON j.id = f.last_job
JOIN haul.host h ON h.id = j.host;
COMMENT ON VIEW haul.failure_classes IS
  'Failed jobs by error class, with the most recently submitted job of each class. A query reads all failed jobs.';
COMMENT ON COLUMN haul.failure_classes.error IS 'Error class.';
COMMENT ON COLUMN haul.failure_classes.jobs IS 'Number of failed jobs that have this class now.';
COMMENT ON COLUMN haul.failure_classes.last_job IS 'Id of the most recently submitted failed job of this class.';
COMMENT ON COLUMN haul.failure_classes.last_host IS 'Host of the job in the column last_job.';
COMMENT ON COLUMN haul.failure_classes.last_message IS 'Error message of the job in the column last_job.';
COMMENT ON COLUMN haul.failure_classes.last_at IS 'When the job in the column last_job failed.';

CREATE OR REPLACE VIEW haul.oldest_jobs AS
SELECT q.name AS queue, o.job, o.submitted_at FROM haul.oldest_ready() o JOIN haul.queue q ON q.id = o.queue;
COMMENT ON VIEW haul.oldest_jobs IS
  'The oldest waiting job of each queue: the queued or interrupted job with the lowest id. A queue without waiting '
  'jobs has no row. A query reads all hosts with waiting jobs, but few jobs.';
COMMENT ON COLUMN haul.oldest_jobs.queue IS 'Name of the queue.';
COMMENT ON COLUMN haul.oldest_jobs.job IS 'Id of the job.';
COMMENT ON COLUMN haul.oldest_jobs.submitted_at IS
  'When the job was submitted. If a later submission replaced the job, this is the time of that submission. A retry '
  'does not change the time.';

GRANT SELECT ON haul.totals, haul.attempt_results, haul.failure_classes, haul.oldest_jobs
TO haul_monitor, haul_submitter, haul_worker;
