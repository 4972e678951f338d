import Synchronization

/// A mutex that suspends waiting tasks. Tasks acquire the mutex in the order of their requests. The mutex is not re-entrant.
package final class AsyncMutex: Sendable {
  private struct State {
    var isAcquired = false
    var waiting: [Promise<Void>] = []
  }

  private let state = Mutex(State())

  package init() {}

  /// Waits until the caller has the mutex. The caller must call ``release()`` afterwards.
  ///
  /// - Parameter shielded: whether a cancelled task continues to wait.
  /// - Throws: `CancellationError` if the task is cancelled while it waits and `shielded` is false. The caller then does not
  ///   have the mutex.
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

  /// Releases the mutex. The first waiting task gets the mutex.
  package func release() {
    state.withLock { state in
      while !state.waiting.isEmpty {
        // A cancelled waiter is already settled, so it is skipped.
        if state.waiting.removeFirst().settle(.success(())) { return }
      }
      state.isAcquired = false
    }
  }
}
