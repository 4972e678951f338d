import Synchronization

/// A mutex whose waiting tasks suspend. They acquire it in the order in which they came. Not re-entrant.
package final class AsyncMutex: Sendable {
  private struct State {
    var isAcquired = false
    var waiting: [Promise<Void>] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Waits for the mutex; the caller must call ``release()`` once this returns.
  ///
  /// - Parameter shielded: goes on waiting when the task is cancelled.
  /// - Throws: `CancellationError`; the mutex is then not acquired.
  package func acquire(shielded: Bool = false) async throws {
    let promise = Promise<Void>()
    state.withLock { state in
      if state.isAcquired {
        state.waiting.append(promise)
      } else {
        state.isAcquired = true
        promise.settle(.success(()))
      }
    }
    if shielded {
      try await promise.value(onCancel: {})
    } else {
      try await promise.value()
    }
  }

  /// Passes the mutex to the first task that still waits.
  package func release() {
    state.withLock { state in
      while !state.waiting.isEmpty {
        // A waiter that was cancelled has settled itself and is passed over.
        if state.waiting.removeFirst().settle(.success(())) { return }
      }
      state.isAcquired = false
    }
  }
}
