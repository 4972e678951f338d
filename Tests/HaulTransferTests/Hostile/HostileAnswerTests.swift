import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Answers that break the rules, seen from the outside: the right file, or none and why.
@Suite(.timeLimit(.minutes(5)))
struct HostileAnswerTests {
  /// One answer, given to every request.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let result: DownloadBench.Result
    let requests: Int
    let answer: @Sendable (OriginReply) throws -> Void

    init(
      _ name: String, _ result: DownloadBench.Result, requests: Int = 1,
      _ answer: @escaping @Sendable (OriginReply) throws -> Void
    ) {
      testDescription = name
      self.result = result
      self.requests = requests
      self.answer = answer
    }
  }

  private static let heads: [Case] = [
    Case("answers before the final one", .text("12345")) { reply in
      try reply.head("HTTP/1.1 100 Continue")
      try reply.head("HTTP/1.1 103 Early Hints\nLink: </other>\nETag: \"early\"")
      try reply.answer("Content-Length: 5", "12345")
    },
    Case("answers before the final one without end", .failure(.protocol)) { reply in
      try reply.flood(String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 100))
    },
    Case("a header line of 1 MB", .failure(.protocol)) { reply in
      try reply.answer("X: \(String(repeating: "x", count: 1 << 20))\nContent-Length: 5", "12345")
    },
    Case("1,000 header lines of 1 kB", .failure(.protocol)) { reply in
      let lines = String(repeating: "X: \(String(repeating: "x", count: 1000))\n", count: 1000)
      try reply.answer("\(lines)Content-Length: 5", "12345")
    },
    Case("a header line without end", .failure(.protocol)) { reply in
      try reply.body("HTTP/1.1 200 OK\r\nX: ")
      try reply.flood(String(repeating: "x", count: 10_000))
    },
    Case("header lines without end", .failure(.protocol)) { reply in
      try reply.body("HTTP/1.1 200 OK\r\n")
      try reply.flood(String(repeating: "X: y\r\n", count: 1000))
    },
    Case("a name for the file that leads elsewhere", .text("12345")) { reply in
      try reply.answer(
        "Content-Disposition: attachment; filename=\"../b\"; filename*=UTF-8''%2e%2e%2fc\n"
          + "Content-Length: 5", "12345")
    },
    Case("an encoding that was not asked for: stored as sent", .text("\u{1f}8")) { reply in
      try reply.answer("Content-Encoding: gzip\nContent-Length: 2", "\u{1f}8")
    },
  ]

  private static let bodies: [Case] = [
    Case("HTTP/1.0 without a length: twice the same", .text("12345"), requests: 2) { reply in
      try reply.head("HTTP/1.0 200 OK")
      try reply.body("12345")
      reply.close()
    },
    Case("the same length twice", .text("12345")) { reply in
      try reply.answer("Content-Length: 5\nContent-Length: 5", "12345")
    },
    Case("two lengths", .failure(.protocol)) { reply in
      try reply.answer("Content-Length: 5\nContent-Length: 50", "12345")
    },
    Case("a length beyond what comes", .failure(.interrupted)) { reply in
      try reply.answer("Content-Length: 6", "12345")
      reply.close()
    },
    Case("a length below what comes: what is announced counts", .text("12345")) { reply in
      try reply.answer("Content-Length: 5", "1234567")
    },
    Case("a length and chunks: the chunks count", .text("12345")) { reply in
      try reply.answer("Content-Length: 3\nTransfer-Encoding: chunked", "5\r\n12345\r\n0\r\n\r\n")
    },
    Case("trailers without end", .failure(.interrupted)) { reply in
      try reply.answer("Transfer-Encoding: chunked", "5\r\n12345\r\n0\r\n")
      try reply.flood(String(repeating: "X: y\r\n", count: 1000))
    },
  ]

  private static let chunks = [
    "zz\r\n", "-5\r\n12345\r\n", "\r\n", "12345678901234567\r\n", "7fffffffffffffff\r\nabc",
    "5\r\n12345X",
  ].map { chunk in
    Case("a chunk that is none: \(chunk.debugDescription)", .failure(.interrupted)) { reply in
      try reply.answer("Transfer-Encoding: chunked", "5\r\n12345\r\n" + chunk)
      reply.close()
    }
  }

  @Test(arguments: heads + bodies + chunks)
  func `an answer against the rules`(_ given: Case) async throws {
    let origin = try OriginServer { _, reply in try given.answer(reply) }
    let bench = try DownloadBench()
    #expect(try await bench.download(origin.url("/")) == given.result)
    #expect(origin.log.value.exchanges.count == given.requests)
  }

  @Test func `HTTP/1.0 without a length, and leave to take it`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.0 200 OK")
      try reply.body("12345")
      reply.close()
    }
    var options = DownloadOptions()
    options.acceptUnverifiedLength = true
    let bench = try DownloadBench()
    #expect(try await bench.download(origin.url("/"), options: options) == .text("12345"))
    #expect(origin.log.value.exchanges.count == 1)
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `a body without end ends with the disk, and with what is allowed`() async throws {
    let origin = try OriginServer { _, reply in
      try reply.answer("Transfer-Encoding: chunked", "")
      while true { try reply.chunk([UInt8](repeating: 7, count: 65_536)) }
    }
    var options = DownloadOptions()
    options.maximumLength = 1 << 20
    let bench = try DownloadBench()
    let allowed = try await bench.download(origin.url("/"), options: options)
    #expect(allowed == .failure(.tooLarge))
    let disk = try await TestFileSystem(tmpfs: 2 << 20)
    let error = await #expect(throws: TransferError.self) {
      try await bench.downloader.download(origin.url("/"), to: disk.path + "/a")
    }
    #expect(error?.errorClass == .diskFull)
    #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
  }

  // MARK: - Slowness

  private static let slow: [Case] = [
    Case("no answer", .failure(.timeout)) { try $0.waitUntilPeerCloses() },
    Case("a head one byte at a time", .failure(.timeout)) { reply in
      try reply.drip(
        "HTTP/1.1 200 OK\r\n" + String(repeating: "X: y\r\n", count: 500), every: .milliseconds(50))
    },
    Case("a body that stops", .failure(.timeout)) { reply in
      try reply.answer("Content-Length: 10", "12345")
      try reply.waitUntilPeerCloses()
    },
    Case("a body one byte at a time", .failure(.timeout)) { reply in
      try reply.answer("Content-Length: 3000", "")
      try reply.drip(String(repeating: "x", count: 3000), every: .milliseconds(50))
    },
    Case("a chunk extension without end", .failure(.timeout)) { reply in
      try reply.answer("Transfer-Encoding: chunked", "5;")
      try reply.drip(String(repeating: "x", count: 3000), every: .milliseconds(50))
    },
  ]

  @Test(arguments: slow)
  func `an answer that takes too long`(_ given: Case) async throws {
    var configuration = Engine.Configuration.test
    configuration.responseTimeout = .milliseconds(500)
    configuration.stallTime = .seconds(1)
    configuration.stallFloor = 100
    let origin = try OriginServer { _, reply in try given.answer(reply) }
    let bench = try DownloadBench(configuration)
    #expect(try await bench.download(origin.url("/")) == given.result)
    #expect(origin.log.value.exchanges.count == 1)
  }

  // MARK: - Asking for less

  @Test(arguments: [
    ("7", Duration.seconds(7)), ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(60)),
    ("Sun, 06 Nov 1994 08:00:00 GMT", .zero), ("soon", nil), ("-7", nil), ("7.5", nil), ("", nil),
    ("99999999999999999999", .seconds(365 * 86_400)),
    ("Sun, 06 Nov 9994 08:49:37 GMT", .seconds(365 * 86_400)),
  ])
  func `how long to wait`(_ field: String, _ wait: Duration?) async throws {
    let origin = try OriginServer { _, reply in
      try reply.head(
        "HTTP/1.1 429 Slowly\nDate: Sun, 06 Nov 1994 08:48:37 GMT\nRetry-After: \(field)\n"
          + "Content-Length: 0")
    }
    let error = try #require(try await DownloadBench().failure(origin.url("/")))
    #expect(error.errorClass == .rateLimited)
    #expect(error.retryAfter == wait)
  }

  // MARK: - Connections

  @Test func `an answer that comes before its question is its answer, and the only one`()
    async throws
  {
    let origin = try OriginServer(
      greeting: "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly"
    ) { _, reply in
      try reply.answer("Content-Length: 4", "late")
    }
    let bench = try DownloadBench()
    for number in 1...3 {
      #expect(try await bench.download(origin.url("/")) == .text("early"))
      try bench.remove()
      // What is left over is there before the next question.
      try await origin.log.first("the late answer") {
        $0.exchanges.count == number && $0.running == 0 ? () : nil
      }
    }
    // What was left on one connection was never the answer to the next question.
    #expect(origin.log.value.connections == 3)
  }

  /// Keep-alive is a promise that nobody has to keep; whoever meets the end of it asks again.
  @Test(arguments: ["closed at rest", "closed when asked", "reset when asked"])
  func `a kept connection that ends is nobody's fault`(_ how: String) async throws {
    let origin = try OriginServer { request, reply in
      if request.number == 2, how != "closed at rest" {
        return how == "reset when asked" ? try reply.reset() : reply.close()
      }
      try reply.answer("Content-Length: 5\nConnection: keep-alive", "12345")
      if how == "closed at rest" { reply.close() }
    }
    let bench = try DownloadBench()
    for _ in 0..<2 {
      #expect(try await bench.download(origin.url("/")) == .text("12345"))
      try bench.remove()
    }
    let connections = origin.log.value.exchanges.map(\.request.connection)
    #expect(connections == (how == "closed at rest" ? [1, 2] : [1, 1, 2]))
  }
}
