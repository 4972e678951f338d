import Postgres

/// The jobs that a caller waits for.
package struct AwaitedJobs: Sendable, Equatable {
  /// The names of the batches whose jobs are awaited. Jobs from all submissions to these batches count.
  package var batches: [String]
  /// The ids of awaited jobs that are not in one of ``batches``.
  package var others: [Int64]

  /// Creates a value from names of batches and ids of jobs.
  package init(batches: [String], others: [Int64] = []) {
    self.batches = batches
    self.others = others
  }

  /// Returns whether a notification on the channel `haul` can mean that some of the awaited jobs have ended. `payload` is the
  /// payload of the notification, which names a batch.
  package func mayHaveEnded(by payload: String) -> Bool {
    guard payload.hasPrefix("batch:") else { return false }
    return !others.isEmpty || batches.contains(String(payload.dropFirst("batch:".count)))
  }

  /// The jobs as rows of `haul.jobs`: an SQL list for FROM. Its parameters are ``parameters``.
  fileprivate static let rows = """
    (SELECT b.job, b.state, b.error, b.path, b.message FROM haul.jobs b WHERE b.batch = ANY ($1::text[])
     UNION ALL
     SELECT o.job, o.state, o.error, o.path, o.message FROM haul.jobs o WHERE o.job = ANY ($2::bigint[])) j
    """

  fileprivate var parameters: [(any PostgresEncodable)?] { [batches, others] }
}

/// Queries about the jobs that a caller waits for.
extension JobQueue {
  /// Returns how many of `jobs` are in each state. All waiting jobs count as `queued`.
  ///
  /// The database stores totals for batches, so the time does not depend on the number of jobs in the batches. The query reads
  /// ``AwaitedJobs/others`` one by one. It does not count jobs of batches that do not exist.
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

  /// Returns how many of `jobs` have failed, for each error class. The class of jobs that were removed is nil. Reads all of
  /// `jobs`.
  package func failures(of jobs: AwaitedJobs) async throws -> [JobCount] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT j.state, j.error, count(*) AS jobs, 0 AS bytes
        FROM \(AwaitedJobs.rows) WHERE j.state = 'failed' GROUP BY j.state, j.error
        UNION ALL
        SELECT 'failed', NULL, g.jobs, 0 FROM (
          SELECT coalesce((SELECT sum(b.failed) FROM haul.batches b WHERE b.batch = ANY ($1::text[])), 0)
            - (SELECT count(*) FROM haul.jobs f WHERE f.batch = ANY ($1::text[]) AND f.state = 'failed') AS jobs) g
        WHERE g.jobs > 0
        ORDER BY error) v
      """, jobs.parameters)
  }

  /// Returns those of `jobs` that are running, longest-running first. Reads all leases but no waiting jobs.
  package func running(of jobs: AwaitedJobs) async throws -> [RunningRow] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT r.job, r.path, r.bytes, r.total, r.rate FROM haul.running r
        WHERE r.batch = ANY ($1::text[]) OR r.job = ANY ($2::bigint[]) ORDER BY r.started_at, r.job) v
      """, jobs.parameters)
  }

  /// Returns an example of a failed job for each error class, in the order of the classes. Reads all of `jobs`.
  package func failureExamples(of jobs: AwaitedJobs) async throws -> [FailureExample] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT DISTINCT ON (j.error) j.error, j.path, j.message FROM \(AwaitedJobs.rows)
        WHERE j.state = 'failed' ORDER BY j.error, j.job) v
      """, jobs.parameters)
  }

  /// Returns the reason why the waiting jobs among `jobs` do not start; nil if one of these waiting jobs may start at any
  /// moment.
  ///
  /// Prefers a reason that needs an operator. Returns a reason that will pass without an operator only if the reason affects
  /// all waiting jobs. Reads all of `jobs`.
  package func obstacle(to jobs: AwaitedJobs) async throws -> Obstacle? {
    let rows: [Obstacle] = try await view(
      "SELECT o FROM haul.obstacle($1::text[], $2::bigint[], true) o WHERE o IS NOT NULL",
      jobs.parameters
    )
    return rows.first
  }
}
