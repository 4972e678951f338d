import JobQueue
import Terminal

/// What is known of a batch while it is waited for, from counts that come now and then and from what runs,
/// which is looked at more often.
struct BatchProgress {
  /// So many jobs must have ended before their pace says when the rest will be done.
  private static let fewest = 20
  /// How long nothing may run before somebody should know why.
  private static let patience = Duration.seconds(5)

  private(set) var tally = Tally([])
  private var transfers: [TransferProgress] = []
  /// Never goes back, although what runs and what has ended are not counted at the same moment.
  private var bytes: Int64 = 0
  private var bytesMeter = RateMeter()
  private var jobsMeter = RateMeter()
  /// Since when nothing has been seen running.
  private var idleSince: ContinuousClock.Instant?

  /// The batch was counted; `running` was read just before.
  mutating func count(_ counts: [BatchCount], at now: ContinuousClock.Instant) {
    tally = Tally(counts)
    bytes = max(bytes, bytesNow)
    bytesMeter.add(bytes, at: now)
    jobsMeter.add(Int64(tally.ended), at: now)
  }

  /// What runs was looked at.
  mutating func look(_ running: [RunningRow], at now: ContinuousClock.Instant) {
    transfers = running.map {
      TransferProgress(name: $0.path, bytes: $0.bytes, total: $0.total, rate: $0.rate)
    }
    bytes = max(bytes, bytesNow)
    idleSince = running.isEmpty ? idleSince ?? now : nil
  }

  /// True when nothing has run for a while.
  func isIdle(at now: ContinuousClock.Instant) -> Bool {
    idleSince.map { $0.duration(to: now) >= Self.patience } ?? false
  }

  /// As it is to be shown.
  var frame: ProgressFrame {
    ProgressFrame(
      transfers: transfers,
      done: tally.completed, failed: tally.failed + tally.cancelled,
      all: tally.ended + tally.pending,
      bytes: bytes, rate: rate, timeLeft: timeLeft)
  }

  private var bytesNow: Int64 { transfers.reduce(tally.bytes) { $0 + $1.bytes } }

  /// Small files end before they ever report a rate; large ones report long before they are counted.
  private var rate: Int64 { max(transfers.reduce(0) { $0 + $1.rate }, bytesMeter.rate) }

  /// By the pace of the jobs, but no sooner than what runs now; nil while what waits has no pace.
  private var timeLeft: Duration? {
    let running = transfers.compactMap(\.timeLeft).max()
    if tally.pending <= transfers.count { return running }
    if tally.ended < Self.fewest { return nil }
    return jobsMeter.timeLeft(for: Int64(tally.pending)).map { max($0, running ?? .zero) }
  }
}
