import Synchronization

/// Directories below a root, by path, whose entries on the way are durable: this process has synced them. A directory
/// that has replaced another one is unknown.
final class DurableDirectories: Sendable {
  /// What is forgotten is only synced once more.
  private static let limit = 4096

  private let known = Mutex<[String: Destination.Parent.Identity]>([:])

  func contains(_ path: String, _ identity: Destination.Parent.Identity) -> Bool {
    known.withLock { $0[path] == identity }
  }

  func insert(_ path: String, _ identity: Destination.Parent.Identity) {
    known.withLock { known in
      if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
      known[path] = identity
    }
  }
}
