import TestSupport
import Testing

@testable import HaulTransfer

/// What of a head is believed.
@Suite(.timeLimit(.minutes(5)))
struct EngineHeadTests {
  /// A head that may not be believed.
  struct BadHead: Sendable, CustomTestStringConvertible {
    let name: String
    let text: String
    var testDescription: String { name }

    init(_ name: String, _ fields: String, status: String = "HTTP/1.1 200 OK") {
      self.name = name
      text = status + "\n" + fields
    }
  }

  static let badHeads = [
    BadHead("two lengths", "Content-Length: 5\nContent-Length: 6"),
    BadHead("two lengths in a list", "Content-Length: 5, 6"),
    BadHead("length in letters", "Content-Length: abc"),
    BadHead("a transfer coding that was not requested", "Transfer-Encoding: gzip, chunked"),
    BadHead("negative length", "Content-Length: -5"),
    BadHead("length with a letter", "Content-Length: 5x"),
    BadHead("empty length", "Content-Length:"),
    BadHead("length beyond 63 bits", "Content-Length: 99999999999999999999"),
    BadHead("length of 63 bits", "Content-Length: 9223372036854775807"),
    BadHead("length above 1 PiB", "Content-Length: 1125899906842625"),
    BadHead("unasked switch", "Upgrade: x", status: "HTTP/1.1 101 Switching Protocols"),
    BadHead(
      "1xx with the only length", "Content-Length: 5\n\nHTTP/1.1 200 OK",
      status: "HTTP/1.1 103 Early"),
    BadHead(
      "1xx with a coding", "Transfer-Encoding: chunked\n\nHTTP/1.1 200 OK\nContent-Length: 5",
      status: "HTTP/1.1 103 Early"),
    BadHead("status 999", "Content-Length: 5", status: "HTTP/1.1 999 Unusual"),
    BadHead("status 099", "Content-Length: 5", status: "HTTP/1.1 099 Low"),
    BadHead("HTTP/2 in the clear", "Content-Length: 5", status: "HTTP/2 200"),
    BadHead("HTTP/3 over TCP", "Content-Length: 5", status: "HTTP/3.0 200 OK"),
    BadHead("no version", "Content-Length: 5", status: "HTTP 200"),
    BadHead("NUL in a value", "X: a\u{0}b\nContent-Length: 5"),
    BadHead("a line without colon", "no colon here\nContent-Length: 5"),
    BadHead("a line of 150 kB", "X: \(String(repeating: "x", count: 150_000))"),
    BadHead(
      "300 lines of 1 kB",
      String(repeating: "X: \(String(repeating: "x", count: 1000))\n", count: 300)),
    BadHead("1,001 fields", String(repeating: "X: y\n", count: 1001)),
  ]

  /// libcurl before 8.1.1 then used the last response's head, which it had freed, where the same handle had that response.
  @Test func `a head that begins with a continuation is refused, after other heads too`()
    async throws
  {
    let origin = try OriginServer { request, reply in
      if request.path == "/good" {
        return try Representation(seed: 1, length: 10).answer(request, reply)
      }
      try reply.head("HTTP/1.1 200 OK\n X: y\nContent-Length: 5")
      try reply.body("12345")
      reply.close()
    }
    try await withEngine { engine in
      for _ in 1...20 {
        let (good, _) = await engine.fetch(origin.url("/good"))
        #expect(good.outcome.failure == nil)
        let (result, _) = await engine.fetch(origin.url("/folded"))
        #expect(result.outcome.failure == .protocol, "\(result.outcome)")
        #expect("\(result.outcome)".contains("begins with a space or tab"))
      }
    }
  }

