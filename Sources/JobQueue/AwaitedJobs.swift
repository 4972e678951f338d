import Postgres

/// The jobs that somebody waits for.
package struct AwaitedJobs: Sendable, Equatable {
  /// All jobs of this batch, those of other submissions too.
  package var batch: String
  /// Ids of jobs besides, none of them in the batch.
  package var others: [Int64]

  /// Jobs named by a batch and by ids.
  package init(batch: String, others: [Int64] = []) {
    self.batch = batch
    self.others = others
  }

  /// The jobs as rows of `haul.jobs`: a list for FROM whose parameters are ``parameters``.
  fileprivate static let rows = """
    (SELECT b.job, b.queue, b.host, b.state, b.run_at, b.error, b.path, b.message, b.bytes, b.total
     FROM haul.jobs b WHERE b.batch = $1
     UNION ALL
     SELECT o.job, o.queue, o.host, o.state, o.run_at, o.error, o.path, o.message, o.bytes, o.total
     FROM haul.jobs o WHERE o.job = ANY ($2::bigint[])) j
    """

  fileprivate var parameters: [(any PostgresEncodable)?] { [batch, others] }
}

/// Reads of the jobs that somebody waits for; each reads all of them, but for ``running(of:)``.
extension JobQueue {
  /// The jobs that bring files to `paths` in the store of `queue`, besides those of `batch`. Reads all jobs of
  /// the store's queues.
  package func jobs(
    at paths: [String], inStoreOf queue: String, besides batch: String
  ) async throws -> [Int64] {
    try await rows(
      """
      SELECT j.job FROM haul.jobs j
      WHERE j.path = ANY ($1::text[]) AND j.batch IS DISTINCT FROM $2 AND j.queue IN (
        SELECT q.queue FROM haul.queues q
        WHERE q.store = (SELECT s.store FROM haul.queues s WHERE s.queue = $3))
      ORDER BY j.job
      """, [paths, batch, queue]
    ).map { try $0.decode(0) }
  }

  /// The jobs by state. Empty for a batch that does not exist.
  package func counts(of jobs: AwaitedJobs) async throws -> [JobCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT j.state, j.error, count(*) AS jobs, sum(j.bytes)::bigint AS bytes,
          sum(CASE WHEN j.total > 0 THEN least(j.bytes::float8 / j.total, 1) END) AS parts
        FROM \(AwaitedJobs.rows) GROUP BY j.state, j.error ORDER BY j.state, j.error) v
      """, jobs.parameters)
  }

  /// What runs of them, the longest-running first; reads all leases but no waiting jobs.
  package func running(of jobs: AwaitedJobs) async throws -> [RunningRow] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT r.job, r.path, r.bytes, r.total, r.rate FROM haul.running r
        WHERE r.batch = $1 OR r.job = ANY ($2::bigint[]) ORDER BY r.started_at, r.job) v
      """, jobs.parameters)
  }

  /// One failed job for each error class, by class.
  package func failureExamples(of jobs: AwaitedJobs) async throws -> [FailureExample] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT DISTINCT ON (j.error) j.error, j.path, j.message FROM \(AwaitedJobs.rows)
        WHERE j.state = 'failed' ORDER BY j.error, j.job) v
      """, jobs.parameters)
  }

  /// What keeps those that wait from being started: what somebody must mend before what mends itself. nil where
  /// something may start at any moment.
  package func obstacle(to jobs: AwaitedJobs) async throws -> Obstacle? {
    let rows: [Obstacle] = try await view(
      """
      WITH waiting AS MATERIALIZED (
        SELECT j.queue, j.host, min(j.run_at) AS run_at, bool_or(j.run_at IS NULL) AS is_due,
          coalesce(min(j.job) FILTER (WHERE j.run_at IS NOT NULL), min(j.job)) AS job
        FROM \(AwaitedJobs.rows) WHERE j.state IN ('queued', 'interrupted', 'scheduled')
        GROUP BY j.queue, j.host),
      -- Without the columns that count what waits.
      queues AS (
        SELECT q.queue, q.store, q.workers, q.paused, q.running, q.max_running FROM haul.queues q
        WHERE q.queue IN (SELECT w.queue FROM waiting w)),
      hosts AS (
        SELECT h.host, h.why_idle, h.blocked_until, h.block_reason, w.is_due
        FROM (SELECT w.host, bool_or(w.is_due) AS is_due FROM waiting w GROUP BY w.host) w JOIN haul.hosts h ON h.host = w.host),
      workers AS (
        SELECT w.worker, w.machine, w.pid, w.stores, w.trouble, w.running, w.concurrency FROM haul.workers w
        WHERE w.state IN ('alive', 'silent', 'draining')),
      obstacles (rank, kind, name, seconds, reason) AS (
        SELECT 1, 'unserved', q.store, NULL::float8, NULL FROM queues q WHERE q.workers = 0
        UNION ALL SELECT 2, 'paused', q.queue, NULL, NULL FROM queues q WHERE q.paused
        UNION ALL SELECT 3, 'trouble', format('worker %s (%s, pid %s)', w.worker, w.machine, w.pid), NULL, w.trouble
        FROM workers w JOIN queues q ON q.store = ANY (w.stores)
        WHERE NOT EXISTS (SELECT FROM workers o WHERE q.store = ANY (o.stores) AND o.trouble IS NULL)
        UNION ALL SELECT 4, 'blocked', h.host,
          extract(epoch FROM nullif(h.blocked_until, 'infinity') - clock_timestamp()), h.block_reason
        FROM waiting w JOIN haul.hosts h ON h.host = w.host WHERE h.blocked_until IS NOT NULL
        UNION ALL SELECT 5, CASE h.why_idle WHEN 'interval' THEN 'interval' ELSE 'full' END, h.host, NULL, NULL
        FROM hosts h WHERE h.is_due AND h.why_idle IN ('full', 'adaptive', 'interval')
        UNION ALL SELECT 6, 'limited', q.queue, NULL, NULL FROM queues q WHERE q.running >= q.max_running
        UNION ALL SELECT 7, 'busy', q.store, NULL, NULL FROM queues q
        WHERE NOT EXISTS (SELECT FROM workers w WHERE q.store = ANY (w.stores) AND w.running < w.concurrency)
        UNION ALL SELECT 8, 'early', '', extract(epoch FROM min(w.run_at) - clock_timestamp()),
          (SELECT a.error FROM haul.attempts a WHERE a.job = min(w.job) ORDER BY a.attempt DESC LIMIT 1)
        FROM waiting w HAVING NOT bool_or(w.is_due) AND min(w.run_at) > clock_timestamp() + interval '1 second')
      SELECT to_json(v) FROM (
        SELECT o.kind, o.name, o.seconds, o.reason FROM obstacles o ORDER BY o.rank, o.seconds, o.name LIMIT 1) v
      """, jobs.parameters)
    return rows.first
  }
}
