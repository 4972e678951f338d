import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Complete responses that are not the file: parts that say 200, error documents, lengths that vanish. Half of the file is there.
@Suite(.timeLimit(.minutes(5)))
struct SuspectPageTests {
  static let file: Source = {
    var file = Source(seed: 1, length: 160_000)
    file.contentType = "application/zip"
    return file
  }()
  static let durable: Int64 = 80_000

  static let errorDocuments =
    [
      "application/json", "application/xml", "text/plain", "application/octet-stream", "text/html",
      nil,
    ] as [String?]

  @Test(arguments: errorDocuments, [0, 500] as [Int])
  func `12: an error document never replaces a part`(_ type: String?, _ extra: Int) async throws {
    let bench = try PartTransferBench()
    let text =
      "{\"error\": \"quota exceeded, come back later\"}" + String(repeating: " ", count: extra)
    let (outcome, asked) = try await bench.run() { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: \(text.utf8.count)\n"
          + (type.map { "Content-Type: \($0)" } ?? "X: y"))
      try reply.body(text)
    }
    let error = try #require(outcome.error)
    #expect(error.errorClass == .suspectPage)
    #expect(error.message.contains("quota exceeded"))
    #expect(error.message.contains("\(text.utf8.count) bytes"))
    #expect(error.retryAfter == nil)
    #expect(asked == ["75904-159999 if", "whole"])
    #expect(try bench.keepsPart())
    #expect(bench.saved.value.last?.suspect?.length == Int64(text.utf8.count))
    #expect(bench.saved.value.last?.durable.prefixEnd == Self.durable)
  }

  @Test func `12: a short response with a validator of its own is a suspect too`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run() { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Type: application/zip\nETag: \"e\"")
      try reply.body("error")
    }
    #expect(outcome.error?.errorClass == .suspectPage)
    // It may be the file's new content: that shows when it comes again.
    #expect(outcome.error?.retryAfter == .seconds(60))
    #expect(try bench.keepsPart())
  }

  /// A suspect that comes again after a minute, with validator and type of a file, is the new content.
  @Test(
    arguments: [(30, "\"e\"", false), (61, "\"e\"", true), (61, "\"f\"", false)]
      as [(Int64, String, Bool)])
  func `12: a suspect counts when it comes again`(
    _ age: Int64, _ tag: String, _ isAccepted: Bool
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run() { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: 5\nContent-Type: application/zip\nETag: \(tag)")
      try reply.body("short")
    } _: { order in
      var page = SuspectPage(
        Representation(
          completeLength: 5, validator: .strongETag("\"e\""), mediaType: "application/zip"),
        now: HTTPDate.now)
      page.firstSeen -= age
      order.resuming?.checkpoint.suspect = page
    }
    if isAccepted {
      guard case .complete(_, 5) = outcome else { throw outcome.error ?? TransferError(.io, "") }
    } else {
      #expect(outcome.error?.errorClass == .suspectPage)
    }
  }

  @Test func `12: the whole from a mirror with another validator and no type is taken`()
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run() { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(Self.file.length)")
      try reply.body(Self.file.bytes(in: 0..<Self.file.length))
    }
    #expect(try outcome.holds(Self.file))
  }

  @Test(arguments: [
    ("application/zip", true), ("application/*", true), ("image/png", false),
    ("application/x-tar", false),
  ])
  func `12: a job may say which type its file has`(_ type: String, _ isAllowed: Bool) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try Self.file.whole(reply)
    } _: {
      $0.expectedType = ExpectedType(type)
    }
    if isAllowed {
      #expect(try outcome.holds(Self.file))
    } else {
      #expect(outcome.error?.errorClass == .suspectPage)
      #expect(outcome.error?.message.contains("application/zip, but \(type) was expected") == true)
    }
  }

  @Test(arguments: ["", "zip", "*/zip", "a/b/c", "a/", "a/b; c=d"])
  func `what is no type cannot be expected`(_ text: String) {
    #expect(ExpectedType(text) == nil)
  }

  // MARK: - Row 26

  @Test func `26: a part that says 200 is never the file`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: 100\nContent-Range: bytes 50-149/1000\nETag: \"1\"")
      try reply.body(Self.file.bytes(in: 50..<150))
    }
    #expect(outcome.error?.errorClass == .protocol)
  }

  @Test(arguments: ["bytes 0-99/1000", "bytes 0-99/*", "bytes 100-199", "Bytes 100-/1000"])
  func `26: nor one that says so in another way`(_ range: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 100\nContent-Range: \(range)")
      try reply.body(Self.file.bytes(in: 0..<100))
    }
    #expect(outcome.error?.errorClass == .protocol)
  }

  @Test(arguments: [
    "bytes 0-159999/160000", "items 5-9/10", "bytes */160000", "bytes 0-159999",
  ])
  func `26: a whole that says so is the file`(_ range: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: \(Self.file.length)\nContent-Range: \(range)")
      try reply.body(Self.file.bytes(in: 0..<Self.file.length))
    }
    #expect(try outcome.holds(Self.file))
  }

  @Test func `26: a range that comes as 200 with its Content-Range is a range`() async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run() { request, reply in
      let first = Self.durable - 4096
      guard request.asked != "whole" else { return try Self.file.whole(reply) }
      try reply.head(
        "HTTP/1.1 200 OK\nETag: \(Self.file.entityTag ?? "")\nContent-Type: application/zip\n"
          + "Content-Range: bytes \(first)-\(Self.file.length - 1)/\(Self.file.length)\n"
          + "Content-Length: \(Self.file.length - first)")
      try reply.body(Self.file.bytes(in: first..<Self.file.length))
    }
    #expect(try outcome.holds(Self.file))
    #expect(asked.count == 1)
  }

  /// The rest, as if it were the whole, under the tag of the whole.
  @Test(arguments: [true, false])
  func `11: the same tag and another length contradict each other`(_ hasTag: Bool) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run() { request, reply in
      guard request.asked != "whole" else { return try Self.file.whole(reply) }
      let first = Self.durable - 4096
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\nContent-Length: \(Self.file.length - first)\n"
          + (hasTag ? "ETag: \(Self.file.entityTag ?? "")" : "X: y"))
      try reply.body(Self.file.bytes(in: first..<Self.file.length))
    }
    #expect(try outcome.holds(Self.file))
    #expect(asked.count == (hasTag ? 4 : 2))
  }

  // MARK: - Row 23

  /// A proxy takes away length and validator, and stops at the same byte each time.
  @Test(arguments: [true, false])
  func `23: a length that was stated once is not forgotten`(_ isChunked: Bool) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run() { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip", Self.file.bytes(in: 0..<100_000),
        inChunks: isChunked)
    }
    #expect(outcome.error?.errorClass == .unverifiedLength)
  }

  @Test func `23: the second of two downloads that states its length proves itself`() async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run(resumes: false) { request, reply in
      guard request.number == 1 else { return try Self.file.whole(reply) }
      try reply.head("HTTP/1.1 200 OK")
      try reply.body(Self.file.bytes(in: 0..<60_000))
      reply.close()
    }
    #expect(try outcome.holds(Self.file))
    #expect(asked == ["whole", "whole"])
  }

  // MARK: - Row 27

  @Test(arguments: [
    "204 None", "400 Bad", "403 No", "404 None", "405 No", "406 No", "410 Gone", "451 Law",
    "501 What",
  ])
  func `27: a server that refuses the range gives the whole`(_ status: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run() { request, reply in
      guard request.asked != "whole" else { return try Self.file.whole(reply) }
      try reply.head("HTTP/1.1 \(status)\nContent-Length: 0")
    }
    #expect(try outcome.holds(Self.file))
    #expect(asked.count == 2)
    // An honest refusal: "restart" would keep ranges from other files too.
    #expect(bench.rulings.value.first == "27 once_more")
  }

  @Test(arguments: ["404 None", "200 OK\nContent-Type: text/html"])
  func `27: nor does an error page behind a redirect end it`(_ status: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run() { request, reply in
      guard request.asked != "whole" else { return try Self.file.whole(reply) }
      if request.path != "/error" { return try reply.redirect(to: "/error") }
      try reply.head("HTTP/1.1 \(status)\nContent-Length: 5")
      try reply.body("error")
    }
    #expect(try outcome.holds(Self.file))
  }

  /// What may pass by itself is asked for again, and the third time without a range. No part is lost.
  @Test(arguments: [408, 425, 500, 502, 504])
  func `27: trouble of the server counts as refusal the third time`(_ status: Int) async throws {
    let bench = try PartTransferBench()
    var earlier = try bench.earlier(of: Self.file, durable: Self.durable)
    for attempt in 1...3 {
      let (outcome, asked) = try await bench.run(resumes: false) { request, reply in
        guard request.asked != "whole" else { return try Self.file.whole(reply) }
        try reply.head("HTTP/1.1 \(status) Trouble\nContent-Length: 0")
      } _: { order in
        order.resuming = earlier
      }
      if attempt == 3 {
        #expect(try outcome.holds(Self.file))
      } else {
        #expect(outcome.error?.errorClass == .http5xx)
        #expect(asked.count == 1)
        earlier = try bench.leftBehind()
        #expect(earlier.checkpoint.durable.prefixEnd == Self.durable)
      }
    }
  }

  @Test(arguments: [
    "401 Who", "429 Slowly", "503 Busy", "503 Busy\nRetry-After: 5", "403 No\nRetry-After: 5",
    "403 No\nX-RateLimit-Remaining: 0",
  ])
  func `27: what speaks of the client is no refusal of the range`(_ status: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run() { _, reply in
      try reply.head("HTTP/1.1 \(status)\nContent-Length: 0")
    }
    #expect(outcome.error != nil)
    #expect(asked.count == 1)
    #expect(try bench.keepsPart())
  }
}

