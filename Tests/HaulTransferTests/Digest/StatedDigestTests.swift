import Foundation
import TestSupport
import Testing

@testable import HaulTransfer

/// A digest that a server states, field by field: `123456789` and what is told of it.
@Suite struct StatedDigestTests {
  private static let sha256 = "15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225"
  private static let sha256Base64 = "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU="
  private static let md5Base64 = "JfnnlDI7RTiF9RgfG2JNCw=="

  /// What is stated is `alg`'s digest of the text; nil: nothing.
  private static let ofWhole: [(String, DigestAlgorithm?)] = [
    ("Repr-Digest: sha-256=:\(sha256Base64):", .sha256),
    ("Repr-Digest: sha-256=:\(sha256Base64):;q=1, md5=:\(md5Base64):", .sha256),
    ("repr-digest: unixsum=1234, md5=:\(md5Base64):", .md5),
    ("Repr-Digest: sha-256=:\(sha256Base64.dropLast(4)):", nil),
    ("Repr-Digest: sha-256", nil),
    ("Digest: SHA-256=\(sha256Base64)", .sha256),
    ("Digest: sha-256=\(sha256)", .sha256),
    ("Digest: MD5=\(md5Base64),SHA=98O8HYCOBHMq32eZZczDTKeuNEE=", .sha1),
    ("Digest: crc32c=e3069283", .crc32c),
    ("x-goog-hash: crc32c=4waSgw==,md5=\(md5Base64)", .md5),
    ("X-Goog-Hash: crc32c=4waSgw==", .crc32c),
    ("ETag: \"25f9e794323b453885f5181f1b624d0b\"", nil),
    ("ETag: \"25f9e794323b453885f5181f1b624d0b-3\"", nil),
  ]

  private static let ofContent: [(String, DigestAlgorithm?)] = [
    ("Content-Digest: sha-256=:\(sha256Base64):", .sha256),
    ("Content-MD5: \(md5Base64)", .md5), ("Content-MD5: 25f9", nil),
    ("x-amz-checksum-sha256: \(sha256Base64)", .sha256),
    ("x-amz-checksum-sha1: 98O8HYCOBHMq32eZZczDTKeuNEE=", .sha1),
    ("x-amz-checksum-crc32: y/Q5Jg==", .crc32), ("x-amz-checksum-crc32c: 4waSgw==", .crc32c),
    ("x-amz-checksum-crc64nvme: rosUhgp5mIg=", .crc64nvme),
    ("x-amz-checksum-crc32: y/Q5Jg==-2", nil), ("x-amz-checksum-sha512: AAAA", nil),
  ]

  private static func digest(_ algorithm: DigestAlgorithm) throws -> ExpectedDigest {
    let context = try DigestContext(algorithm)
    Array("123456789".utf8).withUnsafeBytes { context.update($0) }
    return ExpectedDigest(algorithm, bytes: context.finish())
  }

  @Test(arguments: ofWhole + ofContent)
  func `fields of a 200`(_ field: String, _ algorithm: DigestAlgorithm?) throws {
    #expect(try head(200, field).statedDigest == algorithm.map(Self.digest))
  }

  @Test(arguments: ofWhole)
  func `fields about the whole in a 206`(_ field: String, _ algorithm: DigestAlgorithm?) throws {
    #expect(try head(206, field).statedDigest == algorithm.map(Self.digest))
  }

  @Test(arguments: ofContent)
  func `fields about a part say nothing of the whole`(_ field: String, _: DigestAlgorithm?) {
    #expect(head(206, field).statedDigest == nil)
  }

