import Foundation
import Postgres
import TestSupport
import Testing

/// `haul submit --on-duplicate refresh`: what has changed is brought, what has not is left.
@Suite struct RefreshTests {
  private static let old = Representation(seed: 1, length: 50_000)
  private static let new = Representation(seed: 2, length: 50_000)

  /// Lets a worker do what waits.
  private func work(_ pool: HaulPool) async throws {
    let worker = try pool.worker("--exit-when-idle")
    #expect(try await worker.exit(within: .seconds(60)) == .code(0))
  }

  private func refresh(_ pool: HaulPool, _ arguments: String...) async throws -> [String] {
    let output = try await pool.haul(["submit", "--on-duplicate", "refresh"] + arguments)
    #expect(output.exit == .code(0), "\(output.standardError)")
    return output.standardOutput
  }

  private func inode(_ path: String) throws -> Int {
    try #require(
      try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int)
  }

  private func isThere(_ file: Representation, _ path: String) throws -> Bool {
    Array(try Data(contentsOf: URL(filePath: path))) == file.bytes(in: 0..<file.length)
  }

  /// Status and bytes of the last attempt at each job, in their order.
  private func lastAttempts(_ pool: HaulPool) async throws -> [String] {
    try await pool.values(
      """
      SELECT DISTINCT ON (job) status || ' ' || fetched FROM haul.attempts ORDER BY job, token DESC
      """)
  }

  @Test(arguments: ["", "etag off;"])
  func `nginx is asked whether a file has changed`(location: String) async throws {
    let nginx = try await Nginx(location: location)
    let names = ["changed", "gone", "same", "short"]
    let yesterday = Date(timeIntervalSinceNow: -86_400)
    for name in names {
      let path = "\(nginx.root)/\(name)"
      try Pattern(seed: 1).write(to: path, length: 10_000)
      try FileManager.default.setAttributes([.modificationDate: yesterday], ofItemAtPath: path)
    }
    try await HaulPool.open { pool in
      let urls = names.map { nginx.url("/\($0)") }
      let here = "\(pool.directory)/127.0.0.1_\(nginx.port)/"
      _ = try await pool.haul(["submit"] + urls)
      try await work(pool)
      let before = try inode(here + "same")
      try Pattern(seed: 2).write(to: nginx.root + "/changed", length: 12_000)
      try FileManager.default.setAttributes(
        [.modificationDate: yesterday + 60], ofItemAtPath: nginx.root + "/changed")
      try FileManager.default.removeItem(atPath: here + "gone")
      let short = try #require(FileHandle(forUpdatingAtPath: here + "short"))
      try short.truncate(atOffset: 10)
      try short.close()
      let digests: [String] = try await pool.values("SELECT digest FROM haul.jobs ORDER BY job")

      try Pattern(seed: 3).write(to: nginx.root + "/added", length: 100)
      let output = try await pool.haul(
        ["submit", "--on-duplicate", "refresh", "--json", nginx.url("/added")] + urls)
      #expect(
        output.objects == [
          #"{"submitted":1,"skipped":0,"requeued":0,"replaced":0,"refreshed":4,"moved":[],"batch":null,"first_job":1,"last_job":5}"#
        ])
      try await work(pool)
      #expect(
        try await lastAttempts(pool) == ["200 12000", "200 10000", "304 0", "200 10000", "200 100"])
      #expect(try inode(here + "same") == before)
      for name in names {
        let seed: UInt64 = name == "changed" ? 2 : 1
        #expect(
          try FileTree.firstDifference(
            of: here + name, from: Pattern(seed: seed), length: seed == 2 ? 12_000 : 10_000) == nil)
      }
      let after: [String?] = try await pool.values("SELECT digest FROM haul.jobs ORDER BY job")
      #expect(after[0] != nil && after[0] != digests[0])
      #expect(after[1...3] == ArraySlice(digests[1...3].map { $0 }))
      #expect(try await pool.violations() == [])
      // Once more, now that all is as the source has it.
      #expect(
        try await refresh(pool, urls[0], urls[2]).first?.hasSuffix("2 to be refreshed") == true)
      try await work(pool)
      #expect(try await Array(lastAttempts(pool)[0...2]) == ["304 0", "200 10000", "304 0"])
    }
  }

  /// An origin whose one file changes while it runs.
  private func origin(_ file: Watched<Representation>) throws -> OriginServer {
    try OriginServer { request, reply in try file.value.answer(request, reply) }
  }

  @Test func `a weak tag is good enough to ask by`() async throws {
    var weak = Self.old
    weak.entityTag = "W/\"1\""
    let file = Watched(weak)
    let origin = try origin(file)
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/f"), to: "f")
      try await work(pool)
      _ = try await refresh(pool, origin.url("/f"), "--out", "f")
      try await work(pool)
      let asked = origin.log.value.exchanges.last
      #expect(asked?.request[field: "If-None-Match"] == "W/\"1\"" && asked?.status == 304)
      #expect(asked?.request[field: "If-Modified-Since"] == nil)
      #expect(try await pool.state(of: job) == "completed")
      #expect(try isThere(Self.old, pool.directory + "/f"))
    }
  }

  /// The old file stays until the new one is whole, also through the end of a worker.
  @Test func `a change replaces the file in one step`() async throws {
    let file = Watched(Self.old)
    let origin = try origin(file)
    let gate = Gate("the rest of the new file")
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/f"), to: "f")
      try await work(pool)
      file.update {
        $0 = Self.new
        $0.gates = [30_000: gate]
      }
      _ = try await refresh(pool, origin.url("/f"), "--out", "f")
      let worker = try pool.worker()
      try await eventually("a part of the new file") {
        origin.log.value.exchanges.last.map { $0.sent == 30_000 } ?? false
      }
      #expect(try isThere(Self.old, pool.directory + "/f"))
      worker.signal(SIGKILL)
      _ = try await worker.exit()
      #expect(try isThere(Self.old, pool.directory + "/f"))
      gate.open()
      let other = try pool.worker()
      try await pool.wait(for: job, toBe: "completed")
      #expect(try isThere(Self.new, pool.directory + "/f"))
      #expect(try await pool.violations() == [])
      try await pool.stop(other)
    }
  }

  /// The file that a job had brought under another name is the one that is replaced.
  @Test func `what stood in the way of the job still does`() async throws {
    let file = Watched(Self.old)
    let origin = try origin(file)
    try await HaulPool.open { pool in
      try Pattern(seed: 9).write(to: pool.directory + "/f", length: 10)
      let line = [origin.url("/f"), "--out", "f", "--if-exists", "rename"]
      _ = try await pool.haul(["submit"] + line)
      try await work(pool)
      #expect(try isThere(Self.old, pool.directory + "/f.1"))
      file.update { $0 = Self.new }
      _ = try await pool.haul(["submit", "--on-duplicate", "refresh"] + line)
      try await work(pool)
      #expect(try isThere(Self.new, pool.directory + "/f.1"))
      #expect(try pool.files() == ["f", "f.1"])
    }
  }

  /// What an origin answers to the first request of a refresh, and what comes of it.
  struct Case: Sendable, CustomTestStringConvertible {
    typealias Handler = @Sendable (OriginRequest, OriginReply) throws -> Void

    let testDescription: String
    /// The class of the failure; nil where the job completes.
    var error: String?
    /// Requests of the refresh.
    var requests = 1
    var isReplaced = false
    let answer: Handler

    static let all = [
      Case(
        testDescription: "304 that speaks of another representation", requests: 2, isReplaced: true,
        answer: { try $1.head("HTTP/1.1 304 Not Modified\nETag: \"other\"") }),
      Case(
        testDescription: "304 without validators",
        answer: { try $1.head("HTTP/1.1 304 Not Modified") }),
      Case(
        testDescription: "304 with a length and no body",
        answer: { try $1.head("HTTP/1.1 304 Not Modified\nContent-Length: 50000") }),
      Case(
        testDescription: "an HTML page", error: "suspect_page",
        answer: {
          try $1.head("HTTP/1.1 200 OK\nContent-Type: text/html\nContent-Length: 5")
          try $1.body("login")
        }),
      Case(
        testDescription: "gone", error: "http_404",
        answer: { try $1.head("HTTP/1.1 404 Not Found\nContent-Length: 0") }),
      Case(
        testDescription: "a range that nobody asked for", error: "suspect_page",
        answer: {
          try $1.head(
            "HTTP/1.1 206 Partial Content\nContent-Range: bytes 0-4/5\nContent-Length: 5")
          try $1.body("hello")
        }),
    ]
  }

  @Test(arguments: Case.all)
  func `an answer to a refresh`(_ row: Case) async throws {
    let isRefresh = Watched(false)
    let origin = try OriginServer { request, reply in
      if isRefresh.value, request[field: "If-None-Match"] != nil {
        return try row.answer(request, reply)
      }
      try (isRefresh.value ? Self.new : Self.old).answer(request, reply)
    }
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/f"), to: "f")
      try await work(pool)
      isRefresh.update { $0 = true }
      _ = try await refresh(pool, origin.url("/f"), "--out", "f", "--max-attempts", "1")
      try await work(pool)
      #expect(origin.log.value.exchanges.count == 1 + row.requests)
      #expect(try isThere(row.isReplaced ? Self.new : Self.old, pool.directory + "/f"))
      #expect(try await pool.state(of: job) == (row.error == nil ? "completed" : "failed"))
      #expect(try await pool.value("SELECT error FROM haul.jobs") == row.error)
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  /// An earlier attempt has left a part of the new file, which is much shorter than the old one.
  @Test func `an error text after a broken refresh does not replace the file`() async throws {
    let (isRefresh, isBroken) = (Watched(false), Watched(false))
    let origin = try OriginServer { request, reply in
      var file = isRefresh.value ? Self.new : Self.old
      file.contentType = "application/zip"
      if isBroken.value {
        try reply.head(
          "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \"e\"\nContent-Length: 5")
        return try reply.body("error")
      }
      if isRefresh.value, request[field: "Range"] != nil {
        isBroken.update { $0 = true }
        return try reply.head("HTTP/1.1 500 No\nContent-Length: 0")
      }
      try file.answer(request, reply, cut: isRefresh.value ? .close(after: 10_000) : nil)
    }
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/f"), to: "f")
      try await work(pool)
      isRefresh.update { $0 = true }
      _ = try await refresh(pool, origin.url("/f"), "--out", "f", "--max-attempts", "2")
      try await work(pool)
      #expect(try isThere(Self.old, pool.directory + "/f"))
      #expect(try await pool.state(of: job) == "failed")
      #expect(try await pool.value("SELECT error FROM haul.jobs") == "suspect_page")
      let asked = origin.log.value.exchanges.map { $0.request[field: "Range"] != nil }
      #expect(asked == [false, false, true, true, false])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `304 that nobody asked for is an error`() async throws {
    let origin = try OriginServer { _, reply in try reply.head("HTTP/1.1 304 Not Modified") }
    try await HaulPool.open { pool in
      try await pool.command("submit", origin.url("/f"), "--max-attempts", "2")
      // Due at once, however long it is to wait.
      let worker = try pool.worker()
      try await eventually("both attempts") {
        try await pool.admin.execute(
          "UPDATE haul.scheduled SET run_at = clock_timestamp()")
        return try await pool.state(of: 1) == "failed"
      }
      #expect(try await pool.value("SELECT error FROM haul.jobs") == "protocol")
      #expect(try pool.files() == [])
      try await pool.stop(worker)
    }
  }

  /// Two mirrors may well have the same tag for different files.
  @Test func `a tag is asked of the address that gave it, and of no other`() async throws {
    let target = Watched("/one")
    let origin = try OriginServer { request, reply in
      if request.path == "/f" {
        return try reply.head(
          "HTTP/1.1 302 Found\nLocation: \(target.value)\nContent-Length: 0")
      }
      var file = request.path == "/one" ? Self.old : Self.new
      file.entityTag = "\"1\""
      try file.answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.submit(origin.url("/f"), to: "f")
      try await work(pool)
      for (place, file, statuses) in [
        ("/one", Self.old, [302, 304]), ("/two", Self.new, [302, 200]),
        ("/two", Self.new, [302, 304]),
      ] {
        target.update { $0 = place }
        _ = try await refresh(pool, origin.url("/f"), "--out", "f")
        try await work(pool)
        #expect(origin.log.value.exchanges.suffix(2).map(\.status) == statuses)
        #expect(try isThere(file, pool.directory + "/f"))
      }
    }
  }

  @Test func `what the job now demands of its file is not left to the source's word`() async throws
  {
    let origin = try origin(Watched(Self.old))
    try await HaulPool.open { pool in
      try await pool.command("submit", origin.url("/f"), "--out", "f", "--no-record-digest")
      let job: Int64 = try await pool.value("SELECT job FROM haul.jobs")
      try await work(pool)
      _ = try await refresh(pool, origin.url("/f"), "--out", "f", "--no-record-digest=no")
      try await work(pool)
      #expect(try await lastAttempts(pool) == ["200 50000"])
      let digest: String = try await pool.value("SELECT digest FROM haul.jobs")
      for (checksum, outcome) in [
        (digest, "304 0"), ("sha-256=" + String(repeating: "0", count: 64), "200 50000"),
      ] {
        _ = try await refresh(
          pool, origin.url("/f"), "--out", "f", "--checksum", checksum)
        try await work(pool)
        #expect(try await lastAttempts(pool) == [outcome])
      }
      #expect(try await pool.state(of: job) == "failed")
      #expect(try isThere(Self.old, pool.directory + "/f"))
    }
  }
}
