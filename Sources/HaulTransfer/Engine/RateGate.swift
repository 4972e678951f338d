/// Delays exchanges to keep the engine's rate limit and their own limits. It releases them in the order in which they came.
/// Used on the engine thread only.
final class RateGate {
  private let limit: RateLimit?
  /// The waiting exchanges, the longest wait first.
  private var held: [RunningExchange] = []

  /// Creates a gate. `limit` is the engine's rate limit; nil for none.
  init(_ limit: RateLimit?) {
    self.limit = limit
  }

  /// Returns whether `exchange` may take a piece of its body. If not, it waits until the gate calls
  /// ``RunningExchange/takeTurn()``.
  func admits(_ exchange: RunningExchange, now: ContinuousClock.Instant) -> Bool {
    if wait(for: exchange, now: now) <= .zero { return true }
    held.append(exchange)
    return false
  }

  /// Counts `count` bytes that `exchange` has received.
  func consume(_ count: Int, by exchange: RunningExchange, now: ContinuousClock.Instant) {
    limit?.consume(count, now: now)
    exchange.order.request.rateLimit?.consume(count, now: now)
  }

  /// Releases the exchanges that may take a piece. During this call the gate may delay such an exchange again. The exchange is
  /// then last in line.
  func release(now: ContinuousClock.Instant) {
    for exchange in held where wait(for: exchange, now: now) <= .zero {
      forget(exchange)
      exchange.takeTurn()
    }
  }

  /// Returns the time until the next exchange may be released; nil if none waits.
  func wait(now: ContinuousClock.Instant) -> Duration? {
    held.map { wait(for: $0, now: now) }.min()
  }

  /// Removes `exchange` from the waiting exchanges.
  func forget(_ exchange: RunningExchange) {
    held.removeAll { $0 === exchange }
  }

  private func wait(for exchange: RunningExchange, now: ContinuousClock.Instant) -> Duration {
    let own = exchange.order.request.rateLimit?.wait(now: now) ?? .zero
    return max(limit?.wait(now: now) ?? .zero, own)
  }
}
