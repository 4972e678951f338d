import Foundation
import HaulTransfer
import TestSupport
import Testing

/// What stands, or is about to stand, at the path of a download, and what is told of it.
@Suite(.timeLimit(.minutes(2)))
struct TargetTests {
  private func failure(_ download: Download) async -> TransferError? {
    guard case .failure(let error) = await download.result else { return nil }
    return error
  }

  @Test(.enabled("mounting needs root") { await TestFileSystem.isTmpfsPossible })
  func `on a disk mounted read-only the failed creation is reported`() async throws {
    let bench = try LibraryBench()
    let disk = try await TestFileSystem(tmpfs: 1 << 20)
    try await disk.setReadOnly(true)
    let download = bench.downloader.start(bench.origin.url("/file"), to: "\(disk.path)/f")
    let error = try #require(await failure(download))
    #expect(error.errorClass == .notPermitted && error.path == "\(disk.path)/f")
    #expect(error.message.hasPrefix("cannot create the partial file .f.haul-part-"))
    #expect(error.message.hasSuffix(" in \(disk.path): Read-only file system"), "\(error)")
  }

  @Test func `an empty path is called so`() async throws {
    let bench = try LibraryBench()
    let error = try #require(
      await failure(bench.downloader.start(bench.origin.url("/file"), to: "")))
    #expect(error.errorClass == .pathConflict && error.message == "the path of the file is empty")
  }

  // MARK: - Two downloads to one path

  /// The first one has half of its file, and is still on its way when the second one fails.
  @Test func `a second download to the same path fails before it asks`() async throws {
    let bench = try LibraryBench()
    let first = bench.start("slow")
    try await bench.half(first)
    // Another way to write the same directory.
    let path = "\(bench.directory.path)/./slow"
    let error = try #require(
      await failure(bench.downloader.start(bench.origin.url("/a"), to: path)))
    #expect(error.errorClass == .pathConflict && error.path == path)
    #expect(error.message.contains(path), "\(error)")
    #expect(bench.asked == ["/slow"])
    bench.half.open()
    _ = try await first.value
    #expect(try bench.files == ["slow"])
  }

  /// What is cancelled or suspended makes no file.
  @Test(arguments: [true, false])
  func `the path is free once its download is to end`(_ isCancelled: Bool) async throws {
    let bench = try LibraryBench()
    let first = bench.start("slow")
    try await bench.half(first)
    if isCancelled { first.cancel() } else { first.suspend() }
    let path = bench.directory.path("slow")
    #expect(try await bench.downloader.start(bench.origin.url("/a"), to: path).value.path == path)
    bench.half.open()
    first.resume()
    #expect(await failure(first)?.errorClass == (isCancelled ? .cancelled : .exists))
  }

  @Test func `a path may be used by one download after another`() async throws {
    let bench = try LibraryBench()
    bench.half.open()
    for _ in 1...3 {
      _ = try await bench.start("slow").value
      try FileManager.default.removeItem(atPath: bench.directory.path("slow"))
    }
    for policy in [CollisionPolicy.replace, .rename] {
      var request = bench.request("slow")
      request.options.ifExists = policy
      let downloads = [bench.downloader.start(request), bench.downloader.start(request)]
      for download in downloads { _ = try await download.value }
    }
    #expect(try bench.files == ["slow", "slow.1", "slow.2"])
  }

  /// The full path, as for a file that was there at the start.
  @Test func `a file that appears in the meantime is named with its directory`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    try bench.directory.write("there", to: "slow")
    bench.half.open()
    let error = try #require(await failure(download))
    let path = bench.directory.path("slow")
    #expect(error.errorClass == .exists && error.message == "the file \(path) already exists")
  }

  // MARK: - After shutdown

  /// One has failed, one was paused, one has failed and another one that continues it was paused.
  @Test func `after shutdown only what was paused has a partial file`() async throws {
    let bench = try LibraryBench()
    let downloads = ["slow1", "slow2", "slow3"].map(bench.start)
    for download in downloads {
      try await bench.half(download)
      try await eventually("resume data") { download.resumeData != nil }
    }
    let paused = try #require(await downloads[1].pause())
    try bench.directory.write("there", to: "slow1")
    try bench.directory.write("there", to: "slow3")
    bench.half.open()
    #expect(await failure(downloads[0])?.errorClass == .exists)
    #expect(await failure(downloads[2])?.errorClass == .exists)
    let data = try #require(downloads[2].resumeData)
    let queue = DownloadQueue(bench.downloader)
    queue.isSuspended = true
    let again = queue.start(bench.request("slow4"), from: data)
    again.suspend()
    #expect(try bench.files.count == 5)
    await bench.downloader.shutdown()
    let parts = try Downloader.partialFiles(in: bench.directory.path).map(\.path)
    #expect(Set(parts) == [paused.partialFile, data.partialFile])
    #expect(again.resumeData == data && queue.downloads.isEmpty)
  }

  @Test func `shutdown gives up the list of a queue that lives`() async throws {
    let bench = try LibraryBench()
    let path = bench.directory.path("list")
    let queue = try DownloadQueue(bench.downloader, list: path)
    let download = queue.start(bench.request("slow"))
    try await bench.half(download)
    await bench.downloader.shutdown()
    let next = try DownloadQueue(Downloader(.test), list: path)
    #expect(next.downloads.map(\.request.path) == [bench.directory.path("slow")])
    // What comes later writes over nothing.
    await queue.remove(download)
    try await queue.save()
    bench.half.open()
    _ = try await next.downloads.first?.value
    #expect(throws: TransferError.self) { try DownloadQueue(bench.downloader, list: path) }
  }

  // MARK: - Certificates

  @Test(arguments: ["/nonexistent.pem", "", "/"])
  func `a file of certificates that cannot be read fails at the start`(_ path: String) throws {
    var configuration = Downloader.Configuration.test
    configuration.caFile = path
    let error = #expect(throws: TransferError.self) { try Downloader(configuration) }
    let reason =
      switch path {
      case "": "the path of the CA file (caFile) is empty"
      case "/": "cannot read the CA file /: Is a directory"
      default: "cannot read the CA file \(path): No such file or directory"
      }
    #expect(error?.message == reason && error?.errorClass != nil)
  }
}