extension PartTransferBench {
  /// Runs one transfer that resumes, or one from 0.
  func run(
    resumes: Bool = true, of source: Source = SuspectPageTests.file,
    _ answer: @escaping OriginServer.Handler,
    _ change: (inout TransferRequest) throws -> Void = { _ in }
  ) async throws -> (outcome: TransferOutcome, asked: [String]) {
    let run = try await carryOut(resumes: resumes, of: source, answer, change)
    return (run.outcome, run.asked)
  }

  /// As ``run(resumes:of:_:_:)``, with the transfer itself.
  func carryOut(
    resumes: Bool = true, of source: Source = SuspectPageTests.file,
    _ answer: @escaping OriginServer.Handler,
    _ change: (inout TransferRequest) throws -> Void = { _ in }
  ) async throws -> (outcome: TransferOutcome, transfer: PartTransfer, asked: [String]) {
    let origin = try OriginServer(handler: answer)
    return try await withEngine { engine in
      let transfer = try transfer(origin.url("/file.zip"), engine: engine) { order in
        if resumes { order.resuming = try earlier(of: source, durable: SuspectPageTests.durable) }
        try change(&order)
      }
      return (await transfer.run(), transfer, origin.asked)
    }
  }

  /// What is there after a failure: as much as before.
  func keepsPart() throws -> Bool {
    try scratch.parts().open("part")?.size() ?? 0 >= SuspectPageTests.durable
  }
}
