import Synchronization

/// A queue for the blocking work on one file. It uses the threads of a pool, and runs one piece of work at a time in the order
/// of submission.
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

  /// Queues `body` to run after all work submitted before.
  package func submit(_ body: @escaping @Sendable () -> Void) {
    let idle = state.withLock { state in
      state.waiting.append(body)
      defer { state.running = true }
      return !state.running
    }
    if idle { pool.submit { self.turn() } }
  }

  /// Runs `body` after all work submitted before, and returns its result.
  package func run<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let result = await withCheckedContinuation { continuation in
      submit { continuation.resume(returning: Result(catching: body)) }
    }
    return try result.get()
  }

  /// Runs the first waiting piece of work, then lets other files use the thread.
  private func turn() {
    // Removed before it runs, so that the work is freed when it has run.
    state.withLock { $0.waiting.removeFirst() }()
    let more = state.withLock { state in
      state.running = !state.waiting.isEmpty
      return state.running
    }
    if more { pool.submit { self.turn() } }
  }
}