  @Test func `what proves most counts, and what contradicts itself does not`() throws {
    let md5 = "Content-MD5: \(Self.md5Base64)"
    let other = "Digest: md5=AAAAAAAAAAAAAAAAAAAAAA==, crc32c=4waSgw=="
    #expect(
      try head(200, md5, "Repr-Digest: sha-256=:\(Self.sha256Base64):").statedDigest
        == Self.digest(.sha256))
    #expect(try head(200, md5, other).statedDigest == Self.digest(.crc32c))
    #expect(try head(200, md5, md5).statedDigest == Self.digest(.md5))
  }

  @Test func `checksums of checksums, and of what is decoded on the way, count for nothing`() throws
  {
    #expect(
      head(200, "x-amz-checksum-crc32: y/Q5Jg==", "x-amz-checksum-type: COMPOSITE").statedDigest
        == nil)
    #expect(
      try head(200, "x-amz-checksum-crc32: y/Q5Jg==", "x-amz-checksum-type: FULL_OBJECT")
        .statedDigest == Self.digest(.crc32))
    let hash = "x-goog-hash: crc32c=4waSgw=="
    let stored = "x-goog-stored-content-encoding: gzip"
    #expect(head(200, hash, stored).statedDigest == nil)
    #expect(
      try head(200, hash, stored, "Content-Encoding: gzip").statedDigest == Self.digest(.crc32c))
    #expect(
      try head(200, hash, "x-goog-stored-content-encoding: identity").statedDigest
        == Self.digest(.crc32c))
  }

  @Test(arguments: [
    (206, "Repr-Digest: crc32=:AAAAAA==:", TableDecision(5, Action.changedRestart)),
    (
      206, "Repr-Digest: crc32=:y/Q5Jg==:",
      TableDecision(2, .accept(start: 4, compareUntil: 8, end: 9))
    ),
    (
      206, "Repr-Digest: crc32c=:AAAAAA==:",
      TableDecision(2, .accept(start: 4, compareUntil: 8, end: 9))
    ),
    (
      206, "Content-Digest: crc32=:AAAAAA==:",
      TableDecision(2, .accept(start: 4, compareUntil: 8, end: 9))
    ),
    (200, "Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==", TableDecision(10, .oncePlainRange)),
  ])
  func `another digest than the recorded one is another representation`(
    _ status: Int, _ field: String, _ ruling: TableDecision<Action>
  ) {
    let record = Checkpoint(
      completeLength: 9, validator: .strongETag("\"v\""),
      digest: ExpectedDigest(spelled: "crc32=cbf43926"), durable: ByteRanges(0..<8), part: "1.1",
      inode: 1)
    var state = TransferState(checkpoint: record)
    let told = status == 206 ? "Content-Range: bytes 4-8/9" : "Content-Length: 9"
    let asked = RequestKind.part(range: 4..<9, fresh: 8, ifRange: true)
    #expect(
      state.answered(
        head(status, told, "ETag: \"v\"", field), asked: asked, now: HTTPDate(seconds: 0))
        == ruling)
  }

  /// What an answer states besides what is recorded counts too, where it proves more.
  @Test(arguments: [
    ("Repr-Digest: sha-256=:\(sha256Base64):", "sha-256=\(sha256)"),
    ("Digest: MD5=\(md5Base64)", "md5=\(md5Base64)"),
    ("Content-Digest: sha-256=:\(sha256Base64):", "crc32c=e3069283"),
    ("Repr-Digest: crc32=:y/Q5Jg==:", "crc32c=e3069283"),
  ])
  func `a part may state a better digest than the recorded one`(
    _ field: String, _ wanted: String
  ) {
    let record = Checkpoint(
      completeLength: 9, validator: .strongETag("\"v\""),
      digest: ExpectedDigest(spelled: "crc32c=e3069283"), durable: ByteRanges(0..<8), part: "1.1",
      inode: 1)
    var state = TransferState(checkpoint: record)
    _ = state.answered(
      head(206, "Content-Range: bytes 4-8/9", "ETag: \"v\"", field),
      asked: .part(range: 4..<9, fresh: 8, ifRange: true), now: HTTPDate(seconds: 0))
    #expect(state.wantedDigest == ExpectedDigest(spelled: wanted))
  }

  @Test func `a 200 that states another digest is taken as the new representation`() {
    let record = Checkpoint(
      completeLength: 9, validator: .strongETag("\"v\""),
      digest: ExpectedDigest(spelled: "crc32=cbf43926"), durable: ByteRanges(0..<8), part: "1.1",
      inode: 1)
    var state = TransferState(checkpoint: record)
    let ruling = state.answered(
      head(200, "Content-Length: 9", "ETag: \"v\"", "Digest: crc32=00000000"),
      asked: .part(range: 4..<9, fresh: 8, ifRange: true), now: HTTPDate(seconds: 0))
    #expect(ruling.row == 11)
    #expect(state.stated == ExpectedDigest(spelled: "crc32=00000000"))
  }
}

