import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Downloads that are made only if the source has changed.
@Suite(.timeLimit(.minutes(2)))
struct UnchangedTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let source = Watched(TestSupport.Representation(seed: 3, length: 1000))
  private let origin: OriginServer

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    origin = try OriginServer { [source] request, reply in
      if request.path == "/moved" {
        return try reply.head("HTTP/1.1 302 Go\nLocation: /f\nContent-Length: 0")
      }
      try source.value.answer(request, reply)
    }
  }

  private func download(
    _ path: String, since response: DownloadResponse?, _ policy: CollisionPolicy = .replace
  ) async throws -> DownloadedFile {
    var options = DownloadOptions()
    options.ifExists = policy
    options.onlyIfChangedSince = response
    return try await downloader.download(
      origin.url(path), to: directory.path("f"), options: options)
  }

  private var conditions: [String?] {
    origin.log.value.exchanges.filter { $0.request.path == "/f" }
      .map { $0.request[field: "If-None-Match"] }
  }

  @Test(arguments: ["/f", "/moved"])
  func `304 leaves the file and is no error`(_ path: String) async throws {
    let first = try await download(path, since: nil)
    #expect(!first.isUnchanged)
    let again = try await download(path, since: first.response)
    #expect(again.isUnchanged && again.bytes == 1000 && again.path == first.path)
    let tag = try #require(first.response?.value("ETag"))
    #expect(conditions == [nil, tag])
    // What a program has kept itself.
    let kept = DownloadResponse(url: origin.url("/f"), fields: [HeaderField("ETag", tag)])
    #expect(try await download(path, since: kept).isUnchanged)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["f"])
  }

  @Test func `a changed source replaces the file`() async throws {
    let first = try await download("/f", since: nil)
    source.update { $0 = TestSupport.Representation(seed: 4, length: 2000) }
    let again = try await download("/f", since: first.response)
    #expect(!again.isUnchanged && again.bytes == 2000)
    #expect(again.response?.value("ETag") == "\"4-2000\"")
    #expect(
      try FileTree.firstDifference(of: again.path, from: Pattern(seed: 4), length: 2000) == nil)
  }

  /// Without the file there is nothing that could be unchanged.
  @Test func `no condition is sent where no file stands, or another policy rules`() async throws {
    let first = try await download("/f", since: nil)
    #expect(try await download("/f", since: first.response, .rename).path.hasSuffix("/f.1"))
    try FileManager.default.removeItem(atPath: first.path)
    #expect(try await !download("/f", since: first.response).isUnchanged)
    #expect(conditions == [nil, nil, nil])
  }

  @Test func `a field that makes conditions names the option`() async throws {
    var options = DownloadOptions()
    options.fields = [HeaderField("If-None-Match", "\"a\"")]
    let error = await #expect(throws: TransferError.self) {
      try await downloader.download(origin.url("/f"), to: directory.path("f"), options: options)
    }
    #expect(error?.errorClass == .blockedURL)
    #expect(error?.message.hasSuffix("use DownloadOptions.onlyIfChangedSince instead") == true)
  }
}
