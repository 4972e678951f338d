import HaulTransfer
import TestSupport
import Testing

/// TLS and HTTP/2, against nginx.
@Suite(.timeLimit(.minutes(5)))
struct EngineTLSTests {
  private static let size: Int64 = 32 << 20

  private func origin() async throws -> TLSOrigin {
    let large = Pattern(seed: 4).bytes(in: 0..<Self.size)
    return try await TLSOrigin(files: ["large": large, "small": Array("12345".utf8)])
  }

  private func configuration(_ origin: TLSOrigin, trusting: Bool = true) -> Engine.Configuration {
    var configuration = Engine.Configuration.test
    configuration.resolve = [
      "tls.test:\(origin.port):127.0.0.1", "other.test:\(origin.port):127.0.0.1",
    ]
    if trusting { configuration.caFile = origin.caFile }
    return configuration
  }

  @Test func `HTTP/2 bodies are complete and one connection serves one after another`()
    async throws
  {
    let origin = try await origin()
    try await withEngine(configuration(origin)) { engine in
      for _ in 0..<3 {
        let (result, log) = await engine.fetch(origin.url("/large"))
        #expect(result.outcome == .complete)
        #expect(Pattern(seed: 4).firstDifference(of: log.bytes, at: 0) == nil)
        #expect(result.head?.status == 200)
      }
      let (missing, _) = await engine.fetch(origin.url("/missing"))
      #expect(missing.outcome == .complete)
      #expect(missing.head?.status == 404)
    }
    let seen = try origin.requests()
    #expect(seen.allSatisfy { $0[0] == "HTTP/2.0" })
    #expect(Set(seen.map { $0[1] }).count == 1)
  }

  @Test func `a rejected, a stopped and a paused HTTP/2 exchange harm no other`() async throws {
    let origin = try await origin()
    try await withEngine(configuration(origin)) { engine in
      let large = ExchangeRequest(url: origin.url("/large"))
      let handle = ExchangeHandle()
      let held = Recorder { log in
        if log.buffers == 1 { handle.pause() }
        return .more
      }
      async let paused = engine.perform(large, sink: held, handle: handle)
      try await held.received(1)
      #expect(await engine.perform(large, sink: Recorder(head: .reject)).outcome == .rejected)
      #expect(await engine.perform(large, sink: Recorder { _ in .stop }).outcome == .stopped)
      let (small, log) = await engine.fetch(origin.url("/small"))
      #expect(small.outcome == .complete)
      #expect(log.bytes == Array("12345".utf8))
      #expect(held.log.value.count < Self.size)
      handle.unpause()
      #expect(await paused.outcome == .complete)
      #expect(Pattern(seed: 4).firstDifference(of: held.log.value.bytes, at: 0) == nil)
    }
  }

  @Test func `a certificate that is not trusted, or is another host's, is a tls failure`()
    async throws
  {
    let origin = try await origin()
    try await withEngine(configuration(origin, trusting: false)) { engine in
      #expect(await engine.fetch(origin.url("/small")).0.outcome.failure == .tls)
    }
    try await withEngine(configuration(origin)) { engine in
      let (result, _) = await engine.fetch("https://other.test:\(origin.port)/small")
      #expect(result.outcome.failure == .tls)
    }
    #expect(try origin.requests().isEmpty)
  }

  @Test func `plain HTTP where TLS is expected is a tls failure`() async throws {
    let origin = try OriginServer { _, reply in try reply.answer("Content-Length: 0", "") }
    try await withEngine { engine in
      let url = "https://127.0.0.1:\(origin.port)/"
      async let result = engine.fetch(url)
      try await origin.log.first("a connection") { $0.connections == 1 ? () : nil }
      origin.stop()
      let outcome = await result.0.outcome
      #expect(outcome.failure == .tls, "\(outcome)")
    }
  }
}
