import FoundationEssentials
package import JobModel
import Postgres

/// How long something is kept.
package enum KeepTime: Sendable, Equatable, Encodable {
  case duration(Duration)
  case forever
  /// The setting for all queues applies. If there is none, jobs are kept for ever.
  case unset

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .duration(let duration): try container.encode(duration / .seconds(1))
    case .forever: try container.encode("forever")
    case .unset: try container.encodeNil()
    }
  }
}

/// Changes to the retention: how long the pool keeps jobs after they have ended. A setting that is nil does not change.
package struct RetentionSettings: Sendable, Equatable {
  package var completed: KeepTime?
  package var failed: KeepTime?
  package var cancelled: KeepTime?
  /// How long the pool remembers the path of a completed job that it has removed, counted from the end of the job.
  package var known: KeepTime?

  /// Creates settings that change nothing.
  package init() {}

  /// The settings that change, with the names of their columns in `haul.queues`.
  package var all: [(name: String, time: KeepTime)] {
    [
      ("keep_completed", completed), ("keep_failed", failed), ("keep_cancelled", cancelled),
      ("keep_known", known),
    ].compactMap { name, time in time.map { (name, $0) } }
  }
}

/// Selects ended jobs to remove. A condition that is nil accepts every job that has ended.
package struct PruneSelector: Sendable, Encodable, Equatable {
  /// The time since the end of the job, in seconds. If it is nil, jobs are removed when their retention ends.
  package var older: Double?
  package var state: JobState?
  package var queue: String?
  package var batch: String?

  /// Creates a selector of all jobs whose retention has ended.
  package init() {}
}

/// Removal of jobs that have ended.
extension JobQueue {
  /// The columns of `haul.queues` with the retention, in seconds.
  static var keptSeconds: String {
    let columns = ["keep_completed", "keep_failed", "keep_cancelled", "keep_known"]
    return
      "jsonb_build_object(\(columns.map { "'\($0)', extract(epoch FROM v.\($0))" }.joined(separator: ", ")))"
  }

  /// What one step of the leader's removal did.
  package struct Pruned: Sendable, Equatable {
    /// The number of removed jobs.
    package let removed: Int
    /// Whether another step may find more to do now.
    package let more: Bool
  }

  /// Removes up to `limit` jobs whose retention has ended. Does nothing while another session removes jobs.
  package func prune(limit: Int) async throws -> Pruned {
    let row = try await rows("SELECT removed, more FROM haul.prune($1::int)", [limit])[0]
    return Pruned(removed: try row.decode("removed"), more: try row.decode("more"))
  }

  /// The reply of `haul.prune_jobs`.
  private struct PruneReply: Decodable {
    let jobs: Int
    let after: Int64?
    /// One JSON object for each removed job.
    let rows: [String]
  }

  /// Removes the ended jobs that match a selector, in transactions of at most 1,000 jobs. Returns their number.
  ///
  /// - Parameters:
  ///   - isDryRun: whether to count the jobs, and remove none.
  ///   - export: gets the jobs of each transaction before it commits, as JSON objects, if it is not nil. If it throws, these
  ///     jobs stay. If the commit fails, they stay too, although `export` has them.
  ///   - observe: gets the number of removed jobs after each transaction.
  /// - Throws: `JobQueueError.refused` for jobs that cannot be removed; `JobQueueError.noSuchName` for an unknown queue or batch.
  package func prune(
    _ selector: PruneSelector, isDryRun: Bool, export: (@Sendable ([String]) throws -> Void)?,
    observe: (Int) -> Void
  ) async throws -> Int {
    let json = try Self.json(selector)
    var total = 0
    var after: Int64? = 0
    while let from = after {
      let reply = try await connection.transaction { connection in
        let reply: PruneReply = try await JobQueue(connection).callJSON(
          "SELECT haul.prune_jobs($1::jsonb, $2::bigint, $3, $4)",
          [json, from, isDryRun, export != nil])
        if !reply.rows.isEmpty { try export?(reply.rows) }
        return reply
      }
      total += reply.jobs
      after = reply.after
      observe(total)
    }
    return total
  }
}
