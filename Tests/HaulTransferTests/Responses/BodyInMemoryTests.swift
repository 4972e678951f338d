import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Bodies in memory, and responses without a body.
@Suite(.timeLimit(.minutes(5)))
struct BodyInMemoryTests {
  private let downloader: Downloader
  private let origin: OriginServer
  private static let source = TestSupport.Representation(seed: 6, length: 3_000_000)

  init() throws {
    downloader = try Downloader(.test)
    origin = try OriginServer { request, reply in
      switch request.path {
      case "/file": try Self.source.answer(request, reply)
      case "/broken":
        try Self.source.answer(
          request, reply, cut: request.number == 1 ? .close(after: 1_000_000) : nil)
      case "/moved": try reply.head("HTTP/1.1 302 Go\nLocation: /file\nContent-Length: 0")
      case "/endless":
        try reply.head("HTTP/1.1 200 OK\nTransfer-Encoding: chunked")
        while true { try reply.chunk(Array(repeating: 65, count: 1000)) }
      case "/empty": try reply.text("")
      case "/echo":
        try reply.text("\(request.method) \(String(decoding: request.body, as: UTF8.self))")
      case "/busy" where request.number == 1:
        try reply.head("HTTP/1.1 503 Busy\nContent-Length: 0")
      case "/busy": try reply.text("hello")
      case "/none":
        try reply.head("HTTP/1.1 404 None\nX-Why: so\nContent-Length: 4")
        if request.method != "HEAD" { try reply.body("none") }
      default: try reply.text("hello")
      }
    }
  }

  private func options(_ change: (inout DownloadOptions) -> Void) -> DownloadOptions {
    var options = DownloadOptions()
    change(&options)
    return options
  }

  private var requests: [String] {
    origin.log.value.exchanges.map { "\($0.request.method) \($0.request.path)" }
  }

  // MARK: - Bodies

  @Test(arguments: ["/file", "/moved", "/broken"])
  func `the body and its response`(_ target: String) async throws {
    let digest = ExpectedDigest(.sha256, bytes: Self.source.digest(.sha256))
    let (body, response) = try await downloader.data(
      from: origin.url(target), options: options { $0.digest = digest })
    #expect(body.count == Self.source.length)
    #expect(Self.source.pattern.firstDifference(of: Array(body), at: 0) == nil)
    #expect(response.url == origin.url(target == "/broken" ? target : "/file"))
    #expect(response.value("ETag") == Self.source.entityTag)
    let (empty, _) = try await downloader.data(from: origin.url("/empty"))
    #expect(empty.isEmpty)
  }

