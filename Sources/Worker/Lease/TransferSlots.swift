import Synchronization

/// Limits concurrent transfers. A worker holds more leases than that; those without a slot wait, first come first served within
/// a ``Rank``.
///
/// This way the network does not wait for the disk and the database: while some jobs are synced, published and settled, others
/// have their leases already. It does not wait for silent hosts either: transfers that wait for their first byte do not count,
/// up to the number of slots. After its first byte a transfer counts again. No other transfer enters while too many count.
final class TransferSlots: Sendable {
  /// Who enters first.
  enum Rank: Int {
    /// Its host answers.
    case answered
    /// Its host has not been heard of yet.
    case new
    /// Its host is in trouble, and tried again.
    case again
  }

  private struct State {
    let count: Int
    /// Tokens that have been let in.
    var inside: Set<Int64> = []
    /// Those inside whose hosts keep silent.
    var silent: Set<Int64> = []
    /// By rank.
    var waiting: [(token: Int64, rank: Rank, continuation: CheckedContinuation<Void, Never>)] = []

    /// How many of the silent ones take slots from others, since there are more than slots.
    var excess: Int { max(silent.count - count, 0) }
    var isFull: Bool { inside.count - silent.count + excess >= count }

    /// Lets in who may enter now.
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

  /// Returns when `token` has a slot, or when it is skipped. `isSkipped` returns whether it was
  /// skipped before. Set it before you call skip.
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

  /// How many wait for a slot.
  var waitingCount: Int { state.withLock { $0.waiting.count } }
  /// How many inside are silent.
  var silentCount: Int { state.withLock { $0.silent.count } }
  /// How many silent ones would have to end so that others can enter, whose hosts are not in trouble.
  var hinderedCount: Int {
    state.withLock { state in
      state.isFull ? min(state.excess, state.waiting.count { $0.rank != .again }) : 0
    }
  }

  /// Says which of those inside wait for their first byte. Returns whether there are others than before.
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

  /// Gives the slot of `token` to the next; nothing where it had none.
  func leave(_ token: Int64) {
    state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.silent.remove(token)
      guard state.inside.remove(token) != nil else { return [] }
      return state.admit()
    }.forEach { $0.resume() }
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
