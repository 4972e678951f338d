import Glibc

/// Bytes a second, smoothed over about two seconds and unbiased from the first. Pure: time is passed in.
///
/// A weighted mean of the bytes in each interval. The weights sum up to one from the beginning, so that a steady rate shows as
/// what it is at once.
struct RateMeter: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// After this time, in seconds, an interval counts 1/e of what it did.
  private static let time = 2.0
  /// Shorter intervals are joined with what follows.
  private static let shortest = Duration.milliseconds(100)

  private var last: (fetched: Int64, at: Instant)?
  private var sum = 0.0
  private var weight = 0.0

  /// Bytes a second; 0 before the first interval.
  var rate: Double { weight > 0 ? sum / weight : 0 }

  /// Takes in that `fetched` bytes have come in all: the first after `since`, the last at `received`.
  mutating func update(fetched: Int64, since: Instant, received: Instant, now: Instant) {
    // Another attempt counts from zero.
    if let last, fetched < last.fetched || last.at < since { self.last = nil }
    let (before, begin) = last ?? (0, since)
    // Until the next bytes come, nothing is known. After a second without any, they are missing.
    let end = fetched > before ? received : now
    guard end - begin >= (fetched > before ? Self.shortest : .seconds(1)) else { return }
    let seconds = (end - begin) / .seconds(1)
    let share = 1 - exp(-seconds / Self.time)
    sum += (Double(fetched - before) / seconds - sum) * share
    weight += (1 - weight) * share
    last = (fetched, end)
  }

  /// Nothing comes any more, until ``update(fetched:since:received:now:)`` says otherwise.
  mutating func stop() { self = RateMeter() }
}
