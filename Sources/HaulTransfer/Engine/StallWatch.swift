/// Tells when an exchange has been too slow for too long.
///
/// Before the body, only the complete head counts. In the body `quota` bytes must arrive in each `limit`, and the count
/// starts again whenever they have. While paused no time runs, which `CURLOPT_LOW_SPEED_TIME` cannot promise for the
/// time before the head. Clock: `ContinuousClock`.
struct StallWatch {
  private let limit: Duration
  private let quota: Int64
  private var since: ContinuousClock.Instant
  private var bytes: Int64 = 0
  private var isPaused = false

  /// `limit` is the longest time `quota` bytes may take.
  init(limit: Duration, quota: Int64, now: ContinuousClock.Instant) {
    self.limit = limit
    self.quota = max(1, quota)
    since = now
  }

  /// Body bytes came.
  mutating func received(_ count: Int, now: ContinuousClock.Instant) {
    bytes += Int64(count)
    if bytes >= quota { restart(now: now) }
  }

  /// The time restarts when the pause ends.
  mutating func setPaused(_ paused: Bool, now: ContinuousClock.Instant) {
    guard paused != isPaused else { return }
    isPaused = paused
    restart(now: now)
  }

  /// Whether the time is over.
  func isStalled(now: ContinuousClock.Instant) -> Bool {
    !isPaused && now - since >= limit
  }

  private mutating func restart(now: ContinuousClock.Instant) {
    since = now
    bytes = 0
  }
}
