/// Converts bytes of header lines to text without losing a byte: two values that differ in a byte differ as strings.
///
/// Bytes that are valid UTF-8 become their text. In other bytes, each one beyond ASCII becomes a scalar of the private use
/// area, `U+F780` for 0x80 to `U+F7FF` for 0xFF.
enum HeaderText {
  private static let base: UInt32 = 0xF700
  private static let scalars: ClosedRange<UInt32> = 0xF780...0xF7FF

  /// Returns the text of a line or a part of it.
  static func text(_ line: UnsafeRawBufferPointer) -> String {
    // Nearly every line is ASCII.
    if unsafe line.allSatisfy({ $0 < 0x80 }) { return unsafe String(decoding: line, as: UTF8.self) }
    // UTF-8 text that contains such a scalar is encoded byte by byte, too, so that it cannot be mistaken for a raw byte.
    if let text = unsafe String(validating: line, as: UTF8.self),
      !text.unicodeScalars.contains(where: { scalars.contains($0.value) })
    {
      return text
    }
    let bytes = unsafe line.map { byte in
      Unicode.Scalar(byte < 0x80 ? UInt32(byte) : base + UInt32(byte)) ?? "\u{FFFD}"
    }
    return String(String.UnicodeScalarView(bytes))
  }

  /// Returns the bytes from which ``text(_:)`` made the text.
  static func bytes(_ text: String) -> [UInt8] {
    let bytes = text.utf8
    if bytes.allSatisfy({ $0 < 0x80 }) { return Array(bytes) }
    return text.unicodeScalars.flatMap { scalar in
      rawByte(scalar).map { [$0] } ?? Array(String(scalar).utf8)
    }
  }

  /// Returns the text for a URL: each byte that was not UTF-8 is percent-encoded.
  static func percentEncoded(_ text: String) -> String {
    text.unicodeScalars.reduce(into: "") { encoded, scalar in
      guard let byte = rawByte(scalar) else { return encoded.unicodeScalars.append(scalar) }
      encoded += "%" + String(byte, radix: 16, uppercase: true)
    }
  }

  /// Returns the text with percent-encoding decoded (RFC 3986 §2.1). A `%` without two hexadecimal digits stays.
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