/// The same against an origin: what it states is checked, whole and resumed.
@Suite(.timeLimit(.minutes(5)))
struct StatedDigestTransferTests {
  private static let source = Source(seed: 1, length: 300_000)
  let bench: PartTransferBench

  init() throws {
    bench = try PartTransferBench()
  }

  /// A field that states a digest of `bytes`.
  struct Field: Sendable, CustomTestStringConvertible {
    var testDescription: String { "\(name) \(algorithm.rawValue)" }
    var name: String
    var algorithm: DigestAlgorithm
    /// What stands before the base64 and after it.
    var around = ("", "")

    static let all = [
      Field(name: "Repr-Digest", algorithm: .sha256, around: ("sha-256=:", ":")),
      Field(name: "Repr-Digest", algorithm: .sha512, around: ("sha-512=:", ":")),
      Field(name: "Content-Digest", algorithm: .sha256, around: ("sha-256=:", ":")),
      Field(name: "Digest", algorithm: .sha256, around: ("SHA-256=", "")),
      Field(name: "Content-MD5", algorithm: .md5),
      Field(name: "x-goog-hash", algorithm: .crc32c, around: ("crc32c=", "")),
      Field(name: "x-goog-hash", algorithm: .md5, around: ("md5=", "")),
      Field(name: "x-amz-checksum-sha1", algorithm: .sha1),
      Field(name: "x-amz-checksum-sha256", algorithm: .sha256),
      Field(name: "x-amz-checksum-crc32", algorithm: .crc32),
      Field(name: "x-amz-checksum-crc32c", algorithm: .crc32c),
      Field(name: "x-amz-checksum-crc64nvme", algorithm: .crc64nvme),
    ]

    func line(of source: Source, isRight: Bool) -> String {
      var digest = source.digest(algorithm)
      if !isRight { digest[0] ^= 1 }
      return "\(name): \(around.0)\(Data(digest).base64EncodedString())\(around.1)\n"
    }
  }

  /// Sends the whole with `line`; cut once at `cut`, and parts without any digest.
  private func origin(_ line: String, cut: Int64? = nil) throws -> OriginServer {
    let isCut = Watched(cut == nil)
    return try OriginServer { request, reply in
      guard request[field: "Range"] == nil else { return try Self.source.answer(request, reply) }
      let fields = Self.source.fields(of: 0..<Self.source.length)
      try reply.head("HTTP/1.1 200 OK\n" + line + fields)
      let cuts = isCut.update { done in
        defer { done = true }
        return !done
      }
      try Self.source.send(
        0..<Self.source.length, reply, cut: cuts ? cut.map { .close(after: $0) } : nil)
    }
  }

  private func run(
    _ origin: OriginServer, _ change: (inout TransferRequest) throws -> Void = { _ in }
  ) async throws -> TransferOutcome {
    try await withEngine { engine in
      try await bench.transfer(origin.url("/file"), engine: engine, change).run()
    }
  }

  @Test(arguments: Field.all)
  func `a right one is no trouble, and a wrong one fails after a second look`(
    _ field: Field
  ) async throws {
    let right = try origin(field.line(of: Self.source, isRight: true))
    #expect(try await run(right).holds(Self.source))
    #expect(right.asked == ["whole"])
    let wrong = try origin(field.line(of: Self.source, isRight: false))
    let error = try #require(try await run(wrong).error)
    #expect(error.errorClass == .digest)
    let found = ExpectedDigest(field.algorithm, bytes: Self.source.digest(field.algorithm))
    #expect(error.message.contains(found.hexadecimal))
    #expect(wrong.asked == ["whole", "whole"])
  }

  /// The digest of the first answer is kept for what a second one completes.
  @Test(arguments: Field.all)
  func `a file that came in two answers is checked too`(_ field: Field) async throws {
    let right = try origin(field.line(of: Self.source, isRight: true), cut: 100_000)
    #expect(try await run(right).holds(Self.source))
    #expect(right.asked == ["whole", "95904-299999 if"])
    let wrong = try origin(field.line(of: Self.source, isRight: false), cut: 100_000)
    #expect(try await run(wrong).error?.errorClass == .digest)
    #expect(wrong.asked == ["whole", "95904-299999 if", "whole"])
  }

