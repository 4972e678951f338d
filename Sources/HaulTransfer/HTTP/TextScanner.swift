/// Parses header fields byte by byte. A failed read consumes nothing.
struct TextScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) {
    rest = text[...].utf8
  }

  /// Whether everything has been read.
  var atEnd: Bool { rest.isEmpty }

  /// The next byte to read; nil at the end.
  var next: UInt8? { rest.first }

  /// Reads `literal` if the next bytes are equal to it. Returns whether they are.
  mutating func take(_ literal: String) -> Bool {
    guard rest.starts(with: literal.utf8) else { return false }
    rest = rest.dropFirst(literal.utf8.count)
    return true
  }

  /// Reads the longest run of bytes that satisfy `condition`, possibly none.
  mutating func takeWhile(_ condition: (UInt8) -> Bool) -> String {
    let run = rest.prefix(while: condition)
    rest = rest[run.endIndex...]
    return String(Substring(run))
  }

  /// Reads one of `words` and returns its index; nil if none follows.
  mutating func oneOf(_ words: [String]) -> Int? {
    words.firstIndex { take($0) }
  }

  /// Reads exactly `count` digits; nil if fewer follow.
  mutating func digits(_ count: Int) -> Int? {
    let run = rest.prefix(count)
    guard run.count == count, run.allSatisfy(\.isDigit) else { return nil }
    rest = rest.dropFirst(count)
    return run.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Reads all digits that follow; nil if there are none or the number exceeds `Int64.max`.
  mutating func integer() -> Int64? {
    let run = rest.prefix(while: \.isDigit)
    guard let value = Int64(Substring(run)) else { return nil }
    rest = rest[run.endIndex...]
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
