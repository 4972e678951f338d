import HaulSystem
import JobModel
import JobQueue
import Log
import Synchronization

/// Reports ended jobs and claims new jobs, one call at a time.
final class WorkLoop: Sendable {
  private struct State {
    var isDraining = false
    var stopsWhenIdle: Bool
    /// Whether a claim is useful now: a job ended, jobs were announced, or the wait is over.
    var isClaimDue = true
    var number: Int64 = 0
    /// The time at which the last call was answered; nil before the first answer.
    var lastCall: ContinuousClock.Instant?
    /// The time of the next claim, unless news arrives earlier.
    var claimAt = ContinuousClock.now
    var pace = ClaimPace()
  }

  /// The approximate time between claims without news.
  private static let pollTime = Duration.seconds(5)
  /// The minimum time between two calls while jobs wait for a slot.
  private static let gatheringTime = Duration.milliseconds(10)

  private let database: Database
  private let configuration: WorkerConfiguration
  private let runningJobs: RunningJobs
  private let environment: RunEnvironment
  private let hook: CompletionHook?
  private let logger: Logger
  private let wake = AsyncSignal()
  private let state: Mutex<State>

  init(
    _ database: Database, _ configuration: WorkerConfiguration, runningJobs: RunningJobs,
    environment: RunEnvironment, hook: CompletionHook?, logger: Logger
  ) {
    self.database = database
    self.configuration = configuration
    self.runningJobs = runningJobs
    self.environment = environment
    self.hook = hook
    self.logger = logger
    state = Mutex(State(stopsWhenIdle: configuration.exitWhenIdle))
  }

  /// The jobs that run now.
  var running: [JobRun] { runningJobs.running }

  /// Makes the loop call the database soon, because there may be an end to report or a job to claim.
  func claimSoon() {
    state.withLock { $0.isClaimDue = true }
    wake.post()
  }

  /// Reacts to jobs that were announced to all workers. A worker with many jobs first leaves them to others for some
  /// milliseconds.
  func claimAnnounced() {
    let delay = state.withLock(\.pace).delay(
      held: runningJobs.runningCount, peers: peers, concurrency: concurrency)
    if delay == .zero { return claimSoon() }
    state.withLock { $0.claimAt = min($0.claimAt, .now + delay) }
    wake.post()
  }

  /// Makes the loop end when no job is left in the queues.
  func stopWhenIdle() {
    state.withLock { $0.stopsWhenIdle = true }
    claimSoon()
  }

  /// Stops claiming, stops running jobs and saves their progress, reports them, and ends. A second call is not an error.
  func drain() {
    let isFirst = state.withLock { state in
      defer { state.isDraining = true }
      return !state.isDraining
    }
    guard isFirst else { return }
    logger.info(.workerDraining, (.count, LogValue(runningJobs.runningCount)))
    runningJobs.running.forEach { $0.stop() }
    wake.post()
  }

  /// Runs until drained or, after ``stopWhenIdle()``, until no job is left in the queues.
  func run() async throws {
    while true {
      try Task.checkCancellation()
      let room = room
      let (isDraining, isClaimDue, stopsWhenIdle) = state.withLock { state in
        // There is room, and the time of the next claim has come.
        if room > 0, state.claimAt <= .now { state.isClaimDue = true }
        return (state.isDraining, state.isClaimDue, state.stopsWhenIdle)
      }
      if runningJobs.hasEndings() || (room > 0 && isClaimDue) {
        if let rest = gathering(until: .now) {
          await wake.wait(upTo: rest)
          continue
        }
        try await call(room: isClaimDue || runningJobs.hasEndings() ? room : 0)
        continue
      }
      if isDraining, runningJobs.isEmpty { return }
      if stopsWhenIdle, runningJobs.isEmpty, try await isIdle() {
        logger.info(.workerIdle)
        return
      }
      guard isDraining || environment.keeper.mayClaim else {
        await wake.wait(upTo: Self.pollTime)
        // If the database no longer knows this worker, this call throws. A heartbeat would only log the error.
        if !environment.keeper.mayClaim { try await call(room: 0) }
        continue
      }
      let wait = room > 0 ? state.withLock { max(.zero, $0.claimAt - .now) } : nil
      await wake.wait(upTo: [wait, runningJobs.timeToSettle()].compactMap(\.self).min())
    }
  }

  /// The number of other workers that could take the same jobs.
  private var peers: Int { environment.keeper.peers }

  private var concurrency: Int { configuration.concurrency }

  /// The number of further jobs that the worker may hold. Without confirmed leases it is 0.
  ///
  /// Jobs that are being published do not count, up to the number of slots, so that the network does not wait for the disk. Jobs
  /// of silent hosts do not count either. Up to the number of slots, they run in addition to other jobs; `SilenceWatch` ends the
  /// rest when newly claimed jobs need a slot. Jobs that wait for a hanging disk never count.
  private var room: Int {
    guard environment.keeper.mayClaim, !state.withLock(\.isDraining) else { return 0 }
    let hanging = environment.watch.hanging
    let running = runningJobs.running.filter { !hanging.contains($0.lease.store) }
    let publishing = min(running.count { $0.isPublishing }, configuration.leases)
    return configuration.leases - (running.count - publishing - environment.slots.silentCount)
  }

