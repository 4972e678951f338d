import HaulSystem
package import JobQueue

/// Which obstacles somebody who waits has been told of.
package struct ObstacleThrottle {
  private struct Key: Hashable {
    var kind: Obstacle.Kind
    var name: String
  }

  /// Until when each need not be told again; nil is for ever.
  private var told: [Key: ContinuousClock.Instant?] = [:]

  /// True the first time, and when the time is over that was told with it.
  package mutating func isNews(_ obstacle: Obstacle, at now: ContinuousClock.Instant) -> Bool {
    let key = Key(kind: obstacle.kind, name: obstacle.name)
    if let until = told[key], until.map({ now < $0 }) ?? true { return false }
    told[key] = .some(obstacle.seconds.map { now + .clamped(seconds: $0) })
    return true
  }
}
