import Foundation
import Synchronization
import TestSupport
import Testing

@testable import HaulTransfer

/// Orders of calls and events that two threads can bring about, one after another.
@Suite(.timeLimit(.minutes(2)))
struct InterleavingTests {
  typealias Outcome = Result<DownloadedFile, TransferError>

  /// An attempt that a test writes.
  final class Work: DownloadWork {
    let stops = Watched(0)
    let discarded = Watched<[ResumeData]>([])
    private let attempts = Watched(0)
    private let body: @Sendable (Download, Int) async -> Outcome

    init(_ body: @escaping @Sendable (_ download: Download, _ attempt: Int) async -> Outcome) {
      self.body = body
    }

    func attempt(_ download: Download) async -> Outcome {
      await body(
        download,
        attempts.update {
          $0 += 1
          return $0
        })
    }

    func stop() { stops.update { $0 += 1 } }
    var progress: AttemptProgress? { nil }
    func discard(_ data: ResumeData) async { discarded.update { $0.append(data) } }
  }

  static let request = DownloadRequest("https://a.test/1", to: "1")
  static let cancelled = Outcome.failure(TransferError(.cancelled, "stopped"))
  static let broken = Outcome.failure(TransferError(.interrupted, "broken"))
  static let complete = Outcome.success(DownloadedFile(path: "1", bytes: 10))

  static var retrying: DownloadRequest {
    var request = request
    request.options.retry = RetryPolicy()
    return request
  }

