/// Decides when a running call is cancelled, and when its connection is given up.
struct CallWatch {
  typealias Instant = ContinuousClock.Instant

  /// Why the server was asked to stop.
  enum Reason: Sendable {
    case timeout, cancellation
  }

  enum Action: Equatable {
    case none
    /// Ask the server to stop, once.
    case requestCancel
    /// The call and the cancel request got no answer: the connection is dead.
    case giveUp
  }

  private enum State {
    /// Becomes stopping at its deadline or when the task is cancelled.
    case running(deadline: Instant)
    case stopping(Reason, until: Instant)
  }

  /// How long the server may take to answer after it was asked to stop.
  private static let grace = Duration.seconds(3)

  private var state: State

  init(deadline: Instant) {
    state = .running(deadline: deadline)
  }

  /// Why the call was asked to stop; nil if it was not.
  var reason: Reason? {
    if case .stopping(let reason, _) = state { reason } else { nil }
  }

  /// When `check` must be called again if nothing happens before.
  var nextCheck: Instant {
    switch state {
    case .running(let deadline): deadline
    case .stopping(_, let until): until
    }
  }

  mutating func check(now: Instant, isCancelled: Bool) -> Action {
    switch state {
    case .running(let deadline):
      guard isCancelled || now >= deadline else { return .none }
      state = .stopping(isCancelled ? .cancellation : .timeout, until: now + Self.grace)
      return .requestCancel
    case .stopping(_, let until):
      return now >= until ? .giveUp : .none
    }
  }
}
