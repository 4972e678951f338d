import HaulTransfer
import TestSupport
import Testing

/// How an answer ended, told apart.
@Suite(.timeLimit(.minutes(5)))
struct EngineEndingTests {
  /// One scripted answer and what must be said of it.
  struct Case: Sendable, CustomTestStringConvertible {
    let name: String
    let script: @Sendable (OriginReply) throws -> Void
    let check: @Sendable (ExchangeOutcome) -> Bool
    var bytes: Int64 = 0
    var testDescription: String { name }
  }

  static let endings: [Case] = [
    Case(
      name: "Content-Length met", script: { try $0.answer("Content-Length: 5", "12345") },
      check: { $0 == .complete }, bytes: 5),
    Case(
      name: "last chunk seen",
      script: {
        try $0.answer("Transfer-Encoding: chunked", "")
        try $0.chunk([1, 2, 3])
        try $0.chunk([])
        try $0.body("\r\n")
      }, check: { $0 == .complete }, bytes: 3),
    Case(
      name: "trailers behind the last chunk",
      script: { try $0.answer("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\nX: y\r\n\r\n") },
      check: { $0 == .complete }, bytes: 3),
    Case(
      name: "204 has no body", script: { try $0.head("HTTP/1.1 204 No Content\nX: y") },
      check: { $0 == .complete }),
    Case(
      name: "304 with a length has no body",
      script: { try $0.head("HTTP/1.1 304 Not Modified\nContent-Length: 5") },
      check: { $0 == .complete }),
    Case(
      name: "more than Content-Length: the excess is dropped",
      script: { try $0.answer("Content-Length: 5", "1234567") },
      check: { $0 == .complete }, bytes: 5),
    Case(
      name: "no length, orderly close",
      script: {
        try $0.answer("X: y", "12345")
        $0.close()
      }, check: { $0 == .closed }, bytes: 5),
    Case(
      name: "HTTP/1.0, no length, orderly close",
      script: {
        try $0.head("HTTP/1.0 200 OK")
        try $0.body("12345")
        $0.close()
      }, check: { $0 == .closed }, bytes: 5),
    Case(
      name: "no length, reset",
      script: {
        try $0.answer("X: y", "12345")
        try $0.reset()
      }, check: \.isTruncated, bytes: 5),
    Case(
      name: "short body, orderly close",
      script: {
        try $0.answer("Content-Length: 10", "12345")
        $0.close()
      }, check: \.isTruncated, bytes: 5),
    Case(
      name: "short body, reset",
      script: {
        try $0.answer("Content-Length: 10", "12345")
        try $0.reset()
      }, check: \.isTruncated, bytes: 5),
    Case(
      name: "no last chunk",
      script: {
        try $0.answer("Transfer-Encoding: chunked", "5\r\n12345\r\n")
        $0.close()
      }, check: \.isTruncated, bytes: 5),
    Case(
      name: "a chunk size that is none",
      script: { try $0.answer("Transfer-Encoding: chunked", "5\r\n12345\r\nzz\r\n") },
      check: \.isTruncated, bytes: 5),
    Case(
      name: "length and chunks, no last chunk",
      script: {
        try $0.answer("Content-Length: 5\nTransfer-Encoding: chunked", "5\r\n12345\r\n")
        $0.close()
      }, check: \.isTruncated, bytes: 5),
    Case(
      name: "closed without an answer", script: { $0.close() },
      check: { $0.failure == .interrupted }),
    Case(
      name: "reset without an answer", script: { try $0.reset() },
      check: { $0.failure == .interrupted }),
    Case(
      name: "closed inside the head",
      script: {
        try $0.body("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n")
        $0.close()
      }, check: { $0.failure != nil }),
  ]

  @Test(arguments: endings)
  func `an ending is told by its framing`(_ given: Case) async throws {
    let origin = try OriginServer { _, reply in try given.script(reply) }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(given.check(result.outcome), "\(result.outcome)")
      #expect(result.bytes == given.bytes)
      #expect(log.count == given.bytes)
    }
  }

  @Test func `bytes beyond the announced length never become the next answer`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.answer("Content-Length: 5", "12345HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
    }
    try await withEngine { engine in
      for _ in 0..<10 {
        let (result, log) = await engine.fetch(origin.url("/"))
        #expect(result.outcome == .complete)
        #expect(log.bytes == Array("12345".utf8))
      }
    }
    #expect(origin.log.value.connections == 10)
  }

  @Test func `what came late from the last answer is not taken for this one`() async throws {
    let origin = try OriginServer { request, reply in
      if request.number == 2 { try reply.body("67") }
      try reply.answer("Content-Length: 5", "12345")
    }
    try await withEngine { engine in
      for _ in 0..<2 {
        let (result, log) = await engine.fetch(origin.url("/"))
        #expect(result.outcome == .complete)
        #expect(log.bytes == Array("12345".utf8))
      }
    }
    #expect(origin.log.value.exchanges.map(\.request.connection) == [1, 1, 2])
  }

  /// libcurl connects anew by itself, but no more than five times in a handle's life.
  @Test func `a kept connection that the server has given up is not the exchange's failure`()
    async throws
  {
    let answered = Watched<Set<Int>>([])
    let origin = try OriginServer { request, reply in
      let isFirst = answered.update { $0.insert(request.connection).inserted }
      if isFirst { try reply.answer("Content-Length: 5", "12345") } else { reply.close() }
    }
    try await withEngine { engine in
      for _ in 0..<20 {
        let (result, log) = await engine.fetch(origin.url("/"))
        #expect(result.outcome == .complete)
        #expect(log.bytes == Array("12345".utf8))
      }
    }
    #expect(origin.log.value.connections == 20)
  }

  @Test func `silence before the head is a time-out, after it a stall`() async throws {
    let never = Gate("never opened while the exchange runs")
    let origin = try OriginServer { request, reply in
      if request.path == "/stall" { try reply.answer("Content-Length: 10", "12345") }
      try reply.wait(for: never)
    }
    var configuration = Engine.Configuration.test
    configuration.responseTimeout = .milliseconds(300)
    configuration.stallTime = .seconds(1)
    try await withEngine(configuration) { engine in
      let (silent, _) = await engine.fetch(origin.url("/silent"))
      #expect(silent.outcome.failure == .timeout)
      let (stalled, log) = await engine.fetch(origin.url("/stall"))
      #expect(stalled.outcome.isStalled)
      #expect(log.bytes == Array("12345".utf8))
    }
    never.open()
  }

  /// The engine's own would let each of these run for a minute.
  @Test func `a request's own time-outs go before the engine's`() async throws {
    let never = Gate("never opened while the exchange runs")
    let origin = try OriginServer { request, reply in
      if request.path == "/stall" { try reply.answer("Content-Length: 10", "12345") }
      try reply.wait(for: never)
    }
    try await withEngine { engine in
      let outcome = { (url: String) async -> ExchangeOutcome in
        var request = ExchangeRequest(url: url)
        request.connectTimeout = .seconds(1)
        request.stallTimeout = .seconds(1)
        return await engine.perform(request, sink: Recorder()).outcome
      }
      #expect(await outcome(origin.url("/silent")).failure == .timeout)
      #expect(await outcome(origin.url("/stall")).isStalled)
      // What is sent to begin TLS is never answered.
      #expect(await outcome("https://\(origin.host)/").failure == .connect)
    }
    never.open()
  }
}

extension OriginReply {
  /// A 200 with these fields and the beginning of a body.
  func answer(_ fields: String, _ body: String) throws {
    try head("HTTP/1.1 200 OK\n" + fields)
    try self.body(body)
  }
}