  static func data() throws -> ResumeData {
    try #require(
      ResumeData(
        Checkpoint(
          url: "https://a.test/1", completeLength: 10, validator: .strongETag("\"a\""),
          durable: ByteRanges(0..<5), part: "part", inode: 1)))
  }

  /// A download whose attempt goes on until `gate` opens, however often it is stopped.
  private func stubborn(
    _ gate: Gate, registry: DownloadRegistry? = nil, members: DownloadMembers? = nil
  ) async throws -> (Download, Work) {
    let began = Gate("the attempt")
    let work = Work { _, _ in
      began.open()
      await Task.detached { try? await gate.wait() }.value
      return Self.cancelled
    }
    let download = Download(
      Self.request, work: work, registry: registry, members: members)
    _ = registry?.add(download)
    download.enter()
    try await began.wait()
    return (download, work)
  }

  private func finish(_ download: Download) async throws {
    try await eventually("the end", within: .seconds(10)) { download.state == .finished }
  }

  /// One waits in `pause()`, and another suspends the download.
  @Test func `a suspension does not undo a pause`() async throws {
    let gate = Gate("the end of the attempt")
    let (download, _) = try await stubborn(gate)
    download.beginPause()
    download.suspend()
    gate.open()
    try await finish(download)
  }

  @Test func `neither a suspension nor a pause undoes a time-out`() async throws {
    for isPause in [true, false] {
      let gate = Gate("the end of the attempt")
      let (download, _) = try await stubborn(gate)
      download.end(.timeOut)
      if isPause { download.beginPause() } else { download.suspend() }
      gate.open()
      try await finish(download)
      #expect(throws: TransferError.self) { try download.shared.withLock { try $0.result?.get() } }
    }
  }

  @Test func `shutdown returns although a download is suspended meanwhile`() async throws {
    let (gate, registry) = (Gate("the end of the attempt"), DownloadRegistry())
    let directory = try TemporaryDirectory()
    let members = DownloadMembers(try DownloadListFile(directory.path("list")))
    let (download, work) = try await stubborn(gate, registry: registry, members: members)
    let closed = Gate("shutdown")
    Task {
      await registry.close()
      closed.open()
    }
    _ = try await work.stops.first("the end of the downloader") { $0 == 1 ? () : nil }
    download.suspend()
    gate.open()
    try await closed.wait(within: .seconds(10))
  }

  /// 1. A download is suspended. 2. Before it has stopped, the downloader ends.
  @Test func `shutdown keeps what is about to be suspended`() async throws {
    let (gate, registry) = (Gate("the end of the attempt"), DownloadRegistry())
    let (download, work) = try await stubborn(gate, registry: registry)
    let data = try Self.data()
    download.saved(data)
    download.suspend()
    let closed = Gate("shutdown")
    Task {
      await registry.close()
      closed.open()
    }
    _ = try await work.stops.first("the end of the downloader") { $0 == 2 ? () : nil }
    gate.open()
    try await closed.wait()
    #expect(!download.isCancelled && download.resumeData == data && work.discarded.value.isEmpty)
  }

  /// The attempt has decided to keep the partial file, and has not told yet that it is over.
  @Test func `cancelled at the very end of a failure, nothing is left`() async throws {
    let data = try Self.data()
    for isPaused in [true, false] {
      let work = Work { download, _ in
        download.saved(data)
        if isPaused { download.beginPause() }
        #expect(download.keepsPart(after: TransferError(.interrupted, "broken")))
        download.cancel()
        return isPaused ? Self.cancelled : Self.broken
      }
      let download = Download(Self.request, work: work)
      download.enter()
      _ = await download.result
      #expect(work.discarded.value == [data])
      #expect(download.resumeData == nil)
    }
  }

  @Test func `a failure that would be tried again does not end a suspended download`()
    async throws
  {
    let work = Work { download, attempt in
      guard attempt == 1 else { return Self.complete }
      download.suspend()
      return Self.broken
    }
    let download = Download(Self.retrying, work: work)
    download.enter()
    try await eventually("the suspension") { download.state != .running }
    #expect(download.state == .paused)
    download.resume()
    #expect(await download.result == Self.complete)
  }

  @Test func `a download cancelled between two attempts is let go of`() async throws {
    weak var left: Download?
    do {
      let work = Work { _, _ in
        var error = TransferError(.http5xx, "busy")
        error.retryAfter = .seconds(3600)
        return .failure(error)
      }
      let download = Download(Self.retrying, work: work)
      left = download
      download.enter()
      for await event in download.events { if case .retrying = event { break } }
      download.cancel()
      _ = await download.result
    }
    try await eventually("the download to go", within: .seconds(10)) { left == nil }
  }

  // MARK: - Events

  private final class Monitor: DownloadMonitor {
    let words = Watched<[String]>([])
    let entered = Gate("the event")
    let gate = Gate("the monitor")

    /// It is slow to hear that a download is paused.
    func handle(_ event: DownloadEvent, of download: Download) {
      if case .state(.paused) = event {
        entered.open()
        try? gate.waitBlocking(within: .seconds(20))
      }
      words.update { $0.append(Self.word(event)) }
    }

    static func word(_ event: DownloadEvent) -> String {
      switch event {
      case .state(let state): "\(state)"
      case .finished: "the end"
      default: "else"
      }
    }
  }

  @Test func `a monitor hears one event after another, in their order`() async throws {
    let monitor = Monitor()
    let gate = DownloadGate(limit: 1)
    gate.configure { $0.isSuspended = true }
    let work = Work { _, _ in Self.complete }
    let download = Download(Self.request, work: work, gates: [gate], monitors: [monitor])
    download.enter()
    let events = download.events
    Thread { download.suspend() }.start()
    try await monitor.entered.wait()
    download.resume()
    download.cancel()
    #expect(monitor.words.value == [])
    monitor.gate.open()
    _ = await download.result
    let words = ["paused", "waiting", "finished", "the end"]
    #expect(monitor.words.value == words)
    var seen: [String] = []
    for await event in events { seen.append(Monitor.word(event)) }
    #expect(seen == ["waiting"] + words)
  }

  /// A disk that was too slow to be waited for.
  @Test func `nothing follows the end`() async throws {
    let monitor = Monitor()
    let download = Download(
      Self.request, work: Work { _, _ in Self.complete }, monitors: [monitor])
    download.enter()
    _ = await download.result
    download.saved(try Self.data())
    download.tell(.saved(try Self.data()))
    #expect(monitor.words.value == ["running", "finished", "the end"])
    #expect(download.resumeData == nil)
  }

  private final class Canceller: DownloadMonitor {
    func handle(_ event: DownloadEvent, of download: Download) {
      download.suspend()
      download.resume()
      download.priority += 1
      if case .state(.running) = event { download.cancel() }
    }
  }

  @Test func `a monitor may steer what it is told of`() async throws {
    let work = Work { _, _ in Self.cancelled }
    let download = Download(
      Self.request, work: work, gates: [DownloadGate(limit: 1)], monitors: [Canceller()])
    download.enter()
    _ = await download.result
    #expect(download.isCancelled)
  }
}
