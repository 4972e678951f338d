/// How many lines the running downloads keep: as many as they need at once, and one less each second that
/// they need less, so that the total below them does not jump where small files come and go.
struct SmoothedHeight {
  private static let patience = Duration.seconds(1)

  private(set) var lines = 0
  private var changedAt: ContinuousClock.Instant?

  /// At `now` they need `lines`.
  mutating func settle(_ needed: Int, at now: ContinuousClock.Instant) {
    if needed >= lines {
      lines = needed
      changedAt = now
    } else if let changed = changedAt, changed.duration(to: now) >= Self.patience {
      lines -= 1
      changedAt = now
    }
  }
}
