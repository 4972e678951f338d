import HaulSystem
import TestSupport
import Testing

@testable import HaulTransfer

/// Complete responses that look like error pages, where the job has a digest: it judges, and the old part stays until then.
@Suite(.timeLimit(.minutes(5)))
struct TrialTests {
  private typealias Pages = SuspectPageTests

  private func run(
    _ bench: PartTransferBench, resumes: Bool = true, _ answer: @escaping OriginServer.Handler,
    _ change: (inout TransferRequest) throws -> Void = { _ in }
  ) async throws -> (outcome: TransferOutcome, transfer: PartTransfer) {
    let run = try await bench.carryOut(resumes: resumes, answer) { order in
      order.digest = ExpectedDigest(.sha256, bytes: Pages.file.digest(.sha256))
      try change(&order)
    }
    return (run.outcome, run.transfer)
  }

  /// The file under another type, without validator, or without length.
  @Test(arguments: ["text/plain", "text/html", "application/octet-stream"], [true, false])
  func `12: a suspect that matches the job's digest is the file`(
    _ type: String, _ hasLength: Bool
  ) async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer) = try await run(bench) { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Type: \(type)\n"
          + (hasLength ? "Content-Length: \(Pages.file.length)" : "Connection: close"))
      try reply.body(Pages.file.bytes(in: 0..<Pages.file.length))
      if !hasLength { reply.close() }
    }
    #expect(try outcome.holds(Pages.file))
    #expect(transfer.report.digest?.bytes == Pages.file.digest(.sha256))
    // The old part, which nobody needs any more where it was not continued.
    #expect(transfer.report.leftover == (hasLength ? [] : ["part"]))
  }

  /// Another content, one that is cut, and one that says too little of itself.
  @Test(arguments: [0, 1, 2])
  func `12: one that does not match costs nothing`(_ kind: Int) async throws {
    let bench = try PartTransferBench()
    let (outcome, transfer) = try await run(bench) { _, reply in
      let length = [50_000, 60_000, 50_000][kind]
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Type: text/plain\n"
          + (kind == 2 ? "Connection: close" : "Content-Length: \(length)"))
      try reply.body("quota exceeded\n" + String(repeating: "x", count: 49_985))
      reply.close()
    }
    let error = try #require(outcome.error)
    #expect(error.errorClass == .suspectPage)
    #expect(error.message.contains("quota exceeded"))
    let (record, part) = try bench.leftBehind()
    #expect(record.durable.prefixEnd == Pages.durable)
    #expect(record.suspect != nil)
    #expect(try part.size() >= Pages.durable)
    #expect(transfer.report.leftover == ["part.1"])
    #expect(transfer.report.digest == nil)
  }

  /// A response without validator is compared with the part, and has no digest to judge it.
  @Test func `12: a comparison says how its response ended`() async throws {
    let bench = try PartTransferBench()
    let length = Pages.file.length
    let (outcome, _) = try await run(bench) { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: \(length)")
      try reply.body(Pages.file.bytes(in: 0..<length - 10))
      reply.close()
    } _: {
      $0.digest = nil
    }
    let end = ", and without an ETag or Last-Modified Haul cannot prove that the file is unchanged"
    #expect(outcome.error?.message == "the response ended early\(end)")
    // HTTP/1.1 has no such response: libcurl drops what follows the announced length.
    #expect(
      PartTransfer.comparisonError(after: .excess).message
        == "the response has more bytes than it announced\(end)")
  }

  @Test func `12: what was on trial when it stopped leaves the part as it was`() async throws {
    let bench = try PartTransferBench()
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 100000")
      try reply.body(String(repeating: "x", count: 50_000))
      try reply.waitUntilPeerCloses()
    }
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/file.zip"), engine: engine) { order in
        order.resuming = try bench.earlier(of: Pages.file, durable: Pages.durable)
        order.digest = ExpectedDigest(.sha256, bytes: Pages.file.digest(.sha256))
      }
      async let outcome = transfer.run()
      try await eventually("half of the suspect") { transfer.progress.fetched >= 50_000 }
      transfer.stop()
      guard case .stopped = await outcome else { throw TransferError(.io, "not stopped") }
      #expect(try bench.leftBehind().checkpoint.durable.prefixEnd == Pages.durable)
      #expect(transfer.progress.bytes == Pages.durable)
    }
  }

  @Test(arguments: [true, false])
  func `12: a finished file is replaced by what matches, and by nothing else`(_ isRight: Bool)
    async throws
  {
    let bench = try PartTransferBench()
    let (outcome, transfer) = try await run(bench, resumes: false) { _, reply in
      try reply.head(
        "HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: \(Pages.file.length)")
      let bytes = Pages.file.bytes(in: 0..<Pages.file.length)
      try reply.body(isRight ? bytes : bytes.map { $0 ^ 1 })
    } _: { order in
      order.present = SourceRecord(fields: ["etag": "\"old\"", "type": "application/zip"])
    }
    if isRight {
      #expect(try outcome.holds(Pages.file))
    } else {
      #expect(outcome.error?.errorClass == .suspectPage)
      #expect(transfer.report.source?.suspect != nil)
    }
  }

  @Test func `what the job's digest refutes is no measure for what comes next`() async throws {
    let bench = try PartTransferBench()
    let (outcome, _) = try await run(bench, resumes: false) { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Type: text/plain\nETag: \"x\"\nContent-Length: 5")
      try reply.body("error")
    }
    #expect(outcome.error?.errorClass == .digest)
    #expect(bench.saved.value.isEmpty)
  }
}
