import Synchronization

/// Room for so many answers at a time that wait for the database: while it does not answer, connections stay free for what
/// does not need it.
final class ReaderPlaces: Sendable {
  private static let most = 32

  private let count = Mutex(0)

  /// Whether there was a place, which is the caller's until ``leave()``.
  func enter() -> Bool {
    count.withLock { count in
      guard count < Self.most else { return false }
      count += 1
      return true
    }
  }

  func leave() { count.withLock { $0 -= 1 } }
}
