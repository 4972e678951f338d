import Testing

@testable import HaulTransfer

@Suite struct ContentRangeTests {
  @Test(arguments: [
    ("bytes 0-0/1", ContentRange.part(first: 0, last: 0, length: 1)),
    ("bytes 5-9/*", .part(first: 5, last: 9, length: nil)),
    ("BYTES 5-9/10", .part(first: 5, last: 9, length: 10)),
    ("bytes  \t5-9/10", .part(first: 5, last: 9, length: 10)),
    ("bytes */0", .unsatisfied(length: 0)), ("bytes=0-1/2", .part(first: 0, last: 1, length: 2)),
    ("bytes: 0-1/2", .part(first: 0, last: 1, length: 2)),
    ("0-1/2", .part(first: 0, last: 1, length: 2)),
    ("bytes 0 - 1 / 2", .part(first: 0, last: 1, length: 2)),
    ("bytes * / 2", .unsatisfied(length: 2)),
    ("bytes */1125899906842624", .unsatisfied(length: 1 << 50)),
    (
      "bytes 0-1125899906842623/1125899906842624",
      .part(first: 0, last: 1 << 50 - 1, length: 1 << 50)
    ),
  ])
  func `reads a range`(_ text: String, _ range: ContentRange) throws {
    #expect(try ContentRange(head(206, "Content-Range: \(text)")) == range)
  }

  @Test(arguments: [
    ("", ContentRange.Malformed.garbage), ("bytes", .garbage), ("bytes ", .garbage),
    ("bytes0-1/2", .garbage), ("bytes 0-1", .garbage), ("bytes 0-1/", .garbage),
    ("bytes 1-0/2", .garbage), ("bytes 0-2/2", .garbage), ("bytes 0 1/2", .garbage),
    ("-1/2", .garbage), ("*/2", .garbage), ("bytes */*", .garbage),
    ("bytes -1-2/3", .garbage), ("bytes +0-1/2", .garbage), ("bytes 0x0-1/2", .garbage),
    ("bytes 0-1/2, bytes 0-1/2", .garbage), ("bytes 0-1/2;x", .garbage),
    ("bytes 0-9223372036854775807/*", .garbage), ("bytes 0-1125899906842624/*", .garbage),
    ("bytes */1125899906842625", .garbage), ("bytes 0-1/9223372036854775807", .garbage),
    ("bytes 0-9223372036854775808/9223372036854775809", .garbage),
    ("bytes 18446744073709551616-18446744073709551617/*", .garbage),
    ("items 0-1/2", .otherUnit), ("none */2", .otherUnit),
  ])
  func `says why there is none`(_ text: String, _ reason: ContentRange.Malformed) {
    #expect(throws: reason) { try ContentRange(head(206, "Content-Range: \(text)")) }
  }

  @Test func `absent and doubled fields are told apart`() {
    #expect(throws: ContentRange.Malformed.missing) { try ContentRange(head(206)) }
    #expect(throws: ContentRange.Malformed.repeated) {
      try ContentRange(
        head(206, "Content-Range: bytes 0-1/2", "content-range: bytes 0-1/3"))
    }
  }

  @Test func `the same field twice is one`() throws {
    let twice = head(206, "Content-Range: bytes 0-1/2", "content-range: bytes 0-1/2")
    #expect(try ContentRange(twice) == .part(first: 0, last: 1, length: 2))
  }
}

@Suite struct ValidatorTests {
  let now = HTTPDate(seconds: 1_767_225_600)
  static let old = "Last-Modified: Sun, 06 Nov 1994 08:48:37 GMT"
  static let date = "Date: Sun, 06 Nov 1994 08:49:37 GMT"

