/// A row of `haul.operations`: a command that changed jobs, a queue, a host or a worker.
package struct OperationRow: Sendable, Decodable, Equatable {
  package let id: Int64
  package let at: String
  package let endedAt: String
  package let login: String
  package let action: String
  package let target: String
  /// The number of jobs that the command changed; nil for a command that is not about jobs.
  package let jobs: Int64?
  /// The ids of up to 100 jobs that it changed; empty for a whole batch.
  package let firstJobs: [Int64]
}

extension JobQueue {
  /// The command of an operator with this id; nil if it is not kept any more.
  package func operation(_ id: Int64) async throws -> OperationRow? {
    let rows: [OperationRow] = try await view(
      "SELECT to_json(v) FROM (SELECT o.* FROM haul.operations o WHERE o.id = $1) v", [id])
    return rows.first
  }

  /// The last command that is known to have changed `job`, by itself or with its whole batch.
  package func lastOperation(on job: JobRow) async throws -> OperationRow? {
    let rows: [OperationRow] = try await view(
      """
      SELECT to_json(v) FROM (
        SELECT o.* FROM haul.operations o
        WHERE $1 = ANY (o.first_jobs)
          OR o.first_jobs = '{}' AND o.jobs > 0 AND o.at >= $3::timestamptz AND o.target = 'batch ' || $2
        ORDER BY o.id DESC LIMIT 1) v
      """, [job.job, job.batch, job.submittedAt])
    return rows.first
  }

  /// At most `limit` commands of operators, the newest first.
  package func operations(limit: Int) async throws -> [OperationRow] {
    try await view(
      """
      SELECT to_json(v) FROM (SELECT o.* FROM haul.operations o ORDER BY o.id DESC LIMIT $1) v
      """, [limit])
  }
}
