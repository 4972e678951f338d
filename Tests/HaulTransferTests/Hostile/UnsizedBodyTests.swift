import Foundation
import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Bodies that state no length: only their end tells whether they are much shorter than the file. Half of the file is there.
@Suite(.timeLimit(.minutes(5)))
struct UnsizedBodyTests {
  private static let file = SuspectPageTests.file
  private static let durable = SuspectPageTests.durable
  private static let new: Source = {
    var new = Source(seed: 2, length: file.length)
    (new.contentType, new.entityTag) = (file.contentType, "\"new\"")
    return new
  }()
  private static let jobDigest = ExpectedDigest(.sha256, bytes: new.digest(.sha256))
  private static let present = SourceRecord(fields: [
    "etag": "\"old\"", "type": "application/zip", "length": "\(file.length)",
  ])

  /// Sends `bytes` without a length, under the tag of the new file.
  private static func send(
    _ bytes: [UInt8], _ reply: OriginReply, _ fields: String = "", inChunks: Bool = true,
    isCut: Bool = false
  ) throws {
    try reply.unsized(
      "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \"new\"\n\(fields)", bytes,
      inChunks: inChunks, isCut: isCut)
  }

  private static func send(
    _ count: Int64, _ reply: OriginReply, _ fields: String = "", inChunks: Bool = true,
    isCut: Bool = false
  ) throws {
    try send(new.bytes(in: 0..<count), reply, fields, inChunks: inChunks, isCut: isCut)
  }

  private static let wrong = [UInt8](repeating: 7, count: Int(file.length))

  // MARK: - What is remembered

  /// It may be the file. Attempts are more than a minute apart.
  @Test func `12: a body that broke off is no suspect, and costs no part`() async throws {
    let bench = try PartTransferBench()
    var earlier = try bench.earlier(of: Self.file, durable: Self.durable)
    for _ in 1...3 {
      let (outcome, transfer, _) = try await bench.carryOut(resumes: false) { _, reply in
        try Self.send(60_000, reply, isCut: true)
      } _: { order in
        earlier.checkpoint.suspect?.firstSeen -= 61
        order.resuming = earlier
      }
      #expect(outcome.error?.errorClass == .interrupted, "\(outcome)")
      #expect(transfer.report.leftover == ["part.1"])
      if let record = bench.saved.value.last { earlier.checkpoint = record }
      #expect(earlier.checkpoint.suspect == nil)
      #expect(earlier.checkpoint.durable.prefixEnd == Self.durable)
    }
  }

  @Test(arguments: [true, false])
  func `12: a finished file's suspect is remembered where it was short`(_ isShort: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut(resumes: false) { _, reply in
      try Self.send(500, reply, isCut: !isShort)
    } _: {
      $0.present = Self.present
    }
    #expect(outcome.error?.errorClass == (isShort ? .suspectPage : .interrupted), "\(outcome)")
    #expect((transfer.report.source?.suspect != nil) == isShort)
  }

