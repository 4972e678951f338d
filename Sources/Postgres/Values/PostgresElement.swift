/// A type whose arrays can be sent to PostgreSQL or read from it. The type decides which PostgreSQL type the array has.
///
/// An array of `UInt8` is a `bytea`. Any other array is a one-dimensional array, with NULL for nil.
package protocol PostgresElement: Sendable {
  static func text(ofArray elements: [Self]) -> String
  static func array(fromText text: ArraySlice<UInt8>) -> [Self]?
}

extension PostgresElement where Self: PostgresEncodable & PostgresDecodable {
  package static func text(ofArray elements: [Self]) -> String {
    ArrayLiteral.text(elements.map(\.postgresText))
  }

  package static func array(fromText text: ArraySlice<UInt8>) -> [Self]? {
    ArrayLiteral.elements(text, as: Self.self)
  }
}

extension Int: PostgresElement {}
extension Int16: PostgresElement {}
extension Int32: PostgresElement {}
extension Int64: PostgresElement {}
extension Double: PostgresElement {}
extension Bool: PostgresElement {}
extension String: PostgresElement {}

/// An array of `[UInt8]` is a `bytea[]`.
extension Array: PostgresElement where Element == UInt8 {}

extension Optional: PostgresElement where Wrapped: PostgresEncodable & PostgresDecodable {
  package static func text(ofArray elements: [Wrapped?]) -> String {
    ArrayLiteral.text(elements.map { $0?.postgresText })
  }

  package static func array(fromText text: ArraySlice<UInt8>) -> [Wrapped?]? {
    ArrayLiteral.elements(text, as: Wrapped?.self)
  }
}

/// Uses the hex format of `bytea`: `\x` and two digits per byte.
extension UInt8: PostgresElement {
  package static func text(ofArray elements: [UInt8]) -> String {
    var text: [UInt8] = [UInt8(ascii: "\\"), UInt8(ascii: "x")]
    text.reserveCapacity(2 + 2 * elements.count)
    let digits = Array("0123456789abcdef".utf8)
    for byte in elements {
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }

  package static func array(fromText text: ArraySlice<UInt8>) -> [UInt8]? {
    guard text.starts(with: "\\x".utf8), text.count.isMultiple(of: 2) else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 2 - 1)
    var index = text.startIndex + 2
    while index < text.endIndex {
      guard let high = value(ofDigit: text[index]), let low = value(ofDigit: text[index + 1])
      else { return nil }
      bytes.append(high << 4 | low)
      index += 2
    }
    return bytes
  }

  private static func value(ofDigit digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
