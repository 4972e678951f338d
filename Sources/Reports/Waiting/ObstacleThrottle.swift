import HaulSystem
package import JobQueue

/// Which obstacles a waiting command has already shown.
package struct ObstacleThrottle {
  private struct Key: Hashable {
    var kind: Obstacle.Kind
    var name: String
  }

  /// Until when each one is not shown again; nil means never again.
  private var told: [Key: ContinuousClock.Instant?] = [:]

  /// True the first time, and again when the time is over that was shown with it.
  package mutating func isNews(_ obstacle: Obstacle, at now: ContinuousClock.Instant) -> Bool {
    let key = Key(kind: obstacle.kind, name: obstacle.name)
    if let until = told[key], until.map({ now < $0 }) ?? true { return false }
    told[key] = .some(obstacle.seconds.map { now + .clamped(seconds: $0) })
    return true
  }
}