  @Test(arguments: [true, false])
  func `what an earlier attempt was told counts for the one that goes on`(
    _ isRight: Bool
  ) async throws {
    let origin = try OriginServer(handler: Self.source.handler)
    let outcome = try await run(origin) { order in
      var earlier = try bench.earlier(of: Self.source, durable: 100_000)
      var digest = Self.source.digest(.crc32c)
      if !isRight { digest[0] ^= 1 }
      earlier.checkpoint.digest = ExpectedDigest(.crc32c, bytes: digest)
      let saved = try Checkpoint(resumeData: earlier.checkpoint.resumeData())
      order.resuming = (saved, earlier.part)
    }
    // The whole that comes in place of the splice states nothing any more.
    #expect(try outcome.holds(Self.source))
    #expect(origin.asked == ["95904-299999 if"] + (isRight ? [] : ["whole"]))
  }

  @Test func `a part may tell the digest of the whole`() async throws {
    let digest = Data(Self.source.digest(.sha256)).base64EncodedString()
    let origin = try OriginServer { request, reply in
      guard request[field: "Range"] != nil else { return try Self.source.answer(request, reply) }
      try Self.source.part(
        reply, 95_904..<300_000,
        "ETag: \(Self.source.entityTag ?? "")\nRepr-Digest: sha-256=:\(digest):")
    }
    let outcome = try await run(origin) { order in
      let earlier = try bench.earlier(of: Self.source, durable: 100_000)
      // Spoilt where the overlap does not look.
      try Array("spoilt".utf8).withUnsafeBytes { try earlier.part.write($0, at: 50_000) }
      order.resuming = earlier
    }
    #expect(try outcome.holds(Self.source))
    #expect(origin.asked == ["95904-299999 if", "whole"])
  }

  /// nil: nothing is checked.
  @Test(arguments: [nil, .sha256, .md5] as [DigestAlgorithm?], [true, false])
  func `a file's SHA-256 is recorded on demand`(
    _ checked: DigestAlgorithm?, _ isResumed: Bool
  ) async throws {
    let origin = try OriginServer(handler: Self.source.handler)
    let report = try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/file"), engine: engine) { order in
        order.recordsDigest = true
        order.digest = checked.map { ExpectedDigest($0, bytes: Self.source.digest($0)) }
        if isResumed { order.resuming = try bench.earlier(of: Self.source, durable: 100_000) }
      }
      #expect(try await transfer.run().holds(Self.source))
      return transfer.report
    }
    #expect(report.digest == ExpectedDigest(.sha256, bytes: Self.source.digest(.sha256)))
  }

  @Test func `what was checked is told, and what was not is not computed`() async throws {
    let crc32c = ExpectedDigest(.crc32c, bytes: Self.source.digest(.crc32c))
    let stated = Data(crc32c.bytes).base64EncodedString()
    for (line, digest) in [("x-goog-hash: crc32c=\(stated)\n", crc32c), ("", nil)] {
      let origin = try origin(line)
      let report = try await withEngine { engine in
        let transfer = try bench.transfer(origin.url("/file"), engine: engine)
        #expect(try await transfer.run().holds(Self.source))
        return transfer.report
      }
      #expect(report.digest == digest)
    }
  }

  @Test func `the job's own digest overrules the server's`() async throws {
    let origin = try origin("Content-MD5: AAAAAAAAAAAAAAAAAAAAAA==\n")
    let outcome = try await run(origin) {
      $0.digest = ExpectedDigest(.sha256, bytes: Self.source.digest(.sha256))
    }
    #expect(try outcome.holds(Self.source))
    #expect(origin.asked == ["whole"])
  }

  @Test func `a body without length is whole with the digest that the server states`() async throws
  {
    let md5 = Data(Self.source.digest(.md5)).base64EncodedString()
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nConnection: close\nContent-MD5: \(md5)")
      try reply.body(Self.source.pattern.bytes(in: 0..<300_000))
      reply.close()
    }
    #expect(try await run(origin).holds(Self.source))
    #expect(origin.asked == ["whole"])
  }

  @Test func `a coded body is checked as it is sent`() async throws {
    var source = Self.source
    source.contentEncoding = "gzip"
    let sha256 = Data(source.digest(.sha256)).base64EncodedString()
    let origin = try OriginServer { [source] _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nRepr-Digest: sha-256=:\(sha256):\n" + source.fields(of: 0..<300_000))
      try source.send(0..<300_000, reply)
    }
    #expect(try await run(origin).holds(Self.source))
  }
}
