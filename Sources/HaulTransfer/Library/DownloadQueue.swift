import Synchronization

/// Downloads that begin in the order in which they are added, so many at a time.
///
///     let queue = DownloadQueue(try Downloader(), maxConcurrent: 2)
///     let downloads = requests.map { queue.start($0) }
///
/// Each is a ``Download`` with its own progress, pause and end, while it waits for its turn as well. They go
/// on when the queue is let go of. Where only results matter,
/// ``Downloader/downloads(_:maxConcurrent:continueAfterFailure:)`` starts nothing before its turn, however long
/// the list is.
public final class DownloadQueue: Sendable {
  private struct State: Sendable {
    /// The downloads that are not over, by the number of their place.
    var downloads: [Int: (download: Download, place: Place)] = [:]
    /// How many were added so far.
    var added = 0
    /// Downloads with a lower number have had their turn.
    var next = 0
    /// How many of the latter are not over.
    var running = 0
  }

  /// The number of downloads at a time; 1 is one after another.
  public let maxConcurrent: Int
  private let downloader: Downloader
  private let state = Mutex(State())

  /// An empty queue. Others may use the same downloader; their downloads do not count here.
  ///
  /// - Precondition: `maxConcurrent` is positive.
  public init(_ downloader: Downloader, maxConcurrent: Int = 4) {
    precondition(maxConcurrent > 0, "no download would ever start")
    self.downloader = downloader
    self.maxConcurrent = maxConcurrent
  }

  /// Adds a download and returns at once.
  @discardableResult
  public func start(_ request: DownloadRequest) -> Download {
    add(request, from: nil)
  }

  /// Adds one that goes on with a paused or broken download, as
  /// ``Downloader/download(resumingFrom:to:options:)`` does, and returns at once.
  @discardableResult
  public func start(
    resumingFrom data: ResumeData, to path: String, options: DownloadOptions = DownloadOptions()
  ) -> Download {
    add(DownloadRequest(data.url, to: path, options: options), from: data)
  }

  /// Cancels all that are not over, as ``Download/cancel()`` does. What is added later is not touched.
  public func cancelAll() {
    endAll { $0.cancel() }
  }

  /// Pauses all that are not over, and returns once they have ended. None begins in between.
  ///
  /// - Returns: those, in the order in which they were added. What is left of one is in its
  ///   ``Download/resumeData``; nil where it had not begun or cannot be resumed: its
  ///   ``Download/request`` says how to begin anew.
  public func pauseAll() async -> [Download] {
    let downloads = endAll { $0.beginPause() }
    for download in downloads { _ = await download.result }
    return downloads
  }

  /// Under the lock, since the end of one is the turn of the next.
  @discardableResult
  private func endAll(_ end: (Download) -> Void) -> [Download] {
    state.withLock { state in
      let downloads = state.downloads.sorted { $0.key < $1.key }.map(\.value.download)
      downloads.forEach(end)
      return downloads
    }
  }

  private func add(_ request: DownloadRequest, from data: ResumeData?) -> Download {
    state.withLock { state in
      let number = state.added
      let place = Place { self.left(number) }
      // It cannot be over before it is kept: its end waits for this lock.
      let download = Download(
        request, from: data, place: place, engine: downloader.engine, io: downloader.io)
      state.downloads[number] = (download, place)
      state.added += 1
      letIn(&state)
      return download
    }
  }

  private func left(_ number: Int) {
    state.withLock { state in
      state.downloads[number] = nil
      // One that was ended while it waited had no turn to give back.
      if number < state.next { state.running -= 1 }
      letIn(&state)
    }
  }

  private func letIn(_ state: inout State) {
    while state.running < maxConcurrent, state.next < state.added {
      if let place = state.downloads[state.next]?.place {
        state.running += 1
        place.skip()
      }
      state.next += 1
    }
  }

  /// A download's place in the line.
  struct Place: Sendable {
    /// Tells the queue that the download is over.
    let leave: @Sendable () -> Void
    private let gate = AsyncStream.makeStream(of: Never.self)

    init(leave: @escaping @Sendable () -> Void) {
      self.leave = leave
    }

    /// Returns when its turn has come, or it need not wait any more.
    func turn() async {
      for await _ in gate.stream {}
    }

    /// Ends the wait.
    func skip() { gate.continuation.finish() }
  }
}
