import Synchronization

/// A cache of the directories below a root whose paths are durable, because this process has synced every directory entry on
/// the path. ``contains(_:_:)`` is false for a new directory at the path
/// of a cached one.
final class DurableDirectories: Sendable {
  /// The maximum number of remembered directories. Haul syncs a forgotten directory once more.
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
