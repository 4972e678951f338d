import HaulSystem
package import JobQueue

/// The reasons for waiting that a command has already shown.
package struct ObstacleThrottle {
  private struct Key: Hashable {
    var kind: Obstacle.Kind
    var name: String
  }

  /// When each obstacle can be shown again; nil means never.
  private var told: [Key: ContinuousClock.Instant?] = [:]

  /// Returns whether to show a reason for waiting. A reason is shown once. If it has a waiting time, it is shown again when the
  /// jobs still wait after that time.
  package mutating func isNews(_ obstacle: Obstacle, at now: ContinuousClock.Instant) -> Bool {
    let key = Key(kind: obstacle.kind, name: obstacle.name)
    if let until = told[key], until.map({ now < $0 }) ?? true { return false }
    told[key] = .some(obstacle.seconds.map { now + .clamped(seconds: $0) })
    return true
  }
}
