public import FoundationEssentials
import HaulSystem
import Synchronization

/// A queue of downloads with a concurrency limit. Downloads start by priority, then in the order in which they were added.
///
///     let queue = DownloadQueue(try Downloader(), maxConcurrent: 2)
///     let downloads = requests.map { queue.start($0) }
///
/// Each is a ``Download`` with its own progress, pause and end, while it waits for its turn as well. They go
/// on when the queue is let go of. Where only results matter, ``Downloading/downloads(_:maxConcurrent:continueAfterFailure:)``
/// starts each download only when its turn comes, even in a long list.
public final class DownloadQueue: Downloading {
  private let downloader: any Downloading
  private let gate: DownloadGate
  private let members: DownloadMembers

  /// An empty queue. Others may use the same downloader; their downloads do not count here.
  ///
  /// `downloader` may be a fake. The queue then asks it for a download when its turn has come, and takes care of
  /// ``DownloadOptions/retry`` and ``DownloadOptions/timeout`` itself.
  ///
  /// - Precondition: `maxConcurrent` is positive.
  public init(_ downloader: any Downloading, maxConcurrent: Int = 4) {
    precondition(maxConcurrent > 0, "no download would ever start")
    self.downloader = downloader
    gate = DownloadGate(limit: maxConcurrent)
    members = DownloadMembers(nil)
  }

  /// A queue whose downloads outlive the process: they are kept in the file `list`, with what is durable of each. The file is
  /// read here, and its downloads are started again; those that were paused are paused again. Blocks.
  ///
  /// A download stays in the list until it is complete, cancelled or removed. One that has failed is tried again when the list is
  /// read, and where it fails again it is still among ``downloads``. One whose file has got its name is complete, also if the
  /// process was killed before the list said so.
  ///
  /// Relative paths become absolute when a download is added: a later process may have another working directory. Partial files
  /// of the list's targets that no download uses and no entry needs are removed. The file holds URLs, which may be secrets, and
  /// only its owner may read it. What proves who asks (credentials, logins), hooks, proxies and rate limits are not in it:
  /// `restoring` may add them to what was read. A POST or PUT is never in the list. If `isSuspended`, nothing begins before
  /// ``isSuspended`` is set to false.
  ///
  /// - Precondition: `maxConcurrent` is positive.
  /// The list is taken until ``Downloader/shutdown()`` returns, or until the queue is let go of and its last download has ended.
  ///
  /// - Throws: `pathConflict` where another queue has the list, or its path names no file; `io` where the file cannot be read or is no list.
  public init(
    _ downloader: any Downloading, maxConcurrent: Int = 4, list: String, isSuspended: Bool = false,
    restoring: (inout DownloadRequest) -> Void = { _ in }
  ) throws(TransferError) {
    precondition(maxConcurrent > 0, "no download would ever start")
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

  /// The number of downloads at a time; 1 is one after another. A lower number ends nothing that runs. To begin none, set
  /// ``isSuspended``.
  ///
  /// - Precondition: A new value is positive.
  public var maxConcurrent: Int {
    get { gate.limits.total }
    set {
      precondition(newValue > 0, "no download would ever start")
      gate.configure { $0.limit = newValue }
    }
  }

  /// The number of downloads at a time from one host and port; nil for no such limit. Redirects do not count.
  ///
  /// - Precondition: A new value is positive or nil.
  public var maxConcurrentPerHost: Int? {
    get { gate.limits.perHost }
    set {
      precondition(newValue ?? 1 > 0, "no download would ever start")
      gate.configure { $0.limitPerHost = newValue }
    }
  }

  /// Whether no download begins. What runs goes on.
  public var isSuspended: Bool {
    get { gate.limits.isSuspended }
    set { gate.configure { $0.isSuspended = newValue } }
  }

  // MARK: - Downloads

  /// The downloads that are not over, in the order in which they were added. With a list, also those that have failed or were
  /// ended by ``Download/pause()``: they stay until they are retried, cancelled or removed.
  public var downloads: [Download] { members.all }

  /// Adds a download and returns at once. With `data` it continues a paused or broken one.
  public func start(_ request: DownloadRequest, from data: ResumeData?) -> Download {
    add(request, from: data, priority: 0)
  }

  /// Adds a download and returns at once. The highest priority begins first; 0 is usual.
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

  /// Asks the queue's downloader, without waiting for a turn.
  public func data(
    from url: String, options: DownloadOptions
  ) async throws -> (Data, DownloadResponse) {
    try await downloader.data(from: url, options: options)
  }

  /// Asks the queue's downloader, without waiting for a turn.
  public func head(_ url: String, options: DownloadOptions) async throws -> DownloadResponse {
    try await downloader.head(url, options: options)
  }

  /// Adds a download again that has failed, was cancelled or was ended by ``Download/pause()``, and takes the old one out of
  /// the list. The new one continues what the old one has kept. A download that has not ended, or is complete, is returned as it
  /// is.
  @discardableResult
  public func retry(_ download: Download) -> Download {
    guard download.hasFailed else { return download }
    let again = add(
      download.request, from: download.resumeData, priority: download.priority)
    members.forget(download)
    return again
  }

  /// Cancels all unfinished downloads like ``Download/cancel()``. Downloads that you add later are not affected.
  public func cancelAll() {
    endAll { $0.cancel() }
  }

  /// Suspends all unfinished downloads like ``Download/suspend()``.
  public func suspendAll() {
    endAll { $0.suspend() }
  }

  /// Continues all suspended downloads.
  public func resumeAll() {
    for download in members.unfinished { download.resume() }
  }

  /// Pauses all unfinished downloads and returns when they have ended. No other download begins meanwhile.
  ///
  /// If a download had not begun or cannot be continued, its ``Download/resumeData`` is nil, and its ``Download/request``
  /// says how to begin again.
  ///
  /// - Returns: those, in the order in which they were added.
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

  /// Cancels a download, if it is not over, and takes it out of the list; if `deletingFile`, also removes the file of a complete
  /// one. Returns when the partial file is removed. It stays if another download continues it.
  ///
  /// Only the file that the download has made is deleted. One that was there before and counts as the result (`.skip`) stays, and
  /// so does one that has taken the name since.
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

  /// Returns when the list is written as it is now, durably. Without a list nothing is done. It is also written by itself, within
  /// a second of each change, and by ``Downloader/shutdown()``, after which nothing is written any more.
  ///
  /// - Throws: `diskFull`, `io` and the like, where the list cannot be written. What is written is the list before.
  public func save() async throws(TransferError) { try await members.save() }
}
