import TestSupport
import Testing

@testable import HaulTransfer

/// Requests for a range that fail, parts that pass for the whole, and bodies that state no length. Half of the file is there.
@Suite(.timeLimit(.minutes(5)))
struct RangeDoubtTests {
  private typealias Answer = @Sendable (OriginReply) throws -> Void
  private static let file = SuspectPageTests.file
  private static let durable = SuspectPageTests.durable
  private static let tag = "ETag: \(file.entityTag ?? "")"
  private static let first = durable - 4096

  /// Answers ranges with `odd`, and all else correctly.
  private static func ranges(_ odd: @escaping Answer) -> OriginServer.Handler {
    { request, reply in
      guard request.asked != "whole" else { return try file.whole(reply) }
      try odd(reply)
    }
  }

  // MARK: - Row 27

  /// What waiting does not change.
  @Test(arguments: [
    "HTTP/1.1 304 Not Modified", "HTTP/1.1 407 Who", "HTTP/1.1 999 Denied", "HTTP/1.1 302 Found",
    "HTTP/1.1 302 Found\nLocation: /file.zip", "HTTP/1.1 302 Found\nLocation: gopher://h/",
    "HTTP/1.1 302 Found\nLocation: http://10.0.0.1/", "HTTP/1.1 101 Switching", "what?",
    "HTTP/1.1 206 Part\nTransfer-Encoding: gzip", "HTTP/1.1 206 Part\nContent-Length: 1, 2",
  ])
  func `27: a range that cannot be had is not asked for again`(_ head: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run(
      Self.ranges { reply in
        try reply.head(head + (head.contains("Content-Length") ? "" : "\nContent-Length: 0"))
        reply.close()
      })
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked.last == "whole")
  }

  private static let silent: [(name: String, answer: Answer)] = [
    ("closes", { $0.close() }), ("resets", { try $0.reset() }),
    ("says nothing", { try $0.waitUntilPeerCloses() }),
    (
      "stops behind the head",
      { reply in
        try reply.head(
          "HTTP/1.1 206 Part\n\(tag)\nContent-Range: bytes \(first)-\(file.length - 1)/\(file.length)\n"
            + "Content-Length: \(file.length - first)")
        try reply.waitUntilPeerCloses()
      }
    ),
    (
      "stops within what is there already",
      { reply in
        try reply.head(
          "HTTP/1.1 206 Part\n\(tag)\nContent-Range: bytes \(first)-\(file.length - 1)/\(file.length)\n"
            + "Content-Length: \(file.length - first)")
        try reply.body(file.bytes(in: first..<first + 100))
        try reply.waitUntilPeerCloses()
      }
    ),
  ]

  /// What may pass by itself is asked for again, and the third time without a range. No part is lost.
  @Test(arguments: silent.indices)
  func `27: a range that is never answered counts as refused the third time`(_ index: Int)
    async throws
  {
    let bench = try PartTransferBench()
    var earlier = try bench.earlier(of: Self.file, durable: Self.durable)
    for attempt in 1...3 {
      let (outcome, _) = try await bench.run(
        resumes: false, Self.ranges(Self.silent[index].answer)
      ) { order in
        order.resuming = earlier
        order.stallTimeout = .seconds(3)
      }
      if attempt == 3 {
        #expect(try outcome.holds(Self.file), "\(outcome)")
      } else {
        #expect(outcome.error != nil)
        earlier = try bench.leftBehind()
        #expect(earlier.checkpoint.durable.prefixEnd == Self.durable)
        #expect(earlier.checkpoint.refusal == .init(status: 0, count: attempt))
      }
    }
  }

  // MARK: - Row 11

  /// The rest under 200, where nothing tells that it is one.
  @Test(arguments: [tag, "ETag: \"of the rest\""], ["chunked", "closed", "sized"])
  func `11: the rest is not taken for the whole`(_ field: String, _ framing: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run(
      Self.ranges { reply in
        let rest = Self.file.bytes(in: Self.first..<Self.file.length)
        let head = "HTTP/1.1 200 OK\nContent-Type: application/zip\n\(field)"
        if framing != "sized" {
          return try reply.unsized(head, rest, inChunks: framing == "chunked")
        }
        try reply.head(head + "\nContent-Length: \(rest.count)")
        try reply.body(rest)
      })
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked.last == "whole")
  }

  // MARK: - Row 12

  @Test(arguments: ["ETag: \"e\"", "ETag: W/\"e\"", tag])
  func `12: an error document in chunks never replaces a part`(_ field: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\n\(field)",
        Array("{\"error\": \"quota exceeded\"}".utf8), inChunks: true)
    }
    #expect(outcome.error?.errorClass == .suspectPage)
    #expect(outcome.error?.message.contains("quota exceeded") == true)
    #expect(try bench.keepsPart())
    #expect(bench.saved.value.last?.durable.prefixEnd == Self.durable)
  }

  @Test(arguments: [(30, false), (61, true)] as [(Int64, Bool)])
  func `12: a short document in chunks counts when it comes again`(
    _ age: Int64, _ isAccepted: Bool
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \"e\"", Array("short".utf8),
        inChunks: true)
    } _: { order in
      var page = SuspectPage(
        Representation(validator: .strongETag("\"e\""), mediaType: "application/zip"),
        now: HTTPDate.now)
      page.firstSeen -= age
      order.resuming?.checkpoint.suspect = page
    }
    if isAccepted {
      guard case .complete(_, 5) = outcome else { throw outcome.error ?? TransferError(.io, "") }
    } else {
      #expect(outcome.error?.errorClass == .suspectPage)
      #expect(outcome.error?.retryAfter == .seconds(60))
      #expect(bench.saved.value.last?.suspect?.firstSeen ?? .max <= HTTPDate.now.seconds - age)
    }
  }

  /// The old digest does not count for it.
  @Test(arguments: [true, false])
  func `12: a new file that states no length is the file`(_ isChunked: Bool) async throws {
    var new = Source(seed: 2, length: 160_000)
    new.contentType = "application/zip"
    let file = new
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \"new\"",
        file.bytes(in: 0..<file.length), inChunks: isChunked)
    } _: { order in
      order.resuming?.checkpoint.digest = ExpectedDigest(
        .sha256, bytes: Self.file.digest(.sha256))
    }
    #expect(try outcome.holds(file), "\(outcome)")
  }

  // MARK: - Row 26

  /// What a Content-Range says of a body is not forgotten at its end.
  @Test(arguments: [true, false])
  func `26: a whole that states its length as a range has that length`(_ isChunked: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Range: bytes 0-159999/160000", Self.file.bytes(in: 0..<70_000),
        inChunks: isChunked)
    }
    #expect(outcome.error?.errorClass == .interrupted, "\(outcome)")
  }

  @Test(arguments: [
    "100-199/1000", "bytes=100-199/1000", "bytes: 0-99/1000", "bytes 100 - 199 / 1000",
    "bytes */1000", "bytes 0-99/1000\nContent-Range: bytes 0-99/1000",
    "bytes 0-99/100\nContent-Range: bytes 0-99/1000", "items 0-1/2\nContent-Range: 5-104/1000",
  ])
  func `26: a part is none of the whole, however that is written`(_ range: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 100\nContent-Range: \(range)")
      try reply.body(Self.file.bytes(in: 0..<100))
    }
    #expect(outcome.error?.errorClass == .protocol, "\(outcome)")
  }

  @Test func `26: a 206 that nobody asked for is the file where it says so`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try Self.file.part(reply, 0..<Self.file.length)
    }
    #expect(try outcome.holds(Self.file), "\(outcome)")
  }
}
