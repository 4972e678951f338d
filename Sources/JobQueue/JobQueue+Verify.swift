import JobModel
import Postgres

/// A selection of finished files to verify.
package struct FileSelection: Sendable {
  /// A random sample of the files.
  package struct Sample: Sendable {
    /// The size of the sample as a fraction of all files, from 0 to 1.
    package var fraction: Double
    /// The seed of the random choice. The same seed always chooses the same files.
    package var seed: Int64

    package init(fraction: Double, seed: Int64) {
      self.fraction = fraction
      self.seed = seed
    }
  }

  /// The jobs whose files are verified. Only completed jobs have files.
  package var jobs: JobSelector
  /// Selects only files that were finished at this time or later, in seconds since 1970 by the database's clock; nil selects
  /// files of any age.
  package var since: Double?
  package var sample: Sample?

  /// Selects the files of all completed jobs of `jobs`.
  package init(_ jobs: JobSelector) {
    self.jobs = jobs
    self.jobs.state = .completed
  }

  /// The SQL condition for rows `j` of `haul.jobs`. It takes ``parameters`` as $1 to $9.
  static let condition = """
    \(JobSelector.condition) AND ($7::float8 IS NULL OR j.finished_at >= to_timestamp($7))
    AND ($8::float8 IS NULL OR (hashint8extended(j.job, $9::bigint) & 1073741823) < $8 * 1073741824)
    """

  var parameters: [(any PostgresEncodable)?] {
    jobs.parameters + [since, sample?.fraction, sample?.seed]
  }
}

/// The recorded facts about the file of a completed job.
package struct FinishedFile: Sendable, Decodable {
  package let job: Int64
  package let queue: String
  package let store: String
  package let path: String
  package let bytes: Int64
  package let digest: String?
}

/// The numbers of jobs that ended most recently: all of them, the completed jobs, and the completed jobs without a known
/// digest.
package struct DigestCounts: Sendable, Equatable {
  /// The maximum number of jobs that are counted, newest first.
  package static let limit = 1_000_000

  package var ended: Int
  /// The number of the jobs in ``ended`` that completed.
  package var completed: Int
  /// The number of the jobs in ``completed`` whose file has no known digest.
  package var withoutDigest: Int

  package init(ended: Int, completed: Int, withoutDigest: Int) {
    self.ended = ended
    self.completed = completed
    self.withoutDigest = withoutDigest
  }
}

/// The queries of `haul verify`.
extension JobQueue {
  /// Returns at most `limit` files of `selection` whose jobs have ids less than `before`, newest first.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func finishedFiles(
    _ selection: FileSelection, before: Int64 = .max, limit: Int
  ) async throws -> [FinishedFile] {
    try await requireNames(selection.jobs)
    return try await view(
      """
      SELECT to_json(v) FROM (
        SELECT j.job, j.queue, j.store, j.path, j.bytes, j.digest FROM haul.jobs j
        WHERE \(FileSelection.condition) AND j.job < $10
        ORDER BY j.job DESC LIMIT $11) v
      """, selection.parameters + [before, limit])
  }

  /// Returns the number of files of `selection` in `stores`, and the total size in bytes of those files that have a digest.
  package func fileTotals(
    _ selection: FileSelection, in stores: [String]
  ) async throws -> (files: Int, bytes: Int64) {
    let row = try await rows(
      """
      SELECT count(*), coalesce(sum(j.bytes) FILTER (WHERE j.digest IS NOT NULL), 0)::bigint
      FROM haul.jobs j WHERE \(FileSelection.condition) AND j.store = ANY ($10)
      """, selection.parameters + [stores])[0]
    return (try row.decode(0, as: Int.self), try row.decode(1, as: Int64.self))
  }

  /// Records that the files in some store directories have just been verified. `instances` are the ids of these directories.
  /// The record is durable on return. On a read-only server, such as a standby, the function records nothing; that is not an
  /// error.
  package func recordVerification(of instances: [Int]) async throws {
    try await rows(
      """
      SELECT haul.record_verification($1::integer[]) WHERE current_setting('transaction_read_only') = 'off'
      """, [instances.map(Int64.init)])
  }

  /// Counts the jobs that ended most recently: all of them, the completed jobs, and the completed jobs without a known digest.
  package func digestCounts() async throws -> DigestCounts {
    let row = try await rows(
      "SELECT ended, completed, without_digest FROM haul.recorded_digests()", [])[0]
    return DigestCounts(
      ended: try row.decode(0), completed: try row.decode(1), withoutDigest: try row.decode(2))
  }
}
