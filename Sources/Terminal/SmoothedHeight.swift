/// The number of lines for running downloads. It grows immediately, but shrinks by only one line a second, so that the totals
/// below do not jump when small files come and go.
struct SmoothedHeight {
  private static let patience = Duration.seconds(1)

  private(set) var lines = 0
  private var changedAt: ContinuousClock.Instant?

  /// Updates `lines` at `now`, when the downloads need `needed` lines.
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
