import Foundation
import HaulTransfer
import TestSupport
import Testing

/// What a program learns of a download besides its file.
@Suite(.timeLimit(.minutes(5)))
struct ObservingTests {
  @Test func `progress is an event, and comes once more before the end`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    var (seen, last): ([Int64], DownloadEvent?) = ([], nil)
    for await event in download.events {
      if case .progress(let progress) = event {
        seen.append(progress.bytes)
        if progress.bytes == LibraryBench.length / 2 { bench.half.open() }
      }
      last = event
    }
    #expect(seen.last == LibraryBench.length && seen == seen.sorted())
    guard case .finished(.success)? = last else { throw Unexpected() }
  }

  /// However quick the download was.
  @Test func `the last progress comes before the states of the end`() async throws {
    let bench = try LibraryBench()
    let queue = DownloadQueue(bench.downloader)
    queue.isSuspended = true
    let download = queue.start(bench.request("file"))
    let events = download.events
    queue.isSuspended = false
    var words: [String] = []
    for await event in events {
      switch event {
      case .progress(let progress): words.append("\(progress.bytes)")
      case .state(let state): words.append("\(state)")
      case .finished: words.append("end")
      default: break
      }
    }
    #expect(words.suffix(3) == ["\(LibraryBench.length)", "finished", "end"], "\(words)")
  }

  @Test func `those who follow the events keep no download alive`() async throws {
    let bench = try LibraryBench()
    var download: Download? = bench.start("slow")
    weak let held = download
    let events = download?.events
    let isSuspended = Gate("the suspension")
    let following = Task {
      for await event in events ?? AsyncStream(unfolding: { nil }) {
        if case .state(.paused) = event { isSuspended.open() }
      }
    }
    download?.suspend()
    try await isSuspended.wait()
    download = nil
    try await eventually("the download to be gone") { held == nil }
    following.cancel()
    await following.value
  }

  @Test func `the result without waiting, and what the download took`() async throws {
    let bench = try LibraryBench()
    let download = bench.start("slow")
    try await bench.half(download)
    #expect(download.currentResult == nil && download.metrics.attempts == 1)
    #expect(download.metrics.received == LibraryBench.length / 2)
    download.suspend()
    try await bench.state(.paused, of: download)
    let paused = download.metrics
    bench.half.open()
    download.resume()
    let file = try await download.value
    #expect(try download.currentResult?.get() == file)
    let metrics = download.metrics
    #expect(metrics.attempts == 2 && metrics.received >= LibraryBench.length)
    #expect(metrics.activeTime > paused.activeTime && metrics.averageRate > 0)
    #expect(metrics == download.metrics)
  }

  @Test func `an error has the answer's head and the beginning of its body`() async throws {
    let directory = try TemporaryDirectory()
    let origin = try OriginServer { _, reply in
      try reply.head(
        "HTTP/1.1 422 No\nContent-Type: application/json\nX-Request-Id: 17\nContent-Length: 14")
      try reply.body(#"{"error":"no"}"#)
    }
    let downloader = try Downloader(.test)
    for name in ["a", "b"] {
      let error = await #expect(throws: TransferError.self) {
        try await downloader.download(origin.url("/\(name)"), to: directory.path(name))
      }
      #expect(error?.status == 422)
      #expect(error?.fields.first { $0.isNamed("x-request-id") }?.value == "17")
      #expect(error.map { String(decoding: $0.body, as: UTF8.self) } == #"{"error":"no"}"#)
    }
    #expect(origin.log.value.connections == 1)
  }

  @Test func `the name that the server suggests`() {
    func name(_ fields: HeaderField...) -> String? {
      DownloadResponse(url: "https://a.test/get?id=7", fields: fields).suggestedFileName
    }
    #expect(name() == nil)
    #expect(
      name(HeaderField("content-disposition", "attachment; filename=\"a b.zip\"")) == "a b.zip")
    #expect(name(HeaderField("Content-Disposition", "attachment; filename=../../etc/x")) == "x")
  }

  // MARK: - Resume data that a program makes

  @Test func `resume data are codable, and the parts of a value`() throws {
    struct Saved: Codable, Equatable {
      var title: String
      var data: ResumeData
    }
    let saved = Saved(
      title: "one",
      data: ResumeData(
        url: "https://a.test/1", partialFile: "/data/.1.haul-part-x", bytes: 5, expected: 9))
    let read = try JSONDecoder().decode(Saved.self, from: JSONEncoder().encode(saved))
    #expect(read == saved)
    #expect(read.data.bytes == 5 && read.data.expected == 9 && read.data.url == "https://a.test/1")
    #expect(read.data.partialFile == "/data/.1.haul-part-x")
    #expect(try ResumeData(json: read.data.json()) == read.data)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(ResumeData.self, from: Data("{\"version\":1}".utf8))
    }
  }

  @Test(arguments: ["mine", ".mine.haul-part-1"])
  func `a file that is no partial file of this download is neither used nor removed`(
    _ name: String
  ) async throws {
    let bench = try LibraryBench()
    let path = bench.directory.path(name)
    try Data("mine".utf8).write(to: URL(filePath: path))
    let data = ResumeData(
      url: bench.origin.url("/slow"), partialFile: path, bytes: 4, expected: LibraryBench.length)
    let download = bench.downloader.start(resumingFrom: data, to: bench.directory.path("slow"))
    try await bench.half(download)
    download.cancel()
    _ = await download.result
    let waiting = DownloadQueue(bench.downloader, maxConcurrent: 1)
    waiting.isSuspended = true
    let second = waiting.start(bench.request("slow"), from: data)
    second.cancel()
    _ = await second.result
    await bench.downloader.shutdown()
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
    #expect(try bench.files == [name])
    bench.half.open()
  }

  private struct Unexpected: Error {}
}
