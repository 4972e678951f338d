import JobModel
import Postgres

/// One page of a list of jobs.
package struct JobPage: Sendable, Equatable {
  /// The jobs that the search found, newest first.
  package var rows: [JobRow]
  /// The jobs that the caller requested by id and that the search did not find, newest first.
  package var others: [JobRow]
  /// The upper bound for the next page: all jobs of the next page have smaller ids. Nil if there are no more jobs.
  package var older: Int64?

  package init(rows: [JobRow], others: [JobRow] = [], older: Int64? = nil) {
    self.rows = rows
    self.others = others
    self.older = older
  }
}

/// Queries for lists on a screen that refreshes every second. The cost of a query does not grow with the size of the pool.
extension JobQueue {
  /// The maximum number of jobs that one call examines, even if only a few of them match.
  package static let mostLooked = 10_000

  /// Returns at most `limit` jobs of `selector` whose ids are less than `before` and whose path or URL contains `text`, newest
  /// first.
  ///
  /// The rows lack token, durable bytes, digest, options and media type. The jobs of `others` are read in the same snapshot.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue or host that does not exist.
  package func find(
    _ selector: JobSelector, text: String = "", before: Int64 = .max, limit: Int,
    looking: Int = mostLooked, and others: [Int64] = []
  ) async throws -> JobPage {
    var page = JobPage(rows: [])
    for row in try await rows(
      """
      SELECT v.*, v.job = ANY (f.jobs) AS found, f.older
      FROM haul.find_jobs($1::jsonb, $2, $3, $4, $5) f LEFT JOIN LATERAL (
        SELECT \(Self.listed) FROM haul.jobs j WHERE j.job = ANY (f.jobs || $6::bigint[]) OFFSET 0) v ON true
      ORDER BY v.job DESC
      """,
      [try Self.json(selector), text.isEmpty ? nil : text, before, limit, looking, others])
    {
      page.older = try row.decode("older")
      if try row.decode("job", as: Int64?.self) == nil { break }
      if try row.decode("found") {
        page.rows.append(try JobRow(listed: row))
      } else {
        page.others.append(try JobRow(listed: row))
      }
    }
    return page
  }

  /// Returns at most `limit` jobs of `selector` whose path or URL contains `text`, newest first. Upper and lower case do not
  /// matter. If fewer than `limit` jobs match, the function reads all jobs of the selector.
  /// - Throws: `JobQueueError.noSuchName` for a batch, queue, host or id that does not exist.
  package func jobs(
    _ selector: JobSelector, containing text: String, limit: Int
  ) async throws -> [JobRow] {
    if selector != JobSelector() { try await requireNames(selector) }
    var ids: [Int64] = []
    var older: Int64? = .max
    while let before = older, ids.count < limit {
      let page = try await find(
        selector, text: text, before: before, limit: min(limit - ids.count, 1000))
      ids += page.rows.map(\.job)
      older = page.older
    }
    return try await jobs(ids)
  }

  /// Returns the jobs with the ids `jobs`, unsorted, with the columns of ``find(_:text:before:limit:looking:and:)``. Omits jobs
  /// that no longer exist.
  package func listed(_ jobs: [Int64]) async throws -> [JobRow] {
    try await rows("SELECT \(Self.listed) FROM haul.jobs j WHERE j.job = ANY ($1)", [jobs])
      .map { try JobRow(listed: $0) }
  }

  private static let listed = """
    j.job, j.state::text AS state, j.queue, j.batch, j.host, j.priority, j.path, j.url,
    to_json(j.submitted_at) #>> '{}' AS submitted_at, to_json(j.run_at) #>> '{}' AS run_at,
    to_json(j.finished_at) #>> '{}' AS finished_at, j.worker, j.bytes, j.total, j.error, j.message, j.last_error, j.store
    """
}

extension JobRow {
  /// Creates a row from columns by position, because a screen reads hundreds of rows every second.
  fileprivate init(listed row: Row) throws {
    self.init(
      job: try row.decode(0),
      state: try row.decode(1, as: String?.self).map(JobState.init(rawValue:)),
      queue: try row.decode(2), batch: try row.decode(3), host: try row.decode(4),
      priority: try row.decode(5), path: try row.decode(6), url: try row.decode(7),
      submittedAt: try row.decode(8), runAt: try row.decode(9), finishedAt: try row.decode(10),
      worker: try row.decode(11), token: nil, bytes: try row.decode(12),
      total: try row.decode(13), durable: nil, digest: nil,
      error: try row.decode(14, as: String?.self).map(ErrorClass.init(rawValue:)),
      message: try row.decode(15),
      lastError: try row.decode(16, as: String?.self).map(ErrorClass.init(rawValue:)), options: nil,
      store: try row.decode(17), mediaType: nil)
  }
}

/// A file whose job has completed and was removed.
package struct KnownFile: Sendable, Decodable, Equatable {
  package let store: String
  package let path: String
  package let finishedAt: String
  package let bytes: Int64?
  /// The SHA-256 of the file; nil if it was not recorded.
  package let digest: String?
}

/// Files by their paths.
extension JobQueue {
  /// Returns the ids of the jobs with one of these paths, in ascending order.
  package func jobs(at paths: [String]) async throws -> [Int64] {
    try await rows("SELECT unnest(haul.jobs_of_paths($1))", [paths]).map { try $0.decode(0) }
  }

  /// Returns what the pool remembers of removed jobs with one of these paths.
  package func knownFiles(_ paths: [String]) async throws -> [KnownFile] {
    try await view("SELECT to_json(f) FROM haul.known_files($1) f", [paths])
  }
}
