import Glibc

/// A time of the system's wall clock in UTC, to the millisecond. It is only for people to read: no decision depends on it.
package struct WallTime: Sendable, Equatable {
  /// The time in milliseconds since 1970-01-01T00:00:00Z.
  package var milliseconds: Int64

  /// Creates a time from milliseconds since 1970-01-01T00:00:00Z.
  package init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// Returns the current time. (`clock_gettime(CLOCK_REALTIME)`)
  package static func now() -> WallTime {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
  }

  /// Appends the date and time in the form `2026-11-21T12:00:00.123Z` (RFC 3339).
  package func appendDateTime(to line: inout [UInt8]) {
    let day = (milliseconds - dayMilliseconds) / 86_400_000
    let date = Self.civil(day: day)
    line.appendDigits(date.year, width: 4)
    line.append(UInt8(ascii: "-"))
    line.appendDigits(date.month, width: 2)
    line.append(UInt8(ascii: "-"))
    line.appendDigits(date.day, width: 2)
    line.append(UInt8(ascii: "T"))
    appendTime(to: &line)
    line.append(UInt8(ascii: "Z"))
  }

  /// Appends the time of day in the form `12:00:00.123`.
  package func appendTime(to line: inout [UInt8]) {
    let time = dayMilliseconds
    line.appendDigits(time / 3_600_000, width: 2)
    line.append(UInt8(ascii: ":"))
    line.appendDigits(time / 60_000 % 60, width: 2)
    line.append(UInt8(ascii: ":"))
    line.appendDigits(time / 1000 % 60, width: 2)
    line.append(UInt8(ascii: "."))
    line.appendDigits(time % 1000, width: 3)
  }

  /// Milliseconds since midnight. Not negative, even before 1970.
  private var dayMilliseconds: Int64 {
    let rest = milliseconds % 86_400_000
    return rest < 0 ? rest + 86_400_000 : rest
  }

  /// Returns the proleptic Gregorian date of a day, counted from 1970-01-01. It counts in eras of 400 years that start on 1
  /// March, so that the leap day is the last day of its year.
  private static func civil(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
  }
}

extension [UInt8] {
  /// Appends a non-negative number in decimal, padded with zeros to `width` digits.
  fileprivate mutating func appendDigits(_ value: Int64, width: Int) {
    var divisor: Int64 = 1
    for _ in 1..<width { divisor *= 10 }
    while divisor > 0 {
      append(UInt8(ascii: "0") + UInt8(value / divisor % 10))
      divisor /= 10
    }
  }
}
