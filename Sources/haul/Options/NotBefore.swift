import Arguments
import FoundationEssentials

/// When a job may start first.
enum NotBefore: OptionValue {
  case after(Duration)
  /// Seconds since 1970.
  case at(Double)

  static let expected = "a duration such as 90s or 1h30m, or a time such as 2026-11-21T18:00:00Z"

  /// A duration, or a time by RFC 3339 with its offset from UTC.
  init?(argument: String) {
    if let duration = Duration(argument: argument) {
      self = .after(duration)
    } else if let date = Self.date(argument) {
      self = .at(date.timeIntervalSince1970)
    } else {
      return nil
    }
  }

  var argument: String {
    switch self {
    case .after(let duration): duration.argument
    case .at(let seconds): Date(timeIntervalSince1970: seconds).formatted(.iso8601)
    }
  }

  private static func date(_ text: String) -> Date? {
    for hasFractions in [false, true] {
      let style = Date.ISO8601FormatStyle(
        timeZoneSeparator: .colon, includingFractionalSeconds: hasFractions)
      if let date = try? style.parse(text) { return date }
    }
    return nil
  }
}
