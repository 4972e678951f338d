import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Submissions from their beginning to their end, or to where they break off.
struct SubmissionTests {
  private static func lines(_ numbers: ClosedRange<Int>) -> [SubmitLine] {
    numbers.map { Pool.line($0, "https://h\($0 % 9).test/\($0)", "h\($0 % 9).test/\($0)") }
  }

  /// Submits at most `limit` of a submission's lines; returns how many are jobs now.
  private static func submit(_ key: String, limit: Int, on pool: Pool) async throws -> Int {
    try await pool.admin.execute(
      "SELECT haul.submit($1::uuid, 'data', 'b', 5::smallint, '{}', NULL, 'skip', false, $2::int)",
      [key, limit])
    return try await pool.value("SELECT count(*) FROM haul.job")
  }

  @Test func `lines become jobs in steps, in their order`() async throws {
    try await Pool.open { pool in
      let key = try await pool.admin.stage(Self.lines(1...100), queue: Pool.name)
      #expect(try await Self.submit(key, limit: 40, on: pool) == 40)
      #expect(try await pool.violations() == [])
      #expect(try await Self.submit(key, limit: 40, on: pool) == 80)
      #expect(try await Self.submit(key, limit: 40, on: pool) == 100)
      let paths: [String] = try await pool.column("SELECT path FROM haul.job ORDER BY id")
      #expect(paths == Self.lines(1...100).map(\.path))
    }
  }

