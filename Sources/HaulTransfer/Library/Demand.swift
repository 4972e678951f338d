import Synchronization

/// Limits how many downloads of a sequence may begin: the concurrency limit, plus one for each result that the caller has
/// handled.
final class Demand: Sendable {
  private struct State {
    var places: Int
    var isOver = false
    var waiting: [CheckedContinuation<Bool, Never>] = []

    /// Takes a place and returns true; nil if there is no place. Returns false after ``Demand/end()``.
    mutating func answer() -> Bool? {
      if isOver { return false }
      guard places > 0 else { return nil }
      places -= 1
      return true
    }
  }

  private let state: Mutex<State>

  init(_ places: Int) { state = Mutex(State(places: places)) }

  /// Waits for a place. Returns false if ``end()`` was called first.
  func take() async -> Bool {
    if let answer = state.withLock({ $0.answer() }) { return answer }
    return await withCheckedContinuation { continuation in
      let answer = state.withLock { state -> Bool? in
        let answer = state.answer()
        if answer == nil { state.waiting.append(continuation) }
        return answer
      }
      if let answer { continuation.resume(returning: answer) }
    }
  }

  /// Adds a place.
  func give() {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      if let first = state.waiting.first {
        state.waiting.removeFirst()
        return first
      }
      state.places += 1
      return nil
    }
    next?.resume(returning: true)
  }

  /// Ends the demand: no further download begins.
  func end() {
    let waiting = state.withLock { state in
      state.isOver = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for continuation in waiting { continuation.resume(returning: false) }
  }
}
