import HaulSystem

/// How fast an amount grows, over the last seconds, for callers that know only the amount: bytes, or files.
///
/// The mean over a window of time, so that one pause or burst shows but does not make the figure jump.
package struct RateMeter: Sendable {
  private static let window = Duration.seconds(10)
  /// Samples that come sooner than this after another count only while they are the latest.
  private static let spacing = Duration.milliseconds(250)

  private struct Sample {
    var amount: Int64
    var at: ContinuousClock.Instant
  }

  private var samples: [Sample] = []
  private var latest: Sample?

  package init() {}

  /// The amount is `amount` in all at `now`. Time never goes back; an amount that does counts as standing still.
  package mutating func add(_ amount: Int64, at now: ContinuousClock.Instant) {
    let sample = Sample(amount: amount, at: now)
    latest = sample
    guard let last = samples.last, last.at.duration(to: now) < Self.spacing else {
      samples.append(sample)
      // The newest that is older than the window stays: rates span all of it.
      while samples.count > 1 && samples[1].at.duration(to: now) >= Self.window {
        samples.removeFirst()
      }
      return
    }
  }

  /// Per second over the last 10 s, or since the first sample; 0 until a quarter of a second is known.
  package var rate: Int64 { Int64(clamped: exactRate) }

  /// Until `rest` more has come at that rate; nil when nothing comes.
  package func timeLeft(for rest: Int64) -> Duration? {
    exactRate > 0 ? .clamped(seconds: Double(max(rest, 0)) / exactRate) : nil
  }

  /// ``rate`` with its fraction.
  package var exactRate: Double {
    guard let first = samples.first, let latest else { return 0 }
    let time = first.at.duration(to: latest.at)
    if time < Self.spacing { return 0 }
    return Double(max(latest.amount - first.amount, 0)) / (time / .seconds(1))
  }
}
