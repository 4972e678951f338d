import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Random calls on many downloads from several tasks, and what must hold whatever their order.
@Suite(.timeLimit(.minutes(3)))
struct StressTests {
  /// Notes what the contract of a monitor does not allow.
  private final class Watcher: DownloadMonitor {
    struct Seen {
      var busy: Set<ObjectIdentifier> = []
      var states: [ObjectIdentifier: DownloadState] = [:]
      var ended: Set<ObjectIdentifier> = []
      var faults: [String] = []
    }
    let seen = Watched(Seen())

    func handle(_ event: DownloadEvent, of download: Download) {
      let id = ObjectIdentifier(download)
      seen.update { seen in
        if !seen.busy.insert(id).inserted { seen.faults.append("two at once: \(event)") }
        if seen.ended.contains(id) { seen.faults.append("after the end: \(event)") }
        switch event {
        case .state(let state):
          if state == seen.states[id] { seen.faults.append("twice \(state)") }
          seen.states[id] = state
        case .finished:
          if seen.states[id] != .finished { seen.faults.append("no state before the end") }
          seen.ended.insert(id)
        default:
          if seen.states[id] == .finished { seen.faults.append("\(event) of a finished one") }
        }
      }
      seen.update { _ = $0.busy.remove(id) }
    }
  }

  private func step(_ download: Download, _ queue: DownloadQueue, _ dice: inout SplitMix) {
    switch Int.random(in: 0..<100, using: &dice) {
    case 0..<35: download.suspend()
    case 35..<75: download.resume()
    case 75..<77: download.cancel()
    case 77..<79: Task { _ = await download.pause() }
    case 79..<90:
      download.priority = [.min, -1, 0, 1, .max].randomElement(using: &dice) ?? 0
    case 90..<94: queue.maxConcurrent = Int.random(in: 1...6, using: &dice)
    case 94..<96: queue.maxConcurrentPerHost = [nil, 1, 3].randomElement(using: &dice) ?? nil
    case 96..<98: queue.isSuspended = false
    case 98: queue.isSuspended = true
    default: queue.resumeAll()
    }
  }

  /// Steps until half of the downloads are over, so that each state meets each call.
  private func steer(_ downloads: [Download], _ queue: DownloadQueue, seed: Int) async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<4 {
        group.addTask {
          var dice = SplitMix(state: UInt64(seed * 10 + number))
          for step in 0..<20_000 {
            let live = queue.downloads.prefix(8)
            guard queue.downloads.count > downloads.count / 2,
              let download = live.randomElement(using: &dice)
            else { return }
            self.step(download, queue, &dice)
            if step.isMultiple(of: 8) { _ = download.currentProgress }
            await Task.yield()
          }
        }
      }
    }
  }

  @Test(arguments: 0..<3)
  func `random calls lose no download, no place and no file`(_ seed: Int) async throws {
    var configuration = Downloader.Configuration.test
    configuration.maxConcurrent = 3
    let watcher = Watcher()
    let bench = try LibraryBench(configuration, monitor: watcher)
    let queue = DownloadQueue(bench.downloader, maxConcurrent: 4)
    let names = (0..<80).map { ["slow", "file", "none"][$0 % 3] + "\($0)" }
    let downloads = names.map { name in
      var request = bench.request(name)
      if name.hasPrefix("file") { request.options.retry = RetryPolicy() }
      return queue.start(request)
    }
    await steer(downloads, queue, seed: seed)
    bench.half.open()
    (queue.isSuspended, queue.maxConcurrentPerHost) = (false, nil)
    queue.resumeAll()
    for download in downloads {
      try await eventually("an end: \(download.state)") { download.state == .finished }
    }
    for download in downloads { try await check(download, bench) }
    // Each place is free again.
    queue.maxConcurrent = 3
    let last = (0..<6).map { queue.start(bench.request("last\($0)")) }
    for download in last { _ = try await download.value }
    for download in downloads { download.cancel() }
    await bench.downloader.shutdown()
    #expect(try bench.files.allSatisfy { !$0.contains("haul-part") })
    #expect(watcher.seen.value.faults == [])
    #expect(watcher.seen.value.ended.count == downloads.count + last.count)
    #expect(queue.downloads.isEmpty)
  }

  /// What the table says.
  private func check(_ download: Download, _ bench: LibraryBench) async throws {
    let name = (download.request.path as NSString).lastPathComponent
    let left = try bench.files.filter { $0.hasPrefix(".\(name).haul-part-") }
    switch await download.result {
    case .success:
      #expect(try bench.isWhole(name) && left.isEmpty, "\(name)")
      #expect(download.resumeData == nil)
    case .failure(let error):
      #expect(try !bench.files.contains(name))
      #expect(left.count == (download.resumeData == nil ? 0 : 1), "\(name): \(error)")
      #expect(error.errorClass == .cancelled || name.hasPrefix("none"), "\(name): \(error)")
    }
  }

  /// A partial file that is being made or opened is not idle, and nobody who looks takes it away.
  @Test func `listing and discarding partial files harms no download`() async throws {
    let bench = try LibraryBench()
    let isOver = Watched(false)
    let path = bench.directory.path
    let looking = Watched(0)
    for number in 0..<2 {
      Thread {
        while !isOver.value {
          if number == 0 {
            _ = try? Downloader.partialFiles(in: path)
          } else {
            _ = try? Downloader.discardPartialFiles(in: path)
          }
        }
        looking.update { $0 += 1 }
      }.start()
    }
    for number in 0..<80 { _ = try await bench.start("file\(number)").value }
    isOver.update { $0 = true }
    _ = try await looking.first("the threads") { $0 == 2 ? () : nil }
    #expect(try bench.files.count == 80)
  }

  /// The one or the other has the partial file, and no download fails late.
  @Test func `continuing races with discarding`() async throws {
    let bench = try LibraryBench()
    let downloads = (0..<20).map { bench.start("slow\($0)") }
    for download in downloads {
      try await bench.half(download)
      _ = await download.pause()
    }
    bench.half.open()
    for (number, download) in downloads.enumerated() {
      let data = try #require(download.resumeData)
      let path = bench.directory.path("file\(number)")
      async let cancelled: Void = { download.cancel() }()
      let again = bench.downloader.start(resumingFrom: data, to: path)
      await cancelled
      #expect(try await again.value.bytes == 300_000)
      #expect(try bench.isWhole("file\(number)"))
    }
    await bench.downloader.shutdown()
    #expect(try bench.files.allSatisfy { !$0.hasPrefix(".") })
  }
}
