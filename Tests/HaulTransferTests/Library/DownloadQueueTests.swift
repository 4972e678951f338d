import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Downloads that wait for their turn.
@Suite(.timeLimit(.minutes(5)))
struct DownloadQueueTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  private let origin: OriginServer
  private let half = Gate("the second half")
  private let source = TestSupport.Representation(seed: 6, length: 300_000)

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    var slow = source
    slow.gates = [150_000: half]
    let (slowly, source) = (slow, source)
    origin = try OriginServer { request, reply in
      switch request.path.prefix(5) {
      case "/slow": try slowly.answer(request, reply)
      case "/none": try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      default: try source.answer(request, reply)
      }
    }
  }

  private func request(_ name: String) -> DownloadRequest {
    DownloadRequest(origin.url("/\(name)"), to: directory.path(name))
  }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  private var asked: [String] { origin.log.value.exchanges.map(\.request.path) }

  private func half(_ download: Download) async throws {
    for await progress in download.progress where progress.bytes == 150_000 { return }
    Issue.record("the download ended before its half")
  }

  private func failure(_ download: Download) async -> TransferError.Class? {
    await #expect(throws: TransferError.self) { try await download.value }?.errorClass
  }

  @Test(arguments: [1, 3])
  func `they begin in order, no more at a time than the cap`(_ cap: Int) async throws {
    let queue = DownloadQueue(downloader, maxConcurrent: cap)
    let names = (0..<3).map { "slow\($0)" } + (0..<20).map { "file\($0)" }
    let downloads = names.map { queue.start(request($0)) }
    for download in downloads.prefix(cap) { try await half(download) }
    #expect(asked.sorted() == names.prefix(cap).map { "/\($0)" })
    half.open()
    for download in downloads { #expect(try await download.value.bytes == 300_000) }
    #expect(origin.log.value.peak == cap)
    #expect(cap > 1 || asked == names.map { "/\($0)" })
    #expect(try files == names.sorted())
  }

  @Test func `one that fails, is cancelled or waits no more gives its turn to the next`()
    async throws
  {
    let queue = DownloadQueue(downloader, maxConcurrent: 1)
    let names = ["slow", "none", "waiting", "file"]
    let downloads = names.map { queue.start(request($0)) }
    try await half(downloads[0])
    downloads[2].cancel()
    #expect(await failure(downloads[2]) == .cancelled)
    #expect(asked == ["/slow"])
    downloads[0].cancel()
    #expect(await failure(downloads[0]) == .cancelled)
    #expect(await failure(downloads[1]) == .http404)
    _ = try await downloads[3].value
    // No turn was lost or won: one at a time, still.
    let last = ["slow1", "slow2"].map { queue.start(request($0)) }
    try await half(last[0])
    #expect(asked == ["/slow", "/none", "/file", "/slow1"])
    half.open()
    for download in last { _ = try await download.value }
    #expect(try files == ["file", "slow1", "slow2"])
  }

  @Test func `all paused, none begins, and each goes on`() async throws {
    let first = DownloadQueue(downloader, maxConcurrent: 1)
    let slow = first.start(request("slow"))
    try await half(slow)
    let data = try #require(await slow.pause())

    let queue = DownloadQueue(downloader, maxConcurrent: 1)
    let downloads = [
      queue.start(request("slow1")), queue.start(request("file")),
      queue.start(resumingFrom: data, to: directory.path("slow")),
    ]
    try await half(downloads[0])
    let paused = await queue.pauseAll()
    #expect(paused.elementsEqual(downloads, by: ===))
    // The last one waited: what it was to go on from is still there.
    #expect(paused.map { $0.resumeData?.bytes } == [150_000, nil, 150_000])
    #expect(paused.map(\.request.path) == ["slow1", "file", "slow"].map(directory.path))
    #expect(asked == ["/slow", "/slow1"])
    #expect(try files.count == 2)

    half.open()
    for download in paused {
      let path = download.request.path
      let again =
        download.resumeData.map { queue.start(resumingFrom: $0, to: path) }
        ?? queue.start(download.request)
      #expect(try await again.value.bytes == 300_000)
    }
    #expect(try files == ["file", "slow", "slow1"])
    let ranges = origin.log.value.exchanges.map { $0.request[field: "Range"] }
    #expect(ranges == [nil, nil, "bytes=145904-299999", nil, "bytes=145904-299999"])
  }

  @Test func `all cancelled, nothing is left, and the queue goes on`() async throws {
    let queue = DownloadQueue(downloader, maxConcurrent: 2)
    let downloads = (0..<100).map { queue.start(request("slow\($0)")) }
    try await half(downloads[0])
    try await half(downloads[1])
    queue.cancelAll()
    for download in downloads { #expect(await failure(download) == .cancelled) }
    #expect(asked.sorted() == ["/slow0", "/slow1"])
    #expect(try files.isEmpty)
    half.open()
    _ = try await queue.start(request("file")).value
    #expect(try files == ["file"])
    #expect(await queue.pauseAll().isEmpty)
  }

  @Test func `nothing keeps a queue whose downloads are over`() async throws {
    weak var left: DownloadQueue?
    do {
      let queue = DownloadQueue(downloader, maxConcurrent: 1)
      left = queue
      _ = try await queue.start(request("file")).value
    }
    try await eventually("the queue to go") { left == nil }
  }
}
