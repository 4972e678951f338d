import TestSupport
import Testing

@testable import HaulTransfer

/// Heads that libcurl frames in another way than they mean.
@Suite(.timeLimit(.minutes(5)))
struct EngineFramingTests {
  private static let content = Array(Source(seed: 1, length: 30_000).bytes(in: 0..<30_000))

  private static let chunkedHeads = [
    "Transfer-Encoding:\r\n chunked", "Transfer-Encoding:\r\n\tchunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding: identity,\r\n chunked",
    "Transfer-Encoding: chunked\nTransfer-Encoding: chunked",
    "Transfer-Encoding: chunked\nTransfer-Encoding: identity",
    "Transfer-Encoding: chunked, identity",
    "transfer-encoding:\r\n  chunked\nContent-Length: 5",
  ]

  /// Sends a head as it is written: `head(_:)` would take folds apart.
  private static func send(_ fields: String, _ reply: OriginReply) throws {
    try reply.body(
      "HTTP/1.1 200 OK\r\n"
        + fields.split(separator: "\n").joined(separator: "\r\n")
        .replacing("\r\r\n", with: "\r\n") + "\r\n\r\n")
  }

  private static func chunks(_ sizes: [Int], _ reply: OriginReply) throws {
    var start = 0
    for size in sizes {
      try reply.chunk(Array(content[start..<start + size]))
      start += size
    }
  }

  @Test(arguments: chunkedHeads, [true, false])
  func `a body that is chunked is decoded, however that is written`(
    _ fields: String, _ closes: Bool
  ) async throws {
    let origin = try OriginServer { _, reply in
      try Self.send(fields, reply)
      try Self.chunks([1, 15, 16, 17, 10_000, 19_951], reply)
      try reply.body("0\r\nTrailer: x\r\n\r\n")
      if closes { reply.close() } else { try reply.waitUntilPeerCloses() }
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome == .complete)
      #expect(log.bytes == Self.content)
    }
  }

  @Test(arguments: chunkedHeads)
  func `nor is it complete without its last chunk`(_ fields: String) async throws {
    let origin = try OriginServer { _, reply in
      try Self.send(fields, reply)
      try Self.chunks([10_000], reply)
      reply.close()
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome.isTruncated, "\(result.outcome)")
      #expect(log.bytes == Array(Self.content.prefix(10_000)))
    }
  }

  @Test func `nor with a chunk that is malformed`() async throws {
    let origin = try OriginServer { _, reply in
      try Self.send("Transfer-Encoding:\r\n chunked", reply)
      try reply.body("5\r\nhelloZZ\r\n")
      try reply.waitUntilPeerCloses()
    }
    try await withEngine { engine in
      let (result, _) = await engine.fetch(origin.url("/"))
      #expect(result.outcome.isTruncated, "\(result.outcome)")
    }
  }

  private static let sizedHeads = [
    "Transfer-Encoding: identity\nContent-Length: 30000",
    "Content-Length: 30000\nTransfer-Encoding: Identity", "Content-Length : 30000",
    "Transfer-Encoding:\r\n identity\nContent-Length: 30000", "Content-Length:\r\n 30000",
    "Content-Length:\r\n\t30000\nETag: \"a\"",
  ]

  @Test(arguments: sizedHeads, [true, false])
  func `a length that is stated counts beside identity`(
    _ fields: String, _ closes: Bool
  ) async throws {
    let origin = try OriginServer { _, reply in
      try Self.send(fields, reply)
      try reply.body(Self.content)
      if closes { reply.close() } else { try reply.waitUntilPeerCloses() }
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome == .complete)
      #expect(log.bytes == Self.content)
    }
  }

  @Test(arguments: sizedHeads)
  func `and a body that ends before it is not complete`(_ fields: String) async throws {
    let origin = try OriginServer { _, reply in
      try Self.send(fields, reply)
      try reply.body(Array(Self.content.prefix(4_000)))
      reply.close()
    }
    try await withEngine { engine in
      let (result, _) = await engine.fetch(origin.url("/"))
      #expect(result.outcome.isTruncated, "\(result.outcome)")
    }
  }

  @Test(arguments: [
    ("ETag", "\"a\""), ("Location", "/g.bin"), ("Content-MD5", "gnzLDuqKcGxMNKFokfhOew=="),
    ("Retry-After", "7"),
  ])
  func `a folded value has no space before it`(name: String, value: String) async throws {
    let origin = try OriginServer { _, reply in
      try Self.send("\(name):\r\n \(value)\nContent-Length: 5", reply)
      try reply.body("12345")
    }
    try await withEngine { engine in
      let (result, _) = await engine.fetch(origin.url("/"))
      #expect(result.head?.value(name) == value)
    }
  }

  /// As curl and wget do.
  @Test(arguments: [
    "HTTP/1.1  200 OK\r\nContent-Length: 5", "http/1.1 200 OK\r\nContent-Length: 5",
    "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5",
    "HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5",
    "HTTP/1.1 200 OK\r\nContent-Length: +5", "HTTP/1.1 200 OK\r\nContent-Length: 5,",
    "HTTP/1.1 200 OK\r\nContent-Length: 5;",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: none\r\nContent-Length: 5",
  ])
  func `a head that is almost right is understood`(_ head: String) async throws {
    let origin = try OriginServer { _, reply in
      try reply.body("\(head)\r\n\r\n12345")
      try reply.waitUntilPeerCloses()
    }
    try await withEngine { engine in
      let (result, log) = await engine.fetch(origin.url("/"))
      #expect(result.outcome == .complete)
      #expect(log.bytes == Array("12345".utf8))
    }
  }
}
