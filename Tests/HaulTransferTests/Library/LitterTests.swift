import Foundation
import Glibc
import HaulTransfer
import TestSupport
import Testing

/// Which call leaves a partial file, and which does not.
@Suite(.timeLimit(.minutes(5)))
struct LitterTests {
  @Test func `shutdown returns when the partial files are gone`() async throws {
    let bench = try LibraryBench()
    let downloads = ["slow1", "slow2", "slow3"].map(bench.start)
    for download in downloads { try await bench.half(download) }
    // Bytes that have come are written a moment later.
    try await eventually("three partial files") { try bench.files.count == 3 }
    await bench.downloader.shutdown()
    #expect(try bench.files.isEmpty)
    for download in downloads { #expect(download.state == .finished) }
    bench.half.open()
  }

  @Test func `leaving a loop and shutting down leaves nothing`() async throws {
    let bench = try LibraryBench()
    let results = bench.downloader.downloads(
      ["file", "slow1", "slow2"].map(bench.request), maxConcurrent: 3)
    for await _ in results { break }
    await bench.downloader.shutdown()
    #expect(try bench.files == ["file"])
    bench.half.open()
  }

  private struct Holder {
    var results: Downloads?
  }

  /// The sequence is still referenced, as every variable at the top level of a program is.
  @Test(arguments: [true, false])
  func `leaving the loop cancels although the sequence is kept`(_ isCancelled: Bool) async throws {
    let bench = try LibraryBench()
    let list = ["file1", "slow1", "slow2", "file2", "file3"].map(bench.request)
    let holder = Holder(results: bench.downloader.downloads(list, maxConcurrent: 3))
    if isCancelled {
      _ = try await bench.origin.request(3)
      holder.results?.cancel()
    } else {
      for await _ in try #require(holder.results) { break }
    }
    try await eventually("the part files to go") {
      try bench.files.allSatisfy { $0.hasPrefix("file") }
    }
    bench.half.open()
    // Whatever was not begun by then never is.
    var count = 0
    for await _ in try #require(holder.results) { count += 1 }
    #expect(count <= 2)
    #expect(try bench.files.allSatisfy { $0.hasPrefix("file") })
    #expect(holder.results != nil)
  }

  @Test func `removing a paused download returns when its partial file is gone`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader)
    let download = queue.start(bench.request("slow"))
    try await bench.half(download)
    #expect(await download.pause() != nil)
    #expect(try bench.files.count == 1)
    await queue.remove(download)
    #expect(try bench.files.isEmpty && download.resumeData == nil)
    bench.half.open()
  }

  /// 1. A download is paused, and another one waits to continue it. 2. The first is removed. 3. The other one begins.
  @Test func `a partial file that another download is to continue is not removed`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader)
    let first = queue.start(bench.request("slow"))
    try await bench.half(first)
    let data = await first.pause()
    queue.isSuspended = true
    let second = queue.start(first.request, from: data)
    await queue.remove(first)
    #expect(try bench.files.count == 1)
    bench.half.open()
    queue.isSuspended = false
    _ = try await second.value
    #expect(try bench.files == ["slow"] && bench.isWhole("slow"))
    let ranges = bench.origin.log.value.exchanges.map { $0.request[field: "Range"] }
    #expect(ranges == [nil, "bytes=145904-299999"])
  }

  @Test func `cancelled after a pause or a failure, nothing is left`() async throws {
    let bench = try LibraryBench()
    let paused = bench.start("slow")
    try await bench.half(paused)
    #expect(await paused.pause()?.bytes == 150_000)
    #expect(try bench.files.count == 1)
    paused.cancel()
    #expect(paused.resumeData == nil)
    await bench.downloader.shutdown()
    #expect(try bench.files.isEmpty)
    bench.half.open()
  }

  @Test func `what a killed process leaves is listed and removed`() async throws {
    let bench = try LibraryBench()
    let path = bench.directory.path("slow")
    let child = try ChildProcess(
      LibraryUserTests.program,
      ["keep", bench.origin.url("/slow"), path, bench.directory.path("data")])
    try await bench.origin.sent(150_000)
    // An empty one of the last second counts as open.
    try await eventually("bytes in a partial file") {
      let parts = try bench.files.filter { $0.contains("haul-part") }
      return parts.contains { name in
        let path = bench.directory.path(name)
        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int
        return size ?? 0 > 0
      }
    }
    #expect(try Downloader.partialFiles(in: bench.directory.path).isEmpty)
    #expect(try Downloader.discardPartialFiles(in: bench.directory.path) == 0)
    child.signal(SIGKILL)
    #expect(try await child.exit() == .signal(SIGKILL))

    let left = try Downloader.partialFiles(in: bench.directory.path)
    #expect(left.count == 1 && left[0].path.hasPrefix("\(bench.directory.path)/.slow.haul-part-"))
    #expect(try Downloader.discardPartialFiles(in: bench.directory.path) == 1)
    #expect(try bench.files.allSatisfy { !$0.contains("haul-part") })
    bench.half.open()
  }

  @Test func `what resume data mean may be kept`() async throws {
    let bench = try LibraryBench()
    let (one, two) = (bench.start("slow1"), bench.start("slow2"))
    try await bench.half(one)
    try await bench.half(two)
    let data = try #require(await one.pause())
    _ = await two.pause()
    let path = bench.directory.path
    #expect(try Downloader.partialFiles(in: path).count == 2)
    #expect(try Downloader.discardPartialFiles(in: path, keeping: [data]) == 1)
    #expect(try Downloader.partialFiles(in: path).map(\.path) == [data.partialFile])
    bench.half.open()
    _ = try await bench.downloader.download(resumingFrom: data, to: bench.directory.path("slow1"))
    #expect(try bench.files == ["slow1"])
  }

  @Test func `continued in another directory, the partial file comes along`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    let data = try #require(await download.pause())
    let other = bench.directory.path("other")
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    bench.half.open()
    let file = try await bench.downloader.download(resumingFrom: data, to: "\(other)/slow")
    #expect(file.path == "\(other)/slow" && file.bytes == 300_000)
    #expect(try bench.isWhole("other/slow"))
    #expect(try bench.files == ["other"])
    #expect(bench.origin.log.value.exchanges[1].request[field: "Range"] != nil)
  }

  @Test(.enabled("mounting needs root") { await TestFileSystem.isTmpfsPossible })
  func `on another file system the partial file stays, and the download says so`() async throws {
    let bench = try LibraryBench()
    let disk = try await TestFileSystem(tmpfs: 8 << 20)
    let download = bench.start("slow")
    try await bench.half(download)
    let data = try #require(await download.pause())
    let again = bench.downloader.start(resumingFrom: data, to: "\(disk.path)/slow")
    guard case .failure(let error) = await again.result else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.errorClass == .pathConflict && error.message.contains(data.partialFile))
    #expect(again.resumeData == data)
    #expect(bench.asked.count == 1)
    bench.half.open()
    _ = try await bench.downloader.download(resumingFrom: data, to: bench.directory.path("slow"))
    #expect(try bench.isWhole("slow"))
  }

  @Test func `resume data in use fail at the start`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    let data = try #require(await download.pause())
    let first = bench.downloader.start(resumingFrom: data, to: bench.directory.path("slow"))
    _ = try await bench.origin.request(2)
    let second = bench.downloader.start(resumingFrom: data, to: bench.directory.path("other"))
    guard case .failure(let error) = await second.result else {
      Issue.record("it has succeeded")
      return
    }
    #expect(error.errorClass == .pathConflict && error.message.contains("another download"))
    // What fails so takes nothing away from the other.
    second.cancel()
    bench.half.open()
    #expect(try await first.value.bytes == 300_000)
    #expect(bench.asked.count == 2)
    #expect(try bench.isWhole("slow"))
  }

  @Test func `resume data come soon`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    for await event in download.events {
      guard case .saved(let data) = event else { continue }
      #expect(data.bytes > 0 && data == download.resumeData)
      break
    }
    download.cancel()
    _ = await download.result
    #expect(try bench.files.isEmpty)
    bench.half.open()
  }

  /// 1. A partial file is taken along into another directory. 2. The server then answers with an error.
  @Test func `resume data follow the partial file into another directory`() async throws {
    let bench = try LibraryBench()
    var source = TestSupport.Representation(seed: 8, length: 300_000)
    source.gates = [150_000: bench.half]
    let slowly = source
    let origin = try OriginServer { request, reply in
      if request.number == 1 { return try slowly.answer(request, reply) }
      try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
    }
    let first = bench.downloader.start(origin.url("/"), to: bench.directory.path("a"))
    try await bench.half(first)
    let data = try #require(await first.pause())
    bench.half.open()
    let other = bench.directory.path("other")
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    let second = bench.downloader.start(resumingFrom: data, to: "\(other)/a")
    _ = await second.result
    let moved = try #require(second.resumeData)
    #expect(moved.partialFile == "\(other)/\((data.partialFile as NSString).lastPathComponent)")
    #expect(try Downloader.partialFiles(in: other).map(\.path) == [moved.partialFile])
    second.cancel()
    await bench.downloader.shutdown()
    #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
    #expect(try bench.files == ["other"])
  }

  @Test func `a resumed download that is skipped leaves no partial file`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    let data = try #require(await download.pause())
    try bench.directory.write("there", to: "slow")
    var options = DownloadOptions()
    options.ifExists = .skip
    let path = bench.directory.path("slow")
    let file = try await bench.downloader.start(resumingFrom: data, to: path, options: options)
      .value
    #expect(file.bytes == 5)
    #expect(try bench.files == ["slow"])
    bench.half.open()
  }

  /// Nobody waits for a partial file to go.
  @Test(arguments: ["call", "queue"])
  func `what failed has left nothing on return`(_ way: String) async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader)
    for number in 1...30 {
      var request = bench.request("file\(number)")
      request.options.digest = try ExpectedDigest(String(repeating: "0", count: 64))
      if way == "call" {
        await #expect(throws: TransferError.self) { try await queue.download(request) }
      } else {
        let download = queue.start(request)
        _ = await download.result
        await queue.remove(download)
      }
      #expect(try bench.files.isEmpty)
    }
  }

  @Test func `what is refused before it begins moves no partial file`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    let data = try #require(await download.pause())
    bench.half.open()
    let other = bench.directory.path("other")
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: false)
    var options = DownloadOptions()
    options.fields = [HeaderField("Authorization", "Bearer a")]
    let refused = bench.downloader.start(
      resumingFrom: data, to: "\(other)/slow", options: options)
    _ = await refused.result
    #expect(refused.resumeData == data)
    #expect(FileManager.default.fileExists(atPath: data.partialFile))
    #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
  }
}
