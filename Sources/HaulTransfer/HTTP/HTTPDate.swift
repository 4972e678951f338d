import Glibc
internal import HaulCLibcurl

/// A time in whole seconds, as header fields give it (RFC 9110 §5.6.7).
struct HTTPDate: Sendable, Hashable, Comparable {
  /// The time in seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
  var seconds: Int64

  init(seconds: Int64) {
    self.seconds = seconds
  }

  /// The current time of this machine's wall clock.
  static var now: HTTPDate { HTTPDate(seconds: Int64(time(nil))) }

  /// The time as IMF-fixdate, such as `Sun, 06 Nov 1994 08:49:37 GMT`.
  var text: String { CalendarFields(self).fixdate }

  /// The last second of the year 9999. For some text that is not a date, curl_getdate(3) returns later times.
  private static let lastSecond: Int64 = 253_402_300_799

  static func < (one: HTTPDate, other: HTTPDate) -> Bool { one.seconds < other.seconds }

  /// Reads the three formats that a recipient must understand (IMF-fixdate, RFC 850, asctime), and other formats that
  /// curl_getdate(3) reads, such as `Sun, 6 Nov 1994 08:49:37 +0000`. Nil for any other text.
  ///
  /// In the three formats, case matters. The day's name must be a weekday, but need not match the date. `now` sets the century
  /// for the two-digit years of RFC 850: a year that would be more than 50 years after `now` belongs to the century before.
  init?(_ text: String, now: HTTPDate) {
    if let fields = CalendarFields(fixdate: text) ?? CalendarFields(asctime: text)
      ?? CalendarFields(rfc850: text, currentYear: CalendarFields.year(of: now))
    {
      guard let seconds = fields.secondsSinceEpoch else { return nil }
      self.seconds = seconds
      return
    }
    // curl_getdate(3) accepts words and numbers in any order, and a date without a time. So require a time with a colon.
    guard text.contains(":"), text.utf8.count < 64 else { return nil }
    let seconds = unsafe curl_getdate(text, nil)
    guard (0...Self.lastSecond).contains(Int64(seconds)) else { return nil }
    self.seconds = Int64(seconds)
  }
}

extension HTTPDate {
  /// The number of whole days since 1970-01-01.
  fileprivate var day: Int64 { (seconds >= 0 ? seconds : seconds - 86_399) / 86_400 }
}

/// A date as written. It can be a day that does not exist, such as 31 June.
private struct CalendarFields {
  var year = 0
  /// The month, 0 to 11.
  var month = 0
  /// The day of the month, 1 to 31.
  var day = 0
  var hour = 0
  var minute = 0
  /// The second, 0 to 60.
  var second = 0
  /// The day of the week; 0 is Monday. Ignored when a date is read.
  var weekday = 0

  static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]
  static let shortWeekdays = weekdays.map { String($0.prefix(3)) }
  static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Computes the fields. The calendar repeats every 400 years. Years begin in March here, so that a leap day is the last day
  /// of its year.
  init(_ moment: HTTPDate) {
    let time = Int(moment.seconds - moment.day * 86_400)
    (hour, minute, second) = (time / 3_600, time / 60 % 60, time % 60)
    // Days since 1 March of the year 0, which is 60 days into that year.
    let days = Int(moment.day) + Self.daysBefore1970 + 366 - 60
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * march + 2) / 5 + 1
    month = (march + 2) % 12
    year = yearOfEra + era * 400 + (month < 2 ? 1 : 0)
    weekday = Int((moment.day % 7 + 10) % 7)
  }

  /// The date in the format of `HTTPDate.text`.
  var fixdate: String {
    func padded(_ number: Int, _ width: Int = 2) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    return
      "\(Self.shortWeekdays[weekday]), \(padded(day)) \(Self.months[month]) \(padded(year, 4)) "
      + "\(padded(hour)):\(padded(minute)):\(padded(second)) GMT"
  }

  /// Reads the format `Sun, 06 Nov 1994 08:49:37 GMT`; nil for any other text.
  init?(fixdate text: String) {
    var scanner = TextScanner(text)
    guard scanner.oneOf(Self.shortWeekdays) != nil, scanner.take(", "),
      let day = scanner.digits(2), scanner.take(" "),
      let month = scanner.oneOf(Self.months), scanner.take(" "),
      let year = scanner.digits(4), scanner.take(" "),
      readTime(&scanner), scanner.take(" GMT"), scanner.atEnd
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Reads the format `Sunday, 06-Nov-94 08:49:37 GMT`; nil for any other text.
  init?(rfc850 text: String, currentYear: Int) {
    var scanner = TextScanner(text)
    guard scanner.oneOf(Self.weekdays) != nil, scanner.take(", "),
      let day = scanner.digits(2), scanner.take("-"),
      let month = scanner.oneOf(Self.months), scanner.take("-"),
      let twoDigits = scanner.digits(2), scanner.take(" "),
      readTime(&scanner), scanner.take(" GMT"), scanner.atEnd
    else { return nil }
    let sameCentury = currentYear - currentYear % 100 + twoDigits
    let year = sameCentury > currentYear + 50 ? sameCentury - 100 : sameCentury
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Reads the format `Sun Nov  6 08:49:37 1994`; nil for any other text.
  init?(asctime text: String) {
    var scanner = TextScanner(text)
    guard scanner.oneOf(Self.shortWeekdays) != nil, scanner.take(" "),
      let month = scanner.oneOf(Self.months), scanner.take(" "),
      let day = scanner.take(" ") ? scanner.digits(1) : scanner.digits(2), scanner.take(" "),
      readTime(&scanner), scanner.take(" "),
      let year = scanner.digits(4), scanner.atEnd
    else { return nil }
    (self.year, self.month, self.day) = (year, month, day)
  }

  /// Reads `08:49:37`.
  private mutating func readTime(_ scanner: inout TextScanner) -> Bool {
    guard let hour = scanner.digits(2), scanner.take(":"),
      let minute = scanner.digits(2), scanner.take(":"), let second = scanner.digits(2)
    else { return false }
    (self.hour, self.minute, self.second) = (hour, minute, second)
    return true
  }

  /// The time in seconds since 1970; nil for a date that does not exist in the calendar.
  var secondsSinceEpoch: Int64? {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...lengths[month]).contains(day), hour < 24, minute < 60, second <= 60 else {
      return nil
    }
    let daysBefore = lengths[..<month].reduce(day - 1, +)
    // Leap days of the years before this one, counted from year 1, so that the divisions are exact.
    let past = year - 1
    let leapDays = past / 4 - past / 100 + past / 400
    let days = past * 365 + leapDays + daysBefore - Self.daysBefore1970
    return Int64(days * 86_400 + hour * 3_600 + minute * 60 + second)
  }

  private static let daysBefore1970 = 719_162

  /// Returns the year of a time in UTC, computed from the mean length of a year. The result is wrong for some hours around New
  /// Year, which does not matter here: it only sets a century.
  static func year(of moment: HTTPDate) -> Int {
    1970 + Int(moment.seconds / 31_556_952)
  }
}
