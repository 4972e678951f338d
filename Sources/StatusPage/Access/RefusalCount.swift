import Synchronization

/// Counts wrong tokens and limits the log to one line per minute, so that guesses cannot fill the disk.
final class RefusalCount: Sendable {
  private static let interval = Duration.seconds(60)

  private let state = Mutex<(told: ContinuousClock.Instant?, waiting: Int)>((nil, 0))

  /// Counts a wrong token. If it is time for a log line, returns the number since the last line; otherwise nil.
  func add(at now: ContinuousClock.Instant = .now) -> Int? {
    state.withLock { state in
      state.waiting += 1
      if let told = state.told, told.duration(to: now) < Self.interval { return nil }
      defer { state = (now, 0) }
      return state.waiting
    }
  }
}
