package import Log

/// Limits the number of log lines about single jobs. Each round lasts 5 seconds. A round shows the first ``most`` lines of each
/// event and counts the others. After a round with more than ``most`` lines of an event, the next round only counts the lines
/// of that event. Failures are an exception: every round shows the first ``most`` of them.
package struct JobLines {
  /// The maximum number of lines of each event that a round shows.
  package static let most = 8

  /// The events that are about a job, each with the word for its count.
  private static let events: [(event: LogEvent, word: String)] = [
    (.jobStarted, "started"), (.jobResumed, "resumed"), (.jobCheckpoint, "checkpoints"),
    (.jobCompleted, "completed"), (.jobRetry, "to be retried"), (.jobFailed, "failed"),
    (.jobReleased, "released"), (.jobPaused, "paused"), (.jobCancelled, "cancelled"),
  ]

  /// The number of lines of each event in this round.
  private var counts: [LogEvent: Int] = [:]
  /// The events that had too many lines in the last round.
  private var floods: Set<LogEvent> = []

  /// Returns whether to show a line of `event`. Lines that are not about a job are always shown.
  package mutating func take(_ event: LogEvent) -> Bool {
    guard Self.events.contains(where: { $0.event == event }) else { return true }
    counts[event, default: 0] += 1
    return counts[event, default: 0] <= allowance(event)
  }

  /// Ends the round. Returns the counts of the lines that were not shown, such as `120 started, 118 completed`; nil if all
  /// lines were shown.
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
