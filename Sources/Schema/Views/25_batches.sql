-- Batches with the totals of their jobs.

CREATE OR REPLACE VIEW haul.batches AS
SELECT b.name AS batch, t.jobs, t.completed, t.failed, t.cancelled,
  t.jobs - t.completed - t.failed - t.cancelled AS unfinished,
  coalesce(r.running, 0) AS running, t.bytes + coalesce(r.bytes, 0) AS bytes, coalesce(v.rate, 0) AS rate,
  -- The size of waiting jobs is unknown, and so is the size of some running ones. The estimate uses the mean size of
  -- completed jobs, so it needs enough of them. 'haul watch' has the same rule.
  CASE WHEN v.rate > 0 AND q.paused_queue IS NULL AND (t.completed >= least(20, t.jobs / 4 + 1)
    OR r.measured = t.jobs - t.completed - t.failed - t.cancelled) THEN make_interval(secs =>
    least(greatest((r.left_over + (t.jobs - t.completed - t.failed - t.cancelled - r.measured)
      * coalesce(t.bytes::double precision / nullif(t.completed, 0), 0)) / v.rate, r.longest), 1e11)) END AS time_left,
  b.submitted_at, b.sweep AS steering, t.bytes AS completed_bytes, coalesce(w.bytes, 0) AS waiting_bytes,
  coalesce(w.parts, 0) AS waiting_parts,
  -- This column and the next use the index on batches, once for each displayed row. A batch's ids are close together.
  CASE WHEN t.jobs > t.completed + t.failed + t.cancelled THEN (
    SELECT count(*) FROM (
      SELECT d.job FROM haul.held d
      WHERE d.job BETWEEN (SELECT j.id FROM haul.job j WHERE j.batch = b.id ORDER BY j.id LIMIT 1)
        AND (SELECT j.id FROM haul.job j WHERE j.batch = b.id ORDER BY j.id DESC LIMIT 1)
      LIMIT 1000) s
    WHERE (SELECT j.batch FROM haul.job j WHERE j.id = s.job) = b.id) ELSE 0 END AS held,
  q.paused_queue, coalesce(r.parts, 0) AS running_parts
FROM haul.batch b
LEFT JOIN haul.batch_total k ON k.batch = b.id
-- Jobs that were removed after they had ended.
LEFT JOIN haul.batch_pruned g ON g.batch = b.id
-- Changes that the leader has not added up yet, read once for all batches.
LEFT JOIN (
  SELECT n.batch, haul.whole(sum(n.jobs)) AS jobs, haul.whole(sum(n.completed)) AS completed,
    haul.whole(sum(n.failed)) AS failed, haul.whole(sum(n.cancelled)) AS cancelled, haul.whole(sum(n.bytes)) AS bytes
  FROM haul.batch_change n GROUP BY n.batch) d ON d.batch = b.id
CROSS JOIN LATERAL (
  SELECT coalesce(k.jobs, 0) + coalesce(d.jobs, 0) + coalesce(g.jobs, 0) AS jobs,
    coalesce(k.completed, 0) + coalesce(d.completed, 0) + coalesce(g.completed, 0) AS completed,
    coalesce(k.failed, 0) + coalesce(d.failed, 0) + coalesce(g.failed, 0) AS failed,
    coalesce(k.cancelled, 0) + coalesce(d.cancelled, 0) + coalesce(g.cancelled, 0) AS cancelled,
    haul.whole(coalesce(k.bytes, 0)::numeric + coalesce(d.bytes, 0) + coalesce(g.bytes, 0)) AS bytes) t
CROSS JOIN LATERAL (
  SELECT CASE WHEN t.jobs > t.completed + t.failed + t.cancelled THEN (
    SELECT n.name FROM haul.queue n WHERE n.paused AND n.id = (
      SELECT j.queue FROM haul.job j WHERE j.batch = b.id ORDER BY j.id DESC LIMIT 1)) END AS paused_queue OFFSET 0) q
