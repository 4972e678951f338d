import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// One row of the table: a job with several URLs has failed, and decide() has said what would follow for one URL.
struct MirrorDecision: Sendable, CustomTestStringConvertible {
  var state = "scheduled"
  var command: String?
  var error = "timeout"
  var failures = 0
  var resumable = false
  var urls = 2
  var mirror = 0
  var refusals = 0

  var moves = true
  var follows = "scheduled"
  /// Seconds; decide() has said 7, and a pause of the job's own would be 8.
  var delay: Double? = 0

  var testDescription: String {
    "\(state) \(command ?? "") \(error) failures \(failures) resumable \(resumable) of \(urls) at \(mirror) refusals \(refusals)"
  }

  static let table = [
    // A single URL, an error of this machine's, or an end.
    MirrorDecision(urls: 1, moves: false, delay: 7),
    MirrorDecision(error: "io", moves: false, delay: 7),
    MirrorDecision(error: "proxy", moves: false, delay: 7),
    MirrorDecision(state: "cancelled", moves: false, follows: "cancelled", delay: 7),
    MirrorDecision(state: "failed", error: "exists", moves: false, follows: "failed", delay: 7),
    // The next one at once, after the last a pause.
    MirrorDecision(), MirrorDecision(error: "connect"),
    MirrorDecision(error: "dns", urls: 3, mirror: 1),
    MirrorDecision(mirror: 1, delay: 7), MirrorDecision(error: "connect", mirror: 1, delay: 7),
    MirrorDecision(state: "paused", command: "pause", follows: "paused"),
    // What has begun stays with its URL while that may answer.
    MirrorDecision(resumable: true, moves: false, delay: 7),
    MirrorDecision(state: "failed", error: "http_4xx", resumable: true),
    MirrorDecision(state: "failed", error: "connect", resumable: true),
    // Refused for good by one, by all in a row, and by some in turn.
    MirrorDecision(state: "failed", error: "http_4xx"),
    MirrorDecision(state: "failed", command: "pause", error: "http_4xx", follows: "paused"),
    MirrorDecision(
      state: "failed", error: "http_4xx", mirror: 1, refusals: 1, moves: false, follows: "failed",
      delay: 7),
    MirrorDecision(state: "failed", error: "http_4xx", failures: 2, mirror: 1, delay: 8),
    MirrorDecision(
      state: "failed", error: "http_4xx", failures: 4, mirror: 1, moves: false, follows: "failed",
      delay: 7),
    MirrorDecision(state: "failed", error: "digest", failures: 4),
    // The last attempt is the last one of the last URL.
    MirrorDecision(state: "failed", failures: 4),
    MirrorDecision(
      state: "failed", failures: 4, mirror: 1, moves: false, follows: "failed", delay: 7),
    MirrorDecision(
      state: "failed", error: "connect", mirror: 1, moves: false, follows: "failed", delay: 7),
    // A dead one at the end does not go on for ever where the others refuse.
    MirrorDecision(error: "connect", failures: 4, mirror: 1, delay: 7),
    MirrorDecision(
      error: "connect", failures: 5, mirror: 1, moves: false, follows: "failed", delay: nil),
    MirrorDecision(error: "proxy", failures: 5, mirror: 1, moves: false, delay: 7),
  ]
}

/// Jobs that have several URLs of their file.
struct MirrorTests {
  @Test func `the next URL is tried at once, the first again after a pause`() async throws {
    try await withTestDatabase { database in
      let session = try await database.connect()
      for row in MirrorDecision.table {
        let found = try await session.query(
          """
          SELECT moves, state, extract(epoch FROM delay)::float8 FROM haul.turn_to_mirror($1::haul.job_state, $2, $3,
            '7 seconds', $4::int, 5, $5, $6::int, $7::int, $8::int, 1)
          """,
          [
            row.state, row.command, row.error, row.failures, row.resumable, row.urls, row.mirror,
            row.refusals,
          ])[0]
        #expect(try found.decode(0, as: Bool.self) == row.moves, "\(row)")
        #expect(try found.decode(1, as: String.self) == row.follows, "\(row)")
        #expect(try found.decode(2, as: Double?.self) == row.delay, "\(row)")
      }
    }
  }