  @Test func `a length of twenty digits is too much, and a number`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 99999999999999999999")
      reply.close()
    }
    try await withEngine { engine in
      let (result, _) = await engine.fetch(origin.url("/"))
      #expect("\(result.outcome)".contains("more than 1 PiB"), "\(result.outcome)")
    }
  }

  @Test(arguments: badHeads)
  func `a head that breaks HTTP is refused`(_ head: BadHead) async throws {
    let origin = try OriginServer { _, reply in
      for part in head.text.split(separator: "\n\n") { try reply.head(String(part)) }
      try reply.body("12345")
      reply.close()
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome.failure == .protocol, "\(result.outcome)")
      #expect(log.heads == 0)
      #expect(log.count == 0)
    }
  }

  @Test func `an answer without a head is refused`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.body("<html>an answer as in 1991</html>\r\n")
      reply.close()
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome.failure == .protocol)
      #expect(log.count == 0)
    }
  }

  @Test func `answers before the final one are skipped`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 100 Continue")
      try reply.head("HTTP/1.1 103 Early Hints\nLink: </a>")
      try reply.head("HTTP/1.1 103 Early Hints\nETag: \"early\"")
      try reply.answer("ETag: \"final\"\nContent-Length: 5", "12345")
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome == .complete)
      #expect(result.head?.fields == [.init("ETag", "\"final\""), .init("Content-Length", "5")])
      #expect(log.heads == 1)
      #expect(log.bytes == Array("12345".utf8))
    }
  }

  @Test func `field values that differ in one byte beyond ASCII stay different`() async throws {
    let origin = try OriginServer { request, reply in
      let byte: UInt8 = request.path == "/a" ? 0xe8 : 0xe9
      try reply.body(
        Array("HTTP/1.1 204 Fine\r\nETag: \"".utf8) + [byte] + Array("\"\r\n\r\n".utf8))
    }
    try await withEngine { engine in
      let (first, _) = await engine.fetch(origin.url("/a"))
      let (second, _) = await engine.fetch(origin.url("/b"))
      #expect(first.head?.value("ETag") == "\"\u{f7e8}\"")
      #expect(second.head?.value("ETag") == "\"\u{f7e9}\"")
    }
  }

  /// Feeds lines to a parser.
  private func parse(_ lines: [String], secure: Bool = true) throws -> HeadParser.Parsed? {
    var parser = HeadParser(isSecure: secure)
    for line in lines.map({ $0 + "\r\n" }) {
      if let parsed = try parser.take(line.utf8.span) { return parsed }
    }
    return nil
  }

  @Test(arguments: [
    (["HTTP/1.1 200 OK", "Content-Length: 7", ""], BodyFraming.length(7)),
    (["HTTP/1.1 200 OK", "Content-Length: 7", "content-length: 7", ""], .length(7)),
    (["HTTP/1.1 200 OK", "Content-Length: 7, 07", ""], .length(7)),
    (
      ["HTTP/1.1 200 OK", "Transfer-Encoding: identity, Chunked", "Content-Length: 7", ""], .chunked
    ),
    (["HTTP/1.1 200 OK", "Transfer-Encoding: identity", ""], .untilClose),
    (["HTTP/1.0 200 OK", ""], .untilClose),
    (["HTTP/1.1 304 Not Modified", "Content-Length: 7", ""], .noBody),
    (["HTTP/2 200 ", ""], .stream),
    (["HTTP/2 200 ", "content-length: 7", ""], .length(7)),
  ])
  func `the framing follows from the head`(_ lines: [String], _ framing: BodyFraming) throws {
    let parsed = try #require(try parse(lines))
    #expect(parsed.framing == framing)
    let lengths = parsed.head.values("Content-Length")
    #expect(
      lengths
        == (lines.contains { $0.lowercased().contains("length") }
          && framing != .chunked ? ["7"] : []))
  }

  @Test func `folded values are joined, lines that are no field skipped`() throws {
    let parsed = try parse([
      "HTTP/1.1 200", "A:  b  ", "  c", "Bad name: x", ": y", "C:", "",
    ])
    #expect(parsed?.head.fields == [.init("A", "b c"), .init("C", "")])
  }

  @Test func `a stall is counted afresh with each full quota and not while paused`() {
    let start = ContinuousClock.now
    func at(_ seconds: Int) -> ContinuousClock.Instant { start + .seconds(seconds) }
    var watch = StallWatch(limit: .seconds(60), quota: 100, now: start)
    watch.received(99, now: at(59))
    #expect(!watch.isStalled(now: at(59)))
    #expect(watch.isStalled(now: at(60)))
    watch.received(1, now: at(59))
    #expect(!watch.isStalled(now: at(118)))
    watch.setPaused(true, now: at(118))
    #expect(!watch.isStalled(now: at(1000)))
    watch.setPaused(false, now: at(1000))
    #expect(!watch.isStalled(now: at(1059)))
    #expect(watch.isStalled(now: at(1060)))
  }

  @Test(arguments: [(1, true), (99, true), (100, false)])
  func `an origin that trickles holds no place for ever`(_ rate: Int, _ isStalled: Bool) {
    let limits = Engine.Configuration()
    let start = ContinuousClock.now
    var watch = StallWatch(limit: limits.stallTime, quota: limits.stallQuota, now: start)
    for second in 1...60 { watch.received(rate, now: start + .seconds(second)) }
    #expect(watch.isStalled(now: start + .seconds(60)) == isStalled)
  }
}
