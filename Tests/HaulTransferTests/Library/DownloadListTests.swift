import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Queues that outlive their process.
@Suite(.timeLimit(.minutes(5)))
struct DownloadListTests {
  private func queue(
    _ bench: LibraryBench, by downloader: Downloader? = nil, maxConcurrent: Int = 2,
    isSuspended: Bool = false, restoring: (inout DownloadRequest) -> Void = { _ in }
  ) throws -> DownloadQueue {
    try DownloadQueue(
      downloader ?? bench.downloader, maxConcurrent: maxConcurrent,
      list: bench.directory.path("list"), isSuspended: isSuspended, restoring: restoring)
  }

  /// One is complete, one runs, one is paused, one is cancelled, and one waits. Then the downloader ends.
  private func leaveList(_ bench: LibraryBench) async throws {
    let queue = try queue(bench)
    _ = try await queue.start(bench.request("file")).value
    let (one, two) = (queue.start(bench.request("slow1")), queue.start(bench.request("slow2")))
    try await bench.half(one)
    try await bench.half(two)
    two.suspend()
    try await bench.state(.paused, of: two)
    let three = queue.start(bench.request("slow3"))
    try await bench.half(three)
    three.cancel()
    _ = await three.result
    var last = bench.request("last")
    last.options.digest = try ExpectedDigest(String(repeating: "0", count: 64))
    last.options.fields = [HeaderField("Accept", "a/b")]
    last.options.credentials = [HeaderField("Authorization", "Bearer secret")]
    queue.isSuspended = true
    queue.start(last, priority: 7)
    await bench.downloader.shutdown()
    try await queue.save()
  }

