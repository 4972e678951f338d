import Synchronization

/// Shows a line that says the same again and again once, and then once a minute with how often it came.
///
/// It is about lines that are written for as long as something stays wrong. A line about a change of state, such as one
/// that says that a session is lost, is news each time.
final class RepeatedLines: Sendable {
  /// What is to be done with a line.
  enum Verdict: Equatable {
    /// Show it, with how often it came since it was shown last; nil where that is no news.
    case show(count: Int?)
    case hide
  }

  private struct Told {
    /// Milliseconds since 1970.
    var at: Int64
    var hidden = 0
  }

  /// In milliseconds.
  private static let interval: Int64 = 60_000
  /// With more lines than that the oldest are forgotten.
  private static let limit = 200

  private let told = Mutex<[String: Told]>([:])

  /// Decides on a line of that text at `now`, and counts it.
  func take(_ text: String, now: WallTime) -> Verdict {
    told.withLock { told in
      // A clock that was set back makes all of them new.
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
  /// Whether lines of this event complain of something that is tried again and again.
  var isComplaint: Bool {
    switch self {
    case .databaseLost, .databaseRetry, .janitorFailed: true
    default: false
    }
  }
}
