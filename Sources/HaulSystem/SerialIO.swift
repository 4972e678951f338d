import Synchronization

/// Runs what blocks for one file, one after another in the order of submission, on a pool's
/// threads.
package final class SerialIO: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var running = false
  }

  private let pool: IOPool
  private let state = Mutex(State())

  package init(_ pool: IOPool) {
    self.pool = pool
  }

  /// Runs `body` after everything submitted before.
  package func submit(_ body: @escaping @Sendable () -> Void) {
    let idle = state.withLock { state in
      state.waiting.append(body)
      defer { state.running = true }
      return !state.running
    }
    if idle { pool.submit { self.turn() } }
  }

  /// Runs `body` after everything submitted before and gives what it gives.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }

  /// Runs the first that waits, then lets other files have the thread.
  private func turn() {
    // Taken out, so that what it holds is let go when it has run.
    state.withLock { $0.waiting.removeFirst() }()
    let more = state.withLock { state in
      state.running = !state.waiting.isEmpty
      return state.running
    }
    if more { pool.submit { self.turn() } }
  }
}
