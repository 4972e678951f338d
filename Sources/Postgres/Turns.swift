import Synchronization

/// Lets one task at a time through, in the order they came. Not re-entrant.
final class Turns: Sendable {
  private struct State {
    var isTaken = false
    var waiting: [Promise<Void>] = []
  }

  private let state = Mutex(State())

  /// Waits for this task's turn; whoever returns from here must call `giveBack()`.
  ///
  /// - Parameter shielded: goes on waiting when the task is cancelled.
  /// - Throws: `CancellationError`; the turn is then not taken.
  func take(shielded: Bool = false) async throws {
    let promise = Promise<Void>()
    state.withLock { state in
      if state.isTaken {
        state.waiting.append(promise)
      } else {
        state.isTaken = true
        promise.settle(.success(()))
      }
    }
    if shielded {
      try await promise.value(onCancel: {})
    } else {
      try await promise.value()
    }
  }

  /// Passes the turn to the first task that still waits.
  func giveBack() {
    state.withLock { state in
      while !state.waiting.isEmpty {
        // A waiter that was cancelled has settled itself and is passed over.
        if state.waiting.removeFirst().settle(.success(())) { return }
      }
      state.isTaken = false
    }
  }
}
