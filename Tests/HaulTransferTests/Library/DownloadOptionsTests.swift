import Foundation
import HaulTransfer
import TestSupport
import Testing

/// What a program may say of the request, and is told of the response.
@Suite(.timeLimit(.minutes(5)))
struct DownloadOptionsTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
  }

  private func download(
    _ url: String, _ change: (inout DownloadOptions) -> Void = { _ in }
  ) async throws -> DownloadedFile {
    var options = DownloadOptions()
    options.ifExists = .replace
    change(&options)
    return try await downloader.download(url, to: directory.path("a"), options: options)
  }

  private func failure(
    _ url: String, _ change: (inout DownloadOptions) -> Void
  ) async -> TransferError? {
    await #expect(throws: TransferError.self) { try await download(url, change) }
  }

  // MARK: - Fields and redirects

  @Test func `fields follow a redirect to another origin, credentials do not`() async throws {
    let second = try OriginServer { _, reply in try reply.text(fields: "X-Kind: file", "hello") }
    let first = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 302 Found\nLocation: \(second.url("/b"))\nContent-Length: 0")
    }
    let events = Watched<[String]>([])
    var options = DownloadOptions()
    options.fields = [HeaderField("Accept", "application/zip")]
    options.credentials = [HeaderField("Authorization", "Bearer secret")]
    let download = downloader.start(first.url("/a"), to: directory.path("a"), options: options)
    for await event in download.events {
      switch event {
      case .redirected(let from, let to): events.update { $0.append("\(from) \(to)") }
      case .response(let response): events.update { $0.append("\(response.status)") }
      default: break
      }
    }
    let file = try await download.value
    let (one, two) = (
      first.log.value.exchanges[0].request, second.log.value.exchanges[0].request
    )
    #expect(one[field: "Accept"] == "application/zip")
    #expect(one[field: "Authorization"] == "Bearer secret")
    #expect(two[field: "Accept"] == "application/zip" && two[field: "Authorization"] == nil)
    #expect(file.response?.url == second.url("/b") && file.response?.status == 200)
    #expect(file.response?.value("x-kind") == "file")
    #expect(events.value == ["\(first.url("/a")) \(second.url("/b"))", "200"])
  }

  @Test(arguments: ["Authorization", "Cookie", "Range", "If-Match", "Host", "bad name", ""])
  func `a field that is not for the program is refused by its name`(_ name: String) async throws {
    let origin = try OriginServer { _, reply in try reply.text("hello") }
    let error = await failure(origin.url("/")) { $0.fields = [HeaderField(name, "x")] }
    #expect(error?.errorClass == .blockedURL)
    #expect(name.isEmpty || name.contains(" ") || error?.message.contains(name) == true)
    #expect(origin.log.value.exchanges.isEmpty)
  }

  @Test func `a URL may be a URL`() async throws {
    let origin = try OriginServer { request, reply in
      try reply.text(request.target)
    }
    let url = try #require(URL(string: origin.url("/a%20b?c=d")))
    let file = try await downloader.download(
      DownloadRequest(url, to: URL(filePath: directory.path("with space"))))
    #expect(file.path == directory.path("with space"))
    #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "/a%20b?c=d")
  }

  // MARK: - The program's own check

  private struct Unwanted: Error, Equatable { var type: String }

  @Test func `a response that the program refuses writes nothing, and throws its error`()
    async throws
  {
    let origin = try OriginServer { _, reply in
      try reply.text(fields: "Content-Type: text/html", "<html>log in</html>")
    }
    var options = DownloadOptions()
    options.validate = { response in
      let type = response.value("Content-Type") ?? ""
      if type.hasPrefix("text/html") { throw Unwanted(type: type) }
    }
    let download = downloader.start(origin.url("/"), to: directory.path("a"), options: options)
    await #expect(throws: Unwanted(type: "text/html")) { try await download.value }
    guard case .failure(let error) = await download.result else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.errorClass == .rejected && error.status == 200)
    #expect(error.underlyingError as? Unwanted == Unwanted(type: "text/html"))
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
    options.validate = { response in #expect(response.status == 200) }
    _ = try await downloader.download(origin.url("/"), to: directory.path("a"), options: options)
  }

  /// It is not called under a lock that a call of the download would wait for.
  @Test func `the check may look at the download and end it`() async throws {
    let origin = try OriginServer { _, reply in try reply.text("hello") }
    let own = Watched<Download?>(nil)
    var options = DownloadOptions()
    options.validate = { _ in
      _ = own.value?.currentProgress
      own.value?.cancel()
    }
    let request = DownloadRequest(origin.url("/"), to: directory.path("a"), options: options)
    let queue = DownloadQueue(downloader)
    queue.isSuspended = true
    let download = queue.start(request)
    own.update { $0 = download }
    queue.isSuspended = false
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .cancelled)
    own.update { $0 = nil }
  }

  // MARK: - POST

  @Test func `a POST sends its body once and brings the answer`() async throws {
    let origin = try OriginServer { request, reply in
      let type = request[field: "Content-Type"] ?? "none"
      try reply.text(
        fields: "ETag: \"1\"",
        "\(request.method) \(type) \(String(decoding: request.body, as: UTF8.self))")
    }
    for (type, expected) in [(nil, "none"), ("application/json", "application/json")] {
      _ = try await download(origin.url("/")) { options in
        options.method = .post(Array("{\"a\":1}".utf8))
        if let type { options.fields = [HeaderField("Content-Type", type)] }
      }
      let text = try String(contentsOfFile: directory.path("a"), encoding: .utf8)
      #expect(text == "POST \(expected) {\"a\":1}")
    }
    _ = try await download(origin.url("/")) { $0.method = .post([]) }
    #expect(try String(contentsOfFile: directory.path("a"), encoding: .utf8) == "POST none ")
    // The same connection's next request is a GET again.
    _ = try await download(origin.url("/"))
    #expect(try String(contentsOfFile: directory.path("a"), encoding: .utf8) == "GET none ")
    #expect(origin.log.value.exchanges.allSatisfy { $0.request[field: "Expect"] == nil })
  }

  @Test func `a POST whose answer breaks is not sent again, unless a retry is asked for`()
    async throws
  {
    let source = TestSupport.Representation(seed: 3, length: 200_000)
    let origin = try OriginServer { request, reply in
      try source.answer(request, reply, cut: request.number <= 2 ? .close(after: 90_000) : nil)
    }
    var options = DownloadOptions()
    options.method = .post([1, 2, 3])
    let download = downloader.start(origin.url("/"), to: directory.path("a"), options: options)
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .interrupted && download.resumeData == nil)
    #expect(origin.log.value.exchanges.count == 1)
    options.retry = RetryPolicy()
    let file = try await downloader.download(
      origin.url("/"), to: directory.path("a"), options: options)
    #expect(file.bytes == 200_000)
    let requests = origin.log.value.exchanges.map(\.request)
    #expect(requests.map(\.method) == ["POST", "POST", "POST"])
    #expect(requests.allSatisfy { $0[field: "Range"] == nil })
  }

  @Test(arguments: [(302, "GET "), (303, "GET "), (307, "POST abc"), (308, "POST abc")])
  func `a redirect keeps a POST or makes it a GET`(_ status: Int, _ expected: String) async throws {
    let origin = try OriginServer { request, reply in
      if request.path == "/a" {
        return try reply.head("HTTP/1.1 \(status) Go\nLocation: /b\nContent-Length: 0")
      }
      try reply.text("\(request.method) \(String(decoding: request.body, as: UTF8.self))")
    }
    _ = try await download(origin.url("/a")) { $0.method = .post(Array("abc".utf8)) }
    #expect(try String(contentsOfFile: directory.path("a"), encoding: .utf8) == expected)
  }

  @Test func `the body of a POST goes to no other origin`() async throws {
    let other = try OriginServer { _, reply in try reply.text("hello") }
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 307 Go\nLocation: \(other.url("/"))\nContent-Length: 0")
    }
    let error = await failure(origin.url("/")) { $0.method = .post([1]) }
    #expect(error?.errorClass == .blockedURL && other.log.value.exchanges.isEmpty)
  }

  // MARK: - PUT, and 201

  @Test func `a PUT sends its body once`() async throws {
    let origin = try OriginServer { request, reply in
      if request.path == "/broken" {
        try reply.head("HTTP/1.1 200 OK\nETag: \"1\"\nContent-Length: 10")
        try reply.body("hello")
        return reply.close()
      }
      try reply.text("\(request.method) \(String(decoding: request.body, as: UTF8.self))")
    }
    for (method, expected) in [
      (DownloadOptions.Method.put(Array("abc".utf8)), "PUT abc"), (.post([65]), "POST A"),
      (.put([]), "PUT "), (.get, "GET "),
    ] {
      _ = try await download(origin.url("/")) { $0.method = method }
      #expect(try String(contentsOfFile: directory.path("a"), encoding: .utf8) == expected)
    }
    let error = await failure(origin.url("/broken")) { $0.method = .put([1]) }
    #expect(error?.errorClass == .interrupted && error?.message.contains("PUT") == true)
    #expect(origin.log.value.exchanges.count == 5)
  }

  @Test(arguments: [
    (301, "PUT abc"), (302, "PUT abc"), (303, "GET "), (307, "PUT abc"), (308, "PUT abc"),
  ])
  func `a redirect keeps a PUT or makes it a GET`(_ status: Int, _ expected: String) async throws {
    let origin = try OriginServer { request, reply in
      if request.path == "/a" {
        return try reply.head("HTTP/1.1 \(status) Go\nLocation: /b\nContent-Length: 0")
      }
      try reply.text("\(request.method) \(String(decoding: request.body, as: UTF8.self))")
    }
    _ = try await download(origin.url("/a")) { $0.method = .put(Array("abc".utf8)) }
    #expect(try String(contentsOfFile: directory.path("a"), encoding: .utf8) == expected)
  }

  @Test func `201 brings a file after POST and PUT, and after no GET`() async throws {
    let origin = try OriginServer { request, reply in
      let body = request.path == "/empty" ? "" : "made"
      try reply.head("HTTP/1.1 201 Created\nContent-Length: \(body.utf8.count)")
      try reply.body(body)
    }
    for method in [DownloadOptions.Method.post([1]), .put([1])] {
      let file = try await download(origin.url("/")) { $0.method = method }
      #expect(file.bytes == 4 && file.response?.status == 201)
      let error = await failure(origin.url("/empty")) { $0.method = method }
      #expect(error?.errorClass == .protocol && error?.status == 201)
    }
    let error = await failure(origin.url("/")) { _ in }
    #expect(error?.errorClass == .protocol && error?.status == 201)
  }

  // MARK: - Time and rate

  @Test func `a download that takes too long ends, and can be continued`() async throws {
    let bench = try LibraryBench()
    var request = bench.request("slow")
    request.options.timeout = .seconds(5)
    let download = bench.downloader.start(request)
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .timeout)
    #expect(download.resumeData?.bytes == 150_000)
    bench.half.open()
  }

  @Test func `a request has its own time-outs`() async throws {
    let never = Gate("never while it runs")
    let origin = try OriginServer { _, reply in try reply.wait(for: never) }
    let error = await failure(origin.url("/")) { $0.stallTimeout = .milliseconds(300) }
    #expect(error?.errorClass == .timeout)
    never.open()
  }

  @Test func `a rate may be changed while a download runs`() async throws {
    let source = TestSupport.Representation(seed: 3, length: 8 << 20)
    let origin = try OriginServer { try source.answer($0, $1) }
    let limit = RateLimit(bytesPerSecond: 1)
    var options = DownloadOptions()
    options.rateLimit = limit
    let download = downloader.start(origin.url("/"), to: directory.path("a"), options: options)
    for await progress in download.progress where progress.bytes > 0 { break }
    #expect(download.state == .running)
    limit.bytesPerSecond = 1 << 40
    #expect(limit.bytesPerSecond == 1 << 40)
    #expect(try await download.value.bytes == 8 << 20)
  }

  /// 1. A connection is kept. 2. The server breaks it when a POST has come, which it may have carried out.
  @Test func `a POST on a kept connection that breaks is sent once`() async throws {
    let origin = try OriginServer { request, reply in
      if request.method == "POST" { return try reply.reset() }
      try reply.text("hello")
    }
    let downloader = try Downloader(.test)
    let path = directory.path("a")
    _ = try await downloader.download(origin.url("/"), to: path)
    var options = DownloadOptions()
    options.method = .post([1, 2, 3])
    options.ifExists = .replace
    await #expect(throws: TransferError.self) {
      try await downloader.download(origin.url("/"), to: path, options: options)
    }
    #expect(origin.log.value.exchanges.map(\.request.method) == ["GET", "POST"])
  }
}
