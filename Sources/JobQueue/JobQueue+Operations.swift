/// A row of `haul.operations`: a command that changed jobs, a queue, a host or a worker.
package struct OperationRow: Sendable, Decodable, Equatable {
  package let id: Int64
  package let at: String
  package let endedAt: String
  package let login: String
  package let action: String
  package let target: String
  /// The number of jobs that it changed; nil for a command that is not about jobs.
  package let jobs: Int64?
}

extension JobQueue {
  /// At most `limit` commands of operators, the newest first.
  package func operations(limit: Int) async throws -> [OperationRow] {
    try await view(
      """
      SELECT to_json(v) FROM (SELECT o.* FROM haul.operations o ORDER BY o.id DESC LIMIT $1) v
      """, [limit])
  }
}
