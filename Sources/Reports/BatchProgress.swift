package import JobQueue
package import Terminal

/// The progress of jobs that a command waits for. It combines job counts with the running jobs. The counts are read less often
/// than the running jobs.
package struct BatchProgress {
  /// Haul predicts the time left once this many jobs have ended, or a quarter of all jobs if that is fewer. The view
  /// `batches` has the same rule.
  private static let fewest = 20
  /// After this time without a running job, the command says why. After this time without a new byte, it shows no rate.
  private static let patience = Duration.seconds(5)

  /// The downloaded bytes of a running job, and when this number last changed.
  private struct Change {
    var bytes: Int64
    var at: ContinuousClock.Instant
  }

  package private(set) var tally = Tally([])
  /// Whether jobs were counted since the last look at the running jobs.
  private var isCounted = false
  private var transfers: [TransferProgress] = []
  /// The number of downloaded bytes. It does not decrease between two counts, although a job that has just ended is missing
  /// until the next count.
  private var bytes: Int64 = 0
  private var expected = ExpectedBytes()
  private var bytesMeter = RateMeter()
  private var jobsMeter = RateMeter()
  /// Since when no job has been running; nil while one is running.
  private var idleSince: ContinuousClock.Instant?
  private var changes: [Int64: Change] = [:]
  private var lookedAt: ContinuousClock.Instant?

  /// Records the counts of the jobs. Call this at most once between two calls of ``look(_:at:)``.
  package mutating func count(_ counts: [JobCount]) {
    tally = Tally(counts)
    isCounted = true
  }

  /// Records the running jobs, which must be read after the last counts. Otherwise the bytes of a job that ended in between
  /// would be counted twice.
  ///
  /// The database keeps the rate that a worker last reported for a job, even if the worker is gone. So the rate counts only
  /// while the job's bytes increase.
  package mutating func look(_ running: [RunningRow], at now: ContinuousClock.Instant) {
    let last = changes
    changes = [:]
    transfers = running.map { row in
      let seen = last[row.job].flatMap { $0.bytes == row.bytes ? $0 : nil }
      let change = seen ?? Change(bytes: row.bytes, at: now)
      changes[row.job] = change
      let isMoving = change.at.duration(to: now) < Self.patience
      return TransferProgress(
        name: row.path, bytes: row.bytes, total: row.total, rate: isMoving ? row.rate : 0)
    }
    lookedAt = now
    expected.look(
      transfers.map(\.total), unfinished: tally.pending, completed: (tally.completed, tally.bytes))
    bytes = max(isCounted ? 0 : bytes, transfers.reduce(tally.bytes) { $0 + $1.bytes })
    if isCounted {
      isCounted = false
      bytesMeter.add(bytes, at: now)
      jobsMeter.add(Int64(tally.ended), at: now)
    }
    idleSince = running.isEmpty ? idleSince ?? now : nil
  }

  /// Whether the running jobs have been read, so that there is progress to show.
  package var isSeen: Bool { lookedAt != nil }

  /// Returns whether no job has been running for 5 seconds.
  package func isIdle(at now: ContinuousClock.Instant) -> Bool {
    idleSince.map { $0.duration(to: now) >= Self.patience } ?? false
  }

  /// Returns the progress to show. If the database has not been read for 5 seconds, the progress has no rates.
  package func frame(at now: ContinuousClock.Instant) -> ProgressFrame {
    let isKnown = lookedAt.map { $0.duration(to: now) < Self.patience } ?? false
    return ProgressFrame(
      transfers: isKnown
        ? transfers
        : transfers.map { .init(name: $0.name, bytes: $0.bytes, total: $0.total, rate: 0) },
      done: tally.completed, failed: tally.failed, cancelled: tally.cancelled,
      all: tally.ended + tally.pending, parts: tally.parts,
      bytes: bytes, total: expected.total, countsFiles: expected.countsFiles,
      rate: isKnown ? rate : 0, timeLeft: isKnown ? timeLeft : nil)
  }

  /// The sum of the rates that running jobs report. Small files end before they report a rate. Then the rate is measured here,
  /// and it also includes bytes that an earlier attempt downloaded.
  private var rate: Int64 {
    let reported = transfers.reduce(0) { $0 + $1.rate }
    return reported > 0 ? reported : bytesMeter.rate
  }

  /// The time left, estimated from how fast jobs end, but not less than the running jobs need; nil if no estimate is possible.
  private var timeLeft: Duration? {
    let running = transfers.compactMap(\.timeLeft).max()
    if tally.pending <= transfers.count { return running }
    if tally.ended < min(Self.fewest, (tally.ended + tally.pending) / 4 + 1) { return nil }
    return jobsMeter.timeLeft(for: Int64(tally.pending)).map { max($0, running ?? .zero) }
  }
}
