import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Responses that may be error pages or contradict the record, and come again. Half of the file is there.
@Suite(.timeLimit(.minutes(5)))
struct SuspectAgainTests {
  private typealias Pages = SuspectPageTests

  /// Error texts repeat too. A response without validator, or of another type, never becomes the file by that.
  @Test(
    arguments: [
      ("application/zip", nil, 50), ("text/plain", nil, 50), (nil, nil, 50),
      ("application/json", "\"e\"", 50), ("application/json", "\"e\"", 150_000),
    ] as [(String?, String?, Int)])
  func `12: an error text that repeats after a minute is none of the file`(
    _ type: String?, _ tag: String?, _ length: Int
  ) async throws {
    let bench = try PartTransferBench()
    var earlier = try bench.earlier(of: Pages.file, durable: Pages.durable)
    for _ in 1...3 {
      let (outcome, _) = try await bench.run(resumes: false) { _, reply in
        let fields = [type.map { "Content-Type: \($0)" }, tag.map { "ETag: \($0)" }]
        try reply.head(
          (["HTTP/1.1 200 OK", "Content-Length: \(length)"] + fields.compactMap(\.self))
            .joined(separator: "\n"))
        try reply.body("over quota" + String(repeating: " ", count: length - 10))
      } _: { order in
        order.resuming = earlier
      }
      let error = try #require(outcome.error)
      #expect(error.errorClass == .suspectPage)
      #expect(error.message.contains("(\(type ?? "no media type"), \(length) bytes)"))
      #expect(error.message.contains("over quota"))
      #expect(error.retryAfter == nil)
      earlier = try bench.leftBehind()
      #expect(earlier.checkpoint.durable.prefixEnd == Pages.durable)
      #expect(earlier.checkpoint.suspect?.length == Int64(length))
      earlier.checkpoint.suspect?.firstSeen -= 61
    }
  }

  /// The tag is the old one, the length is not, and the server ignores ranges: the whole answer that follows is compared with
  /// nothing.
  @Test(arguments: [100_000, 200_000] as [Int64])
  func `11: a file of another length under the same tag is taken in the end`(_ length: Int64)
    async throws
  {
    let bench = try PartTransferBench()
    var new = Source(seed: 2, length: length)
    (new.entityTag, new.contentType) = (Pages.file.entityTag, Pages.file.contentType)
    new.acceptsRanges = false
    let (outcome, asked) = try await bench.run(new.handler)
    #expect(try outcome.holds(new))
    #expect(asked == Array(repeating: "75904-159999 if", count: 3) + ["whole"])
  }

  /// Neither tag, type nor length of the part counts for the whole answer that follows.
  @Test(arguments: [true, false])
  func `11: what comes after three contradictions is judged alone`(_ isChunked: Bool) async throws {
    let bench = try PartTransferBench()
    var new = Source(seed: 2, length: 200_000)
    (new.entityTag, new.contentType) = (nil, "text/plain")
    let (outcome, asked) = try await bench.run { [new] request, reply in
      guard request.asked == "whole" else { return try Self.contradict(reply) }
      guard isChunked else { return try new.whole(reply) }
      try reply.head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked")
      try reply.chunk(new.bytes(in: 0..<new.length))
      try reply.chunk([])
    }
    #expect(try outcome.holds(new))
    #expect(asked.count == 4)
  }

  private static func contradict(_ reply: OriginReply) throws {
    var other = Source(seed: 3, length: 100_000)
    (other.entityTag, other.contentType) = (Pages.file.entityTag, Pages.file.contentType)
    try other.whole(reply)
  }

  // MARK: - Beside a finished file

  private static let finished = SourceRecord(
    fields: ["etag": "\"old\"", "type": "application/zip", "length": "160000"])

  /// A part that is given up does not take the finished file along. The part is of the same transfer, or of an earlier one.
  @Test(arguments: [true, false])
  func `12: after three contradictions an error text does not replace a finished file`(
    _ resumes: Bool
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run(resumes: resumes) { request, reply in
      guard request.asked == "whole" else { return try Self.contradict(reply) }
      if !resumes, request.number == 1 {
        return try Pages.file.answer(request, reply, cut: .close(after: Pages.durable))
      }
      try reply.answer("Content-Type: application/json\nContent-Length: 5", "error")
    } _: {
      $0.present = Self.finished
    }
    #expect(outcome.error?.errorClass == .suspectPage)
    #expect(asked.count == (resumes ? 4 : 5))
  }

  /// A part of the new content that is small says little: less is lost with it than with the finished file.
  @Test(
    arguments: [
      (1, "application/zip", "ETag: \"e\""), (10_000, "application/zip", "ETag: \"e\""),
      (10_000, "application/json", "X: y"),
    ] as [(Int64, String, String)])
  func `12: after a refresh that broke off a suspect does not replace the finished file`(
    _ durable: Int64, _ type: String, _ field: String
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run(resumes: false) { request, reply in
      if request.number == 1 {
        return try Pages.file.answer(request, reply, cut: .close(after: durable))
      }
      try reply.answer("Content-Type: \(type)\nContent-Length: 5\n\(field)", "error")
    } _: {
      $0.present = Self.finished
    }
    #expect(outcome.error?.errorClass == .suspectPage)
  }

  /// The range is refused, and so is the plain request. A single 502 must not cost what is there.
  @Test(arguments: ["404 None", "500 No", "502 Bad", "503 Busy", "504 Late", "416 Range"])
  func `27: a plain request that fails too leaves the part`(_ status: String) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await bench.run { request, reply in
      try reply.head(
        "HTTP/1.1 \(request.asked == "whole" ? status : "403 No")\nContent-Length: 0")
    }
    #expect(outcome.error?.status == Int(status.prefix(3)))
    #expect(asked == ["75904-159999 if", "whole"])
    #expect(try bench.keepsPart())
    // What is recorded, where anything is, is what was there.
    #expect(bench.saved.value.allSatisfy { $0.durable.prefixEnd == Pages.durable })
  }

  /// A proxy takes away length and validator, and the job says that it may.
  @Test(arguments: [true, false])
  func `23: a job may accept a body that is shorter than was stated once`(_ isChunked: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, _) = try await bench.run { _, reply in
      try reply.unsized(
        "HTTP/1.1 200 OK\nContent-Type: application/zip", Pages.file.bytes(in: 0..<100_000),
        inChunks: isChunked)
    } _: {
      $0.acceptUnverifiedLength = true
    }
    guard case .complete(_, 100_000) = outcome else {
      Issue.record("\(outcome)")
      return
    }
  }
}
