/// Decides when to cancel a running call, and when to give up its connection.
struct CallWatch {
  typealias Instant = ContinuousClock.Instant

  /// The reason why the server was asked to stop.
  enum Reason: Sendable {
    case timeout, cancellation
  }

  enum Action: Equatable {
    case none
    /// The caller must ask the server to stop the statement. This happens only once.
    case requestCancel
    /// The caller must close the connection, because the server did not answer the call or the cancel request.
    case giveUp
  }

  private enum State {
    /// The call is running. The next state is `stopping`, at the deadline or when the task of the call is cancelled.
    case running(deadline: Instant)
    case stopping(Reason, until: Instant)
  }

  /// How long the server may take to answer after it was asked to stop.
  private static let grace = Duration.seconds(3)

  private var state: State

  init(deadline: Instant) {
    state = .running(deadline: deadline)
  }

  /// The reason for the cancel request; nil if there was none.
  var reason: Reason? {
    if case .stopping(let reason, _) = state { reason } else { nil }
  }

  /// The time at which `check` must be called again, unless something happens earlier.
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
