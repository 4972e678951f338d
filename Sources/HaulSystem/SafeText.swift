/// Makes text from other sources (URLs, paths, server responses) safe to show. Only this type decides which characters must be
/// escaped before they reach a terminal or a log line.
package enum SafeText {
  /// Returns whether a character could fake a line or control a terminal. Such characters are control characters (C0, DEL,
  /// C1), line and paragraph separators, and invisible format characters such as the bidirectional overrides. They form the
  /// Unicode general categories Cc, Cf, Zl and Zp.
  package static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7f }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }

  /// Returns `text` with each unsafe character replaced by `\u` and four hex digits of UTF-16. The result is for people only: a
  /// backslash in `text` stays unchanged, so the replacement cannot be reversed.
  package static func visible(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
      if isUnsafe(scalar) { appendEscape(scalar, to: &bytes) } else { bytes.append(scalar) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends `text` as a JSON string (RFC 8259 §7) with quotation marks. Also escapes characters that are unsafe to show,
  /// although JSON allows most of these characters.
  package static func appendJSONString(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    if text.utf8.allSatisfy(isPlain) {
      bytes.append(contentsOf: text.utf8)
    } else {
      for scalar in text.unicodeScalars { appendJSON(scalar, to: &bytes) }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  /// Returns whether the byte is printable ASCII that a JSON string need not escape.
  package static func isPlain(_ byte: UInt8) -> Bool {
    byte >= 0x20 && byte < 0x7f && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
  }

  private static func appendJSON(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    switch scalar {
    case "\"": bytes.append(contentsOf: #"\""#.utf8)
    case "\\": bytes.append(contentsOf: #"\\"#.utf8)
    case "\n": bytes.append(contentsOf: #"\n"#.utf8)
    case "\r": bytes.append(contentsOf: #"\r"#.utf8)
    case "\t": bytes.append(contentsOf: #"\t"#.utf8)
    case _ where isUnsafe(scalar): appendEscape(scalar, to: &bytes)
    default: bytes.append(scalar)
    }
  }

  private static func appendEscape(_ scalar: Unicode.Scalar, to bytes: inout [UInt8]) {
    for unit in scalar.utf16 {
      bytes.append(contentsOf: #"\u"#.utf8)
      for shift in [12, 8, 4, 0] {
        let digit = UInt8(unit >> UInt16(shift) & 0xf)
        bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      }
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ scalar: Unicode.Scalar) {
    append(contentsOf: scalar.utf8)
  }
}
