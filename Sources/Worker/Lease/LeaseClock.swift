/// Decides what a worker may assume about its leases. The type reads no clock: callers pass times of the monotonic clock.
///
/// A lease lives for `expiry` after the worker *sent* the last acknowledged heartbeat, because the database cannot have started
/// to count earlier. Without its session the worker counts as dead after three seconds without a heartbeat. Half a second before
/// that, it pauses its transfers until its leases are confirmed.
struct LeaseClock: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// The state of the leases.
  enum Standing: Sendable, Equatable {
    /// Transfers are running. The next state is `suspended` or `fenced`.
    case confirmed
    /// Transfers are paused with their sockets open. The next state is `confirmed` or `fenced`.
    case suspended
    /// The leases may have expired, and all transfers have stopped. The next state is `confirmed`, with the leases that are
    /// left.
    case fenced
  }

  /// What the owner of the clock must do with its transfers. `fence` means that all transfers must stop.
  enum Action: Sendable, Equatable { case suspend, resume, fence }

  /// Without a session, transfers pause after this time without an acknowledged heartbeat.
  static let quietTime = Duration.milliseconds(2500)
  /// All transfers stop this long before the leases can expire.
  static let margin = Duration.seconds(1)

  private(set) var standing = Standing.confirmed
  /// The time at which the last acknowledged heartbeat was sent.
  private var sent: Instant
  private var expiry: Duration
  private var hasSession = true
  /// Since this time, the leases have been confirmed without interruption, so a lease that was requested later cannot have been
  /// lost without notice. A heartbeat reply that ends an interruption sets this time.
  private var since: Instant
  /// Whether the session was lost after the last acknowledged heartbeat.
  private var wasCutOff = false

  /// Creates a clock for leases that a registration or heartbeat sent at `sent` has granted for `expiry`.
  init(sent: Instant, expiry: Duration) {
    self.sent = sent
    self.expiry = expiry
    since = sent
  }

  /// Returns the time for which the leases are certain to live.
  func remaining(now: Instant) -> Duration { sent + expiry - now }

  /// Records that the control session, by which the database knows the worker, was lost or is back.
  mutating func session(isThere: Bool) {
    hasSession = isThere
    wasCutOff = wasCutOff || !isThere
  }

  /// Returns whether the worker holds a lease now. The lease was requested at `claimed`, and heartbeats sent from `listed` on
  /// report it.
  ///
  /// If the leases were not confirmed all the time since `claimed`, the database may have granted the lease and taken it back
  /// before the reply arrived. In this case the result is true only after a heartbeat that reports the lease has been
  /// acknowledged.
  func holds(claimed: Instant, listed: Instant, now: Instant) -> Bool {
    standing == .confirmed && present(now) == .confirmed
      && (listed <= sent || !wasCutOff && claimed >= since)
  }

  /// Records that a heartbeat sent at `sent` was acknowledged. The leases that the database still knows are confirmed.
  /// Returns what to do, or nil if nothing changes.
  mutating func acknowledged(sent: Instant, expiry: Duration, now: Instant) -> Action? {
    if standing != .confirmed || wasCutOff || present(sent) != .confirmed { since = now }
    wasCutOff = !hasSession
    self.sent = max(self.sent, sent)
    self.expiry = expiry
    return move(to: present(now))
  }

  /// Checks the clock and returns what to do, or nil if nothing changes. This does not confirm any lease.
  mutating func look(now: Instant) -> Action? {
    let present = present(now)
    return move(to: present == .confirmed ? standing : present)
  }

  /// Suspends the leases, because the process is about to be stopped and they may expire before it continues. Returns what to
  /// do, or nil if nothing changes.
  mutating func suspend() -> Action? {
    standing == .confirmed ? move(to: .suspended) : nil
  }

  private func present(_ now: Instant) -> Standing {
    if remaining(now: now) <= Self.margin { return .fenced }
    return !hasSession && now - sent >= Self.quietTime ? .suspended : .confirmed
  }

  private mutating func move(to next: Standing) -> Action? {
    defer { standing = next }
    switch (standing, next) {
    case (.confirmed, .suspended): return .suspend
    case (.confirmed, .fenced), (.suspended, .fenced): return .fence
    case (.suspended, .confirmed): return .resume
    // Fenced transfers have stopped: there is nothing to suspend or resume.
    default: return nil
    }
  }
}
