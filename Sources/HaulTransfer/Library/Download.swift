import HaulSystem
import Synchronization

/// One download, like a task of URLSession: it continues even if no one waits for it.
///
/// | call | the partial file | ``state`` |
/// |---|---|---|
/// | ``cancel()`` | is removed | `finished` |
/// | ``pause()`` | is kept for ``resumeData`` | `finished` |
/// | ``suspend()`` | is kept, and ``resume()`` continues it | `paused` |
/// | a failure | is kept for ``resumeData`` if the download can be continued | `finished` |
/// | ``Downloader/shutdown()`` | is removed, with the exceptions below | `finished` |
///
/// ``Downloader/shutdown()`` keeps the partial files of suspended downloads, of downloads that ``pause()`` has ended, and of
/// downloads in the list file of a ``DownloadQueue``. All other downloads lose their partial files, even after a failure.
///
/// The next process that reads the list file restarts the downloads that failed, were running or were ended by ``pause()``.
/// Suspended downloads stay suspended until ``resume()``.
///
/// You may call every function from any thread, at any time, and more than once.
public final class Download: Sendable {
  /// How the current run should end.
  enum Wish: Sendable, Equatable {
    case complete, suspend, pause, timeOut, cancel

    /// The rank of the wish. A wish replaces only a wish of a lower rank, because a caller that waits for an end must not wait
    /// forever. For example, another thread may call `suspend()` while `pause()` waits; the download must end nevertheless.
    var rank: Int {
      switch self {
      case .complete: 0
      case .suspend: 1
      case .pause, .timeOut: 2
      case .cancel: 3
      }
    }
  }

  struct State: Sendable {
    var phase = DownloadState.waiting
    var wish = Wish.complete
    /// Whether ``resume()`` was called while a suspension was in progress.
    var isResumed = false
    /// Whether the download was suspended when ``pause()`` or the downloader ended it. A list then records the download as
    /// paused.
    var endedSuspended = false
    var priority: Int
    /// The number of the latest stay in the gates, and the number of gates that have admitted the download during this stay. A
    /// ticket with another stay number is invalid.
    var stay = 0
    var passed = 0
    var failures = RetryPolicy.Failures()
    /// The resume data for the durable bytes.
    var saved: ResumeData?
    var response: DownloadResponse?
    /// The path of the file below the requested directory, chosen from the response or the URL; nil before it is chosen.
    var chosenName: String?
    var meter = RateMeter()
    var spent = Spent()
    /// The last known number of bytes, and the length of the file in bytes.
    var last: (bytes: Int64, total: Int64?) = (0, nil)
    var result: Result<DownloadedFile, TransferError>?
    /// The identity of the file that the download created. Nil before the file exists, or if an older file counts as the
    /// result.
    var published: FileIdentity?
    /// The error that the program's own function threw, such as ``DownloadOptions/validate``; nil if it threw none.
    var refusal: (any Error)?
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var observers: [Int: AsyncStream<DownloadEvent>.Continuation] = [:]
    /// The task that sends progress to the observers; nil while there is no observer.
    var ticker: Task<Void, Never>?
    /// The progress that was last sent; nil before the first.
    var sentProgress: DownloadProgress?
    var keys = 0
    /// Events that the monitors have not received yet, and whether a thread is delivering them.
    var outbox: [DownloadEvent] = []
    var isTelling = false
    /// Whether every monitor has received the final event.
    var isTold = false
    var timer: Task<Void, Never>?
    /// The task that waits until the next attempt is due; nil if none is scheduled.
    var retry: Task<Void, Never>?
    /// The task that removes the partial file after the last attempt.
    var removal: Task<Void, Never>?

    mutating func key() -> Int {
      keys += 1
      return keys
    }

    /// Whether the download is suspended, is being suspended, or was suspended when it ended.
    var isSuspended: Bool {
      phase == .paused || endedSuspended || (phase == .running && wish == .suspend && !isResumed)
    }
  }

  /// The request of the download.
  public let request: DownloadRequest
  /// The URL's host as `name` or `name:port`; empty if the URL cannot be parsed.
  let host: String
  let work: any DownloadWork
  let gates: [DownloadGate]
  let monitors: [any DownloadMonitor]
  let registry: DownloadRegistry?
  /// The downloads of this download's queue; nil without a queue.
  let members: DownloadMembers?
  let shared: Mutex<State>

  /// Creates a download. ``enter(after:)`` starts it. `host` is the URL's host if the caller has already parsed the URL;
  /// otherwise nil.
  init(
    _ request: DownloadRequest, host: String? = nil, from data: ResumeData? = nil,
    work: any DownloadWork,
    gates: [DownloadGate] = [], monitors: [any DownloadMonitor] = [],
    registry: DownloadRegistry? = nil, members: DownloadMembers? = nil, priority: Int = 0
  ) {
    self.request = request
    self.work = work
    self.gates = gates
    self.monitors = monitors
    self.registry = registry
    self.members = members
    self.host = host ?? (try? WebURL(request.url, schemes: WebURL.knownSchemes).hostKey) ?? ""
    var state = State(priority: priority)
    state.saved = data
    if request.isDirectory { state.chosenName = data?.checkpoint.chosenName }
    shared = Mutex(state)
  }

