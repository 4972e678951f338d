import Glibc
import HaulSystem

/// Downloads files over HTTP and HTTPS in constant memory: one file, or many with a concurrency limit.
///
///     let downloader = try Downloader()
///     let file = try await downloader.download("https://example.org/a.iso", to: "a.iso")
///
/// A file gets its name when it is complete, checked and durable. Until then its bytes are in a hidden file in the same
/// directory. Haul resumes after a broken connection, and never mixes two versions of a file.
///
/// You may call every function from any thread. One downloader is enough for a whole program.
public final class Downloader: Downloading {
  /// Limits and rules that apply to all downloads of a downloader.
  public typealias Configuration = DownloaderConfiguration

  let engine: Engine
  let io: IOPool
  private let gate: DownloadGate
  private let registry = DownloadRegistry()
  private let monitor: (any DownloadMonitor)?

  /// Creates a downloader, with a thread for the network and four for the disk. The threads end when the downloader and its
  /// downloads are released. `monitor` receives the events of every download, except progress.
  ///
  /// - Precondition: ``DownloaderConfiguration/maxConcurrent`` is positive.
  /// - Throws: `io` if the system does not provide the threads; `io` or `notPermitted` if
  ///   ``DownloaderConfiguration/caFile`` or ``DownloaderConfiguration/knownHosts`` cannot be read.
  public init(
    _ configuration: Configuration = Configuration(), monitor: (any DownloadMonitor)? = nil
  ) throws(TransferError) {
    precondition(configuration.maxConcurrent > 0, "the limit must be at least 1")
    try Self.requireReadable(configuration.caFile, "the CA file", "caFile")
    try Self.requireReadable(configuration.knownHosts, "the known hosts file", "knownHosts")
    engine = try Engine(configuration)
    io = try translating(try IOPool(threads: 4))
    gate = DownloadGate(limit: configuration.maxConcurrent)
    self.monitor = monitor
  }

  /// Checks that a file can be read. libcurl would report a failure only at the first connection, and without the path.
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
      throw .file(errno, "cannot read \(what) \(path)")
    }
  }

  /// Starts a download and returns immediately. If ``DownloaderConfiguration/maxConcurrent`` other downloads are already
  /// running, the download waits for its turn. ``Download/value`` throws the errors.
  public func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
    start(request, from: data, behind: nil, members: nil, priority: 0)
  }

  /// Starts a download that must first pass the gate of its queue.
  func start(
    _ request: DownloadRequest, from data: ResumeData?, behind other: DownloadGate?,
    members: DownloadMembers?, id: String? = nil, priority: Int
  ) -> Download {
    let url = try? WebURL(request.url, schemes: WebURL.knownSchemes)
    let work = FileWork(engine, io, url: url, base: DownloadTarget.base(of: request.path))
    let download = Download(
      request, host: url?.hostKey ?? "", from: data, work: work,
      gates: [other, gate].compactMap(\.self), monitors: [monitor].compactMap(\.self),
      registry: registry, members: members, priority: priority)
    members?.add(download, id: id)
    if registry.add(download) { download.enter() } else { download.beginPause() }
    return download
  }

  /// Registers the list of a queue, which ``shutdown()`` then writes.
  func keep(_ list: DownloadMembers) { registry.add(list) }

  /// Returns whether an unfinished download continues the partial file with this name, or will continue it.
  func continues(_ part: String) -> Bool { registry.continues(part) }

  /// Ends all downloads as `cancelled`. Returns when the partial files of these downloads are removed and all connections are
  /// closed. The partial files of failed downloads are removed as well.
  ///
  /// Suspended downloads, downloads that ``Download/pause()`` has ended, and downloads in the list of a queue keep their
  /// partial files. Queues write their lists for the last time and unlock them, so that other queues may use the lists. A
  /// program needs no other call before it ends. Downloads that you start later end as `cancelled`, too. A second call is not
  /// an error.
  public func shutdown() async {
    // Otherwise, each download that ends would let a waiting download start.
    gate.configure { $0.isSuspended = true }
    await registry.close { [io] in await FileWork.discard($0, io) }
    await engine.shutdown()
  }
}
