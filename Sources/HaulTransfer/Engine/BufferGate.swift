/// Gives buffers to exchanges. If there is none, an exchange waits. A returned buffer wakes only as many exchanges as can have one,
/// the longest wait first. Lives on the engine thread.
final class BufferGate {
  private let pool: BufferPool
  private var waiting: [RunningExchange] = []

  init(_ pool: BufferPool) {
    self.pool = pool
  }

  /// Returns a buffer for `exchange`; nil if there is none. Then ``RunningExchange/attendPool()`` later tells it to ask again.
  func take(for exchange: RunningExchange) -> GatherBuffer? {
    if let buffer = pool.take(for: exchange.order.request.share) { return buffer }
    waiting.append(exchange)
    return nil
  }

  /// Buffers came back to the pool.
  func release() {
    var full: Set<ObjectIdentifier?> = []
    var still: [RunningExchange] = []
    let asking = waiting
    waiting = []
    for exchange in asking {
      let share = exchange.order.request.share
      if !full.contains(share), !pool.mayTake(for: share) { full.insert(share) }
      if full.contains(share) {
        still.append(exchange)
      } else {
        // It takes its buffer before this returns, or waits again.
        exchange.attendPool()
      }
    }
    waiting = still + waiting
  }

  /// `exchange` waits no longer.
  func forget(_ exchange: RunningExchange) {
    waiting.removeAll { $0 === exchange }
  }
}