  @Test func `more bytes than are allowed are not read`() async throws {
    for target in ["/file", "/endless"] {
      let error = await #expect(throws: TransferError.self) {
        try await downloader.data(
          from: origin.url(target), options: options { $0.maximumLength = 100_000 })
      }
      #expect(error?.errorClass == .tooLarge)
    }
    let error = await #expect(throws: TransferError.self) {
      try await downloader.data(from: origin.url("/endless"))
    }
    #expect(error?.errorClass == .tooLarge && error?.message.contains("16777216") == true)
  }

  @Test func `a body may be sent, and a failure has the answer's body`() async throws {
    let (body, _) = try await downloader.data(
      from: origin.url("/echo"), options: options { $0.method = .post(Array("abc".utf8)) })
    #expect(String(decoding: body, as: UTF8.self) == "POST abc")
    let error = await #expect(throws: TransferError.self) {
      try await downloader.data(from: origin.url("/none"))
    }
    #expect(error?.status == 404 && error?.body == Array("none".utf8))
  }

  private struct Unwanted: Error {}

  @Test func `hooks and retries are those of a download`() async throws {
    await #expect(throws: Unwanted.self) {
      try await downloader.data(
        from: origin.url("/file"), options: options { $0.validate = { _ in throw Unwanted() } })
    }
    let error = await #expect(throws: TransferError.self) {
      try await downloader.data(
        from: origin.url("/moved"), options: options { $0.followRedirect = { _, _ in false } })
    }
    #expect(error?.errorClass == .rejected && error?.status == 302)
  }

  @Test func `a retry brings the body`() async throws {
    let (body, _) = try await downloader.data(
      from: origin.url("/busy"), options: options { $0.retry = RetryPolicy() })
    #expect(String(decoding: body, as: UTF8.self) == "hello")
    #expect(requests == ["GET /busy", "GET /busy"])
  }

  @Test func `it ends with its task, its time and the downloader`() async throws {
    let never = Gate("never while it runs")
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Length: 5")
      try reply.wait(for: never)
    }
    let late = await #expect(throws: TransferError.self) {
      try await downloader.data(
        from: origin.url("/late"), options: options { $0.timeout = .milliseconds(300) })
    }
    #expect(late?.errorClass == .timeout)
    let task = try await begun("/task", at: origin)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    let last = try await begun("/last", at: origin)
    await downloader.shutdown()
    let error = await #expect(throws: TransferError.self) { try await last.value }
    #expect(error?.errorClass == .cancelled)
    let after = await #expect(throws: TransferError.self) {
      try await downloader.data(from: origin.url("/after"))
    }
    #expect(after?.errorClass == .cancelled)
    never.open()
  }

  /// A call whose request has reached the server.
  private func begun(_ target: String, at origin: OriginServer) async throws -> Task<
    Data, any Error
  > {
    let url = origin.url(target)
    let task = Task { [downloader] in try await downloader.data(from: url).0 }
    try await origin.log.first("the request for \(target)") { log in
      log.exchanges.contains { $0.request.path == target } ? () : nil
    }
    return task
  }

  @Test func `only http and https have responses`() async throws {
    let error = await #expect(throws: TransferError.self) {
      try await downloader.data(from: "ftp://127.0.0.1/a")
    }
    #expect(error?.errorClass == .blockedURL)
  }

  // MARK: - HEAD

  @Test func `a HEAD brings the response alone, and its connection stays good`() async throws {
    for target in ["/file", "/moved", "/file"] {
      let response = try await downloader.head(
        origin.url(target), options: options { $0.maximumLength = 1 })
      #expect(response.status == 200 && response.url == origin.url("/file"))
      #expect(response.value("Content-Length") == "\(Self.source.length)")
    }
    let (body, _) = try await downloader.data(from: origin.url("/file"))
    #expect(body.count == Self.source.length)
    #expect(
      requests == ["HEAD /file", "HEAD /moved", "HEAD /file", "HEAD /file", "GET /file"])
    #expect(origin.log.value.connections == 1)
  }

  @Test func `a HEAD that fails says why`() async throws {
    let error = await #expect(throws: TransferError.self) {
      try await downloader.head(origin.url("/none"))
    }
    #expect(error?.errorClass == .http404 && error?.status == 404 && error?.body.isEmpty == true)
    #expect(error?.fields.contains(HeaderField("X-Why", "so")) == true)
    await #expect(throws: Unwanted.self) {
      try await downloader.head(
        origin.url("/file"), options: options { $0.validate = { _ in throw Unwanted() } })
    }
  }

  /// A chunked answer has no end that libcurl would look for, and a body after HEAD is not read.
  @Test(arguments: ["Transfer-Encoding: chunked", "X-Length: none", "Content-Length: 7"])
  func `what the head says of a body is true of none`(_ field: String) async throws {
    let origin = try OriginServer { request, reply in
      try reply.head("HTTP/1.1 200 OK\n\(field)")
      if request.number == 2 { try reply.body("garbage") }
    }
    for _ in 1...3 {
      #expect(try await downloader.head(origin.url("/")).status == 200)
    }
  }

  @Test func `a HEAD over HTTP/2`() async throws {
    let origin = try await TLSOrigin(files: ["small": Array("12345".utf8)])
    var configuration = Downloader.Configuration.test
    configuration.resolve = ["tls.test:\(origin.port):127.0.0.1"]
    configuration.caFile = origin.caFile
    let downloader = try Downloader(configuration)
    for _ in 1...2 {
      #expect(try await downloader.head(origin.url("/small")).value("Content-Length") == "5")
    }
    #expect(try await downloader.data(from: origin.url("/small")).0 == Data("12345".utf8))
    #expect(Set(try origin.requests().map { $0[1] }).count == 1)
  }
}
