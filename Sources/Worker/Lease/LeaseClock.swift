/// Tells what a worker may assume about its leases, by the monotonic clock. Pure: the time is passed in.
///
/// A lease lives for `expiry` from the *sending* of the last heartbeat that was acknowledged: the database cannot have
/// started counting before that. Without its session the worker counts as dead after three seconds without a heartbeat, so
/// half a second before that it stops its transfers from making progress until its leases are confirmed.
struct LeaseClock: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// The state of the leases.
  enum Standing: Sendable, Equatable {
    /// Transfers run. To: suspended, fenced.
    case confirmed
    /// Transfers are paused, sockets open. To: confirmed, fenced.
    case suspended
    /// The leases may have expired: everything has stopped. To: confirmed, with what is left.
    case fenced
  }

  /// What the owner must do.
  enum Action: Sendable, Equatable { case suspend, resume, fence }

  /// Transfers pause after this long without an acknowledged heartbeat and without a session.
  static let quietTime = Duration.milliseconds(2500)
  /// Everything stops this long before the leases can expire.
  static let margin = Duration.seconds(1)

  private(set) var standing = Standing.confirmed
  /// When the last acknowledged heartbeat was sent.
  private var sent: Instant
  private var expiry: Duration
  private var hasSession = true
  /// Since when no lease can have been lost unnoticed: the acknowledgement of the heartbeat that ended the last gap.
  private var since: Instant
  /// The session was lost since the last acknowledged heartbeat.
  private var wasCutOff = false

  /// Leases that a registration or heartbeat sent at `sent` has granted for `expiry`.
  init(sent: Instant, expiry: Duration) {
    self.sent = sent
    self.expiry = expiry
    since = sent
  }

  /// Remaining time for which the leases are certain to live.
  func remaining(now: Instant) -> Duration { sent + expiry - now }

  /// The connection that the database knows the worker by is gone or is back.
  mutating func session(isThere: Bool) {
    hasSession = isThere
    wasCutOff = wasCutOff || !isThere
  }

  /// Whether a lease is ours now: one that was asked for at `claimed` and that heartbeats sent from `listed` on report.
  ///
  /// Where the leases have not been confirmed all the time since it was asked for, it may have been given, and taken back,
  /// before its reply came: then a heartbeat that reports it must have been acknowledged.
  func holds(claimed: Instant, listed: Instant, now: Instant) -> Bool {
    standing == .confirmed && present(now) == .confirmed
      && (listed <= sent || !wasCutOff && claimed >= since)
  }

  /// A heartbeat sent at `sent` was acknowledged: what the database still knows is confirmed.
  mutating func acknowledged(sent: Instant, expiry: Duration, now: Instant) -> Action? {
    if standing != .confirmed || wasCutOff || present(sent) != .confirmed { since = now }
    wasCutOff = !hasSession
    self.sent = max(self.sent, sent)
    self.expiry = expiry
    return move(to: present(now))
  }

  /// Checks the clock. This does not confirm any lease.
  mutating func look(now: Instant) -> Action? {
    let present = present(now)
    return move(to: present == .confirmed ? standing : present)
  }

  /// The process is about to be stopped, and the leases with it may expire.
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
