import Foundation
import HaulTransfer
import TestSupport
import Testing

/// Code that downloads, tested without a network: what an article shows.
struct FakeTests {
  /// The code to be tested takes whatever starts downloads.
  private struct Updater {
    let downloader: any Downloading

    func update() async throws -> String {
      let file = try await downloader.download("https://example.org/new.zip", to: "new.zip")
      return "\(file.bytes) bytes"
    }
  }

  private struct FakeDownloader: Downloading {
    let script: @Sendable (DownloadScript) async throws -> DownloadedFile

    func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
      Download(request, script: script)
    }
  }

  @Test func `a success and a failure`() async throws {
    let good = FakeDownloader { DownloadedFile(path: $0.request.path, bytes: 7) }
    #expect(try await Updater(downloader: good).update() == "7 bytes")
    let bad = FakeDownloader { _ in throw TransferError(.http404, "not found", status: 404) }
    let error = await #expect(throws: TransferError.self) {
      try await Updater(downloader: bad).update()
    }
    #expect(error?.status == 404)
    let results = good.downloads([DownloadRequest("https://a.test/1", to: "1")])
    for await ended in results { #expect(try ended.result.get().path == "1") }
  }

  @Test func `each progress that a script sends is an event`() async throws {
    let begin = Gate("the observer")
    let download = Download(DownloadRequest("https://a.test/1", to: "1")) { script in
      try await begin.wait()
      for part in 1...4 {
        script.send(DownloadProgress(bytes: Int64(part) * 25, expected: 100))
      }
      return DownloadedFile(path: "1", bytes: 100)
    }
    let events = download.events
    begin.open()
    var seen: [Int64] = []
    for await event in events {
      if case .progress(let progress) = event { seen.append(progress.bytes) }
    }
    // The progress before may come first, a quarter of a second after the start.
    if seen.first == 0 { seen.removeFirst() }
    #expect(seen == [25, 50, 75, 100, 100])
  }

  @Test func `progress, events, cancellation, suspension`() async throws {
    let runs = Watched(0)
    let gate = Gate("the end")
    let download = Download(DownloadRequest("https://a.test/1", to: "1")) { script in
      runs.update { $0 += 1 }
      script.send(DownloadProgress(bytes: 5, expected: 10, rate: 2.5))
      script.send(.response(DownloadResponse(url: "https://b.test/1", status: 200)))
      try await gate.wait()
      return DownloadedFile(path: "1", bytes: 10)
    }
    for await progress in download.progress where progress.bytes == 5 {
      #expect(progress.rate == 2.5 && progress.fractionCompleted == 0.5)
      break
    }
    try await eventually("the response") { download.response?.url == "https://b.test/1" }
    download.suspend()
    for await event in download.events { if case .state(.paused) = event { break } }
    download.resume()
    try await runs.first("the second run") { $0 == 2 ? () : nil }
    gate.open()
    #expect(try await download.value.bytes == 10)

    let never = Gate("never")
    let data = ResumeData(
      url: "https://a.test/3", partialFile: "/data/.3", bytes: 5, expected: 10)
    let paused = Download(DownloadRequest("https://a.test/3", to: "3")) { script in
      script.send(.saved(data))
      script.send(.progress(DownloadProgress(bytes: 6, expected: 10)))
      try await never.wait()
      return DownloadedFile(path: "3", bytes: 10)
    }
    for await progress in paused.progress where progress.bytes == 6 { break }
    #expect(await paused.pause() == data)

    let cancelled = Download(DownloadRequest("https://a.test/2", to: "2")) { _ in
      try await never.wait()
      return DownloadedFile(path: "2", bytes: 1)
    }
    cancelled.cancel()
    let error = await #expect(throws: TransferError.self) { try await cancelled.value }
    #expect(error?.errorClass == .cancelled)
  }

  // MARK: - A manager over a fake

  private struct FakeServer: Downloading {
    let gate: Gate
    let runs: Watched<[String]>

    func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
      Download(request) { script in
        runs.update { $0.append("\(script.request.path) \(data?.bytes ?? 0)") }
        script.send(.response(DownloadResponse(url: request.url, status: 203)))
        script.send(DownloadProgress(bytes: 5, expected: 10))
        script.send(
          .saved(ResumeData(url: request.url, partialFile: "/.p", bytes: 5, expected: 10)))
        if request.path.hasSuffix("bad") { throw TransferError(.connect, "no answer") }
        try await gate.wait()
        return DownloadedFile(path: request.path, bytes: 10)
      }
    }

    func head(_ url: String, options: DownloadOptions) async throws -> DownloadResponse {
      DownloadResponse(url: url, fields: options.fields)
    }
  }

  @Test func `a queue keeps its limit and order over a fake`() async throws {
    let fake = FakeServer(gate: Gate("the end"), runs: Watched([]))
    let queue = DownloadQueue(fake, maxConcurrent: 1)
    let one = queue.start(DownloadRequest("https://a.test/1", to: "1"))
    let two = queue.start(DownloadRequest("https://a.test/2", to: "2"))
    let urgent = queue.start(DownloadRequest("https://a.test/3", to: "3"), priority: 1)
    for await progress in one.progress where progress.bytes == 5 { break }
    #expect(one.state == .running && two.state == .waiting && urgent.state == .waiting)
    try await eventually("the response") { one.response?.status == 203 }
    // It gives its place to the next, and goes on with its bytes.
    one.suspend()
    try await fake.runs.first("the urgent one") { $0.count == 2 ? () : nil }
    one.resume()
    two.cancel()
    fake.gate.open()
    #expect(try await one.value.bytes == 10)
    #expect(try await urgent.value.path == "3")
    #expect(fake.runs.value == ["1 0", "3 0", "1 5"])
    #expect(queue.downloads.isEmpty)
  }

  @Test func `a queue over a fake retries, pauses and is listed`() async throws {
    let directory = try TemporaryDirectory()
    let fake = FakeServer(gate: Gate("the end"), runs: Watched([]))
    let list = directory.path("list")
    do {
      let queue = try DownloadQueue(fake, list: list)
      var bad = DownloadRequest("https://a.test/bad", to: "bad")
      var policy = RetryPolicy()
      policy.maxAttempts = 2
      bad.options.retry = policy
      let failing = queue.start(bad)
      let events = failing.events
      let paused = queue.start(DownloadRequest("https://a.test/4", to: "4"))
      for await progress in paused.progress where progress.bytes == 5 { break }
      #expect(await paused.pause()?.bytes == 5)
      for await event in events { if case .retrying = event { break } }
      failing.cancel()
      _ = await failing.result
      try await queue.save()
    }
    let again = Watched<DownloadQueue?>(nil)
    try await eventually("the list to be free") {
      let queue = try? DownloadQueue(fake, list: list)
      again.update { $0 = queue }
      return queue != nil
    }
    let download = try #require(again.value?.downloads.first)
    fake.gate.open()
    #expect(try await download.value.path.hasSuffix("/4"))
  }

  @Test func `a fake may answer without a file, and says what it lacks`() async throws {
    let fake = FakeServer(gate: Gate("the end"), runs: Watched([]))
    let queue: any Downloading = DownloadQueue(fake)
    #expect(try await queue.head("https://a.test/5").url == "https://a.test/5")
    let error = await #expect(throws: TransferError.self) {
      try await queue.data(from: "https://a.test/5")
    }
    #expect(error?.message == "FakeServer does not implement data(from:options:)")
    let origin = try OriginServer { _, reply in try reply.text("hello") }
    let real: any Downloading = DownloadQueue(try Downloader(.test))
    #expect(try await real.data(from: origin.url("/")).0 == Data("hello".utf8))
  }

  /// So that a list of a user interface can show them, and a set can hold them.
  @Test func `a download is equal to itself alone`() {
    let request = DownloadRequest("https://a.test/1", to: "1")
    let one = Download(request) { DownloadedFile(path: $0.request.path, bytes: 1) }
    let other = Download(request) { DownloadedFile(path: $0.request.path, bytes: 1) }
    #expect(one == one && one != other && one.id != other.id)
    #expect(Set([one, other, one]).count == 2)
  }
}