  @Test func `what broke off between two steps is submitted again without duplicates`() async throws
  {
    try await Pool.open { pool in
      let key = try await pool.admin.stage(Self.lines(1...100), queue: Pool.name)
      _ = try await Self.submit(key, limit: 40, on: pool)
      let reply = try await pool.jobs.submit(Submission(queue: Pool.name), Self.lines(1...100))
      #expect([reply.submitted, reply.skipped] == [60, 40])
      #expect(try await pool.value("SELECT count(DISTINCT path) FROM haul.job") == 100)
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 100)
    }
  }

  /// A sender is dead when its session is; until then its lines are left alone.
  @Test func `lines of a sender that died are removed bit by bit`() async throws {
    try await Pool.open { pool in
      let sender = try await pool.connect()
      let key = try await sender.stage(Self.lines(1...5), queue: Pool.name)
      try await pool.jobs.clearSubmissions(limit: 9)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 5)
      let process = sender.backendPID
      await sender.close()
      try await eventually("the sender's session has ended") {
        try await pool.value(
          "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)", [process],
          as: Bool.self)
      }
      for left in [2, 0] {
        try await pool.jobs.clearSubmissions(limit: 3)
        #expect(try await pool.value("SELECT count(*) FROM haul.staging") == left)
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.submission") == 0)
      let refusal = await #expect(throws: PostgresError.self) {
        try await Self.submit(key, limit: 9, on: pool)
      }
      #expect(refusal?.sqlState?.rawValue == "HA007")
    }
  }

  @Test func `a submission whose lines cannot be read leaves nothing`() async throws {
    struct Unreadable: Error {}
    try await Pool.open { pool in
      let (pieces, input) = AsyncThrowingStream.makeStream(of: [SubmitLine].self)
      input.yield(Self.lines(1...10))
      input.finish(throwing: Unreadable())
      await #expect(throws: Unreadable.self) {
        try await pool.jobs.submit(Submission(queue: Pool.name, batch: "b"), pieces)
      }
      for table in ["job", "staging", "submission", "batch"] {
        let count: Int = try await pool.value("SELECT count(*) FROM haul.\(table)")
        #expect(count == 0, "\(table)")
      }
    }
  }

  /// The other one has the path, and commits only after the check has found nothing.
  @Test func `who is overtaken hears of the path, and who is refused why`() async throws {
    try await Pool.open { pool in
      let other = try await pool.connect()
      let late = try await pool.connect()
      let line = Pool.line(1, "https://b.test/", "a.test/x")
      let first = [Pool.line(1, "https://a.test/x", "a.test/x")]
      await #expect(
        throws: SubmissionError.overtaken(
          "line 1: job 1 already has the path \"a.test/x\". Give this line another path.",
          submitted: 0)
      ) {
        try await pool.commit(
          other, { try await other.submit(first, to: Pool.name) },
          while: late,
          { try await JobQueue(late).submit(Submission(queue: Pool.name), [line]) })
      }
      var submission = Submission(queue: Pool.name)
      submission.options.maxRate = -1
      await #expect(
        throws: JobQueueError.refused(
          "the option \"max_rate\" has an invalid value", hint: nil)
      ) {
        try await pool.jobs.submit(submission, [Pool.line(1, "https://c.test/", "c.test/c")])
      }
      #expect(try await pool.states() == ["queued": 1])
    }
  }

  @Test func `lines that contradict can be left out`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      var submission = Submission(queue: Pool.name)
      submission.skipsConflicts = true
      let reply = try await pool.jobs.submit(
        submission,
        [
          Pool.line(1, "https://x.test/", "a.test/1"), Pool.line(2, "https://b.test/", "b.test/b"),
          Pool.line(3, "https://c.test/", "b.test/b"), Pool.line(4, "https://d.test/", "d.test/d"),
        ])
      #expect(reply.submitted == 2)
      #expect(
        reply.conflicts
          == SubmitConflicts(
            count: 2, removed: 2,
            first: [
              SubmitConflict(line: 1, path: "a.test/1", otherLine: nil, job: job),
              SubmitConflict(line: 3, path: "b.test/b", otherLine: 2, job: nil),
            ]))
      let urls: [String] = try await pool.column("SELECT url FROM haul.job ORDER BY id")
      #expect(urls == ["https://a.test/1", "https://b.test/", "https://d.test/"])
    }
  }

  /// Whatever stands between a path and what is below it in the order of the alphabet.
  @Test func `a path that others need as a directory is told, and can be left out`() async throws {
    try await Pool.open { pool in
      let paths = ["blog", "blog!", "blog-1/a", "blog/x", "blog/x/y", "blog.html", "b", "blog"]
      let lines = paths.enumerated().map { index, path in
        Pool.line(
          index + 1, path == "blog" ? "https://h.test/blog" : "https://h.test/\(index)", path)
      }
      let conflicts = [(1, "blog"), (4, "blog/x"), (8, "blog")].map { line, path in
        SubmitConflict(line: line, path: path, otherLine: nil, job: nil, directory: true)
      }
      var submission = Submission(queue: Pool.name)
      await #expect(
        throws: SubmissionError.conflicts(SubmitConflicts(count: 3, first: conflicts))
      ) { try await pool.jobs.submit(submission, lines) }
      submission.skipsConflicts = true
      let reply = try await pool.jobs.submit(submission, lines)
      #expect(reply.submitted == 5)
    }
  }

  @Test func `where duplicates are errors the same line again is one`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate = .error
      let lines = [
        Pool.line(1, "https://b.test/", "b.test/b"), Pool.line(2, "https://b.test/", "b.test/b"),
        Pool.line(3, "https://a.test/1", "a.test/1"),
      ]
      let conflicts = [
        SubmitConflict(line: 2, path: "b.test/b", otherLine: 1, job: nil),
        SubmitConflict(line: 3, path: "a.test/1", otherLine: nil, job: job),
      ]
      await #expect(
        throws: SubmissionError.conflicts(SubmitConflicts(count: 2, first: conflicts))
      ) { try await pool.jobs.submit(submission, lines) }
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 1)
    }
  }

  @Test func `jobs that are in another batch are told, and stay there`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, batch: "first")
      try await pool.submit(1)
      var submission = Submission(queue: Pool.name, batch: "second")
      submission.wantsOthers = true
      let lines = (1...4).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      let reply = try await pool.jobs.submit(submission, lines)
      #expect([reply.submitted, reply.skipped] == [1, 3])
      let elsewhere = Dictionary(
        uniqueKeysWithValues: reply.elsewhere.map { ($0.name, $0.jobs) })
      #expect(elsewhere == ["first": 2, nil: 1])
      let ids: [Int64] = try await pool.column("SELECT id FROM haul.job ORDER BY id LIMIT 3")
      #expect(reply.others.sorted() == ids)
      #expect(try await pool.value("SELECT count(*) FROM haul.jobs WHERE batch = 'second'") == 1)
    }
  }

  @Test func `digests that nobody will compare are told`() async throws {
    try await Pool.open { pool in
      let (had, other) = ("sha-256=\(String(repeating: "a", count: 64))", "sha-256=b")
      func reply(_ digests: [String?], _ onDuplicate: Submission.OnDuplicate) async throws
        -> SubmitReply
      {
        var submission = Submission(queue: Pool.name)
        submission.onDuplicate = onDuplicate
        let lines = digests.enumerated().map { index, digest in
          SubmitLine(
            line: index + 1, url: "https://a.test/\(index)", host: "a.test",
            path: "a.test/\(index)",
            options: JobOptions(digest: digest))
        }
        return try await pool.jobs.submit(submission, lines)
      }
      // One demands it, one has it, one has none, one is not asked.
      #expect(try await reply([had, nil, nil, nil], .skip).unchecked == 0)
      let worker = try await pool.worker()
      for lease in try await worker.claim(4) where lease.path != "a.test/3" {
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
        ending.digest = lease.path == "a.test/1" ? had : nil
        try await worker.call([ending])
      }
      #expect(try await reply([had, had, had, nil], .skip).unchecked == 1)
      #expect(try await reply([other, other, other, nil], .skip).unchecked == 3)
      let refreshed = try await reply([other, other, other, nil], .refresh)
      #expect([refreshed.refreshed, refreshed.unchecked] == [3, 0])
    }
  }

  @Test func `a line's priority goes before the submission's, also in its lane`() async throws {
    try await Pool.open { pool in
      var first = Pool.line(2, "https://a.test/2", "a.test/2")
      first.priority = 0
      _ = try await pool.jobs.submit(
        Submission(queue: Pool.name), [Pool.line(1, "https://a.test/1", "a.test/1"), first])
      #expect(try await pool.violations() == [])
      #expect(try await pool.worker().claimOne().path == "a.test/2")
    }
  }

  @Test func `what is exported is what was submitted`() async throws {
    try await Pool.open { pool in
      var options = JobOptions(digest: "sha-256=x", ifExists: "skip", maxBytes: 5)
      options.length = 3
      try await pool.submit(3, options: options, batch: "b")
      try await pool.submit(1, to: "b.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(2).sorted { $0.job < $1.job }
      try await worker.end(leases[0], .completed)
      try await worker.end(leases[1], .failed, "http_4xx")
      func exported(_ left: Bool, _ change: (inout JobSelector) -> Void) async throws -> [String] {
        var selector = JobSelector()
        change(&selector)
        return try await pool.jobs.export(selector, left: left, after: 0, limit: 9).map(\.path)
      }
      let all = ["a.test/1", "a.test/2", "a.test/3", "b.test/4"]
      #expect(try await exported(false) { _ in } == all)
      #expect(try await exported(true) { _ in } == all.filter { $0 != leases[0].path })
      #expect(try await exported(false) { $0.state = "failed" } == [leases[1].path])
      #expect(try await exported(false) { $0.error = "http_4xx" } == [leases[1].path])
      #expect(
        try await exported(true) { $0.batch = "b" }.count == (leases[0].path == all[3] ? 3 : 2))
      #expect(try await exported(false) { $0.host = "b.test" } == [all[3]])
      let page = try await pool.jobs.export(JobSelector(), left: false, after: 0, limit: 1)
      #expect(page.first?.options == options && page.first?.url == "https://a.test/1")
      let next = try await pool.jobs.export(
        JobSelector(), left: false, after: try #require(page.first?.job), limit: 1)
      #expect(next.map(\.path) == ["a.test/2"])
    }
  }
}
