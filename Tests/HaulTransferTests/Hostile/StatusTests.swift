import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Statuses that speak of something else than the file, and those that carry it all the same.
@Suite(.timeLimit(.minutes(5)))
struct StatusTests {
  private static let file = SuspectPageTests.file
  private static let durable = SuspectPageTests.durable

  /// The connection, of several, is the wrong one. No second try is lost on a server that says it of all.
  @Test(arguments: [true, false], [true, false])
  func `421 is asked again once, over another connection`(_ passes: Bool, _ resumes: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let origin = try OriginServer { request, reply in
      if passes, request.connection > 1 { return try Self.file.answer(request, reply) }
      try reply.head("HTTP/1.1 421 Misdirected Request\nContent-Length: 0")
    }
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/file.zip"), engine: engine) { order in
        if resumes { order.resuming = try bench.earlier(of: Self.file, durable: Self.durable) }
      }
      let outcome = await transfer.run()
      if passes {
        #expect(try outcome.holds(Self.file))
      } else {
        #expect(outcome.error?.errorClass == .http4xx)
      }
      #expect(origin.log.value.exchanges.map(\.request.connection) == [1, 2])
      #expect(try passes || !resumes || bench.keepsPart())
    }
  }

  @Test func `a head that libcurl cannot take is named`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nX: \(String(repeating: "x", count: 200_000))\nContent-Length: 5")
      try reply.body("bytes")
    }
    #expect(outcome.error?.message.contains("a header that is too long") == true)
  }

  @Test func `203 carries the file`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head("HTTP/1.1 203 Changed\nContent-Length: \(Self.file.length)")
      try reply.body(Self.file.bytes(in: 0..<Self.file.length))
    }
    #expect(try outcome.holds(Self.file))
  }

  @Test(arguments: [
    ("202 Later\nRetry-After: 7", TransferError.Class.http5xx), ("511 Log in", .proxy),
    ("300 Many", .http4xx),
  ])
  func `statuses that carry no file`(
    _ status: String, _ errorClass: TransferError.Class
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head("HTTP/1.1 \(status)\nContent-Type: text/html\nContent-Length: 5")
      try reply.body("login")
    }
    #expect(outcome.error?.errorClass == errorClass)
    #expect(outcome.error?.retryAfter == (status.hasPrefix("202") ? .seconds(7) : nil))
    let says = ["202": "still preparing", "511": "needs a login", "300": "several files"]
    #expect(outcome.error?.message.contains(says["\(status.prefix(3))"] ?? "?") == true)
  }

  @Test func `300 with a Location, and the same Location twice, lead on`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { request, reply in
      switch request.path {
      case "/file.zip":
        try reply.head("HTTP/1.1 300 Many\nLocation: /a\nContent-Length: 0")
      case "/a":
        try reply.head("HTTP/1.1 302 Found\nLocation: /b\nLocation: /b\nContent-Length: 0")
      default: try Self.file.whole(reply)
      }
    }
    #expect(try outcome.holds(Self.file))
  }
}
