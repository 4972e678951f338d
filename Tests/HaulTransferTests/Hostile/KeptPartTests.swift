import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// What is durable stays until what replaces it is there, or has proved to be the same. Half of the file is there.
@Suite(.timeLimit(.minutes(5)))
struct KeptPartTests {
  private static let file = SuspectPageTests.file
  private static let durable = SuspectPageTests.durable
  private static let other: Source = {
    var other = Source(seed: 2, length: file.length)
    (other.contentType, other.entityTag) = (file.contentType, "\"other\"")
    return other
  }()

  /// Refuses ranges, and sends the first `count` bytes of `source` to whoever asks for everything.
  private static func plain(
    _ source: Source, _ count: Int64, tag: String? = nil, type: String = "application/zip"
  ) -> OriginServer.Handler {
    { request, reply in
      guard request.asked == "whole" else {
        return try reply.head("HTTP/1.1 403 No\nContent-Length: 0")
      }
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: \(source.length)\nContent-Type: \(type)\n"
          + (tag.map { "ETag: \($0)" } ?? "X: y"))
      try reply.body(source.bytes(in: 0..<count))
      if count < source.length { reply.close() }
    }
  }

  /// The first bytes of what is left behind are those of `source`.
  private func keeps(
    _ source: Source, _ count: Int64, _ bench: PartTransferBench
  ) throws -> Bool {
    let (record, part) = try bench.leftBehind()
    #expect(record.durable.prefixEnd == count)
    #expect(record.validator == source.validator)
    var bytes = [UInt8](repeating: 0, count: Int(count))
    let there = try bytes.withUnsafeMutableBytes { try part.read(into: $0, at: 0) }
    return there == bytes.count && bytes == source.bytes(in: 0..<count)
  }

  // MARK: - Row 12

  private static let documents =
    SuspectPageTests.errorDocuments.map { ($0, nil) } + [
      ("application/zip", nil), ("text/plain", "\"e\""), ("application/json", "\"e\""),
    ] as [(String?, String?)]

  @Test(arguments: documents)
  func `12: an error document as long as the file never replaces a part`(
    _ type: String?, _ tag: String?
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run { _, reply in
      let fields = [type.map { "Content-Type: \($0)" }, tag.map { "ETag: \($0)" }]
      try reply.head(
        (["HTTP/1.1 200 OK", "Content-Length: \(Self.file.length)"] + fields.compactMap(\.self))
          .joined(separator: "\n"))
      try reply.body("over quota" + String(repeating: " ", count: Int(Self.file.length) - 10))
    }
    let error = try #require(outcome.error)
    #expect(error.errorClass == .suspectPage)
    #expect(error.message.contains("over quota"))
    #expect(try keeps(Self.file, Self.durable, bench))
    #expect(bench.saved.value.last?.suspect?.length == Self.file.length)
  }

  @Test(arguments: ["text/plain", "application/zip"])
  func `12: nor does it replace a finished file`(_ type: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 500\nContent-Type: \(type)")
      try reply.body("over quota" + String(repeating: " ", count: 490))
    } _: { order in
      order.present = SourceRecord(
        fields: ["etag": "\"a\"", "type": "application/zip", "length": "500"])
    }
    #expect(outcome.error?.errorClass == .suspectPage)
  }

  /// The same tag proves more than a type denies.
  @Test func `12: a finished file's tag under another type is the file`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Length: \(Self.file.length)\nContent-Type: a/b\nETag: \"a\"")
      try reply.body(Self.file.bytes(in: 0..<Self.file.length))
    } _: { order in
      order.present = SourceRecord(
        fields: ["etag": "\"a\"", "type": "application/zip", "length": "\(Self.file.length)"])
    }
    #expect(try outcome.holds(Self.file))
  }

  @Test(arguments: ["application/zip", "text/plain", "text/html"])
  func `12: a whole without validator that begins with the part is the file`(_ type: String)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(Self.plain(Self.file, Self.file.length, type: type))
    #expect(try outcome.holds(Self.file))
  }

  /// Nothing says that what follows the part belongs to it, until all of it is there.
  @Test(arguments: [40_000, 120_000] as [Int64])
  func `12: a whole without validator that is cut changes nothing`(_ count: Int64) async throws {
    let bench = try PartTransferBench()
    var earlier = try bench.earlier(of: Self.file, durable: Self.durable)
    earlier.checkpoint.refusal = .init(status: 500, count: 1)
    let (outcome, _) = try await bench.run(resumes: false, Self.plain(Self.file, count)) { order in
      order.resuming = earlier
    }
    #expect(outcome.error != nil)
    #expect(bench.saved.value.allSatisfy { $0.durable.prefixEnd == Self.durable })
    #expect(try bench.keepsPart())
  }

  @Test func `12: the job's digest judges what differs from the part`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(Self.plain(Self.other, Self.other.length)) { order in
      order.digest = ExpectedDigest(.sha256, bytes: Self.other.digest(.sha256))
    }
    #expect(try outcome.holds(Self.other))
  }

  // MARK: - A plain request after a refused range that breaks off

  @Test(arguments: [40_000, 120_000] as [Int64])
  func `10: under the same validator a whole that is cut continues the part`(_ count: Int64)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run(
      Self.plain(Self.file, count, tag: Self.file.entityTag))
    #expect(outcome.error?.errorClass == .range)
    #expect(asked == ["75904-159999 if", "whole"])
    #expect(try keeps(Self.file, max(Self.durable, count), bench))
  }

  @Test func `10: under the same validator other bytes replace the part`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(
      Self.plain(Self.other, Self.other.length, tag: Self.file.entityTag))
    #expect(try outcome.holds(Self.other))
  }

  /// The longer of the two is what a later attempt continues.
  @Test(arguments: [0, 40_000, 120_000] as [Int64])
  func `27: under another validator the part stays until more is there`(_ count: Int64)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(
      Self.plain(Self.other, count, tag: Self.other.entityTag))
    #expect(outcome.error?.errorClass == .range)
    if count > Self.durable {
      #expect(try keeps(Self.other, count, bench))
    } else {
      #expect(bench.saved.value.allSatisfy { $0.validator == Self.file.validator })
      #expect(try bench.keepsPart())
    }
  }

  @Test func `27: what had begun when it stopped leaves the part as it was`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer { request, reply in
      guard request.asked == "whole" else {
        return try reply.head("HTTP/1.1 403 No\nContent-Length: 0")
      }
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 160000\nETag: \"other\"")
      try reply.body(Self.other.bytes(in: 0..<50_000))
      try reply.waitUntilPeerCloses()
    }
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/file.zip"), engine: engine) { order in
        order.resuming = try bench.earlier(of: Self.file, durable: Self.durable)
        order.checkpointBytes = 1
      }
      async let outcome = transfer.run()
      try await eventually("some of the other file") { transfer.progress.fetched >= 50_000 }
      transfer.stop()
      guard case .stopped = await outcome else { throw TransferError(.io, "not stopped") }
      #expect(bench.saved.value.allSatisfy { $0.validator == Self.file.validator })
      #expect(transfer.report.leftover == ["part.1"])
      #expect(transfer.progress.bytes == Self.durable)
    }
  }

  /// Ranges that are answered wrongly are given up, and no part with them.
  @Test(arguments: ["206 Part", "206 Part\nContent-Range: bytes 0-9/160000"])
  func `1: a server without usable ranges does not cost the part`(_ status: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run { request, reply in
      guard request.asked == "whole" else {
        try reply.head("HTTP/1.1 \(status)\nContent-Length: 10")
        return try reply.body("0123456789")
      }
      try Self.plain(Self.file, 40_000, tag: Self.file.entityTag)(request, reply)
    }
    #expect(outcome.error?.errorClass == .range)
    #expect(bench.saved.value.allSatisfy { $0.durable.prefixEnd == Self.durable })
    #expect(try bench.keepsPart())
  }
}
