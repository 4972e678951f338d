package import JobQueue
package import Terminal

/// What is known of jobs while they are waited for, from counts that come now and then and from what runs,
/// which is looked at more often.
package struct BatchProgress {
  /// The number of jobs that must have ended before their pace predicts the end of the rest, or a quarter of all: the view
  /// `batches` has the same rule.
  private static let fewest = 20
  /// How long nothing may run before the line says why, and how long no byte may arrive before no rate is shown.
  private static let patience = Duration.seconds(5)

  /// How much of a running job was there when that was last seen to change.
  private struct Change {
    var bytes: Int64
    var at: ContinuousClock.Instant
  }

  package private(set) var tally = Tally([])
  /// Whether there was a count since the last look.
  private var isCounted = false
  private var transfers: [TransferProgress] = []
  /// Does not go back between two counts, although a job that has just ended is missing until the next.
  private var bytes: Int64 = 0
  private var expected = ExpectedBytes()
  private var bytesMeter = RateMeter()
  private var jobsMeter = RateMeter()
  /// Since when nothing has been seen running.
  private var idleSince: ContinuousClock.Instant?
  private var changes: [Int64: Change] = [:]
  private var lookedAt: ContinuousClock.Instant?

  /// The jobs were counted, at most once between two looks at what runs.
  package mutating func count(_ counts: [JobCount]) {
    tally = Tally(counts)
    isCounted = true
  }

  /// What runs was looked at, after the last count and not before: a job that ended in between would have
  /// its bytes counted twice.
  ///
  /// A rate is what the job's worker has reported, and stays when the worker is gone: it counts only while bytes come.
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

  /// Whether there is anything to show yet.
  package var isSeen: Bool { lookedAt != nil }

  /// True when nothing has run for a while.
  package func isIdle(at now: ContinuousClock.Instant) -> Bool {
    idleSince.map { $0.duration(to: now) >= Self.patience } ?? false
  }

  /// The progress to show. Without a reading of the database for a while, it shows no rates.
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

  /// The sum of what running jobs report. Small files end before they report a rate: only then the rate is measured.
  /// A measured rate also counts bytes that an earlier attempt had received.
  private var rate: Int64 {
    let reported = transfers.reduce(0) { $0 + $1.rate }
    return reported > 0 ? reported : bytesMeter.rate
  }

  /// Estimated from the pace of the jobs, and at least the time that running jobs need; nil while there is no pace.
  private var timeLeft: Duration? {
    let running = transfers.compactMap(\.timeLeft).max()
    if tally.pending <= transfers.count { return running }
    if tally.ended < min(Self.fewest, (tally.ended + tally.pending) / 4 + 1) { return nil }
    return jobsMeter.timeLeft(for: Int64(tally.pending)).map { max($0, running ?? .zero) }
  }
}
