import JobQueue
import Synchronization

/// The jobs that the worker holds: running jobs, and ends of leases that are not recorded yet. Claims, heartbeats and runs
/// share it.
final class RunningJobs: Sendable {
  private struct State {
    var running: [Int64: JobRun] = [:]
    /// The ends of leases that the next call reports.
    var endings: [LeaseEnding] = []
    /// The ends of leases that the current call reports.
    var settling: [LeaseEnding] = []
    /// The ends of leases whose rows another session has locked in the database. They are reported again after `putOffUntil`.
    var putOff: [LeaseEnding] = []
    var putOffUntil = ContinuousClock.now
    var pause = RunningJobs.shortestPause
    /// All ends of leases that the database has not recorded yet.
    var unsettled: [LeaseEnding] { endings + settling + putOff }
    /// The number of the last call whose reply was processed.
    var seen: Int64 = 0
    var rates: [Int64: (fetched: Int64, at: ContinuousClock.Instant, rate: Int64)] = [:]
    var received = ReceiveMeter()
  }

  /// How long the worker waits before it reports blocked ends of leases again: at first, and at most.
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)

  private let state = Mutex(State())

  /// The jobs that run now.
  var running: [JobRun] { state.withLock { Array($0.running.values) } }
  var runningCount: Int { state.withLock { $0.running.count } }
  /// Returns whether there are ends of leases to report now.
  func hasEndings(now: ContinuousClock.Instant = .now) -> Bool {
    state.withLock { !$0.endings.isEmpty || Self.isDue($0, now) }
  }
  var isEmpty: Bool { state.withLock { $0.running.isEmpty && $0.unsettled.isEmpty } }
  /// Returns the time until the delayed ends of leases are reported again; nil if there are none.
  func timeToSettle(now: ContinuousClock.Instant = .now) -> Duration? {
    state.withLock { $0.putOff.isEmpty ? nil : max(now.duration(to: $0.putOffUntil), .zero) }
  }

  private static func isDue(_ state: State, _ now: ContinuousClock.Instant) -> Bool {
    !state.putOff.isEmpty && state.putOffUntil <= now
  }

  /// Returns the run with this token, or nil if there is none.
  func run(_ token: Int64) -> JobRun? { state.withLock { $0.running[token] } }

  /// Records the end of a job, to report it. If `ending` is nil, the lease is lost, and there is no end to report.
  func end(_ token: Int64, with ending: LeaseEnding?) {
    state.withLock { state in
      let last = state.rates.removeValue(forKey: token)
      if let run = state.running.removeValue(forKey: token) {
        let fetched = ending?.fetched ?? run.progress.fetched
        state.received.add(fetched - (last?.fetched ?? 0), of: .init(run.lease))
      }
      if let ending { state.endings.append(ending) }
    }
  }

  /// Returns the ends of leases for the next call. They are kept until ``took``.
  func takeEndings(now: ContinuousClock.Instant = .now) -> [LeaseEnding] {
    state.withLock { state in
      state.settling += state.endings
      state.endings = []
      if Self.isDue(state, now) {
        state.settling += state.putOff
        state.putOff = []
      }
      return state.settling
    }
  }

  /// Processes the reply to call `number`: the reported ends are recorded, except those in `later`, and the new leases become
  /// runs. Returns only the new runs, because a repeated call may return leases a second time.
  func took(
    _ number: Int64, _ leases: [Lease], later: Set<Int64>, now: ContinuousClock.Instant = .now,
    makeRun: (Lease) -> JobRun
  ) -> [JobRun] {
    state.withLock { state in
      state.seen = number
      let heldUp = state.settling.filter { later.contains($0.token) }
      state.settling = []
      if !heldUp.isEmpty {
        // Endings that are already delayed are not delayed again.
        if state.putOff.isEmpty {
          state.putOffUntil = now + state.pause
          state.pause = min(state.pause * 2, Self.longestPause)
        }
        state.putOff += heldUp
      } else if state.putOff.isEmpty {
        state.pause = Self.shortestPause
      }
      return leases.compactMap { lease in
        guard state.running[lease.token] == nil else { return nil }
        let run = makeRun(lease)
        state.running[lease.token] = run
        return run
      }
    }
  }

  /// Returns the report for a heartbeat: the number of the last processed call, all held jobs and the received rates. All values
  /// are from the same moment.
  func report(
    now: ContinuousClock.Instant
  ) -> (seen: Int64, holding: [Progress], received: [ReceivedRate]) {
    state.withLock { state in
      var holding = state.unsettled.map {
        Progress(job: $0.job, token: $0.token, bytes: $0.bytes ?? 0, total: $0.bytes, rate: 0)
      }
      for (token, run) in state.running {
        let progress = run.progress
        let last = state.rates[token]
        let rate = last.map {
          ReceiveMeter.rate(
            $0.rate, progress.fetched - $0.fetched, max((now - $0.at) / .seconds(1), 0.001))
        }
        state.rates[token] = (progress.fetched, now, rate ?? 0)
        state.received.add(progress.fetched - (last?.fetched ?? 0), of: .init(run.lease))
        holding.append(
          Progress(
            job: run.lease.job, token: token, bytes: progress.bytes, total: progress.total,
            rate: rate ?? 0, waitsForDisk: run.waitsForDisk ? true : nil))
      }
      let running = Set(state.running.values.map { ReceiveMeter.Channel($0.lease) })
      return (state.seen, holding, state.received.report(now: now, running: running))
    }
  }

  /// With the next call, gives back leases that the database has but this worker does not know.
  func release(unlisted: [HeartbeatReply.Held]) {
    state.withLock { state in
      for held in unlisted
      where state.running[held.token] == nil
        && !state.unsettled.contains(where: { $0.token == held.token })
      {
        state.endings.append(LeaseEnding(job: held.job, token: held.token, result: .released))
      }
    }
  }
}
