import Dispatch
import Synchronization

/// Something awaited by name did not come about in time.
package struct TimedOut: Error, CustomStringConvertible {
  /// What was awaited, in the words of who waited.
  package let what: String
  /// How long the wait lasted.
  package let limit: Duration
  /// What is known instead, such as the end of a program's log; may be empty.
  package let detail: String

  package init(what: String, limit: Duration, detail: String = "") {
    self.what = what
    self.limit = limit
    self.detail = detail
  }

  package var description: String {
    "waited \(limit) in vain for \(what)" + (detail.isEmpty ? "" : "\n" + detail)
  }
}

/// How many times as long as their limit says all waits last: limits are thought of for a machine that does nothing else.
package let patience = 4

/// A value that tests and threads wait on: every change is shown to whoever is waiting, so nobody polls.
///
/// The time-outs only keep a broken test from hanging; nothing is ever concluded from how long a wait took.
package final class Watched<Value: Sendable>: Sendable {
  /// Sees each new value under the lock; returns true when it has seen enough.
  private typealias Observer = @Sendable (Value) -> Bool

  private struct State {
    var value: Value
    var observers: [Int: Observer] = [:]
    var nextObserver = 0
  }

  private let state: Mutex<State>

  package init(_ value: Value) {
    state = Mutex(State(value: value))
  }

  package var value: Value {
    state.withLock { $0.value }
  }

  /// Changes the value and shows it to whoever waits.
  @discardableResult
  package func update<Result: Sendable>(_ change: (inout Value) -> Result) -> Result {
    state.withLock { state in
      let result = change(&state.value)
      for (id, observer) in state.observers where observer(state.value) {
        state.observers[id] = nil
      }
      return result
    }
  }

  /// Waits until `probe` finds what it looks for, beginning with the present value.
  ///
  /// `probe` is called under the lock: it must be quick and must not touch this object. `what` names
  /// the event in the message of ``TimedOut``.
  package func first<Result: Sendable>(
    _ what: String, within limit: Duration = .seconds(30),
    where probe: @escaping @Sendable (Value) -> Result?
  ) async throws -> Result {
    let (stream, continuation) = AsyncStream.makeStream(of: Result.self)
    let id = observe { value in
      guard let result = probe(value) else { return false }
      continuation.yield(result)
      continuation.finish()
      return true
    }
    defer { state.withLock { $0.observers[id] = nil } }
    return try await withThrowingTaskGroup(of: Result.self) { group in
      group.addTask {
        for await result in stream { return result }
        throw CancellationError()
      }
      group.addTask {
        // The time-out.
        try await Task.sleep(for: limit * patience)
        throw TimedOut(what: what, limit: limit * patience)
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() else { throw CancellationError() }
      return result
    }
  }

  /// As ``first(_:within:where:)`` for threads that may block, which Swift's cooperative ones may not.
  package func firstBlocking(
    _ what: String, within limit: Duration = .seconds(30),
    where probe: @escaping @Sendable (Value) -> Bool
  ) throws {
    let found = DispatchSemaphore(value: 0)
    let id = observe { value in
      guard probe(value) else { return false }
      found.signal()
      return true
    }
    defer { state.withLock { $0.observers[id] = nil } }
    let deadline = DispatchTime.now() + .milliseconds(Int(limit * patience / .milliseconds(1)))
    if found.wait(timeout: deadline) == .timedOut {
      throw TimedOut(what: what, limit: limit * patience)
    }
  }

  private func observe(_ observer: @escaping Observer) -> Int {
    state.withLock { state in
      let id = state.nextObserver
      state.nextObserver += 1
      if !observer(state.value) { state.observers[id] = observer }
      return id
    }
  }
}
