public import FoundationEssentials
import HaulSystem
import Synchronization

/// A queue of downloads with a concurrency limit. Downloads start by priority, then in the order in which they were added.
///
///     let queue = DownloadQueue(try Downloader(), maxConcurrent: 2)
///     let downloads = requests.map { queue.start($0) }
///
/// Each download is a ``Download``: you can observe, pause and cancel it separately, even while it waits for its turn.
/// Downloads continue after the queue is released. If you need only the results, use
/// ``Downloading/downloads(_:maxConcurrent:continueAfterFailure:)``, which starts each download only when its turn comes, even
/// in a long list.
public final class DownloadQueue: Downloading {
  private let downloader: any Downloading
  private let gate: DownloadGate
  private let members: DownloadMembers

  /// Creates an empty queue. Other code may use the same downloader; downloads that other code starts do not count towards the
  /// queue's limit.
  ///
  /// `downloader` may be a fake for your tests: see ``Downloading``. The queue then calls the fake's
  /// ``Downloading/start(_:from:)`` when the turn of a download comes. The queue itself handles ``DownloadOptions/retry`` and
  /// ``DownloadOptions/timeout``.
  ///
  /// - Precondition: `maxConcurrent` is positive.
  public init(_ downloader: any Downloading, maxConcurrent: Int = 4) {
    precondition(maxConcurrent > 0, "the limit must be at least 1")
    self.downloader = downloader
    gate = DownloadGate(limit: maxConcurrent)
    members = DownloadMembers(nil)
  }

  /// Creates a queue whose downloads outlive the process. The file `list` keeps the downloads and their resume data. This
  /// initialiser reads the file and starts the listed downloads again; suspended downloads are suspended again. Blocks.
  ///
  /// A download stays in the list until it is complete, cancelled or removed. Reading the list retries failed downloads. If a
  /// download fails again, it stays in ``downloads``. A download whose file has its final name is complete, even if the process
  /// was killed before it updated the list.
  ///
  /// Relative paths become absolute when a download is added, because a later process may have another working directory. This
  /// initialiser also removes unused partial files: files that belong to a path in the list, but that no download uses and no
  /// entry needs. The list holds URLs, which may be secrets, so only the owner of the list file may read it. The list does not
  /// hold credentials, logins, functions such as ``DownloadOptions/validate``, proxies or rate limits. `restoring` may add
  /// these options to each request that was read. A POST or PUT is never in the list. If `isSuspended` is true, no download
  /// begins until you set ``isSuspended`` to false.
  ///
  /// The queue keeps the list locked until ``Downloader/shutdown()`` returns, or until the queue is released and its last
  /// download has ended.
  ///
  /// - Precondition: `maxConcurrent` is positive.
  /// - Throws: `pathConflict` if another queue uses the list, or its path names no file; `io` if the file cannot be read or is
  ///   not a list.
  public init(
    _ downloader: any Downloading, maxConcurrent: Int = 4, list: String, isSuspended: Bool = false,
    restoring: (inout DownloadRequest) -> Void = { _ in }
  ) throws(TransferError) {
    precondition(maxConcurrent > 0, "the limit must be at least 1")
    self.downloader = downloader
    gate = DownloadGate(limit: maxConcurrent)
    let file = try DownloadListFile(list)
    let entries = try file.read()
    let left = entries.filter { !$0.isComplete }
    let real = downloader as? Downloader
    // A fake has no partial files.
    if let real {
      DownloadTarget.discardParts(of: entries, keepingThoseOf: left) { real.continues($0) }
    }
    members = DownloadMembers(file)
    real?.keep(members)
    gate.configure { $0.isSuspended = isSuspended }
    gate.holding {
      members.restoring {
        for entry in left {
          var request = entry.request
          restoring(&request)
          let download = add(
            request, from: entry.resumeData, id: entry.id, priority: entry.priority)
          if entry.isPaused { download.suspend() }
        }
      }
    }
  }

  deinit { members.letGo() }

  // MARK: - Limits

  /// The maximum number of concurrent downloads; 1 means one after another. A lower number does not stop running downloads. To
  /// start no downloads, set ``isSuspended``.
  ///
  /// - Precondition: A new value is positive.
  public var maxConcurrent: Int {
    get { gate.limits.total }
    set {
      precondition(newValue > 0, "the limit must be at least 1")
      gate.configure { $0.limit = newValue }
    }
  }

  /// The maximum number of concurrent downloads from one host and port; nil for no limit per host. The hosts of redirects do
  /// not count.
  ///
  /// - Precondition: A new value is positive or nil.
  public var maxConcurrentPerHost: Int? {
    get { gate.limits.perHost }
    set {
      precondition(newValue ?? 1 > 0, "the limit must be at least 1")
      gate.configure { $0.limitPerHost = newValue }
    }
  }

