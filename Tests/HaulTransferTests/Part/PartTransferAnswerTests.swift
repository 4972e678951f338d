import TestSupport
import Testing

@testable import HaulTransfer

/// Rows of the table that need no earlier bytes: refusals, bodies without length, redirects, limits.
@Suite(.timeLimit(.minutes(5)))
struct PartTransferAnswerTests {
  let bench: PartTransferBench
  let source = Source(seed: 1, length: 300_000)

  init() throws {
    bench = try PartTransferBench()
  }

  /// Runs one transfer from 0 to its end.
  private func run(
    _ origin: OriginServer, _ path: String = "/file",
    _ change: (inout TransferRequest) throws -> Void = { _ in }
  ) async throws -> (outcome: TransferOutcome, report: TransferReport) {
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url(path), engine: engine, change)
      return (await transfer.run(), transfer.report)
    }
  }

  @Test(arguments: [0, 1, 300_000] as [Int64])
  func `a file comes whole, an empty one too`(_ length: Int64) async throws {
    let source = Source(seed: 1, length: length)
    let origin = try OriginServer(handler: source.handler)
    let (outcome, report) = try await run(origin)
    #expect(try outcome.holds(source))
    #expect(report.fetched == length && report.status == 200)
    #expect(bench.saved.value.isEmpty && bench.rulings.value.isEmpty)
    #expect(origin.log.value.exchanges[0].request[field: "Accept-Encoding"] == "identity")
  }

  @Test func `9: a part to a plain request`() async throws {
    let origin = try OriginServer { [source] _, reply in try source.part(reply, 0..<200_000) }
    let outcome = try await run(origin).outcome
    #expect(outcome.error?.errorClass == .protocol)
    #expect(bench.rulings.value == ["9 fail"])
    #expect(!bench.scratch.exists("parts/part"))
  }

  @Test(arguments: ["429 Too Many", "503 Busy"])
  func `19: a host that asks for less is named, with how long`(_ status: String) async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 \(status)\nRetry-After: 7\nContent-Length: 0")
    }
    let first = try OriginServer(address: "127.0.0.2") { _, reply in
      try reply.redirect(to: origin.url("/there"))
    }
    let error = try #require(try await run(first).outcome.error)
    #expect(error.errorClass == .rateLimited)
    #expect(error.retryAfter == .seconds(7))
    #expect(error.host == origin.host)
  }

  @Test func `20: a body that stops short is gone on with`() async throws {
    let origin = try OriginServer(answering: [
      { [source] in try source.answer($0, $1, cut: .close(after: 100_000)) },
      { [source] in try source.answer($0, $1, cut: .reset(after: 104_096)) },
      { [source] in try source.answer($0, $1) },
    ])
    let (outcome, report) = try await run(origin)
    #expect(try outcome.holds(source))
    #expect(origin.asked == ["whole", "95904-299999 if", "195904-299999 if"])
    #expect(report.fetched == 300_000 + 2 * 4096)
    #expect(report.leftover.isEmpty)
  }

  @Test func `22: chunks without the last one are never the whole`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nETag: \"1\"")
      try reply.chunk([1, 2, 3])
      reply.close()
    }
    let outcome = try await run(origin).outcome
    #expect(outcome.error?.errorClass == .interrupted)
    #expect(bench.rulings.value == ["22 fail"])
  }

  @Test func `a connection that breaks again and again is left for later, its progress saved`()
    async throws
  {
    let origin = try OriginServer { [source] in
      try source.answer($0, $1, cut: .close(after: 10_000))
    }
    let outcome = try await run(origin).outcome
    #expect(outcome.error?.errorClass == .interrupted)
    #expect(origin.asked.count == PartTransfer.maximumBreaks)
    // The first brought 10,000 bytes, each other one that less the overlap.
    let last = try #require(bench.saved.value.last)
    #expect(last.durable.prefixEnd == 10_000 + 7 * (10_000 - 4096))
  }

  /// Answers that end as announced were counted as breaks, and eight of them ended the transfer.
  @Test func `2: a server that gives little at a time is asked as often as it takes`() async throws
  {
    let origin = try OriginServer { [source] request, reply in
      guard request.number > 1, let start = Int64(request.asked.prefix { $0 != "-" }) else {
        return try source.answer(request, reply, cut: .close(after: 10_000))
      }
      try source.part(reply, start..<min(start + 20_000, source.length))
    }
    let outcome = try await run(origin).outcome
    #expect(try outcome.holds(source))
    #expect(origin.asked.count > 2 * PartTransfer.maximumBreaks)
  }

  // MARK: - Row 23

  private func endless(_ bodies: String...) throws -> OriginServer {
    try OriginServer { request, reply in
      try reply.head("HTTP/1.1 200 OK\nETag: \"1\"")
      try reply.body(bodies[min(request.number, bodies.count) - 1])
      reply.close()
    }
  }

  @Test func `23: without a length the same twice is complete`() async throws {
    let origin = try endless("twice the same")
    let outcome = try await run(origin).outcome
    guard case .complete(let part, 14) = outcome else {
      Issue.record("\(outcome)")
      return
    }
    #expect(try bench.text(part) == "twice the same")
    #expect(origin.asked == ["whole", "whole"])
    #expect(bench.rulings.value == ["23 second_download", "23 compare"])
  }

  @Test(arguments: ["twice the sam", "twice the Same", "twice the same!"])
  func `23: without a length, and other bytes the second time`(_ second: String) async throws {
    let outcome = try await run(try endless("twice the same", second)).outcome
    #expect(outcome.error?.errorClass == .unverifiedLength)
  }

  @Test func `23: without a length, but with a digest, a known length or the job's leave`()
    async throws
  {
    let origin = try endless("once")
    let changes: [(inout TransferRequest) -> Void] = [
      { $0.acceptUnverifiedLength = true }, { $0.expectedLength = 4 },
      { $0.digest = ExpectedDigest(spelled: "md5=e2eff6c2dafd909df8508f891b385d88") },
    ]
    for change in changes {
      let outcome = try await run(origin, "/", change).outcome
      guard case .complete(_, 4) = outcome else {
        Issue.record("\(outcome)")
        return
      }
    }
    #expect(origin.asked == ["whole", "whole", "whole"])
    let short = try await run(origin) { $0.expectedLength = 5 }
    #expect(short.outcome.error?.errorClass == .interrupted)
  }

  // MARK: - Rows 18 and 25

  @Test func `18: an expired redirect is asked for anew`() async throws {
    let origin = try OriginServer { [source] request, reply in
      switch (request.path, request.number) {
      case ("/file", 1): try reply.redirect(to: "/expired")
      case ("/file", _): try reply.redirect(to: "/fresh")
      case ("/fresh", _): try source.answer(request, reply)
      default: try reply.head("HTTP/1.1 403 Forbidden\nContent-Length: 0")
      }
    }
    let outcome = try await run(origin).outcome
    #expect(try outcome.holds(source))
    #expect(
      bench.rulings.value == ["25 redirect", "18 from_original", "25 redirect"])
  }

  @Test(arguments: [401, 403, 404, 410])
  func `18: twice refused behind a redirect`(_ status: Int) async throws {
    let origin = try OriginServer { request, reply in
      if request.path == "/file" { return try reply.redirect(to: "/gone") }
      try reply.head("HTTP/1.1 \(status) No\nContent-Length: 0")
    }
    let error = try await run(origin).outcome.error
    #expect(error?.errorClass == .refused(status))
    #expect(error?.status == status)
    #expect(origin.asked.count == 4)
  }

  @Test func `25: a chain is followed, and a loop has an end`() async throws {
    let origin = try OriginServer { [source] request, reply in
      switch request.path {
      case "/loop": try reply.redirect(to: "loop")
      case "/file": try reply.redirect(to: "/9")
      case "/0": try source.answer(request, reply)
      default:
        let number = Int(request.path.dropFirst()) ?? 0
        try reply.redirect(to: "//\(request[field: "Host"] ?? "")/\(number - 1)")
      }
    }
    let outcome = try await run(origin).outcome
    #expect(try outcome.holds(source))
    #expect(origin.asked.count == 11)
    let loop = try await run(origin, "/loop").outcome
    #expect(loop.error?.errorClass == .redirects)
    #expect(origin.asked.count == 22)
  }

  @Test(arguments: [
    ("http://169.254.169.254/meta", TransferError.Class.blockedAddress),
    ("http://[::1]/", .blockedAddress), ("file:///etc/passwd", .blockedURL),
    ("http://name:word@127.0.0.1/", .blockedURL), ("gopher://127.0.0.1/", .blockedURL),
    ("http://", .blockedURL),
  ])
  func `25: where a redirect may not lead`(
    _ target: String, _ failure: TransferError.Class
  ) async throws {
    let origin = try OriginServer { _, reply in try reply.redirect(to: target) }
    let error = try await run(origin).outcome.error
    #expect(error?.errorClass == failure)
    #expect(error?.message.contains("word") == false)
    #expect(origin.asked.count == 1)
  }

  @Test func `25: credentials and leave to connect are for the job's own origin`() async throws {
    let other = try OriginServer(address: "127.0.0.2") { request, reply in
      // Back home, and still nobody's secret.
      try reply.redirect(to: "http://\(request.target.dropFirst())/back")
    }
    let origin = try OriginServer { [source] request, reply in
      switch request.path {
      case "/file": try reply.redirect(to: "/here")
      case "/here": try reply.redirect(to: other.url("/\(request[field: "Host"] ?? "")"))
      default: try source.answer(request, reply)
      }
    }
    let secret = ResponseHead.Field("Authorization", "Basic bmFtZTp3b3Jk")
    let outcome = try await run(origin) { $0.credentials = [secret] }.outcome
    #expect(try outcome.holds(source))
    let sent = origin.log.value.exchanges.map { $0.request[field: "Authorization"] }
    #expect(sent == [secret.value, secret.value, nil])
    #expect(other.log.value.exchanges[0].request[field: "Authorization"] == nil)

    // The same way round, where only the job's own origin may be private.
    let policy = Engine.Configuration.test.addressPolicy
    let blocked = try await withEngine(Engine.Configuration()) { engine in
      try await bench.transfer(origin.url("/file"), engine: engine) { $0.addressPolicy = policy }
        .run()
    }
    #expect(blocked.error?.errorClass == .blockedAddress)
    #expect(blocked.error?.host == other.host)
  }

  // MARK: - Limits and digests

  @Test func `a file longer than allowed ends before its first byte`() async throws {
    let origin = try OriginServer(handler: source.handler)
    let outcome = try await run(origin) { $0.maximumLength = 299_999 }.outcome
    #expect(outcome.error?.errorClass == .tooLarge)
    #expect(!bench.scratch.exists("parts/part"))
    let exact = try await run(origin) { $0.maximumLength = 300_000 }.outcome
    #expect(try exact.holds(source))
  }

  @Test func `a file of another length than demanded fails, however its length is told`()
    async throws
  {
    let origin = try OriginServer(handler: source.handler)
    let outcome = try await run(origin) { $0.expectedLength = 299_999 }.outcome
    #expect(outcome.error?.errorClass == .length)
    #expect(outcome.error?.message == "the file has 300000 bytes, but 299999 were expected")
    let chunked = try OriginServer { [source] _, reply in
      try reply.head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked")
      try reply.chunk(source.pattern.bytes(in: 0..<1000))
      try reply.chunk([])
    }
    let found = try await run(chunked) { $0.expectedLength = 999 }.outcome
    #expect(found.error?.errorClass == .length)
    let exact = try await run(chunked) { $0.expectedLength = 1000 }.outcome
    #expect(exact.error == nil)
  }

  @Test func `without a length, it ends where the limit is passed`() async throws {
    let origin = try OriginServer { [source] _, reply in
      try reply.head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked")
      // For ever, if nobody stops it.
      while true { try reply.chunk(source.pattern.bytes(in: 0..<65_536)) }
    }
    let (outcome, report) = try await run(origin) { $0.maximumLength = 1_000_000 }
    #expect(outcome.error?.errorClass == .tooLarge)
    #expect(report.fetched < 2_000_000)
    let part = try #require(try bench.scratch.parts().open("part"))
    #expect(try part.size() <= 1_000_000)
  }

  @Test func `a digest is computed on the way, and a wrong one fails`() async throws {
    let origin = try OriginServer(handler: source.handler)
    let good = ExpectedDigest(.sha256, bytes: source.digest(.sha256))
    let right = try await run(origin) { $0.digest = good }.outcome
    #expect(try right.holds(source))
    let wrong = try await run(origin) { $0.digest = ExpectedDigest(spelled: "md5=" + "00" * 16) }
    #expect(wrong.outcome.error?.errorClass == .digest)
    #expect(origin.asked == ["whole", "whole"])
  }

  @Test(arguments: [true, false])
  func `a spliced file with a wrong digest is fetched whole, once`(_ isRight: Bool) async throws {
    // The disk holds another source's bytes, but for the overlap.
    let origin = try OriginServer(handler: source.handler)
    let digest = isRight ? source.digest(.sha256) : source.pattern.bytes(in: 0..<32)
    let (outcome, report) = try await run(origin) { order in
      let earlier = try bench.earlier(of: source, durable: 100_000)
      try write("spoilt", to: earlier.part, at: 50_000)
      order.resuming = earlier
      order.digest = ExpectedDigest(.sha256, bytes: digest)
    }
    #expect(origin.asked == ["95904-299999 if", "whole"])
    #expect(report.leftover == ["part"])
    if isRight {
      #expect(try outcome.holds(source))
    } else {
      #expect(outcome.error?.errorClass == .digest)
    }
  }

  @Test func `a spliced file with the right digest is read back and kept`() async throws {
    let origin = try OriginServer(handler: source.handler)
    let outcome = try await run(origin) { order in
      order.resuming = try bench.earlier(of: source, durable: 100_000)
      order.digest = ExpectedDigest(.sha1, bytes: source.digest(.sha1))
    }.outcome
    #expect(try outcome.holds(source))
    #expect(origin.asked == ["95904-299999 if"])
  }

  @Test func `a host known to answer ranges wrongly is asked for the whole`() async throws {
    let origin = try OriginServer(handler: source.handler)
    let outcome = try await run(origin) { order in
      order.resuming = try bench.earlier(of: source, durable: 100_000)
      order.rangeUnsafe = true
    }.outcome
    #expect(try outcome.holds(source))
    #expect(origin.asked == ["whole"])
  }
}

private func * (text: String, count: Int) -> String { String(repeating: text, count: count) }
