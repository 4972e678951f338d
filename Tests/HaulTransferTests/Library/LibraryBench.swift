import Foundation
import HaulTransfer
import TestSupport
import Testing

/// A directory, a downloader and an origin whose `/slow…` stops at its half until ``half`` opens. Everything else but `/none…` is
/// the same file.
struct LibraryBench {
  static let length: Int64 = 300_000

  let directory: TemporaryDirectory
  let downloader: Downloader
  let origin: OriginServer
  let half = Gate("the second half")

  init(
    _ configuration: Downloader.Configuration = .test, monitor: (any DownloadMonitor)? = nil
  ) throws {
    directory = try TemporaryDirectory()
    downloader = try Downloader(configuration, monitor: monitor)
    let source = TestSupport.Representation(seed: 8, length: Self.length)
    var slow = source
    slow.gates = [Self.length / 2: half]
    let slowly = slow
    origin = try OriginServer { request, reply in
      switch request.path.prefix(5) {
      case "/slow": try slowly.answer(request, reply)
      case "/none": try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      default: try source.answer(request, reply)
      }
    }
  }

  func request(_ name: String) -> DownloadRequest {
    DownloadRequest(origin.url("/\(name)"), to: directory.path(name))
  }

  func start(_ name: String) -> Download { downloader.start(request(name)) }

  var files: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  /// The targets that were asked for, in order.
  var asked: [String] { origin.log.value.exchanges.map(\.request.path) }

  /// Waits until half of the file is there.
  func half(_ download: Download) async throws {
    for await progress in download.progress where progress.bytes == Self.length / 2 { return }
    Issue.record("the download ended before its half")
  }

  /// Waits for the event, which may have come before.
  func state(_ state: DownloadState, of download: Download) async throws {
    for await event in download.events {
      if case .state(state) = event { return }
    }
    Issue.record("the download ended without being \(state)")
  }

  func isWhole(_ name: String) throws -> Bool {
    try FileTree.firstDifference(
      of: directory.path(name), from: Pattern(seed: 8), length: Self.length) == nil
  }
}

extension OriginReply {
  /// Answers with 200, these fields and this text.
  func text(fields: String = "X-Of: a test", _ text: String) throws {
    try answer("\(fields)\nContent-Length: \(text.utf8.count)", text)
  }
}
