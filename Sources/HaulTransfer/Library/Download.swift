import HaulSystem
import Synchronization

/// One download, like a task of URLSession: it continues even if no one waits for it.
///
/// | call | the partial file | ``state`` |
/// |---|---|---|
/// | ``cancel()`` | is removed | `finished` |
/// | ``pause()`` | is kept for ``resumeData`` | `finished` |
/// | ``suspend()`` | is kept, and ``resume()`` continues it | `paused` |
/// | a failure | is kept for ``resumeData`` where it can be continued | `finished` |
/// | ``Downloader/shutdown()`` | is removed, unless the download is paused, suspended or in a list | `finished` |
///
/// After ``Downloader/shutdown()`` the partial files of failed downloads are gone as well, unless they are in a list.
///
/// The next program that reads a list starts what failed, ran or was ended by ``pause()``. What was suspended is suspended again until
/// ``resume()``.
///
/// All calls may be made from any thread, at any time, and again.
public final class Download: Sendable {
  /// How the run under way is to end.
  enum Wish: Sendable, Equatable {
    case complete, suspend, pause, timeOut, cancel

    /// A wish replaces one of a lower rank. A caller that waits for an end must get one:
    ///   `pause()` waits → another thread calls `suspend()` → the download must end all the same.
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
    /// ``resume()`` came while a suspension was under way.
    var isResumed = false
    /// It was suspended when ``pause()`` or the downloader ended it: a list keeps it as paused.
    var endedSuspended = false
    var priority: Int
    /// The stay in the gates, and how many have let it in. A ticket with another number means nothing any more.
    var stay = 0
    var passed = 0
    var failures = RetryPolicy.Failures()
    /// What is durable.
    var saved: ResumeData?
    var response: DownloadResponse?
    /// The path that was chosen below the directory that was asked for; nil before.
    var chosenName: String?
    var meter = RateMeter()
    var spent = Spent()
    /// Once it is over, or between two attempts.
    var last: (bytes: Int64, total: Int64?) = (0, nil)
    var result: Result<DownloadedFile, TransferError>?
    /// The file that it has made; nil before, and where an older file counts as the result.
    var published: FileIdentity?
    /// What ``DownloadOptions/validate`` threw.
    var refusal: (any Error)?
    var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
    var observers: [Int: AsyncStream<DownloadEvent>.Continuation] = [:]
    /// Sends progress to the observers; nil while there is none.
    var ticker: Task<Void, Never>?
    /// What it sent last.
    var sentProgress: DownloadProgress?
    var keys = 0
    /// Events that the monitors have not received yet, and whether a thread is delivering them.
    var outbox: [DownloadEvent] = []
    var isTelling = false
    /// Whether every monitor has received the end.
    var isTold = false
    var timer: Task<Void, Never>?
    /// Waits for the time of the next attempt.
    var retry: Task<Void, Never>?
    /// Removes the partial file after the last attempt.
    var removal: Task<Void, Never>?

    mutating func key() -> Int {
      keys += 1
      return keys
    }

    /// Whether ``suspend()`` was the last word.
    var isSuspended: Bool {
      phase == .paused || endedSuspended || (phase == .running && wish == .suspend && !isResumed)
    }
  }

  /// What was asked for.
  public let request: DownloadRequest
  /// `name` or `name:port` of the URL's host; empty where the URL cannot be read.
  let host: String
  let work: any DownloadWork
  let gates: [DownloadGate]
  let monitors: [any DownloadMonitor]
  let registry: DownloadRegistry?
  /// Those of its queue.
  let members: DownloadMembers?
  let shared: Mutex<State>

