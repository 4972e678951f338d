import Foundation
import HaulTransfer
import TestSupport
import Testing

/// The hook that decides about redirects.
@Suite(.timeLimit(.minutes(5)))
struct RedirectTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let origin: OriginServer

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    origin = try OriginServer { request, reply in
      switch request.path {
      case "/first":
        try reply.head("HTTP/1.1 302 Found\nLocation: second\nX-Kind: moved\nContent-Length: 0")
      case "/second":
        try reply.head("HTTP/1.1 307 Go\nLocation: /file?token=secret\nContent-Length: 0")
      default: try reply.text("hello")
      }
    }
  }

  private var asked: [String] { origin.log.value.exchanges.map(\.request.path) }

  @Test func `each redirect is shown before it is followed`() async throws {
    let seen = Watched<[String]>([])
    var options = DownloadOptions()
    options.followRedirect = { response, url in
      seen.update { $0.append("\(response.status) \(response.url) \(url)") }
      return true
    }
    let file = try await downloader.download(
      origin.url("/first"), to: directory.path("a"), options: options)
    #expect(file.response?.url == origin.url("/file?token=secret"))
    let (first, second) = (origin.url("/first"), origin.url("/second"))
    #expect(
      seen.value == ["302 \(first) \(second)", "307 \(second) \(origin.url("/file?token=secret"))"])
  }

  @Test(arguments: [("/second", ["/first"]), ("/file", ["/first", "/second"])])
  func `a redirect that the program refuses ends the download`(
    _ refused: String, _ expected: [String]
  ) async throws {
    var options = DownloadOptions()
    options.retry = RetryPolicy()
    options.followRedirect = { _, url in !url.contains(refused) }
    let download = downloader.start(
      origin.url("/first"), to: directory.path("a"), options: options)
    let followed = Watched(0)
    for await event in download.events {
      if case .redirected = event { followed.update { $0 += 1 } }
    }
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .rejected && error?.host == origin.host)
    #expect(error?.message.contains("refused the redirect to \(origin.url(refused))") == true)
    #expect(error?.message.contains("secret") == false)
    #expect(error?.status == (refused == "/second" ? 302 : 307))
    #expect(error?.fields.contains { $0.isNamed("Location") } == true)
    #expect(asked == expected && followed.value == expected.count - 1)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty)
  }
}
