import Synchronization

/// Calls functions at set times. All alarms share one sleeping task.
///
/// A sleeping task for each file would set a kernel timer for each file, and cancelling the task does not remove the timer.
/// With many small files, this overhead is a noticeable part of the work.
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

  /// The shortest time between two rounds of calls, since each round looks at all alarms.
  private static let pause = Duration.milliseconds(20)

  private let state = Mutex(State())

  /// Creates a value without alarms.
  package init() {}

  /// Calls `call` at `time`, or soon if `time` has passed. Other alarms wait until `call` returns, so `call` must return soon.
  ///
  /// - Parameter owner: the object that the alarm belongs to. An owner has at most one alarm: a new one replaces the earlier
  ///   one. The owner must exist until the alarm is called or removed.
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

  /// Returns the time at which the alarm of `owner` is due; nil if no alarm is set.
  package func time(of owner: AnyObject) -> ContinuousClock.Instant? {
    state.withLock { $0.set[ObjectIdentifier(owner)]?.time }
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

  /// Returns the alarms that are due, and the time of the next one. Returns nothing if an earlier alarm was set meanwhile,
  /// because a newer task then does the work.
  private func takeDue(
    at time: ContinuousClock.Instant
  ) -> (due: [Alarm], next: ContinuousClock.Instant?) {
    state.withLock { state in
      guard state.wakesAt == time else { return ([], nil) }
      let now = ContinuousClock.now
      let due = state.set.filter { $0.value.time <= now }
      for owner in due.keys { state.set[owner] = nil }
      state.wakesAt = state.set.values.lazy.map(\.time).min().map { max($0, now + Self.pause) }
      return (Array(due.values), state.wakesAt)
    }
  }
}
