import Foundation
import HaulTransfer
import TestSupport
import Testing

/// What stands in the list of a queue, and what becomes of it.
@Suite(.timeLimit(.minutes(5)))
struct DownloadListEntryTests {
  private let bench: LibraryBench

  init() throws {
    bench = try LibraryBench()
  }

  private func queue(isSuspended: Bool = false) throws -> DownloadQueue {
    try DownloadQueue(
      bench.downloader, list: bench.directory.path("list"), isSuspended: isSuspended)
  }

  private func saved(_ queue: DownloadQueue) async throws -> String {
    try await queue.save()
    return try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
  }

  /// Writes a list with these requests, as a process leaves it that was killed.
  private func leaveList(_ names: String...) throws {
    let entries = names.map { name in
      let request = bench.request(name)
      return "{\"url\":\"\(request.url)\",\"path\":\"\(request.path)\",\"ifExists\":\"fail\"}"
    }
    try bench.directory.write(
      "{\"version\":1,\"downloads\":[\(entries.joined(separator: ","))]}", to: "list")
  }

  @Test func `the list keeps the tag of a request`() async throws {
    var request = bench.request("file")
    request.tag = "row 17"
    let first = try queue(isSuspended: true)
    #expect(first.start(request).request.tag == "row 17")
    first.start(bench.request("slow"))
    await bench.downloader.shutdown()
    let again = try DownloadQueue(
      Downloader(.test), list: bench.directory.path("list"), isSuspended: true)
    #expect(again.downloads.map(\.request.tag) == ["row 17", nil])
    again.cancelAll()
  }

  // MARK: - Cancelled

  /// 1. A download runs and has durable bytes. 2. It is cancelled, and the list is saved.
  @Test(arguments: ["one", "all", "paused", "waiting"])
  func `what is cancelled is out of the list once it is saved`(_ way: String) async throws {
    let queue = try queue(isSuspended: way == "waiting")
    for _ in 1...5 {
      let download = queue.start(bench.request("slow"))
      if way != "waiting" { try await bench.half(download) }
      if way == "paused" {
        download.suspend()
        try await bench.state(.paused, of: download)
      }
      #expect(try await saved(queue).contains("slow"))
      if way == "all" { queue.cancelAll() } else { download.cancel() }
      #expect(try await !saved(queue).contains("slow"))
      _ = await download.result
      #expect(try await !saved(queue).contains("slow"))
    }
    bench.half.open()
  }

  @Test func `what is resumed is not paused in the list once it is saved`() async throws {
    let queue = try queue()
    let download = queue.start(bench.request("slow"))
    try await bench.half(download)
    download.suspend()
    #expect(try await saved(queue).contains("paused"))
    download.resume()
    #expect(try await !saved(queue).contains("paused"))
    bench.half.open()
    _ = try await download.value
  }

  /// 1. A download is suspended and still ends its attempt. 2. The downloader ends.
  @Test func `what is suspended is paused in the list after a shutdown`() async throws {
    let queue = try queue()
    let (one, two) = (queue.start(bench.request("slow1")), queue.start(bench.request("slow2")))
    for download in [one, two] { try await bench.half(download) }
    two.suspend()
    try await bench.state(.paused, of: two)
    one.suspend()
    await bench.downloader.shutdown()
    let text = try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    #expect(text.split(separator: "\"paused\":true").count == 3)
    #expect(queue.downloads.count == 2)
    bench.half.open()
  }

  // MARK: - Failed

