/// Detects an exchange that is too slow for too long.
///
/// The complete head must arrive within `limit`. Then `quota` bytes of the body must arrive within each `limit`; the count
/// starts again when they have arrived. The time does not run during a pause. libcurl's `CURLOPT_LOW_SPEED_TIME` cannot
/// guarantee this before the head. Clock: `ContinuousClock`.
struct StallWatch {
  private let limit: Duration
  private let quota: Int64
  private var since: ContinuousClock.Instant
  private var bytes: Int64 = 0
  private var isPaused = false

  /// Creates a watch. `limit` is the longest time that `quota` bytes may take.
  init(limit: Duration, quota: Int64, now: ContinuousClock.Instant) {
    self.limit = limit
    self.quota = max(1, quota)
    since = now
  }

  /// Counts body bytes that arrived.
  mutating func received(_ count: Int, now: ContinuousClock.Instant) {
    bytes += Int64(count)
    if bytes >= quota { restart(now: now) }
  }

  /// Begins or ends a pause. The time starts again when the pause ends.
  mutating func setPaused(_ paused: Bool, now: ContinuousClock.Instant) {
    guard paused != isPaused else { return }
    isPaused = paused
    restart(now: now)
  }

  /// Returns whether the time has passed without enough bytes.
  func isStalled(now: ContinuousClock.Instant) -> Bool {
    !isPaused && now - since >= limit
  }

  private mutating func restart(now: ContinuousClock.Instant) {
    since = now
    bytes = 0
  }
}
