/// Limits how often the same reason for a missing connection is reported.
struct MessageThrottle {
  private static let interval = Duration.seconds(30)

  private var last: (reason: String, at: ContinuousClock.Instant)?

  /// Returns whether to report `reason` now. If so, it counts as reported.
  mutating func isNews(_ reason: String, at now: ContinuousClock.Instant) -> Bool {
    if let last, last.reason == reason, last.at.duration(to: now) < Self.interval { return false }
    last = (reason, now)
    return true
  }
}
