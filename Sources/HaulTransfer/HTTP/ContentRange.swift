/// A Content-Range field in bytes (RFC 9110 §14.4).
enum ContentRange: Sendable, Equatable {
  /// The range in a 206 response, `bytes first-last/length`. `length` is nil if the server sent `*`.
  case part(first: Int64, last: Int64, length: Int64?)
  /// The length of the representation in a 416 response, `bytes */length`.
  case unsatisfied(length: Int64)

  /// The reason why the range cannot be read.
  enum Malformed: Error, Equatable {
    /// The field is absent.
    case missing
    /// The field occurs more than once, with different values.
    case repeated
    /// The unit is not `bytes`.
    case otherUnit
    /// The value breaks the grammar, exceeds ``FileLength/limit``, or contradicts itself: its last offset is before the first,
    /// or its length is not larger than the last offset. RFC 9110 §14.4 calls such a value invalid.
    case garbage
  }

  /// Reads the field of a response.
  init(_ head: ResponseHead) throws(Malformed) {
    let values = head.values("Content-Range")
    guard let text = values.first else { throw .missing }
    guard values.allSatisfy({ $0 == text }) else { throw .repeated }
    try self.init(text)
  }

  /// Reads a value. Some servers write `bytes=` or `bytes:`, omit the unit, or put blanks between the numbers. This is not an
  /// error.
  init(_ text: String) throws(Malformed) {
    var scanner = TextScanner(text)
    if scanner.next?.isDigit != true {
      let unit = scanner.takeWhile(\.isTokenCharacter)
      let isBlank = scanner.next?.isBlank == true
      scanner.skipWhile(\.isBlank)
      guard scanner.take("=") || scanner.take(":") || isBlank else { throw .garbage }
      guard unit.lowercased() == "bytes" else { throw .otherUnit }
    }
    guard let range = Self.readRange(&scanner), scanner.atEnd else { throw .garbage }
    self = range
  }

  private static func readRange(_ scanner: inout TextScanner) -> ContentRange? {
    func take(_ sign: String) -> Bool {
      scanner.skipWhile(\.isBlank)
      defer { scanner.skipWhile(\.isBlank) }
      return scanner.take(sign)
    }
    if take("*") { return take("/") ? readLength(&scanner).map { .unsatisfied(length: $0) } : nil }
    guard let first = scanner.integer(), take("-"), let last = scanner.integer(), take("/"),
      first <= last, last < FileLength.limit
    else { return nil }
    if scanner.take("*") { return .part(first: first, last: last, length: nil) }
    guard let length = readLength(&scanner), last < length else { return nil }
    return .part(first: first, last: last, length: length)
  }

  private static func readLength(_ scanner: inout TextScanner) -> Int64? {
    scanner.integer().flatMap { $0 <= FileLength.limit ? $0 : nil }
  }
}