  /// A download that ``enter()`` starts.
  init(
    _ request: DownloadRequest, from data: ResumeData? = nil, work: any DownloadWork,
    gates: [DownloadGate] = [], monitors: [any DownloadMonitor] = [],
    registry: DownloadRegistry? = nil, members: DownloadMembers? = nil, priority: Int = 0
  ) {
    self.request = request
    self.work = work
    self.gates = gates
    self.monitors = monitors
    self.registry = registry
    self.members = members
    host = (try? WebURL(request.url, schemes: WebURL.knownSchemes).hostKey) ?? ""
    var state = State(priority: priority)
    state.saved = data
    if request.isDirectory { state.chosenName = data?.checkpoint.chosenName }
    shared = Mutex(state)
  }

  deinit { registry?.remove(ObjectIdentifier(self)) }

  // MARK: - The result

  /// The file, complete and durable under its name. Waits until the download ends, also while it is paused.
  ///
  /// - Throws: `CancellationError` at once when the task that waits is cancelled, while the download goes on; what
  ///   ``DownloadOptions/validate`` threw; else a ``TransferError``, of class `cancelled` after ``cancel()``, ``pause()`` or the
  ///   downloader's end.
  public var value: DownloadedFile {
    get async throws {
      await untilFinishedOrCancelled()
      guard let result = currentResult else { throw CancellationError() }
      if let refusal = shared.withLock({ $0.refusal }) { throw refusal }
      return try result.get()
    }
  }

  /// The file, or why there is none. Waits for the download, also when the task that waits is cancelled.
  public var result: Result<DownloadedFile, TransferError> {
    get async {
      await untilFinished()
      return currentResult ?? .failure(TransferError(.cancelled, "the download never began"))
    }
  }

  /// The file, or why there is none; nil until the download has ended. Does not wait.
  public var currentResult: Result<DownloadedFile, TransferError>? { shared.withLock { $0.result } }

  /// Whether it has ended without its file.
  var hasFailed: Bool {
    if case .failure? = currentResult { true } else { false }
  }

  /// The present state. It changes when the network and the disk have stopped, not when the call returns that asks for it.
  public var state: DownloadState { shared.withLock { $0.phase } }

  /// The order among downloads that wait: the highest first, then the order of their start. 0 unless set. Changing it ends
  /// nothing that runs.
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

  /// What the download can be continued from: after a failure or ``pause()``, and, for a program that may be killed, while it
  /// runs or is paused. While it runs, they come within a second of the first bytes, then every 64 MiB or 5 s, whichever is
  /// first; they may be used once the process is gone.
  ///
  /// Nil after a success or ``cancel()``, and where the download cannot be continued: the server gives no length, or no
  /// validator that is strong enough.
  public var resumeData: ResumeData? {
    shared.withLock { $0.saved.flatMap { $0.bytes > 0 ? $0 : nil } }
  }

  /// The last response whose body was taken; nil before the first, and for FTP. For another one, such as a 404, see
  /// ``TransferError/fields`` and ``TransferError/body``.
  public var response: DownloadResponse? { shared.withLock { $0.response } }

  // MARK: - Steering

  /// Ends the download and removes its partial file, also after ``pause()`` or a failure, unless another download of the same
  /// downloader continues it. It removes nothing of a complete download.
  public func cancel() { end(.cancel) }

  /// Ends the download and keeps what can be continued. Returns after the download has ended.
  ///
  /// - Returns: nil where the download was complete or cannot be continued. Then no partial file is left.
  public func pause() async -> ResumeData? {
    beginPause()
    await untilFinished()
    return resumeData
  }

  /// Begins what ``pause()`` does, and returns without waiting for the end.
  func beginPause() { end(.pause) }

  /// Stops the download until ``resume()``. It keeps its durable bytes and gives its place to the next download; ``value`` keeps
  /// waiting. A finished download does not change.
  ///
  /// If the program drops its last reference to a suspended download, the download ends and its partial file stays.
  public func suspend() { end(.suspend) }

  /// Continues a suspended download, which waits for its turn again. Other downloads do not change.
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
  /// Whether both are the same object.
  public static func == (one: Download, other: Download) -> Bool { one === other }

  /// Hashes the identity.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
