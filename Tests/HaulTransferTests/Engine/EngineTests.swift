import HaulTransfer
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)))
struct EngineTests {
  @Test func `a body arrives whole and the connection is used again`() async throws {
    let body = Pattern(seed: 1).bytes(in: 0..<1_000_000)
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
        #expect(result.refusedAddresses == [])
      }
    }
    #expect(origin.log.value.connections == 1)
    #expect(origin.log.value.exchanges.first?.request.target == "/f?x=1")
  }

  @Test func `fields go out as given and nothing of them stays for the next request`() async throws
  {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 0")
    }
    var configuration = Engine.Configuration.test
    configuration.userAgent = "haul/test"
    try await withEngine(configuration) { engine in
      let fields = [ResponseHead.Field("Range", "bytes=5-9"), .init("X-Empty", "")]
      let request = ExchangeRequest(url: origin.url("/"), fields: fields)
      _ = await engine.perform(request, sink: Recorder())
      _ = await engine.fetch(origin.url("/a/../b"))
    }
    let first = try await origin.request(1)
    #expect(first[field: "Range"] == "bytes=5-9")
    #expect(first[field: "X-Empty"] == "")
    #expect(first[field: "User-Agent"] == "haul/test")
    let second = try await origin.request(2)
    #expect(second[field: "Range"] == nil)
    #expect(second.target == "/a/../b")
  }

  @Test func `a rejected head leaves the body unread and the next exchange unharmed`() async throws
  {
    let origin = try OriginServer { request, reply in
      let size = request.path == "/big" ? 50_000_000 : 5
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(size)")
      try reply.body([UInt8](repeating: 7, count: size))
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/big"), Recorder(head: .reject))
      #expect(result.outcome == .rejected)
      #expect(result.head?.value("Content-Length") == "50000000")
      #expect(log.count == 0)
      let (next, small) = await engine.fetch(origin.url("/small"))
      #expect(next.outcome == .complete)
      #expect(small.bytes == [7, 7, 7, 7, 7])
    }
    #expect(try await origin.exchange(1).failure != nil)
    #expect(origin.log.value.connections == 2)
  }

  @Test func `a stopped body ends the exchange and the next one is unharmed`() async throws {
    let origin = try OriginServer { request, reply in
      let size = request.path == "/big" ? 50_000_000 : 5
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(size)")
      try reply.body([UInt8](repeating: 7, count: size))
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/big"), Recorder { _ in .stop })
      #expect(result.outcome == .stopped)
      #expect(log.buffers == 1)
      #expect(result.bytes == log.count)
      let (next, small) = await engine.fetch(origin.url("/small"))
      #expect(next.outcome == .complete)
      #expect(small.bytes == [7, 7, 7, 7, 7])
    }
  }

  @Test func `a body that comes slowly is handed over before it fills a buffer`() async throws {
    let seen = Gate("the first bytes were seen")
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 6")
      try reply.body("abc")
      try reply.wait(for: seen)
      try reply.body("def")
    }
    try await withEngine { engine in
      let sink = Recorder()
      async let result = engine.perform(ExchangeRequest(url: origin.url("/")), sink: sink)
      try await sink.received(3)
      seen.open()
      #expect(await result.outcome == .complete)
      #expect(sink.log.value.bytes == Array("abcdef".utf8))
    }
  }
}
