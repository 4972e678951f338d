import Synchronization

/// The most bytes a second that are read of bodies, shared by all engines and transfers that are given the same value.
///
/// It may be changed at any time. Over a time it holds exactly. What the kernel has buffered ahead of it is not counted: the sender is slowed by TCP.
public final class RateLimit: Sendable {
  private let pace: Mutex<RatePace>

  /// A limit for any number of downloads. For no limit, use none.
  ///
  /// - Precondition: `bytesPerSecond` is positive.
  public init(bytesPerSecond: Int64) {
    pace = Mutex(RatePace(bytesPerSecond: bytesPerSecond))
  }

  /// The limit. A change counts within a quarter of a second.
  ///
  /// - Precondition: A new value is positive.
  public var bytesPerSecond: Int64 {
    get { pace.withLock(\.bytesPerSecond) }
    set { pace.withLock { $0.change(to: newValue, now: .now) } }
  }

  /// How long nothing may be read; not above zero where something may.
  func wait(now: ContinuousClock.Instant) -> Duration { pace.withLock { $0.wait(now: now) } }

  /// `count` bytes were read.
  func consume(_ count: Int, now: ContinuousClock.Instant) {
    pace.withLock { $0.consume(count, now: now) }
  }
}

/// When bytes may be read so that a rate holds. Pure: time is passed in. Clock: `ContinuousClock`.
///
/// Each byte moves the moment up to which the bytes so far use up the rate; until then nothing more is read. A
/// piece may thus be larger than what is due when it comes, and what follows waits the longer.
struct RatePace {
  /// Unused time that may still be used, because waiting exchanges wake a little late.
  static let slack = Duration.milliseconds(100)

  private(set) var bytesPerSecond: Int64
  private var usedUntil: ContinuousClock.Instant?

  init(bytesPerSecond: Int64) {
    precondition(bytesPerSecond > 0, "nothing would ever be read")
    self.bytesPerSecond = bytesPerSecond
  }

  /// What was read at the old rate is not held against the new one for longer than ``slack``.
  mutating func change(to bytesPerSecond: Int64, now: ContinuousClock.Instant) {
    precondition(bytesPerSecond > 0, "nothing would ever be read")
    self.bytesPerSecond = bytesPerSecond
    usedUntil = usedUntil.map { min($0, now + Self.slack) }
  }

  func wait(now: ContinuousClock.Instant) -> Duration { usedUntil.map { $0 - now } ?? .zero }

  mutating func consume(_ count: Int, now: ContinuousClock.Instant) {
    let start = max(usedUntil ?? now, now - Self.slack)
    usedUntil = start + .nanoseconds(Int64(count) * 1_000_000_000 / bytesPerSecond)
  }
}
