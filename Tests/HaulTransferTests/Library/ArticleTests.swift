import Foundation
import HaulTransfer
import TestSupport
import Testing

/// The code of the library's articles and of the README, compiled and run: what stands there is what stands between
/// `// Article NAME` and `// End` here or in `LibraryUser`, but for the names of machines and directories.
@Suite(.timeLimit(.minutes(5)))
struct ArticleTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let origin: OriginServer
  private let source = TestSupport.Representation(seed: 9, length: 300_000)
  /// Open, unless a test wants to stop the downloads of `/slow.iso` at their half.
  private let half = Gate("the second half")

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    var slow = source
    slow.gates = [150_000: half]
    origin = try OriginServer(
      handler: Site([
        "/a.iso": source, "/b.iso": source, "/c.iso": source, "/slow.iso": slow,
      ]).answer)
  }

  private func isSource(_ name: String) -> Bool {
    let bytes = FileManager.default.contents(atPath: directory.path(name)).map { Array($0) }
    return bytes == source.pattern.bytes(in: 0..<source.length)
  }

  /// A download that has half of its bytes and will not get more until ``half`` is open.
  private func stopped() async throws -> Download {
    let download = downloader.start(origin.url("/slow.iso"), to: directory.path("a.iso"))
    for await progress in download.progress where progress.bytes == 150_000 { break }
    return download
  }

  // MARK: - The code

  @Test func `the landing page`() async throws {
    // Article README
    // Article HaulTransfer
    let downloader = try Downloader(.test)
    let file = try await downloader.download(origin.url("/a.iso"), to: directory.path("a.iso"))
    // End
    #expect(file.bytes == 300_000 && isSource("a.iso"))
  }

  @Test func `other addresses`() async throws {
    // Article HaulTransfer
    var configuration = Downloader.Configuration()
    if let local = CIDR("127.0.0.0/8") {
      configuration.addressPolicy = AddressPolicy(allowing: [local])
    }
    let downloader = try Downloader(configuration)
    // End
    _ = try await downloader.download(origin.url("/a.iso"), to: directory.path("a.iso"))
    #expect(isSource("a.iso"))
  }

  @Test func `one call`() async throws {
    // Article OneFile
    let downloader = try Downloader(.test)
    let file = try await downloader.download(origin.url("/a.iso"), to: directory.path("a.iso"))
    print(file.path, file.bytes)
    // End
    #expect(isSource("a.iso"))
  }

  @Test func `what is asked`() async throws {
    try directory.write("old", to: "a.iso")
    let digest = source.digest(.sha256).map { String(format: "%02x", $0) }.joined()
    // Article OneFile
    var options = DownloadOptions()
    options.digest = try ExpectedDigest("sha-256=\(digest)")
    options.maximumLength = 5_000_000_000
    options.ifExists = .replace
    let file = try await downloader.download(
      origin.url("/a.iso"), to: directory.path("a.iso"), options: options)
    // End
    #expect(isSource("a.iso") && file.digest == options.digest && file.digest != nil)
  }

  @Test func `a failure`() async throws {
    var missing: [String] = []
    // Article OneFile
    do {
      _ = try await downloader.download(origin.url("/none"), to: directory.path("b.iso"))
    } catch let error as TransferError {
      print(error.message)
      if error.errorClass == .http404 { missing.append("b.iso") }
    }
    // End
    #expect(missing == ["b.iso"])
  }

  @Test func `by FTP, and how far that goes`() async throws {
    let server = try await FTPServer()
    try server.put("a.iso", source.pattern.bytes(in: 0..<source.length))
    // Article OneFile
    var configuration = Downloader.Configuration.test
    configuration.allowedSchemes.formUnion(["ftp", "ftps"])
    let downloader = try Downloader(configuration)
    let file = try await downloader.download(server.url("/a.iso"), to: directory.path("a.iso"))
    // End
    #expect(file.bytes == 300_000 && isSource("a.iso"))

    configuration.allowedSchemes = ["sftp"]
    configuration.knownHosts = "/dev/null"
    let other = try Downloader(configuration)
    let error = await #expect(throws: TransferError.self) {
      try await other.download("sftp://\(server.host)/a.iso", to: directory.path("b.iso"))
    }
    #expect(error?.errorClass == .noCredential)
  }

  @Test func `a list`() async throws {
    // Article ManyFiles
    let list = ["a.iso", "b.iso", "c.iso"].map { name in
      DownloadRequest(origin.url("/\(name)"), to: directory.path(name))
    }
    for await ended in downloader.downloads(list, maxConcurrent: 2) {
      switch ended.result {
      case .success(let file): print("\(file.path): \(file.bytes) bytes")
      case .failure(let error): print("\(ended.request.url): \(error.message)")
      }
    }
    // End
    #expect(isSource("a.iso") && isSource("b.iso") && isSource("c.iso"))
  }

  private func list(_ names: String...) -> [DownloadRequest] {
    names.map { DownloadRequest(origin.url("/\($0)"), to: directory.path($0)) }
  }

  @Test func `one after another`() async throws {
    let list = list("b.iso", "none", "c.iso")
    var names: [String] = []
    // Article ManyFiles
    for await ended in downloader.downloads(
      list, maxConcurrent: 1, continueAfterFailure: false)
    {
      names.append(ended.request.path)
    }
    // End
    #expect(names == list.prefix(2).map(\.path))
  }

  @Test func `a queue`() async throws {
    let list = list("a.iso", "b.iso", "slow.iso")
    // Article ManyFiles
    let queue = DownloadQueue(downloader, maxConcurrent: 2)
    let downloads = list.map { queue.start($0) }
    downloads[2].cancel()
    for download in downloads.dropLast() {
      print(try await download.value.path)
    }
    queue.cancelAll()
    // End
    #expect(isSource("a.iso") && isSource("b.iso"))
    let error = await #expect(throws: TransferError.self) { try await downloads[2].value }
    #expect(error?.errorClass == .cancelled)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        == ["a.iso", "b.iso"])
  }

  @Test func `progress of one`() async throws {
    half.open()
    // Article Progress
    let download = downloader.start(origin.url("/a.iso"), to: directory.path("a.iso"))
    for await progress in download.progress {
      if let done = progress.fractionCompleted, let left = progress.estimatedTimeRemaining {
        print("\(Int(done * 100)) %, \(left.components.seconds) s left")
      } else {
        print("\(progress.bytes) bytes, \(Int(progress.rate)) a second")
      }
    }
    let file = try await download.value
    // End
    #expect(file.bytes == 300_000)
  }

  @Test func `progress of several`() async throws {
    let shown = Watched<[String: DownloadProgress]>([:])
    let show = { @Sendable (path: String, progress: DownloadProgress) in
      shown.update { $0[path] = progress }
    }
    let list = list("a.iso", "b.iso")
    let downloads = list.map { downloader.start($0.url, to: $0.path) }
    // Article Progress
    await withDiscardingTaskGroup { group in
      for download in downloads {
        group.addTask {
          for await progress in download.progress { show(download.request.path, progress) }
        }
      }
    }
    // End
    #expect(list.allSatisfy { shown.value[$0.path]?.fractionCompleted == 1 })
  }

  @Test func `paused and gone on with`() async throws {
    let download = try await stopped()
    // Article PauseAndResume
    let data = await download.pause()
    if let json = try data?.json() {
      try Data(json).write(to: URL(filePath: directory.path("a.resume")))
    }
    // End
    #expect(data?.bytes == 150_000)
    half.open()
    try await resume()
  }

  private func resume() async throws {
    // Article PauseAndResume
    let json = try Data(contentsOf: URL(filePath: directory.path("a.resume")))
    let data = try ResumeData(json: Array(json))
    let file = try await downloader.download(resumingFrom: data, to: directory.path("a.iso"))
    // End
    #expect(file.bytes == 300_000 && isSource("a.iso"))
    #expect(origin.log.value.exchanges[1].request[field: "Range"] == "bytes=145904-299999")
  }

  @Test func `after a failure`() async throws {
    let origin = try OriginServer { [source] request, reply in
      if request.number == 2 { return try reply.head("HTTP/1.1 503 Busy\nContent-Length: 0") }
      try source.answer(request, reply, cut: request.number == 1 ? .close(after: 100_000) : nil)
    }
    let download = downloader.start(origin.url("/"), to: directory.path("a.iso"))
    // Article PauseAndResume
    do {
      _ = try await download.value
    } catch {
      guard let data = download.resumeData else { throw error }
      _ = try await downloader.download(resumingFrom: data, to: directory.path("a.iso"))
    }
    // End
    #expect(isSource("a.iso") && origin.log.value.exchanges.count == 3)
  }

  @Test func `a whole queue`() async throws {
    let queue = DownloadQueue(downloader, maxConcurrent: 1)
    let first = queue.start(list("slow.iso")[0])
    queue.start(list("a.iso")[0])
    for await progress in first.progress where progress.bytes == 150_000 { break }
    var saved: [String: [UInt8]] = [:]
    var waiting: [DownloadRequest] = []
    // Article PauseAndResume
    for download in await queue.pauseAll() {
      if let data = download.resumeData {
        saved[download.request.path] = try data.json()
      } else {
        waiting.append(download.request)
      }
    }
    // End
    #expect(saved.keys.elementsEqual([directory.path("slow.iso")]))
    #expect(waiting.map(\.path) == [directory.path("a.iso")])
    half.open()
  }

  // MARK: - Nothing but that

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: repositoryRoot.appending(path: path), encoding: .utf8)
  }

  /// The marked pieces of a source file by article, in order, with the names that an article has.
  private static func pieces(_ path: String) throws -> [(article: String, code: String)] {
    var pieces: [(String, String)] = []
    var articles: [String] = []
    var lines: [String] = []
    for line in try text(path).split(separator: "\n", omittingEmptySubsequences: false) {
      let trimmed = line.drop { $0 == " " }
      if trimmed.hasPrefix("// Article ") {
        articles.append(String(trimmed.dropFirst("// Article ".count)))
      } else if trimmed == "// End" {
        pieces += articles.map { ($0, renamed(lines.joined(separator: "\n"))) }
        (articles, lines) = ([], [])
      } else if !articles.isEmpty {
        lines.append(String(line.dropFirst(4)))
      }
    }
    #expect(articles.isEmpty, "a piece of \(path) has no end")
    return pieces
  }

  private static func renamed(_ code: String) -> String {
    code.replacing(/origin\.url\("([^"]*)"\)/) { "\"https://example.org\($0.1)\"" }
      .replacing(/directory\.path\(([^()]*)\)/) { String($0.1) }
      .replacing(/server\.url\("([^"]*)"\)/) { "\"ftp://example.org\($0.1)\"" }
      .replacing("Downloader(.test)", with: "Downloader()")
      .replacing("Configuration.test", with: "Configuration()")
      .replacing("say(", with: "print(")
      .replacing("directory.path", with: "directory")
  }

  /// The Swift blocks of a page, in order.
  private static func blocks(_ path: String) throws -> [String] {
    try text(path).split(separator: "```swift\n").dropFirst().map {
      String($0.prefix(upTo: $0.firstRange(of: "\n```")?.lowerBound ?? $0.endIndex))
    }
  }

  @Test func `the articles hold that code and no other`() throws {
    let catalogue = "Sources/HaulTransfer/HaulTransfer.docc"
    let pages = try FileManager.default.contentsOfDirectory(
      atPath: repositoryRoot.appending(path: catalogue).path)
    var pieces = try Self.pieces("Tests/HaulTransferTests/Library/ArticleTests.swift")
    pieces += try Self.pieces("Tests/HaulTransferTests/Library/ArticleOptionTests.swift")
    pieces += try Self.pieces("Tests/LibraryUser/LibraryUser.swift")
    #expect(pages.count == 9)
    for page in pages.map({ "\(catalogue)/\($0)" }) + ["README.md"] {
      let name = page.split(separator: "/").last?.dropLast(".md".count) ?? ""
      let own = pieces.filter { $0.article == name }.map(\.code)
      #expect(try Self.blocks(page) == own, "\(page)")
      pieces.removeAll { $0.article == name }
    }
    #expect(pieces.isEmpty, "no page has these")
  }

  @Test func `docc has nothing to say against them`() async throws {
    let output = try await ChildProcess.run(
      repositoryRoot.appending(path: "scripts/docs").path, [directory.path("docs")])
    #expect(output.exit == .code(0), "\(output.standardError.joined(separator: "\n"))")
    let page = directory.path("docs/library/data/documentation/haultransfer/pauseandresume.json")
    #expect(FileManager.default.fileExists(atPath: page))
  }
}
