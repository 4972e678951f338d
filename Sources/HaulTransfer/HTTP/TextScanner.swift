/// Parses header fields byte by byte. A failed read consumes nothing.
struct TextScanner {
  private let text: String
  private let end: Int
  /// The number of bytes read so far.
  private var position = 0

  init(_ text: String) {
    self.text = text
    end = text.utf8.count
  }

  /// Whether everything has been read.
  var atEnd: Bool { position == end }

  /// The next byte to read; nil at the end.
  var next: UInt8? { atEnd ? nil : text.utf8.span[position] }

  /// Reads `literal` if the next bytes are equal to it. Returns whether they are.
  mutating func take(_ literal: String) -> Bool {
    let (bytes, wanted) = (text.utf8.span, literal.utf8.span)
    guard wanted.count <= end - position else { return false }
    for index in wanted.indices where bytes[position + index] != wanted[index] { return false }
    position += wanted.count
    return true
  }

  /// Reads the longest run of bytes that satisfy `condition`, possibly none.
  mutating func takeWhile(_ condition: (UInt8) -> Bool) -> String {
    let start = position
    skipWhile(condition)
    let bytes = text.utf8
    let first = bytes.index(bytes.startIndex, offsetBy: start)
    return String(text[first..<bytes.index(first, offsetBy: position - start)])
  }

  /// Reads the longest run of bytes that satisfy `condition`, possibly none, without returning it.
  mutating func skipWhile(_ condition: (UInt8) -> Bool) {
    let bytes = text.utf8.span
    while position < end, condition(bytes[position]) { position += 1 }
  }

  /// Reads one of `words` and returns its index; nil if none follows.
  mutating func oneOf(_ words: [String]) -> Int? {
    words.firstIndex { take($0) }
  }

  /// Reads exactly `count` digits; nil if fewer follow.
  mutating func digits(_ count: Int) -> Int? {
    guard count <= end - position else { return nil }
    let bytes = text.utf8.span
    var value = 0
    for index in position..<position + count {
      guard bytes[index].isDigit else { return nil }
      value = value * 10 + Int(bytes[index] - UInt8(ascii: "0"))
    }
    position += count
    return value
  }

  /// Reads all digits that follow; nil if there are none or the number exceeds `Int64.max`.
  mutating func integer() -> Int64? {
    let start = position
    guard let value = Int64(takeWhile(\.isDigit)) else {
      position = start
      return nil
    }
    return value
  }
}

extension UInt8 {
  /// Whether the byte is a `DIGIT` of RFC 5234.
  var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }

  /// The byte in lower case if it is an ASCII letter, else the byte itself.
  var inLowerCase: UInt8 {
    (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self
  }

  /// Whether the byte is a space or a tab: `OWS` of RFC 9110 §5.6.3.
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }

  /// Whether the byte is a `tchar` of RFC 9110 §5.6.2.
  var isTokenCharacter: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "-"):
      true
    default: isDigit || "!#$%&'*+.^_`|~".utf8.contains(self)
    }
  }
}
