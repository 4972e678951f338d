package import Log

/// Lines about single jobs, only as many as a person can read. A round shows the first few of each event and counts the rest.
/// After a round with too many, all are counted until they are few again, except some failures.
package struct JobLines {
  /// How many events of one kind a round shows.
  package static let most = 8

  /// What counts as a line about a job, and how many of such are spoken of.
  private static let events: [(event: LogEvent, word: String)] = [
    (.jobStarted, "started"), (.jobResumed, "resumed"), (.jobCheckpoint, "checkpoints"),
    (.jobCompleted, "completed"), (.jobRetry, "to be retried"), (.jobFailed, "failed"),
    (.jobReleased, "released"), (.jobPaused, "paused"), (.jobCancelled, "cancelled"),
  ]

  /// Lines of this round.
  private var counts: [LogEvent: Int] = [:]
  /// What there was too much of in the last.
  private var floods: Set<LogEvent> = []

  /// Whether the line of `event` that comes now is shown; one that is not about a job always is.
  package mutating func take(_ event: LogEvent) -> Bool {
    guard Self.events.contains(where: { $0.event == event }) else { return true }
    counts[event, default: 0] += 1
    return counts[event, default: 0] <= allowance(event)
  }

  /// Ends the round: `120 started, 118 completed` of what was not shown; nil where all was.
  package mutating func endRound() -> String? {
    let left = Self.events.compactMap { event, word in
      let left = counts[event, default: 0] - allowance(event)
      return left > 0 ? "\(left) \(word)" : nil
    }
    floods = Set(counts.filter { $0.value > Self.most }.keys)
    counts = [:]
    return left.isEmpty ? nil : left.joined(separator: ", ")
  }

  private func allowance(_ event: LogEvent) -> Int {
    floods.contains(event) && event != .jobFailed ? 0 : Self.most
  }
}
