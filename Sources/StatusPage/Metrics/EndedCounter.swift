import JobQueue

/// Counts ended jobs by adding up the database's totals per minute. The database drops minutes after a week, but a counter must
/// never decrease.
struct EndedCounter: Sendable {
  /// A minute of at least this age, in seconds, no longer changes. The leader adds up changes every second.
  private static let settled: Int64 = 900

  private(set) var completed: Int64 = 0
  private(set) var failed: Int64 = 0
  private(set) var cancelled: Int64 = 0
  /// The last known totals of each minute; nil before the first call of ``see(_:)``.
  private var seen: [Int64: EndedInMinute]?

  /// Returns the first minute that the next read must contain. `now` is in seconds since 1970.
  func since(now: Double) -> Double {
    guard let newest = seen?.keys.max() else { return now - Double(Self.settled) }
    return min(now, Double(newest)) - Double(Self.settled)
  }

  /// Adds the growth of each minute since the last call. The first call only records the totals.
  mutating func see(_ minutes: [EndedInMinute]) {
    let before = seen
    var after = before ?? [:]
    for minute in minutes {
      let old = after.updateValue(minute, forKey: minute.minute)
      guard before != nil else { continue }
      completed += max(0, minute.completed - (old?.completed ?? 0))
      failed += max(0, minute.failed - (old?.failed ?? 0))
      cancelled += max(0, minute.cancelled - (old?.cancelled ?? 0))
    }
    let newest = after.keys.max() ?? 0
    seen = after.filter { $0.key >= newest - 2 * Self.settled }
  }
}
