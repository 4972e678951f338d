import Synchronization

/// The work of a download when its turn has come: downloading a file, running a script, or using another downloader.
protocol DownloadWork: Sendable {
  /// Runs one attempt, and reports progress and durable bytes to the download.
  func attempt(_ download: Download) async -> Result<DownloadedFile, TransferError>

  /// Ends the attempt in progress as `cancelled`. Does nothing if no attempt is in progress.
  func stop()

  /// The progress of the current attempt; nil if no attempt is in progress.
  var progress: AttemptProgress? { get }

  /// Removes the partial file.
  func discard(_ data: ResumeData) async

  /// Removes the complete file, if it is still the file with this identity.
  func remove(_ file: DownloadedFile, _ identity: FileIdentity, of request: DownloadRequest) async
}

extension DownloadWork {
  func remove(_ file: DownloadedFile, _ identity: FileIdentity, of request: DownloadRequest) async {
  }
}

/// The progress of an attempt.
struct AttemptProgress: Sendable {
  var bytes: Int64 = 0
  var total: Int64?
  /// The bytes received over the network.
  var fetched: Int64 = 0
  /// When bytes could first arrive, and when the last bytes arrived; nil before any arrived.
  var received: (since: ContinuousClock.Instant, last: ContinuousClock.Instant)?
  /// The rate in bytes per second; nil if the download must compute it from ``fetched``.
  var rate: Double?
}

/// Runs the attempts of a queue's download with another downloader, such as a fake.
final class RelayWork: DownloadWork {
  private struct Run: Sendable {
    weak var outer: Download?
    let inner: Download
  }

  private let downloader: any Downloading
  /// The last attempt.
  private let run = Mutex<Run?>(nil)

  init(_ downloader: any Downloading) { self.downloader = downloader }

  func attempt(_ download: Download) async -> Result<DownloadedFile, TransferError> {
    var request = download.request
    // The outer download already handles both.
    (request.options.retry, request.options.timeout) = (nil, nil)
    let inner = downloader.start(request, from: download.shared.withLock { $0.saved })
    let events = inner.events
    run.withLock { $0 = Run(outer: download, inner: inner) }
    if download.shared.withLock({ $0.wish != .complete }) { stop() }
    if let response = inner.response { relay(.response(response), to: download) }
    for await event in events { relay(event, to: download) }
    let result = await inner.result
    let (saved, refusal, published) = inner.shared.withLock {
      ($0.saved, $0.refusal, $0.published)
    }
    if let saved { download.saved(saved) } else { download.forgetSaved() }
    if let progress { download.remember(progress) }
    download.shared.withLock { ($0.refusal, $0.published) = (refusal, published) }
    return result
  }

  /// Passes an event of the inner download to the outer download. Ignores changes of the state and the end: the outer download
  /// sends its own.
  private func relay(_ event: DownloadEvent, to download: Download) {
    switch event {
    case .response(let response):
      // If the response came before the first event, `attempt(_:)` has already passed it on.
      guard download.response != response else { return }
      download.shared.withLock { $0.response = response }
      download.tell(event)
    case .redirected: download.tell(event)
    case .progress(let progress): download.shared.withLock { $0.send(progress) }
    case .saved(let data): download.saved(data)
    case .state, .retrying, .finished: break
    }
  }

  func stop() {
    guard let run = run.withLock(\.self) else { return }
    if run.outer?.isCancelled == true { run.inner.cancel() } else { run.inner.beginPause() }
  }

  var progress: AttemptProgress? {
    run.withLock(\.self).map {
      let progress = $0.inner.currentProgress
      return AttemptProgress(
        bytes: progress.bytes, total: progress.expected, fetched: $0.inner.metrics.received,
        rate: progress.rate)
    }
  }

  func discard(_ data: ResumeData) async {
    guard let inner = run.withLock(\.self)?.inner else { return }
    inner.cancel()
    await inner.untilRemoved()
  }

  func remove(_ file: DownloadedFile, _ identity: FileIdentity, of request: DownloadRequest) async {
    await run.withLock(\.self)?.inner.work.remove(file, identity, of: request)
  }
}
