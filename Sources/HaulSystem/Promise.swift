import Synchronization

/// A value that one task waits for. The wait ends exactly once: with the value, an error or a cancellation.
package final class Promise<Value: Sendable>: Sendable {
  private enum State {
    /// The promise has no waiting task and no value. The next state is `waiting` or `settled`.
    case empty
    /// A task waits for the value. The next state is `settled`.
    case waiting(CheckedContinuation<Value, any Error>)
    case settled(Result<Value, any Error>)
  }

  private let state = Mutex(State.empty)

  package init() {}

  package var isSettled: Bool {
    state.withLock { if case .settled = $0 { true } else { false } }
  }

  /// Ends the wait with a value or an error. Returns false and changes nothing if the wait has already ended.
  @discardableResult
  package func settle(_ result: Result<Value, any Error>) -> Bool {
    let (isFirst, continuation) = state.withLock { state in
      switch state {
      case .settled: return (false, nil as CheckedContinuation<Value, any Error>?)
      case .empty:
        state = .settled(result)
        return (true, nil)
      case .waiting(let continuation):
        state = .settled(result)
        return (true, continuation)
      }
    }
    continuation?.resume(with: result)
    return isFirst
  }

  /// Waits for the value. Call this only once. If the task is cancelled, the call throws `CancellationError` immediately.
  package func value() async throws -> Value {
    try await value { self.settle(.failure(CancellationError())) }
  }

  /// Waits for the value. Call this only once. If the task is cancelled, the promise calls `onCancel` and continues to wait.
  /// Another task must still end the wait with ``settle(_:)``.
  package func value(onCancel: @escaping @Sendable () -> Void) async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let early = state.withLock { state -> Result<Value, any Error>? in
          if case .settled(let result) = state { return result }
          state = .waiting(continuation)
          return nil
        }
        if let early { continuation.resume(with: early) }
      }
    } onCancel: {
      onCancel()
    }
  }
}
