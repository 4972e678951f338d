import JobModel
import JobQueue
package import Log
package import Postgres
import Synchronization

/// Runs the pool's maintenance every second, in the one process that holds the leader lock. Maintenance takes jobs back from
/// dead workers, starts scheduled jobs and creates partitions.
///
/// Coordinators and workers all use this class, so a pool without a coordinator has maintenance too. The lock belongs to a
/// database session: when the process dies, another process takes the lock within 2 seconds. If the process hangs, another
/// process runs the maintenance until the first one is back.
package final class Leadership: Sendable {
  /// The time between two maintenance rounds of the leader.
  package static let round = Duration.seconds(1)
  /// The time between two attempts of a process that does not lead. It is so short that two maintenance rounds are less than 3
  /// seconds apart even if the leader ends between them.
  private static let standby = Duration.milliseconds(1500)
  /// The number of jobs that one step of promotion moves.
  private static let promoteLimit = 1000
  /// The number of staged lines of interrupted submissions that one round removes.
  private static let clearLimit = 10_000
  /// The number of future job ids that partitions must cover.
  private static let partitionRoom: Int64 = 2_000_000

  private struct State {
    /// The process id of the server process of `lock` if this process led in its last round; otherwise nil.
    var heldBy: Int32?
    var term = LeaderTerm()
    var rounds = 0
  }

  private let lock: Session
  private let work: Session
  private let logger: Logger
  private let state = Mutex(State())

  /// Creates a `Leadership` without starting it. `lock` is the session that holds the leader lock. `work` is the session that
  /// makes the calls. Both may be the same session.
  package init(lock: Session, work: Session, logger: Logger) {
    self.lock = lock
    self.work = work
    self.logger = logger
  }

  /// Whether this process led in its last round: it held the leader lock, or stood in for a leader that hangs.
  package var isLeading: Bool { state.withLock { $0.heldBy != nil } }

  /// The number of maintenance rounds that this process has begun while it led.
  package var rounds: Int { state.withLock { $0.rounds } }

  /// Runs one round per second, starting at `first`, until the task is cancelled or a session is closed. Logs database errors
  /// and repeats the round.
  package func run(from first: ContinuousClock.Instant = .now) async {
    try? await Task.sleep(until: first, clock: .continuous)
    while !Task.isCancelled {
      let start = ContinuousClock.now
      await runRound()
      try? await Task.sleep(
        until: start + (isLeading ? Self.round : Self.standby), clock: .continuous)
    }
  }

  /// Runs one round: takes the leader lock if it is free, and runs maintenance if this process has the lock or if the process
  /// that has the lock hangs.
  package func runRound() async {
    do {
      guard try await leads() else { return }
      try await keepHouse()
      state.withLock { $0.term.kept(now: .now) }
    } catch {
      // If the task is cancelled, the owner has closed the session. That is not an error.
      if !Task.isCancelled { logger.warning(.databaseLost, (.reason, LogValue("\(error)"))) }
    }
  }

  private func leads() async throws -> Bool {
    let pid = try await lock.withConnection { connection -> Int32? in
      let held = self.state.withLock { $0.heldBy }
      if let held, held != connection.backendPID {
        self.state.withLock { $0.term.lost() }
        self.logger.warning(.leaderLost)
      }
      try await connection.requireSession()
      // Ask in every round: a process that stood in for a hanging leader must stop leading when that leader is back.
      return try await JobQueue(connection).lead() ? connection.backendPID : nil
    }
    let news = state.withLock { state in
      state.heldBy = pid
      return state.term.asked(leads: pid != nil, now: .now)
    }
    switch news {
    case .elected: logger.info(.leaderElected)
    // The leader that this process stood in for is back.
    case .standsBy(hasLed: true): logger.info(.leaderStandby)
    case .standsBy(hasLed: false): logger.debug(.leaderStandby)
    case nil: break
    }
    return pid != nil
  }

  private func keepHouse() async throws {
    let rounds = state.withLock { state in
      defer { state.rounds += 1 }
      return state.rounds
    }
    let rescued = try await work.withConnection { try await JobQueue($0).rescue() }
    if rescued.grace, rounds % 5 == 0 {
      logger.info(
        .rescueDone,
        (.reason, "maintenance was interrupted, so the leader rescues no jobs for 15 seconds"))
    }
    for worker in rescued.workers {
      logger.warning(
        .rescueDone, (.worker, LogValue(worker)), (.count, LogValue(rescued.rescued.count)))
    }
    for job in rescued.rescued {
      let line = logger.with((.job, LogValue(job.job)), (.token, LogValue(job.token)))
      if let reason = job.cause?.setAside(job.job) {
        line.warning(.jobFailed, (.error, "internal"), (.message, LogValue(reason)))
      } else {
        line.info(.jobReleased, (.state, LogValue(job.state.rawValue)), (.reason, "rescued"))
      }
    }
    let end = ContinuousClock.now + Self.round
    while true {
      let moved = try await work.withConnection {
        try await JobQueue($0).promote(limit: Self.promoteLimit)
      }
      if moved.due > 0 || moved.unheld > 0 {
        logger.info(.promoteDone, (.count, LogValue(moved.due + moved.unheld)))
      }
      // Stop after one second even if more jobs are due, so that the next round can look for dead workers.
      if moved.due < Self.promoteLimit || ContinuousClock.now >= end { break }
    }
    // After more than three seconds between two rounds, a leader rescues no jobs for a while. So this part has a time limit.
    let lateEnd = ContinuousClock.now + Self.round / 2
    try await work.withConnection { connection in
      while try await JobQueue(connection).rollUp(limit: Self.promoteLimit) == Self.promoteLimit,
        ContinuousClock.now < lateEnd
      {}
      try await JobQueue(connection).sweepOn(limit: Self.promoteLimit)
      try await JobQueue(connection).clearSubmissions(limit: Self.clearLimit)
    }
    if rounds % 60 == 0 {
      try await work.withConnection {
        try await JobQueue($0).ensurePartitions(room: Self.partitionRoom)
      }
    }
    try await keepSmall(until: lateEnd)
  }

  /// Adds up usage and removes old jobs. This comes last in a round, because nothing else may wait for it or fail with it.
  private func keepSmall(until end: ContinuousClock.Instant) async throws {
    var failure: (any Error)?
    do {
      try await work.withConnection { connection in
        while try await JobQueue(connection).foldUsage(limit: Self.promoteLimit)
          == Self.promoteLimit, ContinuousClock.now < end
        {}
      }
    } catch {
      failure = error
    }
    try await work.withConnection { connection in
      while try await JobQueue(connection).prune(limit: Self.promoteLimit).more,
        ContinuousClock.now < end
      {}
    }
    if let failure { throw failure }
  }
}