  @Test(arguments: [
    ("https://A.test/x?y=/#z", "a.test"), ("http://a.test.:8080/", "a.test:8080"),
    ("ftp://u:p@a.test", "a.test"), ("https://[::1]:8443/x", "[::1]:8443"),
    ("https://a.test.?q", "a.test"), ("a.test/x", nil), ("https:///x", nil),
    ("https://a.test:443/x", "a.test"), ("http://a.test:443/x", "a.test:443"),
    ("https://a.test:0443/x", "a.test"), ("https://a.test:/x", "a.test"),
    ("sftp://a.test:22/x", "a.test"),
    ("http://[0::1]/x", "[::1]"), ("http://[::1%251]:80/x", "[::1]"), ("http://[1.2.3.4]/x", nil),
    ("https://%61.test/x", nil), ("https://\u{ff41}.test/x", nil), ("http://127.1/x", nil),
    ("http://0x7f000001/x", nil), ("https://a.test:0/x", nil), ("https://a.test:x/", nil),
  ])
  func `a URL's host has the name that hosts have`(url: String, name: String?) async throws {
    try await withTestDatabase { database in
      let found: String? = try await database.connect().query("SELECT haul.host_of($1)", [url])[0]
        .decode(0)
      #expect(found == name)
    }
  }

  @Test func `a job asks its mirrors in turn, each counted on its own host`() async throws {
    try await Pool.open { pool in
      let job = try await submit(pool, 1)[0]
      let worker = try await pool.worker()
      let first = try await worker.claimOne()
      #expect(first.url == "https://a.test/1" && first.host == "a.test")
      #expect(try await worker.end(first, .failed, "http_4xx") == "scheduled")
      #expect(try await pool.value("SELECT url FROM haul.jobs") == "https://b.test/1")
      #expect(try await pool.value("SELECT host FROM haul.jobs") == "b.test")
      #expect(try await pool.jobs.promote(limit: 10).due == 1)
      let second = try await worker.claimOne()
      #expect(second.url == "https://b.test/1" && second.host == "b.test")
      #expect(
        try await pool.value("SELECT in_flight FROM haul.host WHERE name = 'b.test'") == 1)
      #expect(try await worker.end(second, .failed, "http_5xx") == "scheduled")
      _ = try await pool.jobs.promote(limit: 10)
      let third = try await worker.claimOne()
      #expect(third.url == "https://c.test/1?sig=secret")
      #expect(try await pool.value("SELECT url FROM haul.jobs") == "https://c.test/1?sig=…")
      let shown: String = try await pool.value("SELECT options::text FROM haul.jobs")
      #expect(!shown.contains("secret"))
      #expect(try await worker.end(third, .completed) == "completed")
      #expect(try await pool.state(job) == "completed")
    }
  }

  @Test func `all refused in a row is the end, and a retry begins with the first`() async throws {
    try await Pool.open { pool in
      let job = try await submit(pool, 1)[0]
      let worker = try await pool.worker()
      for expected: JobState in ["scheduled", "scheduled", "failed"] {
        _ = try await pool.jobs.promote(limit: 10)
        #expect(try await worker.end(worker.claimOne(), .failed, "http_4xx") == expected)
      }
      #expect(try await pool.state(job) == "failed")
      _ = try await pool.admin.query(
        "SELECT * FROM haul.retry(jsonb_build_object('ids', jsonb_build_array($1::bigint)))", [job])
      #expect(try await worker.claimOne().url == "https://a.test/1")
    }
  }

  @Test func `bytes of a URL that is refused are of use only where a digest decides`() async throws
  {
    let cases = [
      (#""tag""#, true, true), ("digest", true, true), (#""tag""#, false, false),
      ("Sun, 06 Nov 1994 08:49:37 GMT", true, false),
    ]
    for (validator, hasDigest, keeps) in cases {
      try await Pool.open { pool in
        try await submit(pool, 1)
        if hasDigest {
          try await pool.execute(
            "UPDATE haul.job SET options = options || '{\"digest\": \"sha-256=x\"}'")
        }
        let worker = try await pool.worker()
        let lease = try await worker.claimOne()
        try await worker.checkpoint(lease, instance: pool.instance)
        try await pool.execute(
          "UPDATE haul.checkpoint SET resume = jsonb_build_object('validator', $1::text)",
          [validator])
        // While the URL may answer, it stays.
        #expect(try await worker.end(lease, .failed, "timeout") == "scheduled")
        #expect(try await pool.value("SELECT url FROM haul.jobs") == "https://a.test/1")
        try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
        _ = try await pool.jobs.promote(limit: 10)
        #expect(try await worker.end(worker.claimOne(), .failed, "http_4xx") == "scheduled")
        #expect(try await pool.value("SELECT url FROM haul.jobs") == "https://b.test/1")
        #expect(
          try await pool.value("SELECT instance FROM haul.scheduled")
            == (keeps ? pool.instance : 0))
        #expect(
          try await pool.column("SELECT (resume -> 'moved')::boolean FROM haul.checkpoint")
            == (keeps ? [true] : []))
      }
    }
  }

  @Test func `jobs that wait for a host in trouble follow to the mirror`() async throws {
    try await Pool.open { pool in
      try await submit(pool, 3)
      let alone = try await pool.submit(1, to: "a.test")[0]
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .failed, "connect") == "scheduled")
      _ = try await pool.jobs.promote(limit: 10)
      #expect(
        try await pool.value(
          "SELECT count(*) FROM haul.ready r JOIN haul.host h ON h.id = r.host WHERE h.name = 'b.test'"
        ) == 3)
      #expect(
        try await pool.value("SELECT host FROM haul.jobs WHERE job = $1", [alone]) == "a.test")
      #expect(try await worker.claim(5).map(\.host) == ["b.test", "b.test", "b.test"])
      #expect(try await pool.value("SELECT count(*) FROM haul.leaving") == 0)
    }
  }

  @Test func `an attempt that was given up is no refusal`() async throws {
    try await Pool.open { pool in
      try await submit(pool, 1)
      let worker = try await pool.worker()
      for _ in 1...3 {
        #expect(try await worker.end(worker.claimOne(), .released) == "queued")
      }
      #expect(try await worker.end(worker.claimOne(), .failed, "http_4xx") == "scheduled")
      #expect(try await pool.value("SELECT url FROM haul.jobs") == "https://b.test/1")
      let hosts: [String] = try await pool.column(
        "SELECT host FROM haul.attempts ORDER BY attempt")
      #expect(hosts == ["a.test", "a.test", "a.test", "a.test"])
    }
  }

  @Test func `bytes that an error is about do not go to the mirror`() async throws {
    try await Pool.open { pool in
      try await submit(pool, 1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await pool.execute(
        "UPDATE haul.checkpoint SET resume = jsonb_build_object('validator', '\"tag\"')")
      #expect(try await worker.end(lease, .failed, "digest") == "scheduled")
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 0)
      #expect(try await pool.value("SELECT instance FROM haul.scheduled") == 0)
    }
  }

  /// What is saved, or what an earlier file is compared with, is about the URL in use.
  @Test(arguments: ["checkpoint", "refresh"])
  func `a waiting job with more than its URL does not follow`(table: String) async throws {
    try await Pool.open { pool in
      try await submit(pool, 3)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.execute(
        table == "refresh"
          ? "INSERT INTO haul.refresh (job, path) SELECT job, 'x' FROM haul.ready"
          : """
          INSERT INTO haul.checkpoint (job, token, instance, durable, length, resume, saved_at)
          SELECT job, 0, \(pool.instance), '{[0,5)}', 9, '{}', clock_timestamp() FROM haul.ready
          """)
      #expect(try await worker.end(lease, .failed, "connect") == "scheduled")
      _ = try await pool.jobs.promote(limit: 10)
      #expect(
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE host = 'a.test'") == 2)
    }
  }

  /// 1. A round has chosen the jobs that follow.
  /// 2. Meanwhile an operator gives one another priority, and a submission gives another one a new URL.
  @Test func `a job that somebody has changed since does not follow`() async throws {
    try await Pool.open { pool in
      try await submit(pool, 4)
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .failed, "connect") == "scheduled")
      let moves: String = try await pool.value(
        "SELECT haul.jobs_to_move(ARRAY(SELECT host FROM haul.leaving), 10)::text")
      try await pool.execute("UPDATE haul.ready SET priority = 1 WHERE job = 2")
      try await pool.execute("UPDATE haul.job SET options = '{}' WHERE id = 3")
      try await pool.execute("SELECT haul.move_waiting($1::jsonb)", [moves])
      #expect(
        try await pool.column(
          "SELECT j.host FROM haul.jobs j JOIN haul.ready USING (job) ORDER BY job")
          == ["a.test", "a.test", "b.test"])
      try await pool.execute("SELECT haul.arm_jobs(ARRAY(SELECT job FROM haul.ready))")
    }
  }

  @Test func `haul get again goes on with the mirror in use`() async throws {
    try await Pool.open { pool in
      try await submit(pool, 1)
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      _ = try await pool.jobs.promote(limit: 10)
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      #expect(try await worker.end(lease, .released) == "interrupted")
      _ = try await pool.resubmit([line(1)], batch: "again", options: JobOptions())
      let again = try await worker.claimOne()
      #expect(again.url == "https://b.test/1" && again.host == "b.test")
      #expect(again.resume != nil)
    }
  }

  @Test func `the same list again finds its job at whichever mirror that is`() async throws {
    try await Pool.open { pool in
      try await submit(pool, 1)
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      let reply = try await pool.jobs.submit(Submission(queue: Pool.name), [line(1)])
      #expect(reply.skipped == 1 && reply.submitted == 0)
    }
  }

  @Test func `a refresh from a mirror does not use another URL's validator`()
    async throws
  {
    try await Pool.open { pool in
      try await submit(pool, 1)
      let worker = try await pool.worker()
      var ending = LeaseEnding(lease: try await worker.claimOne())
      ending.source = ["etag": "\"a\""]
      ending.bytes = 5
      ending.path = "a.test/1"
      try await worker.call([ending])
      try await pool.execute("UPDATE haul.outcome SET finished_at = '2020-01-01'")
      var again = Submission(queue: Pool.name)
      again.onDuplicate = .refresh
      _ = try await pool.jobs.submit(again, [line(1)])
      let lease = try await worker.claimOne()
      #expect(lease.earlier?.source != nil)
      #expect(try await worker.end(lease, .failed, "http_4xx") == "scheduled")
      _ = try await pool.jobs.promote(limit: 10)
      let next = try await worker.claimOne()
      #expect(next.url == "https://b.test/1" && next.earlier != nil && next.earlier?.source == nil)
    }
  }

  /// Jobs at `a.test` with mirrors at `b.test` and `c.test`; returns their ids.
  @discardableResult
  private func submit(_ pool: Pool, _ count: Int) async throws -> [Int64] {
    _ = try await pool.jobs.submit(Submission(queue: Pool.name), (1...count).map(line))
    return try await pool.column("SELECT id FROM haul.job ORDER BY id")
  }

  private func line(_ number: Int) -> SubmitLine {
    var options = JobOptions()
    options.mirrors = ["https://b.test/\(number)", "https://c.test/\(number)?sig=secret"]
    return SubmitLine(
      line: number, url: "https://a.test/\(number)", host: "a.test", path: "m/\(number)",
      options: options)
  }
}

extension LeaseEnding {
  fileprivate init(lease: Lease) {
    self.init(job: lease.job, token: lease.token, result: .completed)
  }
}
