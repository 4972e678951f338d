import Glibc
import Postgres
import TestSupport
import Testing

/// A job that cannot be done fails alone: with a class and a sentence, beside others that go on.
@Suite struct JobFailureTests {
  private static let length: Int64 = 100_000

  /// A submission, what the origin answers to `/bad`, and what must come of it.
  struct Case: Sendable, CustomTestStringConvertible {
    typealias Handler = @Sendable (OriginRequest, OriginReply) throws -> Void

    var testDescription: String
    var error: String
    /// A part of the sentence.
    var says: String
    var options: [String] = []
    var url: String?
    var path = "bad"
    /// How often the origin is asked for it; nil where it does not matter.
    var requests: Int?
    var handler: Handler = { request, reply in
      try Representation(seed: 5, length: JobFailureTests.length).answer(request, reply)
    }

    /// Of what `/bad` is unless a case says otherwise.
    static let sha256 = "a0edb2d04d6e38e282ae55177661bd841b935b6b9833cf8be9d677ff8ab8212c"
    static let zeros = String(repeating: "0", count: 64)

    static func redirect(to location: String) -> Handler {
      { request, reply in
        try reply.head("HTTP/1.1 302 Found\nLocation: \(location)\nContent-Length: 0")
      }
    }

    static let all = [
      Case(
        testDescription: "wrong digest", error: "digest",
        says: "\(Case.sha256), but \(Case.zeros) was expected",
        options: ["--checksum", "sha-256=\(Case.zeros)"], requests: 1),
      Case(
        testDescription: "wrong digest by the server's own word", error: "digest",
        says: "but the server states 00000000", requests: 2,
        handler: { request, reply in
          let whole = Representation(seed: 5, length: JobFailureTests.length)
          try reply.head(
            "HTTP/1.1 200 OK\nDigest: crc32c=00000000\n" + whole.fields(of: 0..<whole.length))
          try whole.send(0..<whole.length, reply)
        }),
      Case(
        testDescription: "404", error: "http_404", says: "404",
        handler: { try $1.head("HTTP/1.1 404 Not Found\nContent-Length: 0") }),
      Case(
        testDescription: "private address", error: "blocked_address",
        says: "--allow-net 10.1.2.3/32",
        url: "http://10.1.2.3/bad"),
      Case(
        testDescription: "redirect to a private address", error: "blocked_address",
        says: "169.254.169.254", handler: redirect(to: "http://169.254.169.254/latest")),
      Case(
        testDescription: "redirect to another scheme", error: "blocked_url", says: "file",
        handler: redirect(to: "file:///etc/passwd")),
      Case(
        testDescription: "redirects in a circle", error: "redirects", says: "redirect",
        handler: redirect(to: "/bad")),
      Case(
        testDescription: "body without length, cut", error: "unverified_length",
        says: "--accept-unverified-length",
        handler: { request, reply in
          try reply.head("HTTP/1.1 200 OK\nConnection: close")
          try reply.body(Array(repeating: 1, count: 1000 + request.number))
          reply.close()
        }),
      Case(
        testDescription: "too large", error: "too_large", says: "99999",
        options: ["--max-bytes", "99999"]),
      Case(
        testDescription: "exists", error: "exists", says: "--if-exists", path: "taken"),
      Case(
        testDescription: "a file where a directory should be", error: "path_conflict",
        says: "taken", path: "taken/bad"),
      Case(
        testDescription: "a directory where the file should be", error: "path_conflict",
        says: "folder", path: "folder"),
      Case(
        testDescription: "500 again and again", error: "http_5xx", says: "500",
        options: ["--max-attempts", "2"],
        handler: { try $1.head("HTTP/1.1 500 Internal Server Error\nContent-Length: 0") }),
    ]
  }

  /// Answers `/bad` as `handler` says, all else in order.
  private func origin(_ handler: @escaping Case.Handler) throws -> OriginServer {
    try OriginServer { request, reply in
      if request.path == "/bad" { return try handler(request, reply) }
      try Representation(seed: 1, length: Self.length).answer(request, reply)
    }
  }

