import Synchronization

/// Wrong tokens, of which the log has a line a minute at most: whoever guesses cannot fill a disk.
final class RefusalCount: Sendable {
  private static let interval = Duration.seconds(60)

  private let state = Mutex<(told: ContinuousClock.Instant?, waiting: Int)>((nil, 0))

  /// Counts one at `now`. Returns the number of those that the log has not been told of, where it is time to tell; else nil.
  func add(at now: ContinuousClock.Instant = .now) -> Int? {
    state.withLock { state in
      state.waiting += 1
      if let told = state.told, told.duration(to: now) < Self.interval { return nil }
      defer { state = (now, 0) }
      return state.waiting
    }
  }
}
