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
    (SELECT b.job, b.queue, b.state, b.error, b.path, b.message, b.bytes, b.total
     FROM haul.jobs b WHERE b.batch = $1
     UNION ALL
     SELECT o.job, o.queue, o.state, o.error, o.path, o.message, o.bytes, o.total
     FROM haul.jobs o WHERE o.job = ANY ($2::bigint[])) j
    """

  fileprivate var parameters: [(any PostgresEncodable)?] { [batch, others] }
}

/// Reads of the jobs that somebody waits for; each reads all of them, but for ``running(of:)``.
extension JobQueue {
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

  /// Stores of those that wait that no live worker mounts, by name.
  package func unservedStores(of jobs: AwaitedJobs) async throws -> [String] {
    try await rows(
      """
      SELECT DISTINCT q.store FROM haul.queues q
      WHERE q.workers = 0 AND q.queue IN (
        SELECT j.queue FROM \(AwaitedJobs.rows)
        WHERE j.state IN ('queued', 'interrupted', 'scheduled'))
      ORDER BY q.store
      """, jobs.parameters
    ).map { try $0.decode(0) }
  }
}
