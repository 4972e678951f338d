import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Several downloads with a cap.
@Suite(.timeLimit(.minutes(5)))
struct DownloadsTests {
  private let directory: TemporaryDirectory
  private let downloader: Downloader
  /// Before the answer for a path, its gate must be open.
  private let gates: [String: Gate]
  private let origin: OriginServer

  init() throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(.test)
    let gates = Dictionary(uniqueKeysWithValues: ["a", "b", "c", "d"].map { ($0, Gate($0)) })
    self.gates = gates
    origin = try OriginServer { request, reply in
      if let gate = gates[String(request.path.dropFirst())] { try reply.wait(for: gate) }
      if request.path == "/bad" {
        return try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      }
      try reply.answer("Content-Length: 5", "hello")
    }
  }

  private func requests(_ names: String...) -> [DownloadRequest] {
    names.map { DownloadRequest(origin.url("/\($0)"), to: directory.path($0)) }
  }

  private var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  private func open(_ name: String) { gates[name]?.open() }

  @Test func `results come in the order of completion`() async throws {
    var order: [String] = []
    open("c")
    for await ended in downloader.downloads(requests("a", "b", "c"), maxConcurrent: 3) {
      let path = try ended.result.get().path
      #expect(path == ended.request.path)
      order.append(String(path.suffix(1)))
      open(order.count == 1 ? "a" : "b")
    }
    #expect(order == ["c", "a", "b"])
    #expect(try files == ["a", "b", "c"])
  }

  @Test(arguments: [1, 2])
  func `no more at a time than the cap`(_ cap: Int) async throws {
    let list = requests("a", "b", "c", "d", "e", "f")
    var seen = 0
    let stream = downloader.downloads(list, maxConcurrent: cap)
    // As many as may have arrived before the first of them is answered.
    _ = try await origin.request(cap)
    for name in gates.keys { open(name) }
    for await ended in stream {
      #expect(throws: Never.self) { try ended.result.get() }
      seen += 1
    }
    #expect(seen == 6)
    #expect(origin.log.value.peak == cap)
    let asked = origin.log.value.exchanges.map(\.request.path)
    #expect(cap > 1 || asked == ["/a", "/b", "/c", "/d", "/e", "/f"])
  }

  @Test(arguments: [true, false])
  func `a failure ends the rest or does not`(_ goesOn: Bool) async throws {
    var classes: [TransferError.Class?] = []
    let list = requests("e", "bad", "f", "g")
    for await ended in downloader.downloads(
      list, maxConcurrent: 1, continueAfterFailure: goesOn)
    {
      if case .failure(let error) = ended.result {
        classes.append(error.errorClass)
      } else {
        classes.append(nil)
      }
    }
    #expect(classes == (goesOn ? [nil, .http404, nil, nil] : [nil, .http404]))
    #expect(try files == (goesOn ? ["e", "f", "g"] : ["e"]))
  }

  /// As at the top level of a program, where no iterator goes before the end.
  @Test func `where results are not taken no more downloads begin`() async throws {
    let bench = try LibraryBench()
    let list = (1...20).map { bench.request("\($0)") }
    let results = bench.downloader.downloads(list, maxConcurrent: 3)
    var iterator = results.makeAsyncIterator()
    try await eventually("three files") {
      try bench.files.count { !$0.hasPrefix(".") } == 3
    }
    #expect(await iterator.next() != nil)
    #expect(bench.asked.count == 3)
    // The first is done with when the second is asked for.
    #expect(await iterator.next() != nil)
    try await eventually("a fourth request") { bench.asked.count == 4 }
    results.cancel()
    while await iterator.next() != nil {}
    await bench.downloader.shutdown()
    #expect(bench.asked.count == 4)
  }

  @Test func `leaving the loop cancels the rest`() async throws {
    for await _ in downloader.downloads(requests("e", "a", "b", "f"), maxConcurrent: 3) { break }
    try await eventually("the part files to go") { try files == ["e"] }
    for name in gates.keys { open(name) }
    try await origin.log.first("all answers over") { $0.running == 0 ? () : nil }
    #expect(try files == ["e"])
  }

  @Test func `cancelling the task cancels all`() async throws {
    let list = requests("a", "b", "c")
    let task = Task { [downloader] in
      var count = 0
      for await _ in downloader.downloads(list, maxConcurrent: 2) { count += 1 }
      return count
    }
    _ = try await origin.request(2)
    task.cancel()
    #expect(await task.value == 0)
    await downloader.shutdown()
    for name in gates.keys { open(name) }
    #expect(origin.log.value.exchanges.count == 2)
    try await eventually("the part files to go") { try files.isEmpty }
  }

  @Test func `after a shutdown nothing is downloaded`() async throws {
    await downloader.shutdown()
    let error = await #expect(throws: TransferError.self) {
      try await downloader.download(origin.url("/e"), to: directory.path("e"))
    }
    #expect(error?.errorClass == .cancelled)
  }

  @Test func `as many at a time as there are`() async throws {
    let bench = try LibraryBench()
    let results = bench.downloader.downloads(
      ["a", "b", "c"].map(bench.request), maxConcurrent: .max)
    let count = Watched(0)
    let loop = Task { for await _ in results { count.update { $0 += 1 } } }
    _ = try await count.first("all results", within: .seconds(20)) { $0 == 3 ? () : nil }
    await loop.value
  }
}