  /// Returns how long to wait for more results to report in the next call; nil if the call is due. The wait pays off only while
  /// other leases wait for a slot: the network stays busy, and a call for many jobs costs little more than a call for a few.
  private func gathering(until now: ContinuousClock.Instant) -> Duration? {
    let (isDraining, last) = state.withLock { ($0.isDraining, $0.lastCall) }
    guard !isDraining, let last, environment.slots.waitingCount > 0 else { return nil }
    let rest = last + Self.gatheringTime - now
    return rest > .zero ? rest : nil
  }

  private func isIdle() async throws -> Bool {
    let caller = database.caller
    let queues = configuration.queues
    return try await database.persist { try await $0.isIdle(caller, queues: queues) }
  }

  private func call(room: Int) async throws {
    let number = state.withLock { state in
      state.number += 1
      state.isClaimDue = false
      return state.number
    }
    let endings = runningJobs.takeEndings()
    if let first = endings.first, first.result == .completed {
      Failpoint.hit(.beforeSettle, path: first.path ?? "")
    }
    let caller = database.caller
    let queues = configuration.queues
    let sent = ContinuousClock.now
    let asked = state.withLock(\.pace).share(room: room, peers: peers, concurrency: concurrency)
    // Every repetition of the call has the same number, so the database carries out the call only once.
    let reply = try await database.persist {
      try await $0.work(caller, number: number, endings: endings, queues: queues, room: asked)
    }
    let later = Set(reply.later ?? [])
    let settled = endings.filter { !later.contains($0.token) }
    log(reply, settled)
    tell(reply, settled)
    let runs = runningJobs.took(number, reply.claimed, later: later) {
      JobRun($0, claimed: sent, environment) { self.claimSoon() }
    }
    take(reply, runs, asked: asked, room: room)
  }

  /// Starts the claimed runs and plans the next claim. `asked` is the number of jobs that the call asked for, out of `room`.
  private func take(_ reply: WorkReply, _ runs: [JobRun], asked: Int, room: Int) {
    for run in runs { start(run) }
    if reply.draining { drain() }
    let isFull = reply.claimed.count >= asked
    let held = runningJobs.runningCount
    state.withLock { state in
      let now = ContinuousClock.now
      state.lastCall = now
      if asked > 0 {
        state.pace.took(
          reply.claimed.count, asked: asked, isContended: reply.contended, concurrency: concurrency)
      }
      // A drain that came during the call stops the jobs that the call has claimed.
      if state.isDraining { runs.forEach { $0.stop() } }
      if reply.contended, !isFull {
        state.claimAt =
          now
          + state.pace.retry(held: held, concurrency: concurrency, chance: Double.random(in: 0...1))
      } else if isFull, asked < room {
        state.claimAt = now + ClaimPace.turn(held: held, concurrency: concurrency)
      } else {
        let jitter = Double.random(in: 0.75...1.25)
        let known = reply.wait.map { Duration.clamped(seconds: $0) } ?? Self.pollTime
        state.claimAt = now + min(known, Self.pollTime * jitter)
      }
    }
  }

  private func tell(_ reply: WorkReply, _ endings: [LeaseEnding]) {
    let onSettled = configuration.onSettled
    if onSettled == nil, hook == nil { return }
    let states = Dictionary(
      reply.settled.map { ($0.token, $0) }, uniquingKeysWith: { first, _ in first })
    for ending in endings {
      hook?.settled(ending.token, isCompleted: states[ending.token]?.state == .completed)
      guard let onSettled, let settled = states[ending.token] else { continue }
      onSettled(
        SettledLease(
          ending: ending, state: settled.state, cause: settled.cause,
          delay: settled.delay.map { .clamped(seconds: $0) }))
    }
  }

  private func start(_ run: JobRun) {
    Task {
      let ending = await run.run()
      if let ending { hook?.ended(run.lease, ending) }
      runningJobs.end(run.lease.token, with: ending)
      state.withLock { $0.isClaimDue = true }
      wake.post()
    }
  }

  private func log(_ reply: WorkReply, _ endings: [LeaseEnding]) {
    let states = Dictionary(
      reply.settled.map { ($0.token, $0) }, uniquingKeysWith: { first, _ in first })
    for ending in endings {
      let settled = states[ending.token]
      let line = logger.with(
        (.job, LogValue(ending.job)), (.token, LogValue(ending.token)),
        (.fetched, LogValue(ending.fetched ?? 0)), (.resumed, LogValue(ending.resumedAt ?? 0)))
      switch settled?.state {
      case .completed:
        line.info(
          .jobCompleted, (.bytes, LogValue(ending.bytes ?? 0)), (.path, LogValue(ending.path ?? ""))
        )
      case .failed:
        // If the job failed because its data cause errors in the database, the worker's error is not the reason.
        let reason = settled?.cause?.setAside(ending.job)
        line.warning(
          .jobFailed, (.error, reason == nil ? LogValue(ending.error?.rawValue ?? "") : "internal"),
          (.message, LogValue(reason ?? ending.message ?? "")))
      case .scheduled:
        line.info(
          .jobRetry, (.error, LogValue(ending.error?.rawValue ?? "")),
          (.message, LogValue(ending.message ?? "")),
          (.after, LogValue(Duration.seconds(settled?.delay ?? 0))))
      case .paused: line.info(.jobPaused)
      case .cancelled: line.info(.jobCancelled)
      case let state?:
        line.info(
          .jobReleased, (.state, LogValue(state.rawValue)),
          (.error, LogValue(ending.error?.rawValue ?? "")),
          (.message, LogValue(ending.message ?? "")))
      case nil: line.warning(.jobStale, (.state, LogValue(ending.result.rawValue)))
      }
    }
  }
}
