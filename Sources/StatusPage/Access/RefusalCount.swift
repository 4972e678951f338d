import Synchronization

/// Counts wrong tokens and limits the log to one line per minute, so that guessing cannot fill the disk.
final class RefusalCount: Sendable {
  private static let interval = Duration.seconds(60)

  private let state = Mutex<(told: ContinuousClock.Instant?, waiting: Int)>((nil, 0))

  /// Counts a wrong token. Returns the number since the last log line if it is time for a new one, otherwise nil.
  func add(at now: ContinuousClock.Instant = .now) -> Int? {
    state.withLock { state in
      state.waiting += 1
      if let told = state.told, told.duration(to: now) < Self.interval { return nil }
      defer { state = (now, 0) }
      return state.waiting
    }
  }
}
