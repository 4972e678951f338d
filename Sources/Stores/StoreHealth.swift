/// The reason why files cannot be written to a store. The description is a sentence for the operator.
package enum StoreTrouble: Sendable, Equatable, CustomStringConvertible {
  /// A file did not fit, and almost no space is free.
  case full
  case unwritable(String)
  case hangs
  /// The process has too many open files, so it cannot open any in the store. The store is not the cause.
  case openFiles

  package var description: String {
    switch self {
    case .full: "its disk is full"
    case .unwritable(let reason): reason
    case .hangs: "its disk does not answer"
    case .openFiles:
      "the worker has reached its limit of open files: raise it (LimitNOFILE=, 'ulimit -n') or lower --concurrency"
    }
  }
}

/// Whether a store accepts a worker's files, by the monotonic clock. It reads no clock: time is passed in.
package struct StoreHealth: Sendable, Equatable {
  /// The shortest and the longest pause before a closed store is checked again. The pause grows if the store closes again and
  /// again.
  package static let shortest = Duration.seconds(5)
  package static let longest = Duration.seconds(60)

  /// The reason why the store is closed; nil if it is open.
  package private(set) var trouble: StoreTrouble?
  private var pause = shortest
  private var isDueAt: ContinuousClock.Instant?
  private var opened: ContinuousClock.Instant?

  /// Creates the health of an open store.
  package init() {}

  /// Records that the store cannot be written. Returns whether that, or its cause, is new.
  package mutating func close(because trouble: StoreTrouble, now: ContinuousClock.Instant) -> Bool {
    if self.trouble == nil, let opened {
      // The check found no trouble, but the store could not be written soon after.
      pause = now - opened < Self.longest ? min(pause * 2, Self.longest) : Self.shortest
    }
    isDueAt = now + pause
    defer { self.trouble = trouble }
    return self.trouble != trouble
  }

  /// Records that the store can be written. Returns whether that is new.
  package mutating func open(now: ContinuousClock.Instant) -> Bool {
    guard trouble != nil else { return false }
    (trouble, opened) = (nil, now)
    return true
  }

  /// Whether a closed store is due for a check. An open store can be checked at any time.
  package func isDue(now: ContinuousClock.Instant) -> Bool {
    trouble == nil || isDueAt.map { $0 <= now } ?? true
  }
}
