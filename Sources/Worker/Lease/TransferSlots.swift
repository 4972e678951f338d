import Synchronization

/// Limits concurrent transfers. A worker holds more leases than slots; those without a slot wait, first come first served
/// within a ``Rank``.
///
/// The network thus does not wait for the disk and the database: while some jobs are synced, published and recorded, others
/// already have their leases. The network does not wait for silent hosts either: transfers that wait for their first byte do not
/// count, up to the number of slots. After its first byte a transfer counts again. While too many transfers count, no further
/// transfer gets a slot.
final class TransferSlots: Sendable {
  /// The order in which waiting leases get slots.
  enum Rank: Int {
    /// The host has answered earlier requests.
    case answered
    /// The host has never answered, or has not answered since a transfer got no first byte in time.
    case new
    /// The latest transfers of the host have failed.
    case again
  }

  private struct State {
    let count: Int
    /// The tokens that have a slot.
    var inside: Set<Int64> = []
    /// The tokens with a slot whose hosts are silent.
    var silent: Set<Int64> = []
    /// The waiting tokens, in the order of their ranks.
    var waiting: [(token: Int64, rank: Rank, continuation: CheckedContinuation<Void, Never>)] = []

    /// The number of silent transfers that take slots from others, because there are more silent transfers than slots.
    var excess: Int { max(silent.count - count, 0) }
    var isFull: Bool { inside.count - silent.count + excess >= count }

    /// Gives free slots to waiting tokens.
    mutating func admit() -> [CheckedContinuation<Void, Never>] {
      var admitted: [CheckedContinuation<Void, Never>] = []
      while !isFull, !waiting.isEmpty {
        let next = waiting.removeFirst()
        inside.insert(next.token)
        admitted.append(next.continuation)
      }
      return admitted
    }
  }

  private let state: Mutex<State>

  init(_ count: Int) {
    state = Mutex(State(count: count))
  }

  /// Returns when `token` has a slot, or when it is skipped. `isSkipped` returns whether the token was skipped before. Make it
  /// return true before you call ``skip(_:)``.
  func enter(
    _ token: Int64, rank: Rank = .answered, unless isSkipped: () -> Bool
  ) async {
    await withCheckedContinuation { continuation in
      let mayPass = state.withLock { state in
        if isSkipped() { return true }
        guard !state.isFull else {
          let place = state.waiting.firstIndex { $0.rank.rawValue > rank.rawValue }
          state.waiting.insert((token, rank, continuation), at: place ?? state.waiting.endIndex)
          return false
        }
        state.inside.insert(token)
        return true
      }
      if mayPass { continuation.resume() }
    }
  }

  /// The number of tokens that wait for a slot.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
  /// The number of silent transfers with a slot.
  var silentCount: Int { state.withLock { $0.silent.count } }
  /// The number of silent transfers that must end before waiting transfers of hosts without problems can enter.
  var hinderedCount: Int {
    state.withLock { state in
      state.isFull ? min(state.excess, state.waiting.count { $0.rank != .again }) : 0
    }
  }

  /// Sets the transfers that wait for their first byte. Returns whether the set of silent transfers with a slot has changed.
  func setSilent(_ tokens: Set<Int64>) -> Bool {
    let (isNews, admitted) = state.withLock { state in
      let silent = tokens.intersection(state.inside)
      let isNews = silent != state.silent
      state.silent = silent
      return (isNews, state.admit())
    }
    admitted.forEach { $0.resume() }
    return isNews
  }

  /// Gives the slot of `token` to the next waiting token. Does nothing if `token` had none.
  func leave(_ token: Int64) {
    state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.silent.remove(token)
      guard state.inside.remove(token) != nil else { return [] }
      return state.admit()
    }.forEach { $0.resume() }
  }

  /// If `token` waits for a slot, ends the wait without a slot.
  func skip(_ token: Int64) {
    state.withLock { state in
      state.waiting.firstIndex { $0.token == token }.map {
        state.waiting.remove(at: $0).continuation
      }
    }?.resume()
  }
}
