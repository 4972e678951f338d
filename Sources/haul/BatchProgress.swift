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
  private var running: [RunningRow] = []
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
    self.running = running
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
      transfers: running.map {
        TransferProgress(name: $0.path, bytes: $0.bytes, total: $0.total, rate: $0.rate)
      },
      done: tally.completed, failed: tally.failed + tally.cancelled,
      all: tally.ended + tally.pending,
      bytes: bytes, total: total, rate: rate, timeLeft: timeLeft)
  }

  private var bytesNow: Int64 { running.reduce(tally.bytes) { $0 + $1.bytes } }

  /// Known once all that is left runs and says how long it is.
  private var total: Int64? {
    guard tally.pending > 0, running.count >= tally.pending else { return nil }
    var total = bytes
    for row in running {
      guard let length = row.total else { return nil }
      total += max(length - row.bytes, 0)
    }
    return total
  }

  /// Small files end before they ever report a rate; large ones report long before they are counted.
  private var rate: Int64 { max(running.reduce(0) { $0 + $1.rate }, bytesMeter.rate) }

  private var timeLeft: Duration? {
    if let total, rate > 0 { return .seconds(Double(total - bytes) / Double(rate)) }
    return tally.ended >= Self.fewest ? jobsMeter.timeLeft(for: Int64(tally.pending)) : nil
  }
}