  /// What breaks off cannot be continued where nothing says how long it is, so it must not cost what can be.
  @Test func `12: nor does it cost the part where no length is doubted`() async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut { request, reply in
      guard request.asked == "whole" else {
        return try reply.head("HTTP/1.1 412 Changed\nContent-Length: 0")
      }
      try Self.send(100_000, reply, isCut: true)
    } _: {
      $0.acceptUnverifiedLength = true
    }
    #expect(outcome.error?.errorClass == .interrupted, "\(outcome)")
    #expect(transfer.report.leftover == ["part.1"])
    #expect(transfer.progress.bytes == Self.durable)
  }

  /// Error texts are equal twice.
  @Test(arguments: [true, false])
  func `12: a short body never replaces a finished file`(_ inChunks: Bool) async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut(resumes: false) { _, reply in
      try Self.send(Array("quota exceeded".utf8), reply, inChunks: inChunks)
    } _: {
      $0.present = Self.present
    }
    #expect(outcome.error?.errorClass == .suspectPage, "\(outcome)")
    #expect(outcome.error?.message.contains("; the file is kept: \"quota exceeded\"") == true)
    #expect(transfer.report.source?.suspect != nil)
  }

  // MARK: - The tag says that the length is known

  /// A gateway whose server has died ends the chunks as if all of them were there.
  @Test(arguments: [100_000, 160_000] as [Int64])
  func `23: a body under the part's own tag has the part's length`(_ length: Int64) async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \(Self.file.entityTag ?? "")\n",
        Self.file.bytes(in: 0..<length), inChunks: true)
    }
    if length == Self.file.length {
      #expect(try outcome.holds(Self.file), "\(outcome)")
    } else {
      #expect(outcome.error?.errorClass == .unverifiedLength, "\(outcome)")
      #expect(transfer.progress.bytes == Self.durable)
    }
  }

  @Test(arguments: ["\"old\"", "\"new\""], [100_000, 160_000] as [Int64])
  func `23: a body under a finished file's own tag has the file's length`(
    _ tag: String, _ length: Int64
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut(resumes: false) { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \(tag)\n",
        Self.new.bytes(in: 0..<length), inChunks: true)
    } _: {
      $0.present = Self.present
    }
    if tag == "\"new\"" || length == Self.file.length {
      guard case .complete(_, length) = outcome else {
        Issue.record("\(outcome)")
        return
      }
    } else {
      #expect(outcome.error?.errorClass == .unverifiedLength, "\(outcome)")
      #expect(transfer.report.source?.length == Self.file.length)
    }
  }

  // MARK: - The second of two downloads

  /// What was saved of it is not thrown away with the first.
  @Test(arguments: [true, false])
  func `23: a second download that states its length is a part like others`(_ isResumed: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, transfer, asked) = try await bench.carryOut(resumes: isResumed) {
      request, reply in
      switch request.number {
      case 1 where isResumed: try Self.send(Self.new.length, reply)
      case isResumed ? 2 : 1: try Self.send(Self.new.length, reply, inChunks: false)
      case isResumed ? 3 : 2: try Self.new.answer(request, reply, cut: .close(after: 120_000))
      default: try reply.head("HTTP/1.1 429 Slowly\nContent-Length: 0")
      }
    } _: { order in
      order.checkpointBytes = 1
      if !isResumed { order.present = Self.present }
    }
    #expect(outcome.error?.errorClass == (isResumed ? .range : .rateLimited), "\(outcome)")
    #expect(asked.filter { $0 == "whole" }.count == 2)
    let (record, _) = try bench.leftBehind()
    #expect(record.validator == Self.new.validator)
    #expect(record.durable.prefixEnd == 120_000)
    #expect(!transfer.report.leftover.contains(record.part))
    #expect(transfer.report.leftover.count == (isResumed ? 2 : 1))
    #expect(transfer.progress.bytes == 120_000)
  }

  /// It is worth more than a first one that says nothing.
  @Test func `23: a second download under the part's tag is compared with the part`() async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer, asked) = try await bench.carryOut { request, reply in
      if request.number > 2 { return try Self.file.whole(reply) }
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\nETag: \(Self.file.entityTag ?? "")\n",
        Self.wrong, inChunks: false)
    }
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked.dropFirst() == ["whole", "whole"])
    #expect(transfer.report.leftover == ["part.1"])
  }

  // MARK: - Why it is not the file

  @Test func `12: under a digest a body that broke off was interrupted`() async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut { _, reply in
      try Self.send(100_000, reply, isCut: true)
    } _: {
      $0.digest = Self.jobDigest
    }
    #expect(outcome.error?.errorClass == .interrupted, "\(outcome)")
    #expect(transfer.report.leftover == ["part.1"])
    #expect(transfer.progress.bytes == Self.durable)
  }

  /// Neither is much shorter than the part. It came whole in one answer, or nothing but the digest could tell.
  @Test(arguments: [true, false])
  func `12: a digest that differs is the error of a body that is long enough`(_ inChunks: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, transfer, asked) = try await bench.carryOut { _, reply in
      try Self.send(Self.wrong, reply, inChunks: inChunks)
    } _: {
      $0.digest = Self.jobDigest
    }
    #expect(outcome.error?.errorClass == .digest, "\(outcome)")
    #expect(asked.dropFirst() == (inChunks ? ["whole"] : ["whole", "whole"]))
    #expect(transfer.report.leftover == (inChunks ? ["part.1"] : ["part.1", "part.2"]))
    #expect(transfer.progress.bytes == Self.durable)
    #expect(bench.saved.value.allSatisfy { $0.suspect == nil })
    #expect(bench.saved.value.allSatisfy { $0.durable.prefixEnd == Self.durable })
  }

  @Test func `12: a digest that differs is asked for again where the body was closed`()
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, transfer, _) = try await bench.carryOut { request, reply in
      if request.number > 2 { return try Self.send(Self.new.length, reply) }
      try Self.send(Self.wrong, reply, inChunks: false)
    } _: {
      $0.digest = Self.jobDigest
    }
    #expect(try outcome.holds(Self.new), "\(outcome)")
    #expect(transfer.report.leftover.sorted() == ["part", "part.1"])
  }

  /// As without a trial: once more, and the same again is what the source has.
  @Test(arguments: [true, false])
  func `12: nor is a body short that differs from the server's own digest`(_ isMended: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let stated = "Repr-Digest: sha-256=:\(Data(Self.new.digest(.sha256)).base64EncodedString()):\n"
    let (outcome, transfer, _) = try await bench.carryOut { request, reply in
      if isMended, request.number > 2 { return try Self.send(Self.new.length, reply, stated) }
      try Self.send(Self.wrong, reply, stated)
    }
    if isMended {
      #expect(try outcome.holds(Self.new), "\(outcome)")
      #expect(transfer.report.leftover.sorted() == ["part", "part.1"])
    } else {
      #expect(outcome.error?.errorClass == .digest, "\(outcome)")
      #expect(transfer.report.leftover == ["part.1", "part.2"])
      #expect(transfer.progress.bytes == Self.durable)
    }
  }

  @Test func `12: under a digest a short body is a suspect all the same`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _, _) = try await bench.carryOut { _, reply in
      try Self.send(Array("quota exceeded".utf8), reply)
    } _: {
      $0.digest = Self.jobDigest
    }
    #expect(outcome.error?.errorClass == .suspectPage, "\(outcome)")
    #expect(outcome.error?.message.contains("quota exceeded") == true)
    #expect(bench.saved.value.last?.suspect != nil)
    #expect(bench.saved.value.last?.durable.prefixEnd == Self.durable)
  }
}