  /// Whether the queue is suspended: it starts no downloads, and running downloads continue.
  public var isSuspended: Bool {
    get { gate.limits.isSuspended }
    set { gate.configure { $0.isSuspended = newValue } }
  }

  // MARK: - Downloads

  /// The unfinished downloads, in the order in which they were added. If the queue has a list, the array also contains
  /// downloads that failed or that ``Download/pause()`` ended. These stay until they are retried, cancelled or removed.
  public var downloads: [Download] { members.all }

  /// Adds a download and returns immediately. Pass `data` to continue a paused or interrupted download.
  public func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
    add(request, from: data, priority: 0)
  }

  /// Adds a download and returns immediately. The download with the highest priority begins first; the default priority is 0.
  @discardableResult
  public func start(_ request: DownloadRequest, priority: Int) -> Download {
    add(request, from: nil, priority: priority)
  }

  private func add(
    _ request: DownloadRequest, from data: ResumeData?, id: String? = nil, priority: Int
  ) -> Download {
    var request = request
    // The next process may have another working directory.
    if members.areListed, !request.isURL, let base = DownloadTarget.base(of: request.path) {
      request.path = DownloadTarget.absolute(request.path, from: base)
    }
    if let downloader = downloader as? Downloader {
      return downloader.start(
        request, from: data, behind: gate, members: members, id: id, priority: priority)
    }
    let download = Download(
      request, from: data, work: RelayWork(downloader), gates: [gate], members: members,
      priority: priority)
    members.add(download, id: id)
    download.enter()
    return download
  }

  /// Downloads a small body with the queue's downloader, without waiting for a turn.
  public func data(
    from url: String, options: DownloadOptions
  ) async throws -> (Data, DownloadResponse) {
    try await downloader.data(from: url, options: options)
  }

  /// Sends a HEAD request with the queue's downloader, without waiting for a turn.
  public func head(_ url: String, options: DownloadOptions) async throws -> DownloadResponse {
    try await downloader.head(url, options: options)
  }

  /// Retries `download` if it failed, was cancelled or was ended by ``Download/pause()``. Adds and returns a new download,
  /// which continues from the old resume data, and removes the old download from the list. If `download` has not ended, or is
  /// complete, this function returns `download` unchanged.
  @discardableResult
  public func retry(_ download: Download) -> Download {
    guard download.hasFailed else { return download }
    let again = add(
      download.request, from: download.resumeData, priority: download.priority)
    members.forget(download)
    return again
  }

  /// Cancels all unfinished downloads, as ``Download/cancel()`` does. Downloads that you add later are not affected.
  public func cancelAll() {
    endAll { $0.cancel() }
  }

  /// Suspends all unfinished downloads, as ``Download/suspend()`` does.
  public func suspendAll() {
    endAll { $0.suspend() }
  }

  /// Continues all suspended downloads.
  public func resumeAll() {
    for download in members.unfinished { download.resume() }
  }

  /// Pauses all unfinished downloads and returns when they have ended. None of the waiting downloads starts meanwhile.
  ///
  /// If a download had not begun or cannot be continued, its ``Download/resumeData`` is nil. Use its ``Download/request`` to
  /// start from the beginning.
  ///
  /// - Returns: The downloads that were unfinished, in the order in which they were added.
  public func pauseAll() async -> [Download] {
    let downloads = endAll { $0.beginPause() }
    for download in downloads { await download.untilFinished() }
    return downloads
  }

  @discardableResult
  private func endAll(_ end: (Download) -> Void) -> [Download] {
    let downloads = members.unfinished
    gate.holding { downloads.forEach(end) }
    return downloads
  }

  /// Removes a download from the queue, and cancels the download if it has not ended. Returns when the partial file is removed.
  /// The partial file stays if another download continues it.
  ///
  /// If `deletingFile` is true, the function also deletes the complete file, but only if this download created it. An older
  /// file that was accepted as the result (`.skip`) stays. A newer file that has replaced the complete file stays, too.
  public func remove(_ download: Download, deletingFile: Bool = false) async {
    download.cancel()
    let result = await download.result
    await download.untilRemoved()
    members.forget(download)
    if deletingFile, case .success(let file) = result,
      let identity = download.shared.withLock({ $0.published })
    {
      await download.work.remove(file, identity, of: download.request)
    }
  }

  /// Writes the list, and returns when the list is durable. Does nothing for a queue without a list. The queue also writes the
  /// list within a second of each change. ``Downloader/shutdown()`` writes it for the last time.
  ///
  /// - Throws: `diskFull`, `io` or a similar error if the list cannot be written. The previous list stays.
  public func save() async throws(TransferError) { try await members.save() }
}
