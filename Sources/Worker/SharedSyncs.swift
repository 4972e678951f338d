import Synchronization
import Transfer

/// Syncs directories for many at once: one sync of a directory makes all renames durable that were done before it began.
///
/// Whoever comes while a sync of the same directory runs waits for the next one, which serves all who have come
/// meanwhile. The one under way is of no use to him: it may have looked at the directory before his rename.
final class SharedSyncs: Sendable {
  private typealias Waiter = (
    parent: Destination.Parent, continuation: CheckedContinuation<TransferError?, Never>
  )

  typealias Sync = @Sendable ([Destination.Parent]) throws(TransferError) -> Void

  private let io: IOPool
  private let syncOnce: Sync
  /// By directory, who waits for the next sync. There is an entry while a sync runs.
  private let waiting = Mutex<[Destination.Parent.Identity: [Waiter]]>([:])

  /// `syncOnce` makes values that stand for one directory durable, on a thread of `io`.
  init(_ io: IOPool, syncOnce: @escaping Sync = { try Destination.Parent.sync($0) }) {
    self.io = io
    self.syncOnce = syncOnce
  }

  /// The names that were in `parent` before the call are durable on return.
  func sync(_ parent: Destination.Parent) async throws(TransferError) {
    let identity = try parent.identity()
    let error = await withCheckedContinuation { continuation in
      let begins = waiting.withLock { waiting in
        let isRunning = waiting[identity] != nil
        waiting[identity, default: []].append((parent, continuation))
        return !isRunning
      }
      if begins { submit(identity) }
    }
    if let error { throw error }
  }

  /// How many wait for a sync that has not begun.
  var waitingCount: Int { waiting.withLock { $0.values.reduce(0) { $0 + $1.count } } }

  private func submit(_ identity: Destination.Parent.Identity) {
    io.submit { self.turn(identity) }
  }

  /// One sync for all who wait now, and another after it where more have come.
  private func turn(_ identity: Destination.Parent.Identity) {
    let served = waiting.withLock { waiting in
      defer { waiting[identity] = [] }
      return waiting[identity] ?? []
    }
    var error: TransferError?
    do throws(TransferError) {
      try syncOnce(served.map(\.parent))
    } catch let failure {
      error = failure
    }
    for waiter in served { waiter.continuation.resume(returning: error) }
    let more = waiting.withLock { waiting in
      guard waiting[identity]?.isEmpty ?? true else { return true }
      waiting[identity] = nil
      return false
    }
    if more { submit(identity) }
  }
}
