import Synchronization

/// Shows a repeated line once, and then at most once a minute with the number of repetitions.
///
/// Use this for lines that are written for as long as a problem lasts. Always show a line about a change of state, such as a lost
/// session.
final class RepeatedLines: Sendable {
  /// Whether a line is shown.
  enum Verdict: Equatable {
    /// The caller must show the line. `count` is the number of times that the line was logged since it was last shown; nil for
    /// one time.
    case show(count: Int?)
    case hide
  }

  private struct Told {
    /// The time in milliseconds since 1970.
    var at: Int64
    var hidden = 0
  }

  /// The minimum time before a line is shown again, in milliseconds.
  private static let interval: Int64 = 60_000
  /// The maximum number of lines to remember. With more lines, those last shown more than a minute ago are forgotten. If that is
  /// not enough, all are forgotten.
  private static let limit = 200

  private let told = Mutex<[String: Told]>([:])

  /// Counts a line with this text at `now`, and returns whether it is shown.
  func take(_ text: String, now: WallTime) -> Verdict {
    told.withLock { told in
      // After the clock was set back, all lines count as new.
      if var last = told[text], (0..<Self.interval).contains(now.milliseconds - last.at) {
        last.hidden += 1
        told[text] = last
        return .hide
      }
      let hidden = told[text]?.hidden ?? 0
      if told.count >= Self.limit {
        told = told.filter { now.milliseconds - $0.value.at < Self.interval }
        if told.count >= Self.limit { told = [:] }
      }
      told[text] = Told(at: now.milliseconds)
      return .show(count: hidden > 0 ? hidden + 1 : nil)
    }
  }
}

extension LogEvent {
  /// Whether lines of this event report a problem with an action that Haul tries repeatedly.
  var isComplaint: Bool {
    switch self {
    case .databaseLost, .databaseRetry, .janitorFailed: true
    default: false
    }
  }
}
