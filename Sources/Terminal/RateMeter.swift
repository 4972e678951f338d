import HaulSystem

/// Measures how fast a number of bytes or files grew in the last 10 seconds. Callers pass the current total each time.
///
/// The rate is the mean over this time, so that one pause or burst is visible but does not make the rate jump.
package struct RateMeter: Sendable {
  private static let window = Duration.seconds(10)
  /// The shortest time between two samples that are kept. A sample that comes sooner counts only until the next one.
  private static let spacing = Duration.milliseconds(250)

  private struct Sample {
    var amount: Int64
    var at: ContinuousClock.Instant
  }

  private var samples: [Sample] = []
  private var latest: Sample?

  package init() {}

  /// Records that the whole amount is `amount` at `now`. Times must not decrease. A smaller amount counts as unchanged.
  package mutating func add(_ amount: Int64, at now: ContinuousClock.Instant) {
    let sample = Sample(amount: amount, at: now)
    latest = sample
    guard let last = samples.last, last.at.duration(to: now) < Self.spacing else {
      samples.append(sample)
      // The newest sample older than the window is kept, so that the rate covers the whole window.
      while samples.count > 1 && samples[1].at.duration(to: now) >= Self.window {
        samples.removeFirst()
      }
      return
    }
  }

  /// The rate per second over the last 10 s, or since the first sample. The rate is 0 until the samples cover 250 ms.
  package var rate: Int64 { Int64(clamped: exactRate) }

  /// Returns the time until the amount has grown by `rest` at the current rate; nil if the rate is 0.
  package func timeLeft(for rest: Int64) -> Duration? {
    exactRate > 0 ? .clamped(seconds: Double(max(rest, 0)) / exactRate) : nil
  }

  /// The ``rate`` without rounding.
  package var exactRate: Double {
    guard let first = samples.first, let latest else { return 0 }
    let time = first.at.duration(to: latest.at)
    if time < Self.spacing { return 0 }
    return Double(max(latest.amount - first.amount, 0)) / (time / .seconds(1))
  }
}
