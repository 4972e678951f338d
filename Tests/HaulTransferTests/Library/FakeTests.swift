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
  /// So that a list of a user interface can show them, and a set can hold them.
  @Test func `a download is equal to itself alone`() {
    let request = DownloadRequest("https://a.test/1", to: "1")
    let one = Download(request) { DownloadedFile(path: $0.request.path, bytes: 1) }
    let other = Download(request) { DownloadedFile(path: $0.request.path, bytes: 1) }
    #expect(one == one && one != other && one.id != other.id)
    #expect(Set([one, other, one]).count == 2)
  }
}
