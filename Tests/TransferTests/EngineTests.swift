import TestSupport
import Testing
import Transfer

@Suite(.timeLimit(.minutes(2)))
struct EngineTests {
  @Test func `a body arrives whole and the connection is used again`() async throws {
    let pattern = Pattern(seed: 1)
    let body = pattern.bytes(in: 0..<1_000_000)
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(body.count)\nETag: \"a\"")
      try reply.body(body)
    }
    try await withEngine { engine in
      for _ in 0..<3 {
        let (result, log) = await engine.fetch(origin.url("/f?x=1"))
        #expect(result.outcome == .complete)
        #expect(result.bytes == 1_000_000)
        #expect(log.bytes == body)
        #expect(log.heads == 1)
        #expect(result.head?.status == 200)
        #expect(result.head?.value("etag") == "\"a\"")
        #expect(result.primaryAddress == "127.0.0.1")
      }
    }
    #expect(origin.log.value.connections == 1)
    #expect(origin.log.value.exchanges.first?.request.target == "/f?x=1")
  }
}
