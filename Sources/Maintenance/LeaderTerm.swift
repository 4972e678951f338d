/// Tracks when this process is the leader, from the database's answer in each round.
///
/// If this process acts for a leader that hangs, the answer right after its own round is "do not lead", because maintenance has
/// just run. This answer does not end the term. A later "do not lead" ends it, because another process has then run
/// maintenance.
struct LeaderTerm {
  enum News: Equatable {
    case elected
    case standsBy(hasLed: Bool)
  }

  private enum State {
    case unknown
    /// This process leads. The next state is `standsBy` or `unknown`. `keptAt` is the end of the last round; nil before the
    /// first round.
    case leads(keptAt: ContinuousClock.Instant?)
    case standsBy
  }

  /// How long maintenance must have stopped before a process without the leader lock leads (`haul.lead`).
  static let patience = Duration.seconds(2)

  private var state = State.unknown

  /// Records whether this process leads, according to the database's answer at `now`. Returns an event to log; nil if there is
  /// none.
  mutating func asked(leads: Bool, now: ContinuousClock.Instant) -> News? {
    switch (state, leads) {
    case (.leads, true), (.standsBy, false): return nil
    case (.leads(let keptAt?), false) where keptAt.duration(to: now) < Self.patience: return nil
    case (_, true):
      state = .leads(keptAt: nil)
      return .elected
    case (let earlier, false):
      state = .standsBy
      if case .leads = earlier { return .standsBy(hasLed: true) }
      return .standsBy(hasLed: false)
    }
  }

  /// Records the end of a round.
  mutating func kept(now: ContinuousClock.Instant) {
    if case .leads = state { state = .leads(keptAt: now) }
  }

  /// Records that the leading session was lost.
  mutating func lost() { state = .unknown }
}
