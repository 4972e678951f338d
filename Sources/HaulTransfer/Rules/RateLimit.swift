import Synchronization

/// A limit, in bytes per second, for receiving response bodies. All engines and transfers that use the same object share its
/// limit.
///
/// You may change the limit at any time. On average, Haul keeps the limit exactly. Bytes that wait in the kernel's receive
/// buffer do not count yet. When this buffer is full, TCP makes the sender wait.
public final class RateLimit: Sendable {
  private let pace: Mutex<RatePace>

  /// Creates a limit that any number of downloads can share. For unlimited downloads, use no `RateLimit`.
  ///
  /// - Precondition: `bytesPerSecond` is positive.
  public init(bytesPerSecond: Int64) {
    pace = Mutex(RatePace(bytesPerSecond: bytesPerSecond))
  }

  /// The limit in bytes per second. A change takes effect within a quarter of a second.
  ///
  /// - Precondition: A new value is positive.
  public var bytesPerSecond: Int64 {
    get { pace.withLock(\.bytesPerSecond) }
    set { pace.withLock { $0.change(to: newValue, now: .now) } }
  }

  /// Returns the time until the next byte may be read; zero or negative if it may be read now.
  func wait(now: ContinuousClock.Instant) -> Duration { pace.withLock { $0.wait(now: now) } }

  /// Counts `count` bytes that were read.
  func consume(_ count: Int, now: ContinuousClock.Instant) {
    pace.withLock { $0.consume(count, now: now) }
  }
}

/// Calculates when bytes may be read to keep a rate. It reads no clock: callers pass the time. Clock: `ContinuousClock`.
///
/// Each byte moves `usedUntil`, before which no further byte may be read. A piece may be larger than the rate allows at that
/// moment; the next piece then waits longer.
struct RatePace {
  /// The maximum unused time that later bytes may still use. It allows for exchanges that wake a little late.
  static let slack = Duration.milliseconds(100)

  private(set) var bytesPerSecond: Int64
  private var usedUntil: ContinuousClock.Instant?

  init(bytesPerSecond: Int64) {
    precondition(bytesPerSecond > 0, "the rate must be at least 1 byte per second")
    self.bytesPerSecond = bytesPerSecond
  }

  /// Changes the rate. Bytes read at the old rate delay the next ones by at most ``slack``.
  mutating func change(to bytesPerSecond: Int64, now: ContinuousClock.Instant) {
    precondition(bytesPerSecond > 0, "the rate must be at least 1 byte per second")
    self.bytesPerSecond = bytesPerSecond
    usedUntil = usedUntil.map { min($0, now + Self.slack) }
  }

  func wait(now: ContinuousClock.Instant) -> Duration { usedUntil.map { $0 - now } ?? .zero }

  mutating func consume(_ count: Int, now: ContinuousClock.Instant) {
    let start = max(usedUntil ?? now, now - Self.slack)
    usedUntil = start + .nanoseconds(Int64(count) * 1_000_000_000 / bytesPerSecond)
  }
}
