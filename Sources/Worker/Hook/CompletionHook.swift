import FoundationEssentials
import Glibc
import HaulTransfer
import JobQueue
import Log
import Stores
import Synchronization

/// Runs the operator's command after each completed job, while transfers continue.
///
/// The command runs at most once per completion, after the database has recorded the completion. If the worker dies in between,
/// the command does not run. Transfers never wait for the command: if ``most`` jobs already wait for their command, Haul skips
/// it for further jobs and logs that.
final class CompletionHook: Sendable {
  /// The number of concurrent commands.
  static let concurrency = 4
  /// The maximum number of jobs that wait for their command.
  static let most = 10_000
  /// The time after which a running command is killed.
  static let limit = Duration.seconds(600)
  /// This long after the start of a drain, running commands are killed and waiting commands are skipped.
  static let drainTime = Duration.seconds(20)

  /// A completed job, with the data for the command.
  private struct Completed: Sendable {
    let job: Int64
    let path: String
    let environment: [String: String]
  }

  private struct State {
    /// The jobs that this worker ended and whose end the database has not recorded yet. The key is the token.
    var unsettled: [Int64: Completed] = [:]
    /// The jobs that wait for their command, in the order in which the database recorded their ends, from index `first` on.
    var waiting: [Completed] = []
    var first = 0
    var running: [Int64: HookProcess] = [:]
    /// The number of commands that run or are about to run.
    var places = 0
    var isOver = false
    var waiter: CheckedContinuation<Void, Never>?

    var isIdle: Bool { places == 0 && first == waiting.count }
  }

  private let command: String
  /// The absolute path of each store's directory. The key is the store.
  private let directories: [String: String]
  private let logger: Logger
  private let state = Mutex(State())

  init(_ command: String, stores: [StoreMount], logger: Logger) {
    self.command = command
    self.logger = logger
    directories = Dictionary(
      stores.map { ($0.name, Self.absolute($0.directory)) }, uniquingKeysWith: { first, _ in first }
    )
  }

  /// Records a completed job whose file is published but whose end the database has not recorded yet.
  func ended(_ lease: Lease, _ ending: LeaseEnding) {
    guard ending.result == .completed else { return }
    let completed = Completed(
      job: lease.job, path: ending.path ?? lease.path, environment: environment(lease, ending))
    state.withLock { $0.unsettled[lease.token] = completed }
  }

  /// Records the database's answer to the end of a lease. The command runs only for completed jobs, not after the lease was
  /// lost.
  func settled(_ token: Int64, isCompleted: Bool) {
    let skipped = state.withLock { state -> (Completed, reason: String)? in
      guard let completed = state.unsettled.removeValue(forKey: token), isCompleted else {
        return nil
      }
      if state.isOver { return (completed, "the worker is stopping") }
      if state.waiting.count - state.first >= Self.most {
        return (completed, "10,000 commands are already waiting")
      }
      state.waiting.append(completed)
      return nil
    }
    if let skipped { skip(skipped.0, skipped.reason) }
    startNext()
  }

  /// Makes ``finish()`` return within ``drainTime`` from now. Called when the worker is drained.
  func hurry() {
    Task {
      try? await Task.sleep(for: Self.drainTime)
      let (left, running, waiter) = state.withLock { state in
        let left = Array(state.waiting[state.first...])
        (state.waiting, state.first, state.isOver) = ([], 0, true)
        let waiter = state.places == 0 ? state.waiter : nil
        if waiter != nil { state.waiter = nil }
        return (left, Array(state.running.values), waiter)
      }
      left.forEach { skip($0, "the worker is stopping") }
      running.forEach { $0.kill() }
      waiter?.resume()
    }
  }

  /// Returns when no command runs or waits. Call this only once.
  func finish() async {
    await withCheckedContinuation { continuation in
      let isIdle = state.withLock { state in
        if !state.isIdle { state.waiter = continuation }
        return state.isIdle
      }
      if isIdle { continuation.resume() }
    }
  }

  // MARK: - The commands

  private func startNext() {
    while let next = takeNext() { run(next) }
  }

  private func takeNext() -> Completed? {
    state.withLock { state in
      guard state.places < Self.concurrency, state.first < state.waiting.count else { return nil }
      defer {
        state.first += 1
        state.places += 1
        // Drop finished jobs once they make up half of the array.
        if state.first * 2 >= state.waiting.count {
          state.waiting.removeSubrange(..<state.first)
          state.first = 0
        }
      }
      return state.waiting[state.first]
    }
  }

  private func run(_ completed: Completed) {
    let line = logger.with((.job, LogValue(completed.job)), (.path, LogValue(completed.path)))
    let began = ContinuousClock.now
    let process: HookProcess
    do throws(HookProcess.Failure) {
      process = try HookProcess(command, completed.environment)
    } catch {
      line.warning(.hookFailed, (.reason, LogValue("cannot start the command: \(error.reason)")))
      return leave(completed)
    }
    let isOver = state.withLock { state in
      state.running[completed.job] = process
      return state.isOver
    }
    if isOver { process.kill() }
    Task {
      let limit = Task {
        if (try? await Task.sleep(for: Self.limit)) != nil { process.kill() }
      }
      let exit = await process.exit()
      limit.cancel()
      let time = (LogField.seconds, LogValue(ContinuousClock.now - began))
      switch exit {
      case .code(0): line.info(.hookDone, time)
      case .code(let code): line.warning(.hookFailed, (.code, LogValue(code)), time)
      case .signal(let number): line.warning(.hookFailed, (.signal, LogValue(number)), time)
      }
      leave(completed)
      startNext()
    }
  }

  private func leave(_ completed: Completed) {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.running[completed.job] = nil
      state.places -= 1
      guard state.isIdle else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }?.resume()
  }

  private func skip(_ completed: Completed, _ reason: String) {
    logger.warning(
      .hookSkipped, (.job, LogValue(completed.job)), (.path, LogValue(completed.path)),
      (.reason, LogValue(reason)))
  }

  // MARK: - The command's environment

  /// Returns the command's environment variables. They contain no secrets: the URL is redacted.
  private func environment(_ lease: Lease, _ ending: LeaseEnding) -> [String: String] {
    let path = ending.path ?? lease.path
    var variables = [
      "HAUL_JOB": "\(lease.job)", "HAUL_QUEUE": lease.queue, "HAUL_STORE": lease.store,
      "HAUL_HOST": lease.host, "HAUL_PATH": path, "HAUL_BATCH": lease.batch ?? "",
      "HAUL_URL": (try? WebURL(lease.url, schemes: WebURL.knownSchemes))?.redacted ?? "",
      "HAUL_DIGEST": ending.digest ?? "", "HAUL_BYTES": "\(ending.bytes ?? 0)",
      "HAUL_FETCHED": "\(ending.fetched ?? 0)",
    ]
    if let directory = directories[lease.store] { variables["HAUL_FILE"] = "\(directory)/\(path)" }
    return variables
  }

  private static func absolute(_ directory: String) -> String {
    guard let found = unsafe realpath(directory, nil) else { return directory }
    defer { unsafe free(found) }
    return unsafe String(cString: found)
  }
}