  @Test func `what fails at once after a restart is among the downloads`() async throws {
    try bench.directory.write("mine", to: "there")
    try leaveList("none1", "there", "file", "none2")
    let queue = try queue()
    let downloads = queue.downloads
    #expect(
      downloads.map(\.request.path)
        == ["none1", "there", "file", "none2"].map(bench.directory.path))
    for download in downloads { _ = await download.result }
    let failed = queue.downloads
    #expect(
      failed.map(\.request.path) == ["none1", "there", "none2"].map(bench.directory.path))
    #expect(failed.allSatisfy { $0.state == .finished })
    // It is not over again: calls for all leave it alone.
    queue.cancelAll()
    queue.suspendAll()
    #expect(await queue.pauseAll().isEmpty)
    #expect(queue.downloads.count == 3)
    await queue.remove(failed[0])
    failed[1].cancel()
    let again = queue.retry(failed[2])
    _ = await again.result
    #expect(queue.downloads.map(ObjectIdentifier.init) == [ObjectIdentifier(again)])
    let text = try await saved(queue)
    #expect(!text.contains("none1") && !text.contains("there") && text.contains("none2"))
  }

  /// A queue without a list has no place for them.
  @Test func `without a list, what has failed is no longer among the downloads`() async throws {
    let queue = DownloadQueue(bench.downloader)
    _ = await queue.start(bench.request("none")).result
    #expect(queue.downloads.isEmpty)
  }

  /// The queue holds what has failed, which holds the queue's members.
  @Test func `a queue with failed downloads lets go of the list and of them`() async throws {
    weak var download: Download?
    try await withFailed { download = $0 }
    try await eventually("the list to be free") { (try? queue(isSuspended: true)) != nil }
    try await eventually("the download to go") { download == nil }
  }

  private func withFailed(_ body: (Download) -> Void) async throws {
    let queue = try queue()
    let download = queue.start(bench.request("none"))
    _ = await download.result
    body(download)
  }

  // MARK: - Files

  /// An older file of the user counts as the result, or one that came later.
  @Test(arguments: ["skipped", "rewritten", "replaced", "own"])
  func `only a file that the download has made is deleted`(_ way: String) async throws {
    let queue = try queue()
    var request = bench.request("file")
    request.options.ifExists = .skip
    if way == "skipped" { try bench.directory.write("mine", to: "file") }
    let download = queue.start(request)
    _ = try await download.value
    let path = bench.directory.path("file")
    if way == "rewritten" {
      // The new file may get the inode of the old one.
      try FileManager.default.removeItem(atPath: path)
      try bench.directory.write("mine", to: "file")
    }
    if way == "replaced" {
      try bench.directory.write("mine", to: "other")
      #expect(rename(bench.directory.path("other"), path) == 0)
    }
    await queue.remove(download, deletingFile: true)
    #expect(FileManager.default.fileExists(atPath: path) == (way != "own"))
  }

  @Test func `part files of the list's targets are removed, and no others`() async throws {
    let long = String(repeating: "l", count: 240)
    try leaveList("k4", long)
    let removed = [
      ".k4.haul-part-1", ".k4.haul-part-abc.1", ".\(long.prefix(215)).haul-part-3w5e11264sgsf",
    ]
    let kept = [".k4.part", ".k.haul-part-1", ".k44.haul-part-1", "k4.haul-part-1"]
    for name in removed + kept { try bench.directory.write("bytes", to: name) }
    // The process may have died before the first byte.
    try bench.directory.write("", to: ".k4.haul-part-empty")
    // Another process uses this one.
    try bench.directory.write("bytes", to: ".k4.haul-part-used")
    let used = open(bench.directory.path(".k4.haul-part-used"), O_RDWR)
    defer { close(used) }
    try #require(flock(used, LOCK_EX | LOCK_NB) == 0)
    let queue = try queue(isSuspended: true)
    #expect(queue.downloads.count == 2)
    let hidden = try bench.files.filter { $0.contains("k") || $0.contains("l.") }
    #expect(hidden == (kept + [".k4.haul-part-used"]).sorted(), "\(hidden)")
  }

  @Test func `part files that resume data name stay`() async throws {
    let data = try await pausedData()
    let reopened = Watched<DownloadQueue?>(nil)
    try await eventually("the list to be free") {
      let queue = try? self.queue(isSuspended: true)
      reopened.update { $0 = queue }
      return queue != nil
    }
    let queue = try #require(reopened.value)
    #expect(queue.downloads.map(\.resumeData) == [data])
    #expect(FileManager.default.fileExists(atPath: data.partialFile))
    bench.half.open()
    queue.isSuspended = false
    #expect(try await queue.downloads[0].value.bytes == 300_000)
    #expect(bench.asked.count == 2)
  }

  /// Leaves a list with a download that was paused at its half.
  private func pausedData() async throws -> ResumeData {
    let downloader = try Downloader(.test)
    let queue = try DownloadQueue(downloader, list: bench.directory.path("list"))
    let download = queue.start(bench.request("slow"))
    try await bench.half(download)
    await downloader.shutdown()
    return try #require(download.resumeData)
  }

  @Test func `opening a list makes no file besides it`() async throws {
    do {
      let queue = try queue()
      try await queue.save()
      #expect(throws: TransferError.self) { try self.queue() }
      #expect(try bench.files == ["list"])
      _ = queue
    }
    try bench.directory.write("no list", to: "text")
    #expect(throws: TransferError.self) {
      try DownloadQueue(bench.downloader, list: bench.directory.path("text"))
    }
    #expect(try bench.files == ["list", "text"])
  }

  @Test func `a list needs a path`() async throws {
    for path in ["", bench.directory.path("a\0b"), bench.directory.path] {
      let error = #expect(throws: TransferError.self) {
        try DownloadQueue(bench.downloader, list: path)
      }
      #expect(error?.errorClass == .pathConflict, "\(String(describing: error))")
      #expect(error?.message.contains("list") == true)
    }
    #expect(try bench.files.isEmpty)
  }

  @Test(arguments: ["https://example.invalid/y", "ftp://h/y", "mailto:y", "y"])
  func `a target that is a URL but no file URL is refused`(_ text: String) async throws {
    let target = try #require(URL(string: text))
    let url = try #require(URL(string: bench.origin.url("/file")))
    for downloader in [bench.downloader, try queue()] as [any Downloading] {
      let download = downloader.start(DownloadRequest(url, to: target))
      guard case .failure(let error) = await download.result else {
        Issue.record("it has written \(text)")
        continue
      }
      #expect(error.errorClass == .pathConflict)
      #expect(error.message.contains("\(text) is not a file URL"))
    }
    #expect(bench.asked.isEmpty)
    // The path may be set afterwards.
    var request = DownloadRequest(url, to: target)
    request.path = bench.directory.path("file")
    _ = try await bench.downloader.start(request).value
    _ = try await bench.downloader.start(
      DownloadRequest(url, to: URL(filePath: bench.directory.path("file2")))
    ).value
  }
}
