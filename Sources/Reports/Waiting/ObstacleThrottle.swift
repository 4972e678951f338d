import HaulSystem
package import JobQueue

/// The obstacles that a waiting command has already shown.
package struct ObstacleThrottle {
  private struct Key: Hashable {
    var kind: Obstacle.Kind
    var name: String
  }

  /// The time until which each obstacle is not shown again; nil means never again.
  private var told: [Key: ContinuousClock.Instant?] = [:]

  /// Returns true for a new obstacle, and again after the time that was shown with the obstacle is over.
  package mutating func isNews(_ obstacle: Obstacle, at now: ContinuousClock.Instant) -> Bool {
    let key = Key(kind: obstacle.kind, name: obstacle.name)
    if let until = told[key], until.map({ now < $0 }) ?? true { return false }
    told[key] = .some(obstacle.seconds.map { now + .clamped(seconds: $0) })
    return true
  }
}
