import HaulSystem
import JobQueue
import Log
import Postgres
import Synchronization

/// Keeps the worker's leases alive with heartbeats, and acts when they fail.
final class LeaseKeeper: Sendable {
  static let interval = Duration.seconds(2)
  /// The time that a lease must be certain to live before a rename.
  static let renameTime = Duration.seconds(5)

  private struct State {
    var clock: LeaseClock
    /// The tasks that wait for the next acknowledged heartbeat.
    var waiting: [CheckedContinuation<Void, Never>] = []
    var isClosed = false
    var peers = 0
  }

  private let runningJobs: RunningJobs
  private let logger: Logger
  private let state: Mutex<State>
  /// Held while the clock changes and the keeper acts on the change, so that the keeper acts on changes in their order.
  private let acting = Mutex(())
  private let wake = AsyncSignal()
  /// Called when the database asks this worker to drain.
  private let onDrain: @Sendable () -> Void
  /// Called when the worker has something to report, or may claim jobs again.
  private let onNews: @Sendable () -> Void
  /// Called when the leases may have expired.
  private let onFenced: @Sendable () -> Void

  init(
    runningJobs: RunningJobs, registered: ContinuousClock.Instant, expiry: Duration, logger: Logger,
    onDrain: @escaping @Sendable () -> Void, onNews: @escaping @Sendable () -> Void,
    onFenced: @escaping @Sendable () -> Void
  ) {
    self.runningJobs = runningJobs
    self.logger = logger
    self.onDrain = onDrain
    self.onNews = onNews
    self.onFenced = onFenced
    state = Mutex(State(clock: LeaseClock(sent: registered, expiry: expiry)))
  }

  /// Sends heartbeats until the task is cancelled.
  func run(_ database: Database) async {
    while !Task.isCancelled {
      await beat(database)
      await wake.wait(upTo: Self.interval)
    }
  }

  /// Checks the clock four times a second until the task is cancelled. So the keeper pauses or stops transfers in time, even
  /// while a heartbeat hangs or after the process was stopped.
  func watch() async {
    while !Task.isCancelled {
      change { $0.look(now: .now) }
      try? await Task.sleep(for: .milliseconds(250))
    }
  }

  /// Sends the next heartbeat now, because there are commands or because a task needs a confirmation.
  func beatNow() { wake.post() }

  /// Records that the control session was lost or is back.
  func session(isThere: Bool) {
    state.withLock { $0.clock.session(isThere: isThere) }
    if isThere { wake.post() }
  }

  /// Pauses transfers until a heartbeat has confirmed the leases, because the process is about to be stopped.
  func suspend() { change { $0.suspend() } }

  /// Returns whether the worker holds the lease `token` (``LeaseClock/holds(claimed:listed:now:)``) and the lease is certain to
  /// live long enough for a rename. Waits for a heartbeat if that is not certain yet. False if the lease is lost or the worker
  /// stops.
  func confirm(_ token: Int64) async -> Bool {
    while !Task.isCancelled {
      if let isOurs = isSure(of: token) { return isOurs }
      wake.post()
      await withCheckedContinuation { continuation in
        let isClosed = state.withLock { state in
          if !state.isClosed { state.waiting.append(continuation) }
          return state.isClosed
        }
        if isClosed { continuation.resume() }
      }
    }
    return false
  }

  /// Returns the answer of ``confirm(_:)`` if it needs no wait; otherwise nil. Does not block.
  func isSure(of token: Int64) -> Bool? {
    guard let run = runningJobs.run(token) else { return false }
    let isSure = state.withLock { state -> Bool? in
      let now = ContinuousClock.now
      let isSure =
        state.clock.holds(claimed: run.claimed, listed: run.listed, now: now)
        && state.clock.remaining(now: now) >= Self.renameTime
      return isSure ? true : state.isClosed ? false : nil
    }
    // Check this after the clock: a heartbeat abandons lost runs before it updates the clock.
    return run.isAbandoned ? false : isSure
  }

  /// Whether the worker's leases are confirmed. If not, the worker claims no jobs.
  var mayClaim: Bool { state.withLock { $0.clock.standing == .confirmed } }

  /// The number of other workers that could take the same jobs, from the last heartbeat.
  var peers: Int { state.withLock(\.peers) }

  /// Whether the worker's leases may have expired.
  var isFenced: Bool { state.withLock { $0.clock.standing == .fenced } }

  /// Ends all waits for a confirmation, and accepts no new ones.
  func close() {
    state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }.forEach { $0.resume() }
    wake.post()
  }

  private func beat(_ database: Database) async {
    if database.isCutOffFromWork {
      logger.warning(
        .databaseLost,
        (
          .reason,
          "this worker cannot save results, so it stops sending heartbeats, and other workers take over its jobs"
        ))
      return
    }
    let sent = ContinuousClock.now
    let (seen, holding, received) = runningJobs.report(now: sent)
    do {
      let reply = try await database.control.withConnection { connection in
        try await JobQueue(connection).heartbeat(
          database.caller, seen: seen, holding: holding, received: received)
      }
      take(reply, sent: sent)
    } catch let error as PostgresError {
      // If the task is cancelled, the worker has closed the session itself. That is no problem to report.
      if !Task.isCancelled {
        logger.warning(.databaseLost, (.reason, LogValue(error.description)))
      }
    } catch let error as JobQueueError {
      logger.error(.workerFenced, (.reason, LogValue(error.description)))
    } catch {
      // The task was cancelled: the worker stops.
    }
  }

  private func take(_ reply: HeartbeatReply, sent: ContinuousClock.Instant) {
    for token in reply.lost { runningJobs.run(token)?.abandon() }
    for command in reply.commands {
      guard let run = runningJobs.run(command.token) else { continue }
      run.logger.info(.commandReceived, (.command, LogValue(command.command)))
      run.stop()
    }
    runningJobs.release(unlisted: reply.unlisted)
    if reply.draining { onDrain() }
    let isBack = !mayClaim
    change { $0.acknowledged(sent: sent, expiry: .seconds(reply.expiry), now: .now) }
    if isBack || !reply.unlisted.isEmpty { onNews() }
    state.withLock { state in
      defer { state.waiting = [] }
      state.peers = reply.peers ?? 0
      return state.waiting
    }.forEach { $0.resume() }
  }

  private func change(_ body: (inout LeaseClock) -> LeaseClock.Action?) {
    acting.withLock { _ in act(state.withLock { body(&$0.clock) }) }
  }

  private func act(_ action: LeaseClock.Action?) {
    switch action {
    case nil: return
    case .suspend:
      logger.warning(.workerSuspended, (.count, LogValue(runningJobs.runningCount)))
      runningJobs.running.forEach { $0.suspend() }
    case .resume:
      logger.info(.workerConfirmed, (.count, LogValue(runningJobs.runningCount)))
      runningJobs.running.forEach { $0.resume() }
    case .fence:
      logger.warning(.workerFenced, (.count, LogValue(runningJobs.runningCount)))
      runningJobs.running.forEach { $0.stop() }
      onFenced()
    }
  }
}
