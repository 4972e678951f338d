import Synchronization

/// A continuation that several callers may resume. The first call resumes the continuation. Later calls do nothing.
package final class OneShot<Value: Sendable>: Sendable {
  private let continuation: Mutex<CheckedContinuation<Value, Never>?>

  package init(_ continuation: CheckedContinuation<Value, Never>) {
    self.continuation = Mutex(continuation)
  }

  /// Resumes the waiting task. Does nothing if the task was already resumed.
  package func resume(returning value: Value) {
    continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }?.resume(returning: value)
  }
}

extension OneShot<Void> {
  /// Resumes the waiting task. Does nothing if the task was already resumed.
  package func resume() { resume(returning: ()) }
}
