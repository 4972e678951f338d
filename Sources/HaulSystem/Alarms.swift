import Synchronization

/// Calls functions at their times, with one sleeping task for all of them.
///
/// A task that sleeps for each file costs a timer of the kernel, which remains after the task was cancelled. For many small
/// files that is a noticeable part of the work.
package final class Alarms: Sendable {
  private struct State {
    var set: [ObjectIdentifier: Alarm] = [:]
    /// The time until which the task sleeps; nil if there is no task.
    var wakesAt: ContinuousClock.Instant?
  }

  private struct Alarm {
    let time: ContinuousClock.Instant
    let call: @Sendable () -> Void
  }

  private let state = Mutex(State())

  /// Creates alarms of which none is set.
  package init() {}

  /// Calls `call` at `time`, or soon if `time` is over, from a task that other alarms wait for: `call` must return soon.
  ///
  /// - Parameter owner: has at most one alarm; this one replaces an earlier one. It must exist until the alarm is called or
  ///   removed.
  package func set(
    _ owner: AnyObject, at time: ContinuousClock.Instant, _ call: @escaping @Sendable () -> Void
  ) {
    let wakes = state.withLock { state in
      state.set[ObjectIdentifier(owner)] = Alarm(time: time, call: call)
      if let wakesAt = state.wakesAt, wakesAt <= time { return false }
      state.wakesAt = time
      return true
    }
    if wakes { Task { await wait(until: time) } }
  }

  /// Removes the alarm of `owner`. A call that has already begun may still be in progress.
  package func remove(_ owner: AnyObject) {
    state.withLock { _ = $0.set.removeValue(forKey: ObjectIdentifier(owner)) }
  }

  private func wait(until first: ContinuousClock.Instant) async {
    var next: ContinuousClock.Instant? = first
    while let time = next {
      try? await Task.sleep(until: time, clock: .continuous)
      let (due, following) = takeDue(at: time)
      for alarm in due { alarm.call() }
      next = following
    }
  }

  /// Returns the alarms that are due, and the time of the next one; nothing if another task sleeps until an earlier time.
  private func takeDue(
    at time: ContinuousClock.Instant
  ) -> (due: [Alarm], next: ContinuousClock.Instant?) {
    state.withLock { state in
      guard state.wakesAt == time else { return ([], nil) }
      let now = ContinuousClock.now
      let due = state.set.filter { $0.value.time <= now }
      for owner in due.keys { state.set[owner] = nil }
      state.wakesAt = state.set.values.lazy.map(\.time).min()
      return (Array(due.values), state.wakesAt)
    }
  }
}
