/// A row of the view `haul.operations`: an operator's command that changed jobs, a queue, a host or a worker.
package struct OperationRow: Sendable, Decodable, Equatable {
  package let id: Int64
  package let at: String
  package let endedAt: String
  package let login: String
  package let action: String
  package let target: String
  /// The number of jobs that the command changed; nil if the command was not about jobs.
  package let jobs: Int64?
  /// The ids of up to 100 jobs that the command changed; empty for a command on a whole batch.
  package let firstJobs: [Int64]
  /// The names of the batches that the command named; nil if an earlier version of Haul recorded the command.
  package let batches: [String]?
}

/// The last command that is known to have changed a job.
package struct LastOperation: Sendable, Decodable, Equatable {
  package let operation: OperationRow
  /// Whether no later command can have changed the job. Commands that change more than 100 jobs record only the first 100.
  package let isCertain: Bool

  package init(operation: OperationRow, isCertain: Bool) {
    self.operation = operation
    self.isCertain = isCertain
  }
}

extension JobQueue {
  /// Returns the operator's command with this id; nil if the database has deleted its record.
  package func operation(_ id: Int64) async throws -> OperationRow? {
    let rows: [OperationRow] = try await view(
      "SELECT to_json(v) FROM (SELECT o.* FROM haul.operations o WHERE o.id = $1) v", [id])
    return rows.first
  }

  /// Returns the last recorded command that changed `job`, alone or with its whole batch; nil if none is known. A command on
  /// the whole batch that began after the job ended did not change the job.
  package func lastOperation(on job: JobRow) async throws -> LastOperation? {
    let rows: [LastOperation] = try await view(
      """
      SELECT jsonb_build_object('operation', to_jsonb(v), 'is_certain', NOT EXISTS (
        SELECT FROM haul.operations k
        WHERE k.id > v.id AND k.jobs > cardinality(k.first_jobs) AND k.first_jobs <> '{}'))
      FROM (
        SELECT o.* FROM haul.operations o
        WHERE $1 = ANY (o.first_jobs)
          OR o.first_jobs = '{}' AND o.jobs > 0 AND o.target = 'batch ' || $2 AND o.at >= $3::timestamptz
            AND o.at <= coalesce($4::timestamptz, 'infinity')
        ORDER BY o.id DESC LIMIT 1) v
      """, [job.job, job.batch, job.submittedAt, job.finishedAt])
    return rows.first
  }

  /// Returns at most `limit` commands of operators, newest first. With `batch`, returns only commands that name this
  /// batch.
  package func operations(batch: String? = nil, limit: Int) async throws -> [OperationRow] {
    try await view(
      """
      SELECT to_json(v) FROM (
        SELECT o.* FROM haul.operations o
        WHERE $1::text IS NULL OR $1 = ANY (o.batches)
          -- Earlier versions of Haul recorded only the target.
          OR o.batches IS NULL AND (strpos(', ' || o.target || ', ', ', batch ' || $1 || ', ') > 0
            OR strpos(', ' || o.target || ', ', ', from batch ' || $1 || ', ') > 0)
        ORDER BY o.id DESC LIMIT $2) v
      """, [batch, limit])
  }
}
