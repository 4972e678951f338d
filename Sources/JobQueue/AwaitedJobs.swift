import Postgres

/// The jobs that somebody waits for.
package struct AwaitedJobs: Sendable, Equatable {
  /// All jobs of these batches, those of other submissions too.
  package var batches: [String]
  /// Ids of jobs besides, none of them in the batches.
  package var others: [Int64]

  /// Jobs named by batches and by ids.
  package init(batches: [String], others: [Int64] = []) {
    self.batches = batches
    self.others = others
  }

  /// Whether a word on the channel `haul` tells that a batch has ended in which some of them may be.
  package func mayHaveEnded(by payload: String) -> Bool {
    guard payload.hasPrefix("batch:") else { return false }
    return !others.isEmpty || batches.contains(String(payload.dropFirst("batch:".count)))
  }

  /// The jobs as rows of `haul.jobs`: a list for FROM whose parameters are ``parameters``.
  fileprivate static let rows = """
    (SELECT b.job, b.queue, b.host, b.state, b.run_at, b.error, b.path, b.message, b.bytes, b.total
     FROM haul.jobs b WHERE b.batch = ANY ($1::text[])
     UNION ALL
     SELECT o.job, o.queue, o.host, o.state, o.run_at, o.error, o.path, o.message, o.bytes, o.total
     FROM haul.jobs o WHERE o.job = ANY ($2::bigint[])) j
    """

  fileprivate var parameters: [(any PostgresEncodable)?] { [batches, others] }
}

