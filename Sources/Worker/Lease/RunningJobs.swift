import JobQueue
import Synchronization

/// The jobs that the worker holds: running jobs and endings that are not settled yet. Claims, heartbeats and runs share it.
final class RunningJobs: Sendable {
  private struct State {
    var running: [Int64: JobRun] = [:]
    /// The endings that the next call settles.
    var endings: [LeaseEnding] = []
    /// The endings that are part of the current call.
    var settling: [LeaseEnding] = []
    /// The endings that another session blocks in the database. They are retried after `putOffUntil`.
    var putOff: [LeaseEnding] = []
    var putOffUntil = ContinuousClock.now
    var pause = RunningJobs.shortestPause
    /// The endings that are not settled.
    var unsettled: [LeaseEnding] { endings + settling + putOff }
    /// The number of the last call whose reply was processed.
    var seen: Int64 = 0
    var rates: [Int64: (fetched: Int64, at: ContinuousClock.Instant, rate: Int64)] = [:]
    var received = ReceiveMeter()
  }

  /// The first and the longest delay of endings that another session blocks.
  private static let shortestPause = Duration.milliseconds(100)
  private static let longestPause = Duration.seconds(2)

  private let state = Mutex(State())

  /// The jobs that run now.
  var running: [JobRun] { state.withLock { Array($0.running.values) } }
  var runningCount: Int { state.withLock { $0.running.count } }
  /// Whether there are endings to settle now.
  func hasEndings(now: ContinuousClock.Instant = .now) -> Bool {
    state.withLock { !$0.endings.isEmpty || Self.isDue($0, now) }
  }
  var isEmpty: Bool { state.withLock { $0.running.isEmpty && $0.unsettled.isEmpty } }
  /// Returns the time until delayed endings are due, or nil if there are none.
  func timeToSettle(now: ContinuousClock.Instant = .now) -> Duration? {
    state.withLock { $0.putOff.isEmpty ? nil : max(now.duration(to: $0.putOffUntil), .zero) }
  }

  private static func isDue(_ state: State, _ now: ContinuousClock.Instant) -> Bool {
    !state.putOff.isEmpty && state.putOffUntil <= now
  }

  /// Returns the run with this token, or nil if there is none.
  func run(_ token: Int64) -> JobRun? { state.withLock { $0.running[token] } }

  /// Records the end of a job for settlement. If `ending` is nil, the lease is lost, and there is nothing to settle.
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

  /// Returns the endings for the next call. They are kept until `took`.
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

  /// Processes the reply to call `number`: its endings are settled, except those in `later`, and its leases become runs.
  /// Returns only the new runs, because a repeated call may return leases a second time.
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

  /// Returns a heartbeat's report, all at one moment: the last processed call, all held jobs and the received rates.
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

  /// Releases leases that the database has and this worker does not know, with the next call.
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