  @Test(arguments: [
    (head(200, "ETag: \"a\""), Validator.strongETag("\"a\"")),
    (head(200, "ETag: \"\""), .strongETag("\"\"")),
    (head(200, "ETag: \"a\"", old, date), .strongETag("\"a\"")),
    (head(200, "ETag: W/\"a\""), nil),
    (head(200, "ETag: w/\"a\""), .unquotedETag("w/\"a\"")),
    (head(200, "ETag: \"a b\""), .unquotedETag("\"a b\"")),
    (head(200, "ETag: \"a\"b\""), .unquotedETag("\"a\"b\"")),
    (head(200, "ETag: \""), .unquotedETag("\"")), (head(200, "ETag: "), nil),
    (head(200, "ETag: ", old, date), .lastModified("Sun, 06 Nov 1994 08:48:37 GMT")),
    (head(200, "ETag: abc", old, date), .lastModified("Sun, 06 Nov 1994 08:48:37 GMT")),
    (head(200, "ETag: abc"), .unquotedETag("abc")), (head(200, "ETag: abc", "ETag: ab"), nil),
    (head(200, "ETag: abc", "ETag: abc"), .unquotedETag("abc")),
    (
      head(200, "ETag: W/\"a\"", old, date),
      .weakETag("W/\"a\"", modified: "Sun, 06 Nov 1994 08:48:37 GMT")
    ),
    (
      head(200, "ETag: W/\"a\"", old),
      .weakETag("W/\"a\"", modified: "Sun, 06 Nov 1994 08:48:37 GMT")
    ),
    (head(200, "ETag: \"a\"", "ETag: \"a\""), .strongETag("\"a\"")),
    (head(200, "ETag: \"a\"", "ETag: \"b\""), nil),
    (head(200, old, date), .lastModified("Sun, 06 Nov 1994 08:48:37 GMT")),
    (head(200, "Last-Modified: Sun, 06 Nov 1994 08:48:38 GMT", date), nil),
    (head(200, "Last-Modified: Sun, 06 Nov 1995 08:48:37 GMT", date), nil),
    (head(200, old), .lastModified("Sun, 06 Nov 1994 08:48:37 GMT")),
    (head(200, old, "Date: now"), .lastModified("Sun, 06 Nov 1994 08:48:37 GMT")),
    (head(200, "Last-Modified: Wed, 31 Dec 2025 23:59:30 GMT"), nil),
    (head(200, "Last-Modified: 0", date), nil),
    (head(200, old, old, date), .lastModified("Sun, 06 Nov 1994 08:48:37 GMT")),
    (head(200, old, "Last-Modified: Sun, 06 Nov 1994 08:48:36 GMT", date), nil),
    (head(200), nil),
  ])
  func `is made only of what is strong`(_ head: ResponseHead, _ validator: Validator?) {
    #expect(Validator(head, now: now) == validator)
    #expect(validator.flatMap { Validator(text: $0.text) } == validator)
  }

  @Test(arguments: [
    (Validator.strongETag("\"a\""), head(206, "ETag: \"a\""), Validator.Comparison.same),
    (.strongETag("\"a\""), head(206, "ETag: \"b\""), .different),
    (.strongETag("\"a\""), head(206, "ETag: W/\"a\""), .different),
    (.strongETag("\"a\""), head(206, "ETag: \"A\""), .different),
    (.strongETag("\"a\""), head(206, "ETag: \"a\"", "ETag: \"a\""), .same),
    (.strongETag("\"a\""), head(206, "ETag: \"a\"", "ETag: \"b\""), .different),
    (.strongETag("\"a\""), head(206, old), .absent),
    (.unquotedETag("a"), head(206, "ETag: a"), .same),
    (.unquotedETag("a"), head(206, "ETag: b"), .different),
    (
      .weakETag("W/\"a\"", modified: "Sun, 06 Nov 1994 08:48:37 GMT"),
      head(206, "ETag: W/\"a\"", old), .same
    ),
    (
      .weakETag("W/\"a\"", modified: "Sun, 06 Nov 1994 08:48:37 GMT"),
      head(206, "ETag: W/\"b\"", old), .different
    ),
    (
      .weakETag("W/\"a\"", modified: "Sun, 06 Nov 1994 08:48:37 GMT"),
      head(206, "ETag: W/\"a\""), .absent
    ), (.jobDigest, head(206), .same),
    (.lastModified("Sun, 06 Nov 1994 08:48:37 GMT"), head(206, old), .same),
    (.lastModified("Sun, 06 Nov 1994 08:48:38 GMT"), head(206, old), .different),
    (.lastModified("Sun, 06 Nov 1994 08:48:37 GMT"), head(206, "ETag: \"a\""), .absent),
  ])
  func `compares with a later answer`(
    _ validator: Validator, _ head: ResponseHead, _ comparison: Validator.Comparison
  ) {
    #expect(validator.compared(with: head) == comparison)
  }
}

