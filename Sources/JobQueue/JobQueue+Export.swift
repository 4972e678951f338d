import FoundationEssentials
package import JobModel
import Postgres

/// A job in the form in which it was submitted.
package struct ExportedJob: Sendable, Equatable {
  package let job: Int64
  /// The complete URL, including signatures and other secrets. Do not show it to people.
  package let url: String
  package let path: String
  package let priority: Int
  package let options: JobOptions
}

extension JobQueue {
  /// Returns at most `limit` jobs of `selector` whose ids are greater than `after`, in the order of their ids. An empty
  /// selector means all jobs. If `left` is true, completed jobs are omitted.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func export(
    _ selector: JobSelector, left: Bool, after: Int64, limit: Int
  ) async throws -> [ExportedJob] {
    if selector != JobSelector() { try await requireNames(selector) }
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    return try await rows(
      "SELECT job, url, path, priority, options::text FROM haul.export($1::jsonb, $2, $3, $4::int)",
      [try Self.json(selector), left, after, limit]
    ).map { row in
      let options: String = try row.decode(4)
      return ExportedJob(
        job: try row.decode(0), url: try row.decode(1), path: try row.decode(2),
        priority: try row.decode(3),
        options: try decoder.decode(JobOptions.self, from: Data(options.utf8)))
    }
  }
}
