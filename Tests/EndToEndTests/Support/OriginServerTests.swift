import Glibc
import TestSupport
import Testing

/// The origin that other tests rely on, against a client that is not ours.
@Suite struct OriginServerTests {
  private let directory: TemporaryDirectory
  private let length: Int64 = 300_000

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func curl(_ arguments: String...) async throws -> ChildProcess.Output {
    try await ChildProcess.run("curl", ["-sS", "--noproxy", "*"] + arguments)
  }

  @Test func `a whole representation arrives byte for byte`() async throws {
    let site = Site(["/file": Representation(seed: 7, length: length)])
    let origin = try OriginServer(handler: site.answer)
    let file = directory.path("file")
    let result = try await curl("-o", file, origin.url("/file"))
    #expect(result.exit == .code(0))
    #expect(try FileTree.firstDifference(of: file, from: Pattern(seed: 7), length: length) == nil)
    #expect(try await origin.exchange(1).sent == length)
  }

  @Test(
    arguments: [
      ("bytes=100-199", 206, 100...199),
      ("bytes=299990-", 206, 299_990...299_999),
      ("bytes=-10", 206, 299_990...299_999),
      ("bytes=299999-400000", 206, 299_999...299_999),
      ("bytes=0-299999", 206, 0...299_999),
      ("bytes=5-1,7-9", 200, 0...299_999),
    ] as [(String, Int, ClosedRange<Int64>)])
  func `a range gets its bytes`(range: String, status: Int, bytes: ClosedRange<Int64>) async throws
  {
    let site = Site(["/file": Representation(seed: 7, length: length)])
    let origin = try OriginServer(handler: site.answer)
    let (file, expected) = (directory.path("file"), directory.path("expected"))
    try Pattern(seed: 7).write(to: expected, length: length)
    let result = try await curl(
      "-o", file, "-w", "%{http_code} %header{content-range}\n", "-H", "Range: \(range)",
      origin.url("/file"))
    let contentRange = "bytes \(bytes.lowerBound)-\(bytes.upperBound)/\(length)"
    #expect(result.standardOutput == ["\(status) \(status == 206 ? contentRange : "")"])
    let compared = try await ChildProcess.run(
      "cmp", ["-n", "\(bytes.count)", "-i", "0:\(bytes.lowerBound)", file, expected])
    #expect(compared.exit == .code(0))
  }

  @Test(arguments: [
    ("Range: bytes=300000-", "", "416"),
    ("Range: bytes=1-2", "If-Range: \"7-300000\"", "206"),
    ("Range: bytes=1-2", "If-Range: \"other\"", "200"),
    ("Range: bytes=1-2", "If-Range: W/\"7-300000\"", "200"),
    ("Range: bytes=1-2", "If-Range: Sun, 06 Nov 1994 08:49:37 GMT", "206"),
    ("If-None-Match: \"7-300000\"", "", "304"),
    ("If-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT", "", "304"),
  ])
  func `conditions decide the status`(first: String, second: String, status: String) async throws {
    var representation = Representation(seed: 7, length: length)
    representation.lastModified = 784_111_777
    let site = Site(["/file": representation])
    let origin = try OriginServer(handler: site.answer)
    let result = try await curl(
      "-o", "/dev/null", "-w", "%{http_code}\n", "-H", first, "-H", second, origin.url("/file"))
    #expect(result.standardOutput == [status])
  }

  @Test func `a reset after n bytes delivers n bytes and breaks the connection`() async throws {
    let representation = Representation(seed: 7, length: length)
    let origin = try OriginServer { try representation.answer($0, $1, cut: .reset(after: 100_001)) }
    let file = directory.path("file")
    let result = try await curl("-o", file, origin.url("/"))
    // curl(1): 56, failure in receiving network data.
    #expect(result.exit == .code(56))
    #expect(try FileTree.firstDifference(of: file, from: Pattern(seed: 7), length: 100_001) == nil)
  }

  @Test func `a gate holds the answer until the test opens it`() async throws {
    let gate = Gate("half")
    var representation = Representation(seed: 7, length: length)
    representation.gates[150_000] = gate
    let origin = try OriginServer(handler: Site(["/": representation]).answer)
    let child = try ChildProcess("curl", ["-sS", "-o", directory.path("file"), origin.url("/")])
    try await origin.sent(150_000)
    #expect(origin.log.value.sent() == 150_000)
    #expect(origin.log.value.running == 1)
    gate.open()
    #expect(try await child.exit() == .code(0))
    #expect(try await origin.exchange(1).sent == length)
  }

  @Test func `one connection carries several requests, and a client that leaves is noticed`()
    async throws
  {
    let origin = try OriginServer { request, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 4")
      if request.path == "/stuck" { return try reply.waitUntilPeerCloses() }
      try reply.body("body")
    }
    let result = try await curl(origin.url("/one"), origin.url("/two"))
    #expect(result.standardOutput == ["bodybody"])
    #expect(origin.log.value.connections == 1)
    let child = try ChildProcess("curl", ["-sS", origin.url("/stuck")])
    #expect(try await origin.request(3).path == "/stuck")
    child.signal(SIGKILL)
    #expect(try await child.exit() == .signal(SIGKILL))
    #expect(try await origin.exchange(3).failure == nil)
  }

  @Test func `chunks arrive, and a missing last chunk is an error to the client`() async throws {
    let origin = try OriginServer { request, reply in
      try reply.head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked")
      try reply.chunk(Array("body".utf8))
      if request.path == "/cut" { reply.close() } else { try reply.chunk([]) }
    }
    #expect(try await curl(origin.url("/")).standardOutput == ["body"])
    // curl(1): 18, a partial file.
    #expect(try await curl(origin.url("/cut")).exit == .code(18))
  }

  @Test func `a closed port refuses`() async throws {
    let closed = try ClosedPort()
    // curl(1): 7, failed to connect.
    #expect(try await curl("http://127.0.0.1:\(closed.port)/").exit == .code(7))
  }
}
