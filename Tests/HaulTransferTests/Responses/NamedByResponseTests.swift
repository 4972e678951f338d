import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Files that get their names from the response, in a directory that was asked for.
@Suite(.timeLimit(.minutes(5)))
struct NamedByResponseTests {
  private static let length: Int64 = 300_000

  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let origin: OriginServer
  private let half = Gate("the second half")

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    var report = TestSupport.Representation(seed: 4, length: Self.length)
    // A field more.
    report.contentType = "application/pdf\nContent-Disposition: attachment; filename=\"report.pdf\""
    report.gates = [Self.length / 2: half]
    let source = report
    origin = try OriginServer { request, reply in
      switch request.path {
      case "/get": try source.answer(request, reply)
      case "/escape":
        try reply.text(
          fields: "Content-Disposition: attachment; filename=\"../../up.txt\"", "hello")
      case "/moved": try reply.head("HTTP/1.1 302 Go\nLocation: /to/new.txt\nContent-Length: 0")
      default: try reply.text(fields: "Content-Type: Text/Plain; charset=utf-8", "hello")
      }
    }
  }

  private var files: [String] {
    get throws { try FileManager.default.subpathsOfDirectory(atPath: directory.path).sorted() }
  }

  private func download(
    _ target: String, _ change: (inout DownloadOptions) -> Void = { _ in }
  ) async throws -> DownloadedFile {
    var options = DownloadOptions()
    change(&options)
    return try await downloader.download(
      DownloadRequest(origin.url(target), in: directory.path, options: options))
  }

  private func isReport(_ name: String) throws -> Bool {
    try FileTree.firstDifference(
      of: directory.path(name), from: Pattern(seed: 4), length: Self.length) == nil
  }

  // MARK: - The name

  @Test func `the suggested name, that of the last URL, or none`() async throws {
    half.open()
    let cases = [
      ("/get", "report.pdf"), ("/escape", "up.txt"), ("/moved", "new.txt"),
      ("/a%20b.txt?c=/d", "a b.txt"),
      ("/x/..%2F..%2Fetc%2F.profile", "profile"), ("/dir/", "dir"), ("/", "download"),
    ]
    for (target, name) in cases {
      let file = try await download(target)
      #expect(file.path == directory.path(name), "\(target)")
      #expect(file.response?.fileName == name)
    }
    #expect(try isReport("report.pdf"))
    #expect(try files == cases.map(\.1).sorted())
  }

  @Test func `the program chooses the name, and a directory below, by the media type`() async throws
  {
    let file = try await download("/a.bin") { options in
      options.destination = { response in
        #expect(response.mediaType == "text/plain")
        return "text/\(response.fileName)"
      }
    }
    #expect(file.path == directory.path("text/a.bin"))
    #expect(try files == ["text", "text/a.bin"])
  }

  @Test func `the directory may be a file URL, and must be named`() async throws {
    let url = try #require(URL(string: origin.url("/a.txt")))
    let request = DownloadRequest(url, in: URL(filePath: directory.path))
    #expect(try await downloader.download(request).path == directory.path("a.txt"))
    for request in [
      DownloadRequest(url, in: url), DownloadRequest(url.absoluteString, in: ""),
      DownloadRequest(url.absoluteString, to: directory.path("")),
    ] {
      let error = await #expect(throws: TransferError.self) {
        try await downloader.download(request)
      }
      #expect(error?.errorClass == .pathConflict)
    }
    #expect(try files == ["a.txt"])
  }

  @Test func `by FTP the URL names the file`() async throws {
    let server = try await FTPServer()
    try server.put("a.iso", Array("hello".utf8))
    var configuration = Downloader.Configuration.test
    configuration.allowedSchemes.insert("ftp")
    let file = try await Downloader(configuration).download(
      DownloadRequest(server.url("/a.iso"), in: directory.path))
    #expect(file.path == directory.path("a.iso"))
  }

  // MARK: - No way out

  @Test(arguments: ["../up", "/etc/up", "a/../../up", "", ".", "a//b", "a/", "a\0b", "link/up"])
  func `a name that leads out of the directory is refused before a byte is written`(
    _ name: String
  ) async throws {
    let outside = try TemporaryDirectory()
    symlink(outside.path, directory.path("link"))
    let error = await #expect(throws: TransferError.self) {
      try await download("/a.txt") { $0.destination = { _ in name } }
    }
    #expect(error?.errorClass == .pathConflict)
    #expect(try files == ["link"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
  }

  private struct NoName: Error {}

  @Test func `what the program throws ends the download`() async throws {
    await #expect(throws: NoName.self) {
      try await download("/a.txt") { $0.destination = { _ in throw NoName() } }
    }
    #expect(try files.isEmpty)
  }

  // MARK: - What stands there

  /// Nothing of the body is written then, except under `rename`.
  @Test(arguments: CollisionPolicy.allCases)
  func `the policy decides where a file of the chosen name stands`(
    _ policy: CollisionPolicy
  ) async throws {
    try directory.write("old", to: "up.txt")
    let download = downloader.start(
      DownloadRequest(origin.url("/escape"), in: directory.path).with(policy))
    switch (policy, await download.result) {
    case (.fail, .failure(let error)):
      #expect(error.errorClass == .exists && error.path == directory.path("up.txt"))
    case (.skip, .success(let file)):
      #expect(file.path == directory.path("up.txt") && file.bytes == 3 && file.response == nil)
    case (.replace, .success(let file)): #expect(file.path == directory.path("up.txt"))
    case (.rename, .success(let file)): #expect(file.path == directory.path("up.1.txt"))
    case (_, let result): Issue.record("\(policy): \(result)")
    }
    let kept = try String(contentsOfFile: directory.path("up.txt"), encoding: .utf8)
    #expect(kept == (policy == .replace ? "hello" : "old"))
    #expect(try files == (policy == .rename ? ["up.1.txt", "up.txt"] : ["up.txt"]))
  }

  /// The second half of the body never comes.
  @Test func `a file that stands there ends the download before the body`() async throws {
    try directory.write("old", to: "report.pdf")
    let download = downloader.start(DownloadRequest(origin.url("/get"), in: directory.path))
    guard case .failure(let error) = await download.result else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.errorClass == .exists && error.path == directory.path("report.pdf"))
    #expect(download.currentProgress.bytes == 0 && download.metrics.received == 0)
    #expect(try files == ["report.pdf"])
    half.open()
  }

  @Test func `a second download of the same chosen name fails before the body`() async throws {
    let request = DownloadRequest(origin.url("/get"), in: directory.path)
    let first = downloader.start(request)
    try await half(first)
    let second = downloader.start(request)
    guard case .failure(let error) = await second.result else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.errorClass == .pathConflict && error.path == directory.path("report.pdf"))
    #expect(error.message.contains(directory.path("report.pdf")))
    #expect(second.currentProgress.bytes == 0 && second.metrics.received == 0)
    half.open()
    #expect(try await first.value.path == directory.path("report.pdf"))
    #expect(try isReport("report.pdf") && files == ["report.pdf"])
  }

  @Test func `a directory of the chosen name is no file`() async throws {
    try FileManager.default.createDirectory(
      atPath: directory.path("a.txt"), withIntermediateDirectories: false)
    let error = await #expect(throws: TransferError.self) { try await download("/a.txt") }
    #expect(error?.errorClass == .pathConflict)
    #expect(try files == ["a.txt"])
  }

  // MARK: - Resumed

  private func request(_ names: Watched<Int>) -> DownloadRequest {
    var request = DownloadRequest(origin.url("/get"), in: directory.path)
    request.options.destination = { response in
      names.update { $0 += 1 }
      return "\(names.value)-\(response.fileName)"
    }
    return request
  }

  private func half(_ download: Download) async throws {
    for await progress in download.progress where progress.bytes == Self.length / 2 { return }
    Issue.record("the download ended before its half")
  }

  @Test func `a resumed download keeps its name, here and in another process`() async throws {
    let names = Watched(0)
    let download = downloader.start(request(names))
    try await half(download)
    download.suspend()
    for await event in download.events { if case .state(.paused) = event { break } }
    download.resume()
    try await half(download)
    let json = try #require(try await download.pause()?.json())
    #expect(try files.count == 1 && files[0].hasPrefix(".get.haul-part-"))
    await downloader.shutdown()
    half.open()

    let other = try Downloader(.test)
    let data = try ResumeData(json: json)
    #expect(data.bytes == Self.length / 2)
    let file = try await other.start(request(names), from: data).value
    #expect(file.path == directory.path("1-report.pdf") && file.response?.status == 206)
    #expect(names.value == 1)
    #expect(try isReport("1-report.pdf") && files == ["1-report.pdf"])
  }

  @Test func `resume data without a name are given one by the response`() async throws {
    let download = downloader.start(origin.url("/get"), to: directory.path("old"))
    try await half(download)
    let data = try #require(await download.pause())
    half.open()
    let file = try await downloader.start(
      DownloadRequest(data.url, in: directory.path), from: data
    ).value
    #expect(file.path == directory.path("report.pdf"))
    #expect(try isReport("report.pdf") && files == ["report.pdf"])
  }

  /// Resume data may come from a file that has been changed.
  @Test func `a name in resume data leads out of no directory`() async throws {
    let request = DownloadRequest(origin.url("/get"), in: directory.path)
    let download = downloader.start(request)
    try await half(download)
    let json = try #require(try await download.pause()?.json())
    let forged = String(decoding: json, as: UTF8.self)
      .replacing("\"report.pdf\"", with: "\"../up.pdf\"")
    let data = try ResumeData(json: Array(forged.utf8))
    half.open()
    let error = await #expect(throws: TransferError.self) {
      try await downloader.start(request, from: data).value
    }
    #expect(error?.errorClass == .pathConflict && origin.log.value.exchanges.count == 1)
  }

  // MARK: - A queue with a list

  /// The hook is not in the list, and the name is.
  @Test func `a list keeps the name`() async throws {
    try await leaveList()
    half.open()
    let other = try Downloader(.test)
    let reopened = Watched<DownloadQueue?>(nil)
    try await eventually("the list to be free") {
      let queue = try? DownloadQueue(other, list: directory.path("list"))
      reopened.update { $0 = queue }
      return queue != nil
    }
    let download = try #require(reopened.value?.downloads.first)
    #expect(download.request.path == directory.path + "/")
    #expect(try await download.value.path == directory.path("1-report.pdf"))
    #expect(try isReport("1-report.pdf"))
    // The list is written beside itself first.
    try await eventually("nothing besides") { try files == ["1-report.pdf", "list"] }
  }

  private func leaveList() async throws {
    let queue = try DownloadQueue(downloader, list: directory.path("list"))
    let download = queue.start(request(Watched(0)))
    try await half(download)
    await downloader.shutdown()
    try await queue.save()
  }

  @Test func `a file below the directory is deleted with its download`() async throws {
    let queue = DownloadQueue(downloader)
    var request = DownloadRequest(origin.url("/a.txt"), in: directory.path)
    request.options.destination = { "text/\($0.fileName)" }
    let download = queue.start(request)
    _ = try await download.value
    await queue.remove(download, deletingFile: true)
    #expect(try files == ["text"])
  }
}

extension DownloadRequest {
  fileprivate func with(_ policy: CollisionPolicy) -> DownloadRequest {
    var request = self
    request.options.ifExists = policy
    return request
  }
}
