/// Why there is no connection, as it was told last: the same is told again only after a while.
struct MessageThrottle {
  private static let interval = Duration.seconds(30)

  private var last: (reason: String, at: ContinuousClock.Instant)?

  /// Whether `reason` is to be told now, which then counts as done.
  mutating func isNews(_ reason: String, at now: ContinuousClock.Instant) -> Bool {
    if let last, last.reason == reason, last.at.duration(to: now) < Self.interval { return false }
    last = (reason, now)
    return true
  }
}
