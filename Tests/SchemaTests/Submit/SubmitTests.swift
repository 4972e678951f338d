import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Submission, and submission again.
struct SubmitTests {
  private static let submission = Submission(queue: Pool.name)

  /// Submits `lines`; `counts` are how many were submitted, skipped and queued again.
  private func expect(_ counts: [Int], from pool: Pool, _ lines: [SubmitLine]) async throws {
    let reply = try await pool.jobs.submit(Self.submission, lines)
    #expect([reply.submitted, reply.skipped, reply.requeued] == counts)
  }

  @Test func `the same line again is skipped`() async throws {
    try await Pool.open { pool in
      let lines = [
        Pool.line(1, "https://a.test/1", "a.test/1"), Pool.line(2, "https://a.test/2", "a.test/2"),
        Pool.line(3, "https://a.test/1", "a.test/1"),
      ]
      try await expect([2, 1, 0], from: pool, lines)
      try await expect([0, 3, 0], from: pool, lines)
      #expect(try await pool.states() == ["queued": 2])
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
    }
  }

  @Test func `a failed and a cancelled job are queued again, a completed one is not`() async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(4)
      let worker = try await pool.worker()
      let leases = try await worker.claim(3)
      try await worker.end(leases[0], .completed)
      try await worker.end(leases[1], .failed, "http_4xx")
      var selector = JobSelector()
      selector.ids = [jobs[2]]
      #expect(try await pool.jobs.control(.cancel, selector) == 1)
      try await worker.end(leases[2], .released)
      let lines = (1...4).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      try await expect([0, 2, 2], from: pool, lines)
      #expect(try await pool.states() == ["completed": 1, "queued": 3])
      #expect(try await worker.claim(9).map(\.job) == [jobs[1], jobs[2], jobs[3]])
    }
  }

  @Test
  func `what had failed is queued again with the options given now, what waits keeps its own`()
    async throws
  {
    try await Pool.open { pool in
      var submission = Self.submission
      submission.options.maxBytes = 10
      let lines = (1...2).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      _ = try await pool.jobs.submit(submission, lines)
      let worker = try await pool.worker()
      try await worker.end(try await worker.claimOne(), .failed, "too_large")
      submission.options.maxBytes = 20
      _ = try await pool.jobs.submit(submission, lines)
      let leases = try await worker.claim(2).sorted { $0.job < $1.job }
      #expect(leases.map(\.options.maxBytes) == [20, 10])
    }
  }

  @Test func `of jobs that wait without a byte nothing is there`() async throws {
    try await Pool.open { pool in
      var submission = Self.submission
      submission.batch = "b"
      _ = try await pool.jobs.submit(submission, [Pool.line(1, "https://a.test/1", "a.test/1")])
      let counts = try await pool.jobs.counts(of: AwaitedJobs(batches: ["b"]))
      #expect(counts.map(\.jobs) == [1])
      #expect(counts.compactMap(\.parts) == [0])
    }
  }

  @Test func `another URL for a path is refused with its line and nothing is changed`() async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(1)
      await #expect(
        throws: SubmissionError.conflicts(Pool.conflict(8, "a.test/1", job: jobs[0]))
      ) {
        try await pool.jobs.submit(
          Submission(queue: Pool.name, batch: "second"),
          [
            Pool.line(7, "https://b.test/1", "b.test/1"),
            Pool.line(8, "https://other.test/1", "a.test/1"),
          ])
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 1)
      #expect(try await pool.value("SELECT count(*) FROM haul.batch") == 0)
      #expect(try await pool.value("SELECT count(*) FROM haul.host WHERE name = 'b.test'") == 0)
    }
  }

  /// Lines 1 and 2 agree, line 3 does not: it is line 3 that has to change.
  @Test func `of lines that disagree the one that differs from the first is named`() async throws {
    try await Pool.open { pool in
      await #expect(
        throws: SubmissionError.conflicts(Pool.conflict(3, "a.test/1", otherLine: 1))
      ) {
        try await pool.jobs.submit(
          Self.submission,
          [
            Pool.line(1, "https://m.test/1", "a.test/1"),
            Pool.line(2, "https://m.test/1", "a.test/1"),
            Pool.line(3, "https://a.test/1", "a.test/1"),
          ])
      }
    }
  }

  @Test func `an unknown queue is refused with the names of those there are`() async throws {
    try await Pool.open { pool in
      await #expect(
        throws: JobQueueError.noSuchName(
          "there is no queue \"nowhere\"", hint: "Queues: data, default")
      ) { try await pool.submit(queue: "nowhere") }
    }
  }

  @Test func `lines with tabs, newlines and backslashes arrive as they are`() async throws {
    try await Pool.open { pool in
      let path = "a.test/x\ty\nz\\N\r"
      _ = try await pool.jobs.submit(
        Self.submission,
        [SubmitLine(line: 1, url: "https://a.test/\\", host: "a.test", path: path)])
      let lease = try await pool.worker().claimOne()
      #expect(lease.path == path)
      #expect(lease.url == "https://a.test/\\")
    }
  }

  @Test func `a line's options go before the submission's`() async throws {
    try await Pool.open { pool in
      var line = Pool.line(1, "https://a.test/1", "a.test/1")
      line.options = JobOptions(digest: "sha-256=x", maxAttempts: 2)
      _ = try await pool.jobs.submit(
        Submission(queue: Pool.name, options: JobOptions(ifExists: "skip", maxAttempts: 9)), [line])
      let lease = try await pool.worker().claimOne()
      #expect(
        lease.options == JobOptions(digest: "sha-256=x", ifExists: "skip", maxAttempts: 2))
    }
  }

  /// The first two submissions of a new database: both need partitions, and the first is long.
  @Test func `a long submission keeps no other from its partitions`() async throws {
    try await Pool.open { pool in
      let (blocker, long) = (try await pool.connect(), try await pool.connect())
      try await blocker.script(
        "BEGIN; SELECT haul.ensure_hosts('{a.test}')"
      )
      async let first = JobQueue(long).submit(
        Self.submission, [Pool.line(1, "https://a.test/1", "a.test/1")])
      try await pool.untilBlocked(long)
      try await pool.submit(1, to: "b.test")
      try await blocker.script("ROLLBACK")
      let reply = try await first
      #expect(reply.submitted == 1)
    }
  }

  /// Haul's programs refuse such a line before. Others call the functions too.
  @Test(arguments: [("url", 8_000), ("path", 4_096), ("host", 300)])
  func `a text of a line has a bound in the database`(column: String, most: Int) async throws {
    try await Pool.open { pool in
      let key: String = try await pool.value("SELECT haul.begin_submission('\(Pool.name)')::text")
      try await pool.database.withLogin("haul_submitter") { login in
        let connection = try await login.connect()
        for (line, bytes) in [most, most + 1, 16_000_000].enumerated() {
          var texts = ["url": "http://a.test/", "path": "a.test/", "host": "a.test"]
          let short = texts[column, default: ""]
          texts[column] = short + String(repeating: "a", count: bytes - short.count)
          do {
            try await connection.execute(
              "INSERT INTO haul.staging (submission, line, url, host, path) VALUES ($1::uuid, $2, $3, $4, $5)",
              [key, line, texts["url"], texts["host"], texts["path"]])
            #expect(bytes == most)
          } catch let error as PostgresError {
            #expect(bytes > most && error.sqlState?.rawValue == "23514", "\(bytes): \(error)")
          }
        }
        await connection.close()
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 1)
    }
  }
}
