import Testing

@testable import HaulTransfer

@Suite struct HTTPDateTests {
  /// 2026-01-01 00:00:00 UTC
  let now = HTTPDate(seconds: 1_767_225_600)

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ("Wed, 31 Dec 1969 23:59:59 GMT", -1),
    ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
    ("Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
    ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
    ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
    ("Mon Jan 12 01:02:03 2026", 1_768_179_723),
    // The day's name need not fit.
    ("Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
  ])
  func `reads the three forms`(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate(text, now: now)?.seconds == seconds)
  }

  @Test(arguments: [
    // 50 years ahead is still the future, more is the past.
    ("Wednesday, 01-Jan-76 00:00:00 GMT", 3_345_062_400),
    ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
    ("Friday, 01-Jan-99 00:00:00 GMT", 915_148_800),
    ("Saturday, 01-Jan-00 00:00:00 GMT", 946_684_800),
  ])
  func `two digits of a year get their century`(_ text: String, _ seconds: Int64) {
    #expect(HTTPDate(text, now: now)?.seconds == seconds)
  }

  /// As curl does.
  @Test(arguments: [
    "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
    "sun, 06 nov 1994 08:49:37 gmt", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 06 Nov 1994 10:49:37 +0200",
    "Sun, 06 Nov 1994 03:49:37 EST", "Sunday, 06-Nov-1994 08:49:37 GMT",
    "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 1994 GMT", "06 Nov 1994 08:49:37 GMT",
  ])
  func `reads what servers send instead`(_ text: String) {
    #expect(HTTPDate(text, now: now)?.seconds == 784_111_777)
  }

  @Test(arguments: [
    "", " ", "0", "yesterday", "now", "Sun, 31 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994",
    "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT",
    "Sun, 06 Nov 1994 08:49:61 GMT", "1994-11-06T08:49:37Z", "Son, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 19९4 08:49:37 GMT", "Sun Nov  6 08:49:3 071994",
    "Sun, 06 Nov 1994 08:49:37 GMT \(String(repeating: "x", count: 99))",
  ])
  func `refuses what is no date`(_ text: String) {
    #expect(HTTPDate(text, now: now) == nil)
  }

  @Test(
    arguments: [
      "Thu, 01 Jan 1970 00:00:00 GMT", "Wed, 31 Dec 1969 23:59:59 GMT",
      "Tue, 29 Feb 2000 12:34:56 GMT", "Sun, 28 Feb 2100 23:59:59 GMT",
      "Mon, 01 Mar 2100 00:00:00 GMT", "Sun, 06 Nov 1994 08:49:37 GMT",
      "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT",
    ])
  func `a date is written as it is read`(text: String) {
    #expect(HTTPDate(text, now: .now)?.text == text)
  }
}