LEFT JOIN (
  SELECT j.batch, count(*) AS running,
    -- A job that was just taken over has no progress yet, only its checkpoint.
    haul.whole(sum(greatest(p.bytes, haul.range_bytes(c.durable)))) AS bytes,
    count(p.total) AS measured, coalesce(sum(greatest(p.total - p.bytes, 0)), 0) AS left_over,
    max((p.total - p.bytes)::double precision / nullif(p.rate, 0)) AS longest,
    sum(least(greatest(p.bytes, haul.range_bytes(c.durable), 0)::double precision / coalesce(p.total, c.length), 1))
      FILTER (WHERE coalesce(p.total, c.length) > 0) AS parts
  FROM haul.lease l JOIN haul.job j ON j.id = l.job
  LEFT JOIN haul.live_progress() p ON p.job = l.job AND p.token = l.token
  LEFT JOIN haul.checkpoint c ON c.job = l.job
  GROUP BY 1) r ON r.batch = b.id
LEFT JOIN (SELECT n.batch, haul.whole(sum(n.rate)) AS rate FROM haul.received n GROUP BY n.batch) v
  ON v.batch = b.name AND r.running > 0
LEFT JOIN (
  SELECT j.batch, haul.whole(sum(haul.range_bytes(c.durable))) AS bytes,
    sum(haul.range_bytes(c.durable)::double precision / nullif(c.length, 0)) AS parts
  FROM haul.checkpoint c JOIN haul.job j ON j.id = c.job
  WHERE NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = c.job)
    AND NOT EXISTS (SELECT FROM haul.outcome o WHERE o.job = c.job)
  GROUP BY 1) w ON w.batch = b.id;
COMMENT ON VIEW haul.batches IS
  'Batches: groups of jobs submitted together. The job counts are stored and updated with each change, so a query does '
  'not count rows.';
COMMENT ON COLUMN haul.batches.batch IS 'Batch name.';
COMMENT ON COLUMN haul.batches.jobs IS 'Number of jobs, including those that were removed after they had ended.';
COMMENT ON COLUMN haul.batches.completed IS 'Number of completed jobs.';
COMMENT ON COLUMN haul.batches.failed IS 'Number of failed jobs.';
COMMENT ON COLUMN haul.batches.cancelled IS 'Number of cancelled jobs.';
COMMENT ON COLUMN haul.batches.unfinished IS 'Number of jobs that have not ended.';
COMMENT ON COLUMN haul.batches.running IS 'Number of running jobs.';
COMMENT ON COLUMN haul.batches.bytes IS
  'Total size in bytes of the completed files, plus the bytes that running jobs have downloaded. To get all downloaded '
  'bytes, add waiting_bytes.';
COMMENT ON COLUMN haul.batches.rate IS
  'Current rate of all the batch''s transfers in bytes per second, including transfers that have just ended.';
COMMENT ON COLUMN haul.batches.time_left IS
  'Estimated time until the batch ends, at the current rate, but at least the time that the slowest running job needs. '
  'Assumes that a waiting file has the mean size of the completed files. NULL while rate is 0 or paused_queue has a '
  'value. Also NULL until 20 jobs or a quarter of the jobs have completed, unless all sizes are known.';
COMMENT ON COLUMN haul.batches.submitted_at IS 'When the first jobs of the batch were submitted.';
COMMENT ON COLUMN haul.batches.steering IS
  '''cancel'' or ''pause'' while Haul carries out an operator''s command on the whole batch. Meanwhile, no job of '
  'the batch starts. NULL = no command.';
COMMENT ON COLUMN haul.batches.completed_bytes IS 'Total size in bytes of the files of completed jobs.';
COMMENT ON COLUMN haul.batches.waiting_bytes IS
  'Number of downloaded bytes of interrupted jobs that are waiting or paused.';
COMMENT ON COLUMN haul.batches.waiting_parts IS
  'Sum of the fractions (0 to 1) that interrupted jobs have downloaded of their files. Two half-finished files add up '
  'to 1. Files of unknown size count as 0.';
COMMENT ON COLUMN haul.batches.held IS 'Number of paused jobs of the batch, counted up to 1,000.';
COMMENT ON COLUMN haul.batches.paused_queue IS
  'If the queue of the newest job in the batch is paused, the name of this queue; NULL = the queue is not paused, or '
  'the batch has ended.';
COMMENT ON COLUMN haul.batches.running_parts IS
  'Sum of the fractions (0 to 1) that running jobs have downloaded of their files. Files of unknown size count as 0.';