  deinit { registry?.remove(ObjectIdentifier(self)) }

  // MARK: - The result

  /// The file, once the file is complete and durable under its name. Waits until the download ends, even while the download is
  /// paused.
  ///
  /// - Throws: `CancellationError` immediately if the waiting task is cancelled; the download then continues. Otherwise throws
  ///   the error that ``DownloadOptions/validate`` threw, or a ``TransferError``. After ``cancel()``, ``pause()`` or
  ///   ``Downloader/shutdown()``, the class of the transfer error is `cancelled`.
  public var value: DownloadedFile {
    get async throws {
      await untilFinishedOrCancelled()
      guard let result = currentResult else { throw CancellationError() }
      if let refusal = shared.withLock({ $0.refusal }) { throw refusal }
      return try result.get()
    }
  }

  /// The file or the error. Waits until the download ends, even if the waiting task is cancelled.
  public var result: Result<DownloadedFile, TransferError> {
    get async {
      await untilFinished()
      return currentResult ?? .failure(TransferError(.cancelled, "the download never started"))
    }
  }

  /// The file or the error; nil until the download has ended. Does not wait.
  public var currentResult: Result<DownloadedFile, TransferError>? { shared.withLock { $0.result } }

  /// Whether the download has ended without its file.
  var hasFailed: Bool {
    if case .failure? = currentResult { true } else { false }
  }

  /// The state at this moment. After a call such as ``cancel()``, the state changes only when the download has stopped its work
  /// on the network and on the disk.
  public var state: DownloadState { shared.withLock { $0.phase } }

  /// The priority among waiting downloads. The highest priority starts first. Downloads with the same priority begin in the
  /// order in which you started or added them. Default: 0. A change does not stop running downloads.
  public var priority: Int {
    get { shared.withLock { $0.priority } }
    set {
      let place = shared.withLock { state -> (Int, Int)? in
        state.priority = newValue
        return state.phase == .waiting ? (state.passed, state.stay) : nil
      }
      members?.update(self)
      guard let (level, stay) = place, level < gates.count else { return }
      gates[level].prioritize(self, ticket(stay))
    }
  }

  /// The data for continuing the download after a failure or ``pause()``. If your program may be killed, also save the resume
  /// data while the download runs or is paused. While the download runs, new resume data arrive within a second of the first
  /// bytes, then every 64 MiB or 5 seconds, whichever is first. You may use the resume data of a running download only after
  /// the process that runs the download has ended.
  ///
  /// Nil before the first bytes are durable, and after a success or ``cancel()``. Also nil if the download cannot be continued:
  /// after a POST or PUT, or because the server gives no length, or no validator (ETag or Last-Modified) that is strong enough.
  public var resumeData: ResumeData? {
    shared.withLock { $0.saved.flatMap { $0.bytes > 0 ? $0 : nil } }
  }

  /// The last response with bytes of the file, even if ``DownloadOptions/validate`` refused it; nil before the first such
  /// response, and for FTP. For an error response, such as a 404, see ``TransferError/fields`` and ``TransferError/body``.
  public var response: DownloadResponse? { shared.withLock { $0.response } }

  // MARK: - Steering

  /// Ends the download and removes its partial file, even after ``pause()`` or a failure. The partial file stays if
  /// another download of the same downloader continues it. A complete file stays.
  public func cancel() { end(.cancel) }

  /// Ends the download, and keeps the partial file if the download can be continued. Returns after the download has ended.
  ///
  /// - Returns: The resume data; nil if the download was complete or cannot be continued. In these cases no partial file is
  ///   left.
  public func pause() async -> ResumeData? {
    beginPause()
    await untilFinished()
    return resumeData
  }

  /// Pauses the download as ``pause()`` does, but does not wait for its end.
  func beginPause() { end(.pause) }

  /// Stops the download until ``resume()``. The download keeps its durable bytes, and the next download may run
  /// instead. ``value`` keeps waiting. A finished download does not change.
  ///
  /// If the program drops its last reference to a suspended download, the download ends and its partial file stays.
  public func suspend() { end(.suspend) }

  /// Continues a suspended download, which waits for its turn again. If the download is not suspended, the call does nothing.
  public func resume() {
    let stay = shared.withLock { state -> Int? in
      if state.phase == .running, state.wish == .suspend { state.isResumed = true }
      guard state.phase == .paused else { return nil }
      state.change(to: .waiting)
      return state.stay
    }
    guard let stay else { return }
    enter(after: stay)
    deliver()
  }
}

extension Download: Identifiable, Hashable {
  /// Returns whether both values are the same download object.
  public static func == (one: Download, other: Download) -> Bool { one === other }

  /// Hashes the identity of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