/// Reads of the jobs that somebody waits for.
extension JobQueue {
  /// The jobs by state, all that waits in one row, `queued`. Those of batches are in numbers that are kept up, so this is
  /// quick however many they are; the others are looked at one by one. Empty for batches that do not exist.
  package func counts(of jobs: AwaitedJobs) async throws -> [JobCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT c.state, sum(c.jobs)::bigint AS jobs, sum(c.bytes)::bigint AS bytes, sum(c.parts) AS parts
        FROM haul.batches b CROSS JOIN LATERAL (VALUES
          ('completed', b.completed, b.completed_bytes, 0), ('failed', b.failed, 0, 0), ('cancelled', b.cancelled, 0, 0),
          ('running', b.running, 0, 0), ('queued', b.unfinished - b.running, b.waiting_bytes, b.waiting_parts)
        ) AS c(state, jobs, bytes, parts)
        WHERE b.batch = ANY ($1::text[]) AND c.jobs > 0 GROUP BY c.state
        UNION ALL
        SELECT CASE WHEN o.state IN ('scheduled', 'paused', 'interrupted') THEN 'queued' ELSE o.state::text END, count(*),
          sum(o.bytes)::bigint, sum(CASE WHEN o.total > 0 THEN least(o.bytes::float8 / o.total, 1) END)
        FROM haul.jobs o WHERE o.job = ANY ($2::bigint[]) GROUP BY 1) v
      """, jobs.parameters)
  }

  /// Those that failed, by error class; reads all of the jobs.
  package func failures(of jobs: AwaitedJobs) async throws -> [JobCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT j.state, j.error, count(*) AS jobs, 0 AS bytes
        FROM \(AwaitedJobs.rows) WHERE j.state = 'failed' GROUP BY j.state, j.error ORDER BY j.error) v
      """, jobs.parameters)
  }

  /// What runs of them, the longest-running first; reads all leases but no waiting jobs.
  package func running(of jobs: AwaitedJobs) async throws -> [RunningRow] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT r.job, r.path, r.bytes, r.total, r.rate FROM haul.running r
        WHERE r.batch = ANY ($1::text[]) OR r.job = ANY ($2::bigint[]) ORDER BY r.started_at, r.job) v
      """, jobs.parameters)
  }

  /// One failed job for each error class, by class; reads all of the jobs.
  package func failureExamples(of jobs: AwaitedJobs) async throws -> [FailureExample] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT DISTINCT ON (j.error) j.error, j.path, j.message FROM \(AwaitedJobs.rows)
        WHERE j.state = 'failed' ORDER BY j.error, j.job) v
      """, jobs.parameters)
  }

  /// What keeps those that wait from being started: what somebody must mend, else, where it keeps all of them, what mends
  /// itself. nil where something may start at any moment. Reads all of the jobs.
  package func obstacle(to jobs: AwaitedJobs) async throws -> Obstacle? {
    let rows: [Obstacle] = try await view(
      """
      WITH waiting AS MATERIALIZED (
        SELECT j.queue, j.host, min(j.run_at) AS run_at, bool_or(j.run_at IS NULL) AS is_due,
          coalesce(min(j.job) FILTER (WHERE j.run_at IS NOT NULL), min(j.job)) AS job,
          bool_or(j.state = 'interrupted') AS interrupted, bool_or(j.state = 'queued') AS is_free
        FROM \(AwaitedJobs.rows) WHERE j.state IN ('queued', 'interrupted', 'scheduled')
        GROUP BY j.queue, j.host),
      -- Without the columns that count what waits.
      queues AS (
        SELECT q.queue, q.store, q.paused, q.running, q.max_running FROM haul.queues q
        WHERE q.queue IN (SELECT w.queue FROM waiting w)),
      hosts AS (
        SELECT h.host, h.why_idle, h.min_interval, h.blocked_until, h.block_reason, w.is_due
        FROM (SELECT w.host, bool_or(w.is_due) AS is_due FROM waiting w GROUP BY w.host) w JOIN haul.hosts h ON h.host = w.host),
      workers AS (
        SELECT w.worker, w.machine, w.pid, w.stores, w.queues, w.trouble, w.running, w.concurrency FROM haul.workers w
        WHERE w.state IN ('alive', 'silent')),
      serving AS (
        SELECT q.queue, w.worker, w.machine, w.pid, w.trouble, w.running, w.concurrency
        FROM queues q JOIN workers w ON q.store = ANY (w.stores) AND (w.queues IS NULL OR q.queue = ANY (w.queues))),
      -- Each with the queue or the host whose jobs it keeps.
      obstacles (rank, kind, name, seconds, reason, queue, host) AS (
        SELECT 0, 'held', '', NULL::float8, NULL, NULL::text, NULL::text
        WHERE NOT EXISTS (SELECT FROM waiting) AND EXISTS (SELECT FROM \(AwaitedJobs.rows) WHERE j.state = 'paused')
        UNION ALL SELECT 1, 'unserved', q.queue, NULL, NULL, q.queue, NULL FROM queues q
        WHERE NOT EXISTS (SELECT FROM serving s WHERE s.queue = q.queue)
        UNION ALL SELECT 2, 'paused', q.queue, NULL, NULL, q.queue, NULL FROM queues q WHERE q.paused
        UNION ALL SELECT 3, 'trouble', format('worker %s (%s, pid %s)', s.worker, s.machine, s.pid), NULL, s.trouble,
          s.queue, NULL
        FROM serving s WHERE NOT EXISTS (SELECT FROM serving o WHERE o.queue = s.queue AND o.trouble IS NULL)
        UNION ALL SELECT 4, 'blocked', h.host,
          extract(epoch FROM nullif(h.blocked_until, 'infinity') - clock_timestamp()), h.block_reason, NULL, h.host
        FROM hosts h WHERE h.blocked_until IS NOT NULL
        UNION ALL SELECT 5, CASE h.why_idle WHEN 'interval' THEN 'interval' ELSE 'full' END, h.host, NULL, NULL, NULL, h.host
        FROM hosts h WHERE h.is_due
          AND (h.why_idle IN ('full', 'adaptive') OR h.why_idle = 'interval' AND h.min_interval >= interval '1 second')
        UNION ALL SELECT 6, 'limited', q.queue, NULL, NULL, q.queue, NULL FROM queues q
        WHERE q.running >= q.max_running AND EXISTS (SELECT FROM waiting w WHERE w.queue = q.queue AND w.is_due)
        UNION ALL SELECT 7, 'busy', q.queue, NULL, NULL, q.queue, NULL FROM queues q
        WHERE NOT EXISTS (SELECT FROM serving s WHERE s.queue = q.queue AND s.running < s.concurrency)
          AND EXISTS (SELECT FROM waiting w WHERE w.queue = q.queue AND w.is_due)
        UNION ALL SELECT 8, 'away', w.queue, NULL, NULL, NULL, w.host FROM waiting w WHERE w.interrupted AND NOT w.is_free AND EXISTS (
          SELECT FROM haul.vitals v WHERE v.vital = 'stranded_lanes' AND v.subject = w.queue AND v.value > 0)
        UNION ALL SELECT 9, 'early', '', extract(epoch FROM min(w.run_at) - clock_timestamp()),
          (SELECT a.error FROM haul.attempts a WHERE a.job = min(w.job) ORDER BY a.attempt DESC LIMIT 1), NULL, NULL
        FROM waiting w HAVING NOT bool_or(w.is_due) AND min(w.run_at) > clock_timestamp() + interval '1 second')
      SELECT to_json(v) FROM (
        SELECT o.kind, o.name, o.seconds, o.reason, CASE WHEN o.kind = 'unserved' THEN (
          SELECT json_build_object('store', q.store,
            'queue', CASE WHEN EXISTS (SELECT FROM workers w WHERE q.store = ANY (w.stores)) THEN q.queue END,
            'scheme', (SELECT substring(j.url FROM '^(s?ftps?):') FROM haul.jobs j
              WHERE j.job = (SELECT min(w.job) FROM waiting w WHERE w.queue = q.queue)))
          FROM queues q WHERE q.queue = o.queue) END AS start
        FROM obstacles o
        WHERE o.rank <= 3 OR NOT EXISTS (
          SELECT FROM waiting w WHERE w.is_due
            AND w.queue NOT IN (SELECT k.queue FROM obstacles k WHERE k.queue IS NOT NULL)
            AND w.host NOT IN (SELECT k.host FROM obstacles k WHERE k.host IS NOT NULL))
        ORDER BY o.rank, o.seconds, o.name LIMIT 1) v
      """, jobs.parameters)
    return rows.first
  }
}
