/// The reason why Haul cannot write files to a store. The description is a sentence for the operator.
package enum StoreTrouble: Sendable, Equatable, CustomStringConvertible {
  /// A file did not fit, because almost no space is free.
  case full
  case unwritable(String)
  case hangs
  /// The process has too many open files to open another one in the store. The store is not the cause.
  case openFiles

  package var description: String {
    switch self {
    case .full: "the disk of the store is full"
    case .unwritable(let reason): reason
    case .hangs: "the disk of the store does not answer"
    case .openFiles:
      "the worker has reached its limit of open files: raise the limit (LimitNOFILE= in the systemd unit, or 'ulimit -n'), or lower --concurrency"
    }
  }
}

/// Whether a worker may write files to a store, or must wait for the store to work again. The type reads no clock: callers pass
/// the time.
package struct StoreHealth: Sendable, Equatable {
  /// The shortest time before Haul repeats the check of a store that is closed to new files. This time doubles, up to
  /// ``longest``, if the store closes again within ``longest`` after it was opened.
  package static let shortest = Duration.seconds(5)
  package static let longest = Duration.seconds(60)

  /// The reason why the store is closed to new files; nil if it is open.
  package private(set) var trouble: StoreTrouble?
  private var pause = shortest
  private var isDueAt: ContinuousClock.Instant?
  private var opened: ContinuousClock.Instant?

  /// Creates the health of a store that is open to new files.
  package init() {}

  /// Closes the store, because it cannot be written. Returns true if the store was open, or was closed for another reason.
  package mutating func close(because trouble: StoreTrouble, now: ContinuousClock.Instant) -> Bool {
    if self.trouble == nil, let opened {
      // The check found no trouble, but the store could not be written soon after.
      pause = now - opened < Self.longest ? min(pause * 2, Self.longest) : Self.shortest
    }
    isDueAt = now + pause
    defer { self.trouble = trouble }
    return self.trouble != trouble
  }

  /// Opens the store, because it can be written. Returns true if the store was closed.
  package mutating func open(now: ContinuousClock.Instant) -> Bool {
    guard trouble != nil else { return false }
    (trouble, opened) = (nil, now)
    return true
  }

  /// Returns whether it is time to check a closed store again. An open store can be checked at any time.
  package func isDue(now: ContinuousClock.Instant) -> Bool {
    trouble == nil || isDueAt.map { $0 <= now } ?? true
  }
}
