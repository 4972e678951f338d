import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Queues and downloads that are changed while they run.
@Suite(.timeLimit(.minutes(5)))
struct SteeringTests {
  @Test func `the number at a time may be raised and lowered`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader, maxConcurrent: 1)
    let downloads = (1...4).map { queue.start(bench.request("slow\($0)")) }
    try await bench.half(downloads[0])
    #expect(downloads.map(\.state) == [.running, .waiting, .waiting, .waiting])
    queue.maxConcurrent = 3
    try await bench.half(downloads[1])
    try await bench.half(downloads[2])
    #expect(downloads[3].state == .waiting && queue.maxConcurrent == 3)
    queue.maxConcurrent = 1
    downloads[0].cancel()
    downloads[1].cancel()
    _ = await downloads[0].result
    _ = await downloads[1].result
    #expect(downloads[3].state == .waiting)
    bench.half.open()
    _ = try await downloads[2].value
    _ = try await downloads[3].value
    #expect(queue.downloads.isEmpty)
  }

  @Test func `no more at a time of one host than its cap`() async throws {
    let (one, two) = (try LibraryBench(), try LibraryBench())
    let queue = DownloadQueue(one.downloader, maxConcurrent: 10)
    queue.maxConcurrentPerHost = 2
    let names = (1...4).map { "slow\($0)" }
    let first = names.map { queue.start(one.request($0)) }
    let second = names.map { queue.start(two.request($0)) }
    for download in [first[0], first[1], second[0], second[1]] { try await one.half(download) }
    #expect((first + second).map(\.state).count { $0 == .running } == 4)
    one.half.open()
    two.half.open()
    for download in first + second { _ = try await download.value }
    #expect(one.origin.log.value.peak == 2 && two.origin.log.value.peak == 2)
  }

  @Test func `the highest priority begins first, also when it is changed`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader, maxConcurrent: 1)
    queue.isSuspended = true
    let low = queue.start(bench.request("a"))
    let middle = queue.start(bench.request("b"), priority: 1)
    let high = queue.start(bench.request("c"), priority: 2)
    low.priority = 3
    middle.priority = -1
    #expect(queue.downloads.map(\.priority) == [3, -1, 2] && bench.asked.isEmpty)
    queue.isSuspended = false
    for download in [low, middle, high] { _ = try await download.value }
    #expect(bench.asked == ["/a", "/c", "/b"])
  }

  @Test func `a priority that is set back loses no place`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader, maxConcurrent: 1)
    queue.isSuspended = true
    let downloads = ["a", "b", "c", "d"].map { queue.start(bench.request($0)) }
    downloads[0].priority = 5
    downloads[0].priority = 0
    downloads[3].priority = 1
    downloads[2].priority = 1
    queue.isSuspended = false
    for download in downloads { _ = try await download.value }
    #expect(bench.asked == ["/c", "/d", "/a", "/b"])
  }

  @Test func `a suspended download gives its place away and goes on later`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader, maxConcurrent: 1)
    let (one, two) = (queue.start(bench.request("slow1")), queue.start(bench.request("slow2")))
    try await bench.half(one)
    one.suspend()
    try await bench.state(.paused, of: one)
    try await bench.half(two)
    #expect(one.currentProgress.bytes == 150_000 && one.currentProgress.rate == 0)
    #expect(one.resumeData?.bytes == 150_000)
    one.resume()
    #expect(one.state == .waiting)
    // Neither does anything where there is nothing to do.
    one.resume()
    two.resume()
    one.suspend()
    one.suspend()
    #expect(one.state == .paused)
    one.resume()
    bench.half.open()
    #expect(try await one.value.bytes == 300_000)
    #expect(try await two.value.bytes == 300_000)
    #expect(try bench.isWhole("slow1") && bench.isWhole("slow2"))
    let ranges = bench.origin.log.value.exchanges.map { $0.request[field: "Range"] }
    #expect(ranges.compactMap(\.self) == ["bytes=145904-299999"])
    one.suspend()
    #expect(one.state == .finished)
  }

  @Test func `resumed while its suspension is under way, it goes on`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    for _ in 1...20 {
      download.suspend()
      download.resume()
    }
    bench.half.open()
    #expect(try await download.value.bytes == 300_000)
    #expect(try bench.isWhole("slow") && bench.files == ["slow"])
  }

  @Test func `a suspended download is cancelled, paused, and ended with the downloader`()
    async throws
  {
    let bench = try LibraryBench()
    let downloads = (1...3).map { bench.start("slow\($0)") }
    for download in downloads {
      try await bench.half(download)
      download.suspend()
      try await bench.state(.paused, of: download)
    }
    downloads[0].cancel()
    _ = await downloads[0].result
    #expect(downloads[0].resumeData == nil)
    #expect(await downloads[1].pause()?.bytes == 150_000)
    await bench.downloader.shutdown()
    #expect(downloads.map(\.state) == [.finished, .finished, .finished])
    #expect(downloads[2].resumeData?.bytes == 150_000)
    #expect(try bench.files.count == 2)
    bench.half.open()
  }

  @Test func `uncapped starts wait for their turn`() async throws {
    var configuration = Downloader.Configuration.test
    configuration.maxConcurrent = 5
    let bench = try LibraryBench(configuration)
    let downloads = (1...200).map { bench.start("file\($0)") }
    for download in downloads { _ = try await download.value }
    #expect(bench.origin.log.value.peak <= 5)
  }

  @Test func `events tell the whole story, to a monitor as well`() async throws {
    let monitor = Monitor()
    let bench = try LibraryBench(monitor: monitor)
    let origin = try OriginServer { request, reply in
      if request.number == 1 { return try reply.head("HTTP/1.1 500 No\nContent-Length: 0") }
      try reply.text("hello")
    }
    var options = DownloadOptions()
    options.retry = RetryPolicy()
    let download = bench.downloader.start(
      origin.url("/"), to: bench.directory.path("a"), options: options)
    _ = try await download.value
    let words = ["running", "waiting", "retrying", "running", "200", "finished", "5 bytes"]
    #expect(monitor.words.value == words)
    // Who comes late sees the end.
    var late: [String] = []
    for await event in download.events { late.append(Monitor.word(event)) }
    #expect(late == ["finished", "5 bytes"])
  }

  private final class Monitor: DownloadMonitor {
    let words = Watched<[String]>([])

    func handle(_ event: DownloadEvent, of download: Download) {
      words.update { $0.append(Self.word(event)) }
    }

    static func word(_ event: DownloadEvent) -> String {
      switch event {
      case .state(let state): "\(state)"
      case .redirected: "redirected"
      case .response(let response): "\(response.status)"
      case .progress: "progress"
      case .saved: "saved"
      case .retrying: "retrying"
      case .finished(.success(let file)): "\(file.bytes) bytes"
      case .finished(.failure(let error)): "\(error.errorClass)"
      }
    }
  }

  @Test(arguments: [true, false])
  func `a suspended download that nobody has is let go of`(_ isQueued: Bool) async throws {
    weak var left: Download?
    weak var downloader: Downloader?
    let bench = try LibraryBench()
    do {
      let own = try Downloader(.test)
      let queue = DownloadQueue(own)
      let request = bench.request("slow")
      let download = isQueued ? queue.start(request) : own.start(request)
      (left, downloader) = (download, own)
      try await bench.half(download)
      download.suspend()
      try await bench.state(.paused, of: download)
    }
    try await eventually("the download to go", within: .seconds(10)) {
      left == nil && downloader == nil
    }
    #expect(try Downloader.partialFiles(in: bench.directory.path).count == 1)
    bench.half.open()
  }
}
