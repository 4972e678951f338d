import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// The pages of a manifest: finished files that are there now, and nothing else.
struct ManifestTests {
  private static let digest = "sha-256=" + String(repeating: "ab", count: 32)

  /// Completes all waiting jobs, each with `digest`. `path`: the name that the file got; nil = the job's own.
  private func complete(
    _ pool: Pool, digest: String? = Self.digest, path: String? = nil,
    source: [String: String]? = ["etag": "\"1\"", "modified": "then"]
  ) async throws {
    let worker = try await pool.worker()
    while case let leases = try await worker.claim(1000), !leases.isEmpty {
      for lease in leases {
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
        (ending.bytes, ending.digest, ending.source) = (7, digest, source)
        ending.path = path ?? lease.path
        try await worker.call([ending])
      }
    }
  }

  private func rows(
    _ pool: Pool, store: String? = nil, secrets: Bool = false, after: Int64 = 0, limit: Int = 100,
    _ change: (inout JobSelector) -> Void = { _ in }
  ) async throws -> [ManifestRow] {
    var selector = JobSelector()
    change(&selector)
    return try await pool.jobs.manifest(
      selector, store: store, showsSecrets: secrets, after: after, limit: limit)
  }

  @Test func `pages have completed jobs only, in the order of their ids`() async throws {
    try await Pool.open { pool in
      let done = try await pool.submit(3, batch: "b")
      try await complete(pool)
      let other = try await pool.submit(2, to: "b.test")
      try await complete(pool, digest: nil, source: ["modified": "then"])
      try await pool.submit(1, batch: "b")
      let first = try await rows(pool, limit: 3)
      #expect(first.map(\.job) == done)
      #expect(first.allSatisfy { $0.store == Pool.name && $0.bytes == 7 })
      #expect(first[0].digest == Self.digest && first[0].validator == "\"1\"")
      #expect(first[0].finishedAt?.hasPrefix("20") == true)
      // The page ends exactly at the boundary, so the next one begins with the next job.
      let second = try await rows(pool, after: done[2], limit: 3)
      #expect(second.map(\.job) == other)
      #expect(second.allSatisfy { $0.digest == nil && $0.validator == "then" })
      #expect(try await rows(pool, after: other[1], limit: 3) == [])
      #expect(try await rows(pool, limit: -1) == [])
      #expect(try await rows(pool) { $0.batch = "b" }.map(\.job) == done)
      #expect(try await rows(pool) { $0.host = "b.test" }.map(\.job) == other)
      #expect(try await rows(pool) { $0.queue = Pool.name }.count == 5)
      #expect(try await rows(pool) { $0.ids = [done[1]] }.map(\.job) == [done[1]])
      #expect(try await rows(pool, store: Pool.name).count == 5)
      #expect(try await rows(pool, store: "none") == [])
      await #expect(throws: JobQueueError.self) { try await rows(pool) { $0.batch = "none" } }
    }
  }

  @Test(arguments: ["NULL", "'data'"], [false, true])
  func `a page reads no jobs beyond it, whatever the planner knows`(
    store: String, isAnalysed: Bool
  ) async throws {
    try await Pool.open { pool in
      try await pool.insertCompleted(20_000)
      if isAnalysed { try await pool.execute("ANALYZE haul.job, haul.outcome") }
      let page = "SELECT count(*) FROM haul.manifest('{}', \(store), true, 0, 100)"
      // The planner itself reads a few rows, too.
      #expect(100...200 ~= (try await pool.rowsRead(of: "job", by: page)))
      #expect(100...200 ~= (try await pool.rowsRead(of: "outcome", by: page)))
      try await pool.removeInserted()
    }
  }

  @Test func `a file that another job has replaced is left out, and so is a removed job`()
    async throws
  {
    try await Pool.open { pool in
      // The first job's name was taken, so its file got another one. Then a job of this name replaced the file.
      let renamed = try await pool.submit(1)[0]
      try await complete(pool, path: "a.test/2")
      #expect(try await rows(pool).map(\.path) == ["a.test/2"])
      let owner = try await pool.submit(1, batch: "b")[0]
      #expect(try await rows(pool).map(\.job) == [renamed])
      try await complete(pool)
      #expect(try await rows(pool).map(\.job) == [owner])
      // A job that is asked for again has no finished file until it ends.
      try await pool.execute("SELECT haul.redo(ARRAY[$1::bigint])", [owner])
      #expect(try await rows(pool).map(\.job) == [renamed])
      try await complete(pool)
      // The file stays replaced when the pool has removed the job that replaced it.
      #expect(try await rows(pool).map(\.job) == [owner])
      var selector = PruneSelector()
      (selector.older, selector.batch) = (0, "b")
      #expect(
        try await pool.jobs.prune(selector, isDryRun: false, export: nil) { _ in } == 1)
      let left: Int64 = try await pool.value("SELECT count(*) FROM haul.jobs")
      #expect(left == 1)
      #expect(try await rows(pool) == [])
    }
  }

  @Test func `URLs are redacted unless complete ones are asked for`() async throws {
    try await Pool.open { pool in
      _ = try await pool.jobs.submit(
        Submission(queue: Pool.name), [Pool.line(1, "https://h.test/a?sig=secret&b=1", "a")])
      try await complete(pool)
      #expect(try await rows(pool).map(\.url) == ["https://h.test/a?sig=…&b=1"])
      #expect(
        try await rows(pool, secrets: true).map(\.url) == ["https://h.test/a?sig=secret&b=1"])
    }
  }

  /// No single row may make the call fail.
  @Test func `odd values in a row make nothing fail`() async throws {
    try await Pool.open { pool in
      try await pool.submit(6)
      try await complete(pool)
      for (job, change) in [
        "finished_at = 'infinity'", "source = '[1]'", "source = '\"x\"'", "bytes = NULL",
        "source = '{\"etag\": {\"a\": 1}}'", "path = NULL",
      ].enumerated() {
        try await pool.execute(
          "UPDATE haul.outcome SET \(change) WHERE job = (SELECT min(job) + \(job) FROM haul.outcome)"
        )
      }
      let found = try await rows(pool)
      #expect(found.count == 6)
      #expect(found.map(\.bytes) == [7, 7, 7, nil, 7, 7])
      #expect(found[1].validator == nil)
    }
  }
}
