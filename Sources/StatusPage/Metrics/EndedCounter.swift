import JobQueue

/// Counts jobs that end, from what minutes say of themselves while they go by: the database forgets minutes after a week, a
/// counter may not fall.
struct EndedCounter: Sendable {
  /// A minute older than the newest by so many seconds is settled: the leader adds changes up every second.
  private static let settled: Int64 = 900

  private(set) var completed: Int64 = 0
  private(set) var failed: Int64 = 0
  private(set) var cancelled: Int64 = 0
  /// What each minute had when it was last seen; nil before anything was.
  private var seen: [Int64: EndedInMinute]?

  /// From which minute on the next look must read, at `now` in seconds since 1970.
  func since(now: Double) -> Double {
    guard let newest = seen?.keys.max() else { return now - Double(Self.settled) }
    return min(now, Double(newest)) - Double(Self.settled)
  }

  /// Adds what the minutes have more than when they were last seen. The first look only learns what was before.
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
