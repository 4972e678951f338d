/// Gives buffers to exchanges, and makes an exchange wait if none is free. When buffers come back, the gate wakes only as many
/// exchanges as can get one, starting with the exchange that has waited longest. Use it on the engine thread only.
final class BufferGate {
  private let pool: BufferPool
  private var waiting: [RunningExchange] = []

  init(_ pool: BufferPool) {
    self.pool = pool
  }

  /// Returns a buffer for `exchange`. If none is free, returns nil, and ``RunningExchange/attendPool()`` later makes the
  /// exchange ask again.
  func take(for exchange: RunningExchange) -> GatherBuffer? {
    if let buffer = pool.take(for: exchange.order.request.share) { return buffer }
    waiting.append(exchange)
    return nil
  }

  /// Wakes waiting exchanges after buffers came back to the pool.
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
        // The exchange takes its buffer before attendPool() returns, or waits again.
        exchange.attendPool()
      }
    }
    waiting = still + waiting
  }

  /// Removes `exchange` from the waiting exchanges.
  func forget(_ exchange: RunningExchange) {
    waiting.removeAll { $0 === exchange }
  }
}
