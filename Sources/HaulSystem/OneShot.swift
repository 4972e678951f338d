import Synchronization

/// A continuation that several may resume: the first one does, and the others change nothing.
package final class OneShot<Value: Sendable>: Sendable {
  private let continuation: Mutex<CheckedContinuation<Value, Never>?>

  package init(_ continuation: CheckedContinuation<Value, Never>) {
    self.continuation = Mutex(continuation)
  }

  /// Resumes the waiting task, unless it was resumed before.
  package func resume(returning value: Value) {
    continuation.withLock { continuation in
      defer { continuation = nil }
      return continuation
    }?.resume(returning: value)
  }
}

extension OneShot<Void> {
  /// Resumes the waiting task, unless it was resumed before.
  package func resume() { resume(returning: ()) }
}