  /// 1. One runs, one is paused, one waits, one is complete, one is cancelled. 2. The downloader ends.
  /// 3. Another one reads the list and brings all that is left.
  @Test func `a list is read back with what is durable of each`() async throws {
    let bench = try LibraryBench()
    try await leaveList(bench)
    let text = try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    #expect(!text.contains("secret") && !text.contains("slow3"))
    let attributes = try FileManager.default.attributesOfItem(atPath: bench.directory.path("list"))
    #expect(attributes[.posixPermissions] as? Int == 0o600)
    bench.half.open()

    let downloader = try Downloader(.test)
    // The first queue lets go of the list when its last download is over and written.
    let reopened = Watched<DownloadQueue?>(nil)
    try await eventually("the list to be free") {
      let queue = try? queue(bench, by: downloader, isSuspended: true) { request in
        request.options.ifExists = .replace
      }
      reopened.update { $0 = queue }
      return queue != nil
    }
    let again = try #require(reopened.value)
    let downloads = again.downloads
    #expect(downloads.map(\.request.path) == ["slow1", "slow2", "last"].map(bench.directory.path))
    #expect(downloads.map(\.state) == [.waiting, .paused, .waiting])
    #expect(downloads.map { $0.resumeData?.bytes } == [150_000, 150_000, nil])
    #expect(downloads[2].priority == 7)
    #expect(downloads[2].request.options.digest?.algorithm == .sha256)
    #expect(downloads[2].request.options.fields == [HeaderField("Accept", "a/b")])
    #expect(downloads.allSatisfy { $0.request.options.ifExists == .replace })
    again.isSuspended = false
    again.resumeAll()
    #expect(try await downloads[0].value.bytes == 300_000)
    #expect(try await downloads[1].value.bytes == 300_000)
    let error = await #expect(throws: TransferError.self) { try await downloads[2].value }
    #expect(error?.errorClass == .digest)
    #expect(try bench.isWhole("slow1") && bench.isWhole("slow2"))
    let ranges = bench.origin.log.value.exchanges.compactMap { $0.request[field: "Range"] }
    #expect(ranges == ["bytes=145904-299999", "bytes=145904-299999"])
    // What failed stays until it is removed.
    try await again.save()
    #expect(
      try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8).contains("last"))
    await again.remove(downloads[2])
    try await again.save()
    let end = try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    #expect(!end.contains("last"))
    #expect(try bench.files == ["file", "list", "slow1", "slow2"])
  }

  /// A program that ends after ``DownloadQueue/save()`` interrupts no write, which would leave a second file.
  @Test func `nothing writes the list after it was saved`() async throws {
    let bench = try LibraryBench()
    let saved = try await saveList(bench)
    // The queue lets go of the list when nothing writes it any more.
    let list = open(bench.directory.path("list"), O_RDWR)
    defer { close(list) }
    try await eventually("the list to be free") { flock(list, LOCK_EX | LOCK_NB) == 0 }
    #expect(try inode(bench) == saved)
    #expect(try bench.files == ["a", "b", "list"])
  }

  /// The list is another file each time it is written.
  private func inode(_ bench: LibraryBench) throws -> Int? {
    try FileManager.default.attributesOfItem(atPath: bench.directory.path("list"))[
      .systemFileNumber] as? Int
  }

  /// Downloads two files, and returns without the queue.
  private func saveList(_ bench: LibraryBench) async throws -> Int? {
    let queue = try queue(bench)
    _ = try await queue.start(bench.request("a")).value
    _ = try await queue.start(bench.request("b")).value
    await bench.downloader.shutdown()
    try await queue.save()
    return try inode(bench)
  }

  @Test func `one queue has a list, and what is no list is refused`() async throws {
    let bench = try LibraryBench()
    let first = try queue(bench)
    var error = #expect(throws: TransferError.self) { try queue(bench) }
    #expect(error?.errorClass == .pathConflict)
    _ = first
    try bench.directory.write("{\"version\":2,\"downloads\":[]}", to: "new")
    try bench.directory.write("no list", to: "text")
    for name in ["new", "text"] {
      error = #expect(throws: TransferError.self) {
        try DownloadQueue(bench.downloader, list: bench.directory.path(name))
      }
      #expect(error?.errorClass == .io && error?.message.contains(name) == true)
    }
  }

  @Test func `removed with its file or without`() async throws {
    let bench = try LibraryBench()
    let queue = try queue(bench)
    let (one, two) = (queue.start(bench.request("a")), queue.start(bench.request("b")))
    _ = try await one.value
    _ = try await two.value
    await queue.remove(one)
    await queue.remove(two, deletingFile: true)
    let running = queue.start(bench.request("slow"))
    try await bench.half(running)
    await queue.remove(running, deletingFile: true)
    try await queue.save()
    #expect(try bench.files == ["a", "list"])
    bench.half.open()
  }

  /// The process may be killed while a queue starts.
  @Test func `a list stays whole while it is read back`() async throws {
    let bench = try LibraryBench()
    let count = 200
    let path = bench.directory.path("list")
    let entries = (0..<count).map {
      "{\"url\":\"\(bench.origin.url("/\($0)"))\",\"path\":\"\(path).\($0)\",\"ifExists\":\"fail\"}"
    }
    try bench.directory.write(
      "{\"version\":1,\"downloads\":[\(entries.joined(separator: ","))]}", to: "list")
    var sizes: Set<Int> = []
    let queue = try queue(bench, isSuspended: true) { _ in
      let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
      sizes.insert(text.split(separator: "ifExists").count - 1)
    }
    #expect(sizes == [count] && queue.downloads.count == count)
    try await queue.save()
    queue.cancelAll()
    try await queue.save()
    #expect(try !String(contentsOfFile: path, encoding: .utf8).contains("ifExists"))
  }

  @Test func `the list keeps what has changed, and forgets what is cancelled after its end`()
    async throws
  {
    let bench = try LibraryBench()
    let queue = try queue(bench, isSuspended: true)
    func text() async throws -> String {
      try await queue.save()
      return try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    }
    let download = queue.start(bench.request("none"))
    #expect(try await !text().contains("priority"))
    download.priority = 7
    #expect(try await text().contains("\"priority\":7"))
    queue.isSuspended = false
    _ = await download.result
    #expect(try await text().contains("none"))
    download.cancel()
    #expect(try await !text().contains("none"))
  }

  @Test func `shutdown writes the list`() async throws {
    let bench = try LibraryBench()
    var queue: DownloadQueue? = try queue(bench)
    let download = try #require(queue?.start(bench.request("slow")))
    try await bench.half(download)
    await bench.downloader.shutdown()
    let text = try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    let part = try #require(download.resumeData).partialFile
    #expect(text.contains((part as NSString).lastPathComponent))
    queue = nil
    try await eventually("the list to be free") {
      (try? self.queue(bench, by: Downloader(.test), isSuspended: true)) != nil
    }
    #expect(queue == nil)
    bench.half.open()
  }

  /// The program still has a download of a queue that it has let go of.
  @Test func `a list that another queue has by now is not written`() async throws {
    let bench = try LibraryBench()
    var first: DownloadQueue? = try queue(bench)
    let download = try #require(first?.start(bench.request("none")))
    _ = await download.result
    first = nil
    let second = Watched<DownloadQueue?>(nil)
    try await eventually("the list to be free") {
      let queue = try? queue(bench, by: Downloader(.test), isSuspended: true)
      second.update { $0 = queue }
      return queue != nil
    }
    try await second.value?.save()
    download.cancel()
    await bench.downloader.shutdown()
    let text = try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    #expect(text.contains("none") && first == nil)
  }

  @Test func `a failed download is tried again, from what it has`() async throws {
    let bench = try LibraryBench()
    let queue = try queue(bench)
    let failed = queue.start(bench.request("slow"), priority: 3)
    #expect(queue.retry(failed) === failed)
    try await bench.half(failed)
    let data = try #require(await failed.pause())
    #expect("\(data)" == "150000 of 300000 bytes")
    bench.half.open()
    let again = queue.retry(failed)
    #expect(again !== failed && again.priority == 3)
    #expect(try await again.value.bytes == 300_000)
    #expect(bench.origin.log.value.exchanges[1].request[field: "Range"] == "bytes=145904-299999")
    #expect(queue.retry(again) === again)
    // The old one is out of the list, and cancelling it takes nothing away.
    failed.cancel()
    try await queue.save()
    let text = try String(contentsOfFile: bench.directory.path("list"), encoding: .utf8)
    #expect(!text.contains("slow"))
    #expect(try bench.isWhole("slow"))
  }
}
