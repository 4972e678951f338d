import HaulTransfer
import TestSupport
import Testing

/// Responses whose body is not wanted: what becomes of the connection, and what is kept of the body.
@Suite(.timeLimit(.minutes(5)))
struct RefusedBodyTests {
  private struct Case: Sendable, CustomTestStringConvertible {
    let head: String
    let body: String
    /// The connections that two requests need.
    let connections: Int
    let kept: String
    var testDescription: String { head.replacing("\n", with: ", ") }

    init(_ head: String, _ body: String, connections: Int, kept: String? = nil) {
      (self.head, self.body, self.connections) = (head, body, connections)
      self.kept = kept ?? body
    }
  }

  private static let long = String(repeating: "long ", count: 20_000)

  @Test(arguments: [
    Case("404 Not Found\nContent-Length: 0", "", connections: 1),
    Case("404 Not Found\nContent-Length: 9", "not here!", connections: 1),
    Case("302 Found\nLocation: /b\nContent-Length: 4", "see!", connections: 1),
    Case(
      "500 Oops\nTransfer-Encoding: chunked", "3\r\nsad\r\n0\r\n\r\n", connections: 1, kept: "sad"),
    Case("403 No\nConnection: close", "closed", connections: 2),
    Case("302 Found\nLocation: /b\nConnection: close", "closed", connections: 2, kept: ""),
    Case("302 Found\nLocation: /b\nContent-Length: 100000", long, connections: 2, kept: ""),
    Case(
      "404 None\nContent-Length: 100000", long, connections: 2, kept: String(long.prefix(16384))),
  ])
  private func `a short body is read to its end, a long one not`(_ sample: Case) async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 \(sample.head)")
      // The client may have gone by now.
      try? reply.body(sample.body)
      if sample.head.contains("close") { reply.close() }
    }
    try await withEngine { engine in
      for _ in 1...2 {
        let result = await engine.perform(
          ExchangeRequest(url: origin.url("/a")), sink: Recorder(head: .reject))
        #expect(result.outcome == .rejected)
        #expect(String(decoding: result.refusedBody, as: UTF8.self) == sample.kept)
      }
    }
    #expect(origin.log.value.connections == sample.connections)
  }

  @Test func `a body that does not come is not waited for`() async throws {
    let never = Gate("the body")
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 9")
      try? never.waitBlocking()
    }
    defer { never.open() }
    try await withEngine { engine in
      let result = await engine.perform(
        ExchangeRequest(url: origin.url("/a")), sink: Recorder(head: .reject))
      #expect(result.outcome == .rejected && result.head?.status == 404)
    }
  }
}
