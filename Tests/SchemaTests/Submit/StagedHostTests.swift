import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// A line names the host that it counts against. It must be the host of its URL: under other names a submitter could start
/// more at once than the host's limit.
struct StagedHostTests {
  /// URL, and a host that is not its own.
  private static let wrong = [
    ("https://a.test/1", "b.test"), ("https://a.test/1", "A.test"), ("https://A.test/1", "A.test"),
    ("https://a.test/1", "a.test:443"), ("https://a.test:443/1", "a.test:443"),
    ("https://a.test:0443/1", "a.test:0443"), ("https://a.test:/1", "a.test:"),
    ("https://a.test:80/1", "a.test"), ("https://a.test:8443/1", "a.test"),
    ("http://a.test:8080/1", "a.test:08080"), ("ftp://a.test:21/1", "a.test:21"),
    ("https://a.test./1", "a.test."), ("https://one@a.test/1", "one@a.test"),
    ("https://b.test@a.test/1", "b.test"), ("https://a.test?b.test/1", "b.test"),
    ("https://a.test#/b.test/1", "b.test"), ("https://%61.test/1", "%61.test"),
    ("https://\u{ff41}.test/1", "\u{ff41}.test"), ("http://127.1/1", "127.1"),
    ("http://0x7f.0.0.1/1", "0x7f.0.0.1"), ("http://2130706433/1", "2130706433"),
    ("http://127.0.0.01/1", "127.0.0.01"), ("http://[0::1]/1", "[0::1]"),
    ("http://[::1%251]/1", "[::1%251]"), ("http:/b.test/a.test/1", "a.test"),
    ("//a.test/1", "a.test"), ("https:///1", ""), ("https://a.test:0/1", "a.test:0"),
  ]

  @Test func `a line with another host than its URL's is refused, and the others become jobs`()
    async throws
  {
    try await Pool.open { pool in
      let lines = [
        Pool.line(1, "https://a.test/1", "a.test/1"),
        SubmitLine(line: 2, url: "https://a.test/2", host: "other.test", path: "a.test/2"),
        Pool.line(3, "https://b.test:8443/3", "b.test:8443/3"),
      ]
      let conflict = SubmitConflict(
        line: 2, path: "a.test/2", otherLine: nil, job: nil, host: "other.test")
      var submission = Submission(queue: Pool.name)
      await #expect(
        throws: SubmissionError.conflicts(SubmitConflicts(count: 1, first: [conflict]))
      ) { try await pool.jobs.submit(submission, lines) }
      #expect(conflict.sentence(.skip) == "\"other.test\" is not the host of the URL on this line.")
      submission.skipsConflicts = true
      let reply = try await pool.jobs.submit(submission, lines)
      #expect(reply.submitted == 2)
      #expect(reply.conflicts == SubmitConflicts(count: 1, removed: 1, first: [conflict]))
      #expect(
        try await pool.column("SELECT host FROM haul.jobs ORDER BY job")
          == ["a.test", "b.test:8443"])
    }
  }

  /// Who calls the functions need not call check_submission(), and can add lines after it.
  @Test(arguments: ["submit", "replace"])
  func `no such line becomes a job without the check`(function: String) async throws {
    let rest = function == "submit" ? "'skip', false, 100000" : "100000"
    try await Pool.open { pool in
      for (url, host) in Self.wrong {
        let lines = [
          Pool.line(1, "https://c.test/1", "c.test/1"),
          SubmitLine(line: 2, url: url, host: host, path: "x"),
        ]
        let key = try await pool.admin.stage(lines, queue: Pool.name)
        let refusal = await #expect(throws: PostgresError.self, "\(url) \(host)") {
          try await pool.execute(
            "SELECT haul.\(function)($1::uuid, $2, NULL, 5::smallint, '{}', NULL, \(rest))",
            [key, Pool.name])
        }
        #expect(refusal?.sqlState?.rawValue == "HA004", "\(url) \(host)")
        try await pool.execute("SELECT haul.end_submission($1::uuid)", [key])
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
      #expect(try await pool.value("SELECT count(*) FROM haul.host") == 0)
    }
  }

  @Test func `what the check counts agrees with what it removes`() async throws {
    try await Pool.open { pool in
      let lines = Self.wrong.enumerated().map { index, pair in
        SubmitLine(line: index + 1, url: pair.0, host: pair.1, path: "\(index)")
      }
      var submission = Submission(queue: Pool.name)
      submission.skipsConflicts = true
      let reply = try await pool.jobs.submit(submission, lines)
      #expect(reply.submitted == 0)
      #expect([reply.conflicts.count, reply.conflicts.removed] == [lines.count, lines.count])
    }
  }

  /// A line may come from another session after the call has begun.
  @Test(arguments: ["submit", "replace"])
  func `a line that comes during the call is checked too`(function: String) async throws {
    let rest = function == "submit" ? "'skip', false, 100000" : "100000"
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.submit(1, to: "other.test")
      let key = try await pool.admin.stage(
        [Pool.line(1, "https://a.test/3", "a.test/3")], queue: Pool.name)
      let (holder, caller) = (try await pool.connect(), try await pool.connect())
      try await holder.script("BEGIN; INSERT INTO haul.batch (name) VALUES ('b')")
      let call = Task {
        try await caller.execute(
          "SELECT haul.\(function)($1::uuid, $2, 'b', 5::smallint, '{}', NULL, \(rest))",
          [key, Pool.name])
      }
      try await pool.untilBlocked(caller)
      try await pool.execute(
        """
        INSERT INTO haul.staging (submission, line, url, host, path)
        VALUES ($1::uuid, 1, 'https://a.test/9', 'other.test', $2)
        """, [key, function == "submit" ? "a.test/9" : "a.test/1"])
      try await holder.script("ROLLBACK")
      let refusal = await #expect(throws: PostgresError.self) { _ = try await call.value }
      #expect(refusal?.sqlState?.rawValue == "HA004")
      #expect(
        try await pool.column("SELECT url FROM haul.job ORDER BY id")
          == ["https://a.test/1", "https://other.test/2"])
      await holder.close()
      await caller.close()
    }
  }
}
