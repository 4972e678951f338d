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

/// A finished file of a completed job, with what the pool knows about it.
package struct ManifestRow: Sendable, Equatable {
  package let job: Int64
  package let store: String
  /// The path of the file, relative to the root of the store.
  package let path: String
  package let url: String
  /// The length of the file in bytes; nil if it is not recorded.
  package let bytes: Int64?
  /// The digest of the file as `algorithm=digest`; nil if it is not recorded.
  package let digest: String?
  /// The ETag of the source, or else its Last-Modified value; nil if it sent none.
  package let validator: String?
  /// The time when the job completed, in ISO 8601.
  package let finishedAt: String?
}

extension JobQueue {
  /// Returns the finished files of at most `limit` completed jobs of `selector` whose ids are greater than `after`, in the order
  /// of their ids. Leaves out files that another job has replaced.
  ///
  /// - Parameters:
  ///   - store: the name of the store of the files; nil for all stores.
  ///   - showsSecrets: whether the URLs are complete. Otherwise values that grant access are hidden.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func manifest(
    _ selector: JobSelector, store: String?, showsSecrets: Bool, after: Int64, limit: Int
  ) async throws -> [ManifestRow] {
    if selector != JobSelector() { try await requireNames(selector) }
    return try await rows(
      """
      SELECT job, store, path, url, bytes, digest, validator, to_json(finished_at) #>> '{}'
      FROM haul.manifest($1::jsonb, $2, $3, $4, $5::int) ORDER BY job
      """,
      [try Self.json(selector), store, showsSecrets, after, limit]
    ).map { row in
      ManifestRow(
        job: try row.decode(0), store: try row.decode(1), path: try row.decode(2),
        url: try row.decode(3), bytes: try row.decode(4), digest: try row.decode(5),
        validator: try row.decode(6), finishedAt: try row.decode(7))
    }
  }
}
