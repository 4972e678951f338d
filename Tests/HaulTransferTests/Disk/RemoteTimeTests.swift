import Glibc
import TestSupport
import Testing

@testable import HaulTransfer

/// The source's time, given to the complete part.
@Suite(.timeLimit(.minutes(5)))
struct RemoteTimeTests {
  private static let modified: Int64 = 784_111_777

  private var source: Source {
    var source = Source(seed: 6, length: 300_000)
    source.lastModified = Self.modified
    return source
  }

  /// The part of a transfer that is complete: its time, in seconds since 1970.
  private func time(
    of answer: @escaping OriginServer.Handler,
    _ change: (PartTransferBench, inout TransferRequest) throws -> Void
  ) async throws -> Int64 {
    let bench = try PartTransferBench()
    let origin = try OriginServer(handler: answer)
    return try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) { order in
        try change(bench, &order)
      }
      #expect(try await transfer.run().holds(source))
      var found = stat()
      try #require(stat(bench.scratch.path + "/parts/part", &found) == 0)
      return Int64(found.st_mtim.tv_sec)
    }
  }

  @Test func `it is given where it is asked for, and only there`() async throws {
    let given = try await time(of: source.handler) { $1.takesRemoteTime = true }
    #expect(given == Self.modified)
    let other = try await time(of: source.handler) { _, _ in }
    #expect(other != Self.modified)
  }

  @Test func `a time to come is not believed`() async throws {
    var source = source
    source.lastModified = Int64(Glibc.time(nil)) + 86_400
    let given = try await time(of: source.handler) { $1.takesRemoteTime = true }
    #expect(given != source.lastModified)
  }

  /// A 206 after If-Range need not repeat it (RFC 9110 §15.3.7).
  @Test func `a resume has it from the record`() async throws {
    let half: Int64 = 150_000
    let given = try await time(of: { [source] request, reply in
      try source.part(reply, half - 4096..<source.length)
    }) { [source] bench, order in
      var (checkpoint, part) = try bench.earlier(of: source, durable: half)
      checkpoint.modified = Self.modified
      order.resuming = (checkpoint, part)
      order.takesRemoteTime = true
    }
    #expect(given == Self.modified)
  }

  /// As curl reads them. Without a tag the date is what a resume rests on, and it is repeated as it came.
  @Test(arguments: [
    "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 +0000",
    "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT",
  ])
  func `a date in another form is given to the file, and resumes`(_ date: String) async throws {
    let origins = Watched<[String]>([])
    let given = try await time(of: { [source] request, reply in
      origins.update { $0.append(request[field: "If-Range"] ?? request.asked) }
      let start = Int64(request.asked.prefix { $0 != "-" }) ?? 0
      let range = "\(start)-\(source.length - 1)/\(source.length)"
      try reply.head(
        (start > 0 ? "HTTP/1.1 206 Part\nContent-Range: bytes \(range)\n" : "HTTP/1.1 200 OK\n")
          + "Date: \(httpDate(Int64(Glibc.time(nil))))\nLast-Modified: \(date)\n"
          + "Content-Length: \(source.length - start)")
      try reply.body(source.bytes(in: start..<(start > 0 ? source.length : 150_000)))
      if start == 0 { reply.close() }
    }) { $1.takesRemoteTime = true }
    #expect(given == Self.modified)
    #expect(origins.value == ["whole", date])
  }

  @Test func `what is recorded tells it`() async throws {
    let bench = try PartTransferBench()
    let gate = Gate("the first record")
    var source = source
    source.gates = [150_000: gate]
    let origin = try OriginServer(handler: source.handler)
    try await withEngine { engine in
      let transfer = try bench.transfer(origin.url("/"), engine: engine) {
        $0.checkpointBytes = 1000
      } save: { _ in
        gate.open()
        return true
      }
      _ = await transfer.run()
    }
    #expect(bench.saved.value.first?.modified == Self.modified)
  }
}
