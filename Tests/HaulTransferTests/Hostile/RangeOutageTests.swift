import TestSupport
import Testing

@testable import HaulTransfer

/// Row 27, where ranges failed because the server was in trouble, and not because it does not like them. Half of the file is
/// there, and two attempts have failed.
@Suite(.timeLimit(.minutes(5)))
struct RangeOutageTests {
  private static let file = SuspectPageTests.file
  private static let rest = "75904-159999 if"

  /// Runs the third attempt, whose first request fails with `status`, or without an answer where that is 0.
  private func run(
    _ bench: PartTransferBench, after status: Int, _ answer: @escaping OriginServer.Handler
  ) async throws -> (outcome: TransferOutcome, asked: [String]) {
    try await bench.run { request, reply in
      if request.number == 1 { return try Self.fail(status, reply) }
      try answer(request, reply)
    } _: { order in
      order.resuming?.checkpoint.refusal = .init(status: status, count: 2)
    }
  }

  private static func fail(_ status: Int, _ reply: OriginReply) throws {
    if status == 0 { return reply.close() }
    try reply.head("HTTP/1.1 \(status) Trouble\nContent-Length: 0")
  }

  @Test(arguments: [0, 408, 500, 502, 504])
  func `27: a server that answers again is asked for the rest`(_ status: Int) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await run(bench, after: status, Self.file.handler)
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked == [Self.rest, "whole", Self.rest])
  }

  /// Whatever the second failure is: the next plain answer is taken, and nobody goes round in circles.
  @Test(arguments: [0, 504], [0, 502, 403])
  func `27: once only`(_ status: Int, _ second: Int) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await run(bench, after: status) { request, reply in
      guard request.asked == "whole" else { return try Self.fail(second, reply) }
      try Self.file.whole(reply)
    }
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked == [Self.rest, "whole", Self.rest, "whole"])
  }

  /// Another file, one that may be another, and one of which it is not known how much is there.
  @Test(arguments: ["ETag: \"other\"\n", "", nil])
  func `27: what is not what was recorded is taken`(_ field: String?) async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await run(bench, after: 0) { _, reply in
      let length = field == nil ? "" : "Content-Length: \(Self.file.length)\n"
      let tag = field ?? "ETag: \(Self.file.entityTag ?? "")\n"
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Type: application/zip\n\(tag)\(length)Connection: close")
      try reply.body(Self.file.bytes(in: 0..<Self.file.length))
      reply.close()
    }
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked.first == Self.rest && asked.dropFirst().allSatisfy { $0 == "whole" })
  }

  /// Nothing is wrong with a server that says no.
  @Test func `27: a refusal of the range is final`() async throws {
    let bench = try PartTransferBench()
    let (outcome, asked) = try await run(bench, after: 403) { _, reply in
      try Self.file.whole(reply)
    }
    #expect(try outcome.holds(Self.file), "\(outcome)")
    #expect(asked == [Self.rest, "whole"])
  }

  /// FTP and SFTP know no ranges that a server could refuse so.
  @Test func `27: files of other protocols are asked for their rest as often as it takes`() {
    let checkpoint = Checkpoint(
      completeLength: 10_000, validator: .strongETag("\"v\""), durable: ByteRanges(0..<8192),
      part: "1-1", inode: 1)
    for (isHTTP, errorClass) in [
      (true, .timeout), (false, .timeout), (false, .interrupted), (false, .protocol),
    ] as [(Bool, TransferError.Class)] {
      var state = TransferState(checkpoint: checkpoint)
      state.policy.isHTTP = isHTTP
      guard case .request(_, let asked) = state.next() else {
        Issue.record("no request")
        continue
      }
      let doubts = (1...4).map { _ in state.failed(TransferError(errorClass, ""), asked: asked) }
      #expect(doubts == [false, false, isHTTP, false], "\(errorClass)")
      #expect((state.checkpoint?.refusal == nil) == !isHTTP)
    }
  }
}
