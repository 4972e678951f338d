import Synchronization

/// Limits concurrent transfers. A worker holds more leases than that; those without a slot wait, first come first served.
///
/// Thus the network does not wait for the disk and the database: while some jobs are synced, published and settled, others
/// have their leases already.
final class TransferSlots: Sendable {
  private struct State {
    var free: Int
    /// Tokens that have a slot.
    var inside: Set<Int64> = []
    var waiting: [(token: Int64, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state: Mutex<State>

  init(_ count: Int) {
    state = Mutex(State(free: count))
  }

  /// Returns when `token` has a slot, or when it is skipped. `isSkipped` says whether that was so before: whoever skips makes
  /// it true first.
  func enter(_ token: Int64, unless isSkipped: () -> Bool) async {
    await withCheckedContinuation { continuation in
      let mayPass = state.withLock { state in
        if isSkipped() { return true }
        guard state.free > 0 else {
          state.waiting.append((token, continuation))
          return false
        }
        state.free -= 1
        state.inside.insert(token)
        return true
      }
      if mayPass { continuation.resume() }
    }
  }

  /// How many wait for a slot.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Gives the slot of `token` to the next; nothing where it had none.
  func leave(_ token: Int64) {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard state.inside.remove(token) != nil else { return nil }
      guard !state.waiting.isEmpty else {
        state.free += 1
        return nil
      }
      let next = state.waiting.removeFirst()
      state.inside.insert(next.token)
      return next.continuation
    }?.resume()
  }

  /// Lets `token` pass without a slot, if it waits for one.
  func skip(_ token: Int64) {
    state.withLock { state in
      state.waiting.firstIndex { $0.token == token }.map {
        state.waiting.remove(at: $0).continuation
      }
    }?.resume()
  }
}
