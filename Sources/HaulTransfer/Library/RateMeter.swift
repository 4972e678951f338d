import Glibc

/// Measures a rate in bytes per second, smoothed over about two seconds. It reads no clock: callers pass the time.
///
/// The measured rate is a weighted mean of the rates in all intervals. The weights add up to one from the beginning, so that a
/// steady rate is correct immediately.
struct RateMeter: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// The time in seconds after which the weight of an interval falls to 1/e.
  private static let time = 2.0
  /// The shortest interval. A shorter interval is joined with the next one.
  private static let shortest = Duration.milliseconds(100)

  private var last: (fetched: Int64, at: Instant)?
  private var sum = 0.0
  private var weight = 0.0

  /// The rate in bytes per second; 0 before the first interval.
  var rate: Double { weight > 0 ? sum / weight : 0 }

  /// Records that `fetched` bytes have arrived in total: the first after `since`, the last at `received`.
  mutating func update(fetched: Int64, since: Instant, received: Instant, now: Instant) {
    // A new attempt counts from zero.
    if let last, fetched < last.fetched || last.at < since { self.last = nil }
    let (before, begin) = last ?? (0, since)
    // While no bytes arrive, the rate stays the same for one second, then falls.
    let end = fetched > before ? received : now
    guard end - begin >= (fetched > before ? Self.shortest : .seconds(1)) else { return }
    let seconds = (end - begin) / .seconds(1)
    let share = 1 - exp(-seconds / Self.time)
    sum += (Double(fetched - before) / seconds - sum) * share
    weight += (1 - weight) * share
    last = (fetched, end)
  }

  /// Resets the rate, because no bytes arrive until the next ``update(fetched:since:received:now:)``.
  mutating func stop() { self = RateMeter() }
}