  @Test(arguments: Case.all)
  func `a job that cannot be done fails alone, and says why`(_ failure: Case) async throws {
    let origin = try origin(failure.handler)
    try await HaulPool.open { pool in
      try Pattern(seed: 9).write(to: pool.directory + "/taken", length: 10)
      mkdir(pool.directory + "/folder", 0o755)
      let url = failure.url ?? origin.url("/bad")
      for number in 1...3 { try await pool.submit(origin.url("/\(number)"), to: "\(number)") }
      let submitted = try await pool.haul(
        ["submit", url, "--out", failure.path] + failure.options)
      #expect(submitted.exit == .code(0))
      for number in 4...6 { try await pool.submit(origin.url("/\(number)"), to: "\(number)") }
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))

      let row = try #require(
        try await pool.admin.query(
          "SELECT job, state::text, error, message FROM haul.jobs WHERE path = $1", [failure.path]
        ).first)
      #expect(try row.decode("state") == "failed")
      #expect(try row.decode("error") == failure.error)
      let message: String = try row.decode("message")
      #expect(message.contains(failure.says), "\(message)")
      if let requests = failure.requests {
        let asked = origin.log.value.exchanges.filter { $0.request.path == "/bad" }
        #expect(asked.count == requests)
      }
      #expect(
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 6)
      for number in 1...6 {
        let file = "\(pool.directory)/\(number)"
        let pattern = Pattern(seed: 1)
        #expect(try FileTree.firstDifference(of: file, from: pattern, length: Self.length) == nil)
      }
      #expect(try pool.files() == (1...6).map { "\($0)" } + ["taken"])
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  /// The server is over its quota after half of the file. What is there waits for a retry.
  @Test func `error texts in place of the rest fail the job as such, and cost nothing`()
    async throws
  {
    let (isBack, half) = (Watched(false), Self.length / 2)
    let origin = try origin { request, reply in
      let file = Representation(seed: 5, length: Self.length)
      if request.number == 1 { return try file.answer(request, reply, cut: .close(after: half)) }
      if isBack.value { return try file.answer(request, reply) }
      try reply.head("HTTP/1.1 200 OK\nContent-Type: application/json\nContent-Length: 22")
      try reply.body("{\"error\": \"over quota\"}")
    }
    try await HaulPool.open { pool in
      try await pool.command(
        "submit", origin.url("/bad"), "--out", "bad", "--max-attempts", "2")
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      let row = try #require(
        try await pool.admin.query("SELECT state::text, error, message FROM haul.jobs").first)
      #expect(try row.decode("state") == "failed")
      #expect(try row.decode("error") == "suspect_page")
      let message: String = try row.decode("message")
      for part in ["application/json", "22 bytes", "over quota"] {
        #expect(message.contains(part), "\(message)")
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 2)
      #expect(try pool.parts().count == 1)

      isBack.update { $0 = true }
      try await pool.command("retry", "1")
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      let difference = try FileTree.firstDifference(
        of: pool.directory + "/bad", from: Pattern(seed: 5), length: Self.length)
      #expect(difference == nil)
      let last = origin.log.value.exchanges.last?.request[field: "Range"]
      #expect(last == "bytes=\(half - 4096)-\(Self.length - 1)")
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  /// Two jobs of which one's file stands where the other wants a directory: one of them fails.
  @Test func `a file and a directory of one name do not both come to be`() async throws {
    let origin = try origin { _, reply in try reply.head("HTTP/1.1 404 Not Found") }
    try await HaulPool.open { pool in
      try await pool.submit(origin.url("/1"), to: "a")
      try await pool.submit(origin.url("/2"), to: "a/b")
      try await pool.submit(origin.url("/3"), to: "c")
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      #expect(
        try await pool.values("SELECT coalesce(error, state::text) FROM haul.jobs ORDER BY 1")
          == ["completed", "completed", "path_conflict"])
      #expect(
        try await pool.value("SELECT state::text FROM haul.jobs WHERE path = 'c'") == "completed")
    }
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `a full disk fails the job that fills it, and the others are done`() async throws {
    let disk = try await TestFileSystem(tmpfs: 4 << 20)
    let origin = try origin { request, reply in
      try Representation(seed: 5, length: 8 << 20).answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      try await pool.command(
        "submit", origin.url("/bad"), "--out", "bad", "--max-attempts", "1")
      for number in 1...6 { try await pool.submit(origin.url("/\(number)"), to: "\(number)") }
      let worker = try pool.worker("--exit-when-idle", on: disk.path)
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      #expect(
        try await pool.value("SELECT error FROM haul.jobs WHERE path = 'bad'") == "disk_full")
      #expect(
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 6)
      #expect(try pool.parts(in: disk.path) == [])
      #expect(try await pool.violations() == [])
    }
  }
}
