import Arguments
import FoundationEssentials

/// A calendar time or a duration. The option says whether a duration counts forward or back from now.
enum TimeArgument: OptionValue {
  case duration(Duration)
  /// A point in time, in seconds since 1970.
  case at(Double)

  static let expected = "a duration such as 90s or 1h30m, or a time such as 2026-11-21T18:00:00Z"

  /// Reads a duration, or an RFC 3339 time with its offset from UTC; nil for any other text.
  init?(argument: String) {
    if let duration = Duration(argument: argument) {
      self = .duration(duration)
    } else if let date = Self.date(argument) {
      self = .at(date.timeIntervalSince1970)
    } else {
      return nil
    }
  }

  var argument: String {
    switch self {
    case .duration(let duration): duration.argument
    case .at(let seconds): Date(timeIntervalSince1970: seconds).formatted(.iso8601)
    }
  }

  private static func date(_ text: String) -> Date? {
    for hasFractions in [false, true] {
      let style = Date.ISO8601FormatStyle(
        timeZoneSeparator: .colon, includingFractionalSeconds: hasFractions)
      if let date = try? style.parse(text) { return isInCalendar(text) ? date : nil }
    }
    return nil
  }

  /// Returns whether the day and time exist. The parser reads 30 February as 2 March.
  private static func isInCalendar(_ text: String) -> Bool {
    guard
      let parts = text.wholeMatch(
        of: /(\d{4})-(\d\d)-(\d\d).(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-](\d\d):?(\d\d))/),
      let year = Int(parts.1), let month = Int(parts.2), let day = Int(parts.3),
      let hour = Int(parts.4), let minute = Int(parts.5), let second = Int(parts.6)
    else { return false }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...12).contains(month), (1...days[month - 1]).contains(day) else { return false }
    let (ahead, minutes) = (parts.7.flatMap { Int($0) } ?? 0, parts.8.flatMap { Int($0) } ?? 0)
    return hour < 24 && minute < 60 && second < 60 && ahead < 24 && minutes < 60
  }
}