@Suite struct ResponseFieldTests {
  let now = HTTPDate(seconds: 784_111_777)

  @Test(arguments: [
    ("text/html", "text/html"), ("Text/HTML; charset=utf-8", "text/html"),
    ("text/html ;charset=utf-8", "text/html"), ("application/x+y.z", "application/x+y.z"),
    ("text", nil), ("text/", nil), ("/html", nil), ("text/html, text/plain", nil),
    ("te xt/html", nil), ("", nil),
  ])
  func `media type without parameters`(_ text: String, _ type: String?) {
    #expect(head(200, "Content-Type: \(text)").mediaType == type)
  }

  @Test(
    arguments: [
      (head(200), nil), (head(200, "Content-Encoding: identity"), nil),
      (head(200, "Content-Encoding: GZIP"), "gzip"),
      (head(200, "Content-Encoding: gzip , br"), "gzip,br"),
      (head(200, "Content-Encoding: gzip", "Content-Encoding: br"), "gzip,br"),
      (head(200, "Content-Encoding: , "), nil),
    ] as [(ResponseHead, String?)])
  func `content codings`(_ head: ResponseHead, _ codings: String?) {
    #expect(head.contentEncoding == codings)
  }

  @Test(arguments: [
    (head(200), ResponseHead.BodyLength.unknown),
    (head(200, "Content-Length: 0"), .bytes(0)),
    (head(200, "Content-Length: 5, 5", "Content-Length: 5"), .bytes(5)),
    (head(200, "Content-Length: 5", "Content-Length: 6"), .malformed),
    (head(200, "Content-Length: 5,"), .malformed),
    (head(200, "Content-Length: "), .malformed),
    (head(200, "Content-Length: -5"), .malformed),
    (head(200, "Content-Length: 99999999999999999999"), .malformed),
    (head(200, "Content-Length: 5", "Transfer-Encoding: chunked"), .unknown),
  ])
  func `length of a body`(_ head: ResponseHead, _ length: ResponseHead.BodyLength) {
    #expect(head.bodyLength == length)
  }

  /// `now` is Sun, 06 Nov 1994 08:49:37 GMT.
  @Test(
    arguments: [
      (head(200, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"), 784_111_777),
      (head(200, "Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT"), 0),
      (head(200, "Last-Modified: Sun, 06 Nov 1994 08:49:38 GMT"), nil),
      (head(200, "Last-Modified: Wed, 31 Dec 1969 23:59:59 GMT"), nil),
      (head(200, "Last-Modified: yesterday"), nil),
      (
        head(
          200, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT",
          "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT"), nil
      ),
      (head(200), nil),
    ] as [(ResponseHead, Int64?)])
  func `time of the last change`(_ head: ResponseHead, _ seconds: Int64?) {
    #expect(head.modified(now: now)?.seconds == seconds)
  }

  @Test(
    arguments: [
      (head(429, "Retry-After: 120"), .seconds(120)),
      (head(429, "Retry-After: 0"), .seconds(0)),
      (head(429, "Retry-After: 99999999999999999999999"), .seconds(365 * 86_400)),
      (head(429, "Retry-After: -1"), nil),
      (head(429, "Retry-After: 1.5"), nil),
      (head(429, "Retry-After: "), nil),
      (head(429, "Retry-After: 1", "Retry-After: 2"), nil),
      (head(429, "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT"), .seconds(60)),
      (head(429, "Retry-After: Sun, 06 Nov 1994 08:48:37 GMT"), .seconds(0)),
      (
        head(
          429, "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT",
          "Date: Sun, 06 Nov 1994 08:50:27 GMT"), .seconds(10)
      ),
      (head(429), nil),
    ] as [(ResponseHead, Duration?)])
  func `time to wait`(_ head: ResponseHead, _ wait: Duration?) {
    #expect(head.retryAfter(now: now) == wait)
  }
}
