import Synchronization

/// Limits the number of responses that wait for the database at the same time. If the database hangs, connections stay free for
/// health checks.
final class ReaderPlaces: Sendable {
  private static let most = 32

  private let count = Mutex(0)

  /// Takes a place until ``leave()``. Returns false if no place is free.
  func enter() -> Bool {
    count.withLock { count in
      guard count < Self.most else { return false }
      count += 1
      return true
    }
  }

  func leave() { count.withLock { $0 -= 1 } }
}
