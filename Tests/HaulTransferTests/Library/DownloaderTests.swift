import Foundation
import HaulTransfer
import TestSupport
import Testing

/// The library as a program uses it: nothing but its public face.
@Suite(.timeLimit(.minutes(5)))
struct DownloaderTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let site = Site()
  private let origin: OriginServer
  private let source = TestSupport.Representation(seed: 5, length: 300_000)

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    origin = try OriginServer(handler: site.answer)
    site["/file"] = source
  }

  /// The same, stopping at a gate after 150,000 bytes.
  private func gated(_ gate: Gate) -> TestSupport.Representation {
    var gated = source
    gated.gates = [150_000: gate]
    return gated
  }

  private func isSource(_ name: String) -> Bool {
    let bytes = FileManager.default.contents(atPath: directory.path(name)).map { Array($0) }
    return bytes == source.pattern.bytes(in: 0..<source.length)
  }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  private func half(_ download: Download) async throws {
    for await progress in download.progress where progress.bytes == 150_000 { return }
    Issue.record("the download ended before its half")
  }

  @Test func `one call, one file, nothing beside it`() async throws {
    var options = DownloadOptions()
    options.digest = ExpectedDigest(.sha256, bytes: source.digest(.sha256))
    let file = try await downloader.download(
      origin.url("/file"), to: directory.path("a.bin"), options: options)
    #expect(file.path == directory.path("a.bin"))
    #expect(file.bytes == 300_000 && file.digest == options.digest)
    #expect(isSource("a.bin"))
    #expect(try files == ["a.bin"])
    await downloader.shutdown()
  }

  @Test func `a failure is an error of its class, and leaves nothing`() async throws {
    var options = DownloadOptions()
    options.digest = try ExpectedDigest("md5=" + String(repeating: "0", count: 32))
    let cases: [(String, String, DownloadOptions, TransferError.Class)] = [
      ("/none", "a", DownloadOptions(), .http404), ("/file", "a", options, .digest),
      ("/file", "none/a", DownloadOptions(), .io), ("/file", "", DownloadOptions(), .pathConflict),
    ]
    for (target, name, options, failure) in cases {
      let error = await #expect(throws: TransferError.self) {
        try await downloader.download(
          origin.url(target), to: directory.path(name), options: options)
      }
      #expect(error?.errorClass == failure)
    }
    #expect(try files.isEmpty)
  }

  @Test func `a file that stands there decides, before anything is fetched where it can`()
    async throws
  {
    var options = DownloadOptions()
    try directory.write("old", to: "a.txt")
    let path = directory.path("a.txt")
    let error = await #expect(throws: TransferError.self) {
      try await downloader.download(origin.url("/file"), to: path)
    }
    #expect(error?.errorClass == .exists)
    options.ifExists = .skip
    let skipped = try await downloader.download(origin.url("/file"), to: path, options: options)
    #expect(skipped.path == path && skipped.bytes == 3)
    let idle = downloader.start(origin.url("/file"), to: path, options: options)
    _ = try await idle.value
    for await progress in idle.progress { #expect(progress.bytes == 3 && progress.expected == 3) }
    #expect(origin.log.value.exchanges.isEmpty)
    options.ifExists = .rename
    let renamed = try await downloader.download(origin.url("/file"), to: path, options: options)
    #expect(renamed.path == directory.path("a.1.txt"))
    options.ifExists = .replace
    _ = try await downloader.download(origin.url("/file"), to: path, options: options)
    #expect(isSource("a.txt") && isSource("a.1.txt"))
    #expect(try files == ["a.1.txt", "a.txt"])
  }

  @Test func `paused here, gone on with in another process`() async throws {
    let gate = Gate("the second half")
    site["/file"] = gated(gate)
    let download = downloader.start(origin.url("/file"), to: directory.path("a"))
    try await half(download)
    let json = try #require(try await download.pause()?.json())
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .cancelled)
    await downloader.shutdown()
    #expect(try files.count == 1 && files[0].hasPrefix(".a.haul-part-"))

    gate.open()
    let other = try Downloader(.test)
    let data = try ResumeData(json: json)
    #expect(data.bytes == 150_000 && data.url == origin.url("/file"))
    let file = try await other.download(resumingFrom: data, to: directory.path("a"))
    #expect(file.bytes == 300_000 && isSource("a"))
    #expect(try files == ["a"])
    let range = origin.log.value.exchanges[1].request[field: "Range"]
    #expect(range == "bytes=145904-299999")
    // What is through cannot be gone on with: from 0, and a file stands there.
    let again = await #expect(throws: TransferError.self) {
      try await other.download(resumingFrom: data, to: directory.path("a"))
    }
    #expect(again?.errorClass == .exists)
    #expect(throws: TransferError.self) { try ResumeData(json: Array("{}".utf8)) }
  }

  @Test func `a download that broke can be gone on with, too`() async throws {
    let origin = try OriginServer { [source] request, reply in
      if request.number == 2 { return try reply.head("HTTP/1.1 503 Busy\nContent-Length: 0") }
      try source.answer(request, reply, cut: request.number == 1 ? .close(after: 100_000) : nil)
    }
    let download = downloader.start(origin.url("/"), to: directory.path("a"))
    let error = await #expect(throws: TransferError.self) { try await download.value }
    #expect(error?.errorClass == .http5xx)
    let data = try #require(download.resumeData)
    #expect(data.bytes == 100_000)
    _ = try await downloader.download(resumingFrom: data, to: directory.path("a"))
    #expect(isSource("a"))
  }

  @Test func `what is cancelled leaves nothing, and others go on`() async throws {
    let gate = Gate("the second half")
    site["/file"] = gated(gate)
    let one = downloader.start(origin.url("/file"), to: directory.path("one"))
    let two = downloader.start(origin.url("/file"), to: directory.path("two"))
    try await half(one)
    try await half(two)
    one.cancel()
    let error = await #expect(throws: TransferError.self) { try await one.value }
    #expect(error?.errorClass == .cancelled && one.resumeData == nil)
    gate.open()
    #expect(try await two.value.bytes == 300_000)
    #expect(try files == ["two"])
  }

  @Test func `cancelling the task of a call cancels its download`() async throws {
    let gate = Gate("never while it runs")
    site["/file"] = gated(gate)
    let url = origin.url("/file")
    let task = Task { [downloader, directory] in
      try await downloader.download(url, to: directory.path("a"))
    }
    try await origin.sent(150_000)
    task.cancel()
    let result = await task.result
    #expect(throws: CancellationError.self) { try result.get() }
    #expect(try files.isEmpty)
    gate.open()
  }

  @Test func `progress grows to its end`() async throws {
    let gate = Gate("the second half")
    site["/file"] = gated(gate)
    let download = downloader.start(origin.url("/file"), to: directory.path("a"))
    var seen: [DownloadProgress] = []
    for await progress in download.progress {
      seen.append(progress)
      if progress.bytes == 150_000 { gate.open() }
    }
    #expect(seen.map(\.bytes) == seen.map(\.bytes).sorted())
    #expect(seen.last?.bytes == 300_000 && seen.last?.expected == 300_000)
    #expect(seen.contains { $0.rate > 0 })
    #expect(try await download.value.bytes == 300_000)
  }

  /// The record of progress is kept by the download, and the transfer holds who keeps it.
  @Test func `nothing keeps a download that is over`() async throws {
    weak var left: Download?
    do {
      let download = downloader.start(origin.url("/file"), to: directory.path("a"))
      left = download
      _ = try await download.value
    }
    try await eventually("the download to go") { left == nil }
  }
}
