import Foundation
import HaulTransfer
import TestSupport
import Testing

/// More code of the library's articles, compiled and run; see `ArticleTests`.
@Suite(.timeLimit(.minutes(5)))
struct ArticleOptionTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let origin: OriginServer
  private let source = TestSupport.Representation(seed: 9, length: 300_000)

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    origin = try OriginServer { [source] request, reply in
      switch request.path {
      case "/private" where request[field: "Authorization"] == nil:
        try reply.head("HTTP/1.1 401 Who\nWWW-Authenticate: Basic realm=\"r\"\nContent-Length: 0")
      case "/moved":
        try reply.head("HTTP/1.1 307 Go\nLocation: /a.iso\nContent-Length: 0")
      case "/export": try reply.text("\(request.method) \(request.body.count)")
      default: try source.answer(request, reply)
      }
    }
  }

  @Test func `a name from the response`() async throws {
    try FileManager.default.createDirectory(
      atPath: directory.path("downloads"), withIntermediateDirectories: false)
    // Article OneFile
    var options = DownloadOptions()
    options.destination = { response in
      response.mediaType == "application/pdf" ? "papers/\(response.fileName)" : response.fileName
    }
    let file = try await downloader.download(
      DownloadRequest(origin.url("/get"), in: directory.path("downloads"), options: options))
    print(file.path)
    // End
    #expect(file.path == directory.path("downloads/get"))
  }

  @Test func `a body in memory`() async throws {
    // Article OneFile
    let (body, response) = try await downloader.data(from: origin.url("/latest.json"))
    let head = try await downloader.head(origin.url("/a.iso"))
    print(body.count, response.mediaType ?? "", head.value("Content-Length") ?? "")
    // End
    #expect(body.count == 300_000 && head.status == 200)
  }

  @Test func `header fields`() async throws {
    let token = "secret"
    // Article Requests
    var options = DownloadOptions()
    options.fields = [HeaderField("Accept", "application/zip")]
    options.credentials = [HeaderField("Authorization", "Bearer \(token)")]
    let file = try await downloader.download(
      origin.url("/a.iso"), to: directory.path("a.iso"), options: options)
    // End
    #expect(file.bytes == 300_000)
  }

  @Test func `a challenge`() async throws {
    let ask = { @Sendable (host: String) async -> Login? in Login(user: host, password: "b") }
    // Article Requests
    var options = DownloadOptions()
    options.authenticate = { challenge in
      challenge.failures == 0 ? await ask(challenge.host) : nil
    }
    let file = try await downloader.download(
      origin.url("/private"), to: directory.path("a.iso"), options: options)
    // End
    #expect(file.bytes == 300_000)
  }

  @Test func `a jar`() throws {
    // Article Requests
    var configuration = Downloader.Configuration()
    configuration.cookieJar = CookieJar()
    let downloader = try Downloader(configuration)
    // End
    _ = downloader
  }

  private struct LogInPage: Error {}

  @Test func `a check`() async throws {
    // Article Requests
    var options = DownloadOptions()
    options.validate = { response in
      guard response.value("Content-Type")?.hasPrefix("text/html") != true else {
        throw LogInPage()
      }
    }
    let file = try await downloader.download(
      origin.url("/a.iso"), to: directory.path("a.iso"), options: options)
    print(file.response?.url ?? "", file.response?.value("Last-Modified") ?? "")
    // End
    #expect(file.response?.url == origin.url("/a.iso"))
  }

  @Test func `a redirect`() async throws {
    // Article Requests
    var options = DownloadOptions()
    options.followRedirect = { response, url in
      url.hasPrefix("https://") || response.status == 307
    }
    let file = try await downloader.download(
      origin.url("/moved"), to: directory.path("a.iso"), options: options)
    // End
    #expect(file.bytes == 300_000)
  }

  @Test func `a POST`() async throws {
    // Article Requests
    var options = DownloadOptions()
    options.method = .post(Array(#"{"format":"csv"}"#.utf8))
    options.fields = [HeaderField("Content-Type", "application/json")]
    let file = try await downloader.download(
      origin.url("/export"), to: directory.path("export.csv"), options: options)
    // End
    #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "POST 16")
  }

  @Test func `time, rate and retries`() async throws {
    // Article Requests
    let limit = RateLimit(bytesPerSecond: 5_000_000)
    var options = DownloadOptions()
    options.timeout = .seconds(3600)
    options.stallTimeout = .seconds(20)
    options.rateLimit = limit
    options.retry = RetryPolicy()
    let download = downloader.start(
      origin.url("/a.iso"), to: directory.path("a.iso"), options: options)
    limit.bytesPerSecond = 1_000_000
    let file = try await download.value
    // End
    #expect(file.bytes == 300_000)
  }

  // Indented as a member, so that it stands in the article as it stands here.
  func declared() async throws -> Int64 {
    // Article Testing
    struct Updater {
      let downloader: any Downloading

      func update() async throws -> Int64 {
        try await downloader.download("https://example.org/new.zip", to: "new.zip").bytes
      }
    }
    // End
    // Article Testing
    struct FakeDownloader: Downloading {
      func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
        Download(request) { script in
          script.send(.response(DownloadResponse(url: request.url)))
          script.send(DownloadProgress(bytes: 5, expected: 10, rate: 2.5))
          guard request.url.hasSuffix(".zip") else {
            throw TransferError(.http404, "the server answered 404", status: 404)
          }
          return DownloadedFile(path: request.path, bytes: 10)
        }
      }
    }
    // End
    // Article Testing
    let bytes = try await Updater(downloader: FakeDownloader()).update()
    // End
    return bytes
  }

  @Test func `a fake`() async throws {
    #expect(try await declared() == 10)
  }

  private var list: [DownloadRequest] {
    ["a.iso", "b.iso"].map { DownloadRequest(origin.url("/\($0)"), to: directory.path($0)) }
  }

  @Test func `a queue that changes`() async throws {
    let queue = DownloadQueue(downloader)
    let list = list
    // Article ManyFiles
    queue.maxConcurrent = 8
    queue.maxConcurrentPerHost = 2
    let urgent = queue.start(list[0], priority: 10)
    urgent.suspend()
    urgent.resume()
    // End
    _ = try await urgent.value
  }

  @Test func `a queue that lasts`() async throws {
    let list = list
    // Article ManyFiles
    let queue = try DownloadQueue(
      downloader, maxConcurrent: 2, list: directory.path("downloads.json"))
    for request in list where !queue.downloads.contains(where: { $0.request.url == request.url }) {
      queue.start(request)
    }
    for download in queue.downloads { print(download.request.url, download.state) }
    // End
    for download in queue.downloads { _ = try await download.value }
    try await queue.save()
    // The file is there by now.
    let failed = queue.start(list[0])
    _ = await failed.result
    // Article ManyFiles
    for download in queue.downloads {
      guard case .failure(let error)? = download.currentResult else { continue }
      print(download.request.url, error.message)
      if error.status == 404 { await queue.remove(download) } else { queue.retry(download) }
    }
    // End
    #expect(queue.downloads.count == 1 && queue.downloads[0] !== failed)
  }

  @Test func `events`() async throws {
    let download = downloader.start(list[0])
    // Article Progress
    for await event in download.events {
      switch event {
      case .state(let state): print("now \(state)")
      case .redirected(_, let target): print("on to \(target)")
      case .response(let response): print("\(response.status) from \(response.url)")
      case .progress(let progress): print("\(progress.bytes) bytes")
      case .saved(let data): print("\(data.bytes) bytes are durable")
      case .retrying(let delay, let error): print("\(error.message); again in \(delay)")
      case .finished(let result): print(result)
      }
    }
    // End
    _ = try await download.value
  }

  @Test func `suspended within one program`() async throws {
    let download = downloader.start(list[0])
    // Article PauseAndResume
    download.suspend()
    // Later:
    download.resume()
    let file = try await download.value
    // End
    #expect(file.bytes == 300_000)
  }

  @Test func `left over`() throws {
    let saved: [ResumeData] = []
    // Article PauseAndResume
    let left = try Downloader.partialFiles(in: directory.path)
    let count = try Downloader.discardPartialFiles(in: directory.path, keeping: saved)
    // End
    #expect(left.isEmpty && count == 0)
  }
}
