/// Header lines as text that loses no byte: two values that differ in a byte differ as strings.
///
/// A line in UTF-8 is that text. In any other line each byte beyond ASCII stands as a scalar of the private use area,
/// `U+F780` for 0x80 to `U+F7FF` for 0xFF.
enum HeaderText {
  private static let base: UInt32 = 0xF700
  private static let scalars: ClosedRange<UInt32> = 0xF780...0xF7FF

  /// The text of a line as it came.
  static func text(_ line: UnsafeRawBufferPointer) -> String {
    // What looks like a byte of the other kind may not pass for one.
    if let text = unsafe String(validating: line, as: UTF8.self),
      unsafe line.allSatisfy({ $0 < 0x80 })
        || !text.unicodeScalars.contains(where: { scalars.contains($0.value) })
    {
      return text
    }
    let bytes = unsafe line.map { byte in
      Unicode.Scalar(byte < 0x80 ? UInt32(byte) : base + UInt32(byte)) ?? "\u{FFFD}"
    }
    return String(String.UnicodeScalarView(bytes))
  }

  /// The bytes that ``text(_:)`` was made of.
  static func bytes(_ text: String) -> [UInt8] {
    let bytes = text.utf8
    if bytes.allSatisfy({ $0 < 0x80 }) { return Array(bytes) }
    return text.unicodeScalars.flatMap { scalar in
      rawByte(scalar).map { [$0] } ?? Array(String(scalar).utf8)
    }
  }

  /// The text with each byte that was no UTF-8 percent-encoded, for a URL.
  static func percentEncoded(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { encoded, scalar in
      guard let byte = rawByte(scalar) else { return encoded.unicodeScalars.append(scalar) }
      encoded += "%" + String(byte, radix: 16, uppercase: true)
    }
  }

  /// The text with each `%` and two hexadecimal digits as the byte that they stand for (RFC 3986 §2.1); any other `%` stays.
  static func percentDecoded(_ text: some StringProtocol) -> String {
    var (bytes, rest) = ([UInt8](), text.utf8[...])
    while let byte = rest.popFirst() {
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      if byte == UInt8(ascii: "%"), digits.count == 2 {
        bytes.append(UInt8(digits[0] * 16 + digits[1]))
        rest = rest.dropFirst(2)
      } else {
        bytes.append(byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func rawByte(_ scalar: Unicode.Scalar) -> UInt8? {
    scalars.contains(scalar.value) ? UInt8(scalar.value - base) : nil
  }
}
