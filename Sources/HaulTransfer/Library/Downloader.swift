import Glibc
import HaulSystem

/// Downloads to files over HTTP and HTTPS, in constant memory: one, or many with a cap.
///
///     let downloader = try Downloader()
///     let file = try await downloader.download("https://example.org/a.iso", to: "a.iso")
///
/// A file gets its name when all of it is there, checked and durable; until then its bytes are in a
/// hidden file in the same directory. Broken connections are continued, never into a mixture of two
/// versions.
///
/// All calls may be made from any thread. One downloader serves a whole program.
public final class Downloader: Downloading {
  /// Limits and rules, the same for all downloads of a downloader.
  public typealias Configuration = DownloaderConfiguration

  let engine: Engine
  let io: IOPool
  private let gate: DownloadGate
  private let registry = DownloadRegistry()
  private let monitor: (any DownloadMonitor)?

  /// Starts a thread for the network and four for the disk. They end when the downloader and its downloads
  /// have gone. `monitor` receives every event of every download.
  ///
  /// - Precondition: ``DownloaderConfiguration/maxConcurrent`` is positive.
  /// - Throws: `io` where the system does not give them; `io` or `notPermitted` where ``DownloaderConfiguration/caFile`` or
  ///   ``DownloaderConfiguration/knownHosts`` cannot be read.
  public init(
    _ configuration: Configuration = Configuration(), monitor: (any DownloadMonitor)? = nil
  ) throws(TransferError) {
    precondition(configuration.maxConcurrent > 0, "no download would ever start")
    try Self.requireReadable(configuration.caFile, "the file of certificates", "caFile")
    try Self.requireReadable(configuration.knownHosts, "the file of known hosts", "knownHosts")
    engine = try Engine(configuration)
    io = try translating(try IOPool(threads: 4))
    gate = DownloadGate(limit: configuration.maxConcurrent)
    self.monitor = monitor
  }

  /// libcurl would say it at the first connection, and then without the path.
  private static func requireReadable(
    _ path: String?, _ what: String, _ name: String
  ) throws(TransferError) {
    guard let path else { return }
    guard !path.isEmpty else {
      throw TransferError(.io, "the path of \(what) (\(name)) is empty")
    }
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    defer { if file >= 0 { close(file) } }
    var byte: UInt8 = 0
    guard file >= 0, unsafe read(file, &byte, 1) >= 0 else {
      throw .file(errno, "\(what) \(path) cannot be read")
    }
  }

  /// Starts a download and returns at once. It waits for its turn while ``DownloaderConfiguration/maxConcurrent`` others run.
  /// Every error is that of ``Download/value``.
  public func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
    start(request, from: data, behind: nil, members: nil, priority: 0)
  }

  /// Starts one that has to pass a queue's gate first, as one of its members.
  func start(
    _ request: DownloadRequest, from data: ResumeData?, behind other: DownloadGate?,
    members: DownloadMembers?, id: String? = nil, priority: Int
  ) -> Download {
    let work = FileWork(engine, io, base: DownloadTarget.base(of: request.path))
    let download = Download(
      request, from: data, work: work,
      gates: [other, gate].compactMap(\.self), monitors: [monitor].compactMap(\.self),
      registry: registry, members: members, priority: priority)
    members?.add(download, id: id)
    if registry.add(download) { download.enter() } else { download.beginPause() }
    return download
  }

  /// Has a queue's list written by ``shutdown()``.
  func keep(_ list: DownloadMembers) { registry.add(list) }

  /// Whether a download that is not over continues the partial file of that name, or is to continue it.
  func continues(_ part: String) -> Bool { registry.continues(part) }

  /// Ends all downloads as `cancelled`, and returns when their partial files are removed and all connections are closed. The partial
  /// files of downloads that have failed are removed as well.
  ///
  /// Downloads that are paused, suspended or in the list of a queue keep their partial files. The lists are written and given up: another
  /// queue may have them, and these queues write no more. A program needs no other call before it ends. Later downloads end
  /// as `cancelled` too. A second call is no error.
  public func shutdown() async {
    // No download starts in the place of one that ends.
    gate.configure { $0.isSuspended = true }
    await registry.close { [io] in await FileWork.discard($0, io) }
    await engine.shutdown()
  }
}
