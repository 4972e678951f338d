/// The name that a server suggests for a file (Content-Disposition, RFC 6266).
extension ResponseHead {
  /// The file name of the response, safe in any directory; nil if the server gives no usable name, or several fields that
  /// differ.
  ///
  /// `filename*` takes precedence over `filename` (RFC 6266 §4.3). Only the last name of a path counts. Control characters,
  /// characters that change the direction of text, and dots at the beginning are removed. If the name has more than 255 bytes,
  /// the part before its extension is shortened at the end.
  var suggestedName: String? {
    let fields = Set(values("Content-Disposition").map { HeaderText.bytes($0) })
    guard fields.count == 1,
      let field = value("Content-Disposition") ?? values("Content-Disposition").first
    else { return nil }
    let parameters = DispositionParameters(field)
    return parameters.extended.flatMap(FileName.fit) ?? parameters.plain.flatMap(FileName.fit)
  }
}

/// The parameters `filename` and `filename*` of a Content-Disposition field, decoded.
private struct DispositionParameters {
  var plain: String?
  var extended: String?

  init(_ field: String) {
    var rest = field.unicodeScalars[...]
    // The disposition type does not affect the name.
    rest = rest.drop { $0 != ";" }
    while rest.popFirst() != nil {
      let name = Self.trimmed(rest.prefix { $0 != "=" && $0 != ";" }).lowercased()
      rest = rest.drop { $0 != "=" && $0 != ";" }
      guard rest.first == "=" else { continue }
      rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
      let value: String
      if rest.first == "\"" {
        value = Self.quoted(&rest)
        rest = rest.drop { $0 != ";" }
      } else {
        value = Self.trimmed(rest.prefix { $0 != ";" })
        rest = rest.drop { $0 != ";" }
      }
      switch name {
      case "filename" where plain == nil: plain = Self.inLatin1(value)
      case "filename*" where extended == nil: extended = Self.decoded(value)
      default: break
      }
    }
  }

  private static func trimmed(_ text: Substring.UnicodeScalarView) -> String {
    let blank: (Unicode.Scalar) -> Bool = { $0 == " " || $0 == "\t" }
    var text = text.drop(while: blank)
    while let last = text.last, blank(last) { text.removeLast() }
    return String(text)
  }

  /// Reads the text between quotes (RFC 9110 §5.6.4). A backslash is an escape only before a quote or a backslash;
  /// otherwise it belongs to a path.
  private static func quoted(_ rest: inout Substring.UnicodeScalarView) -> String {
    rest.removeFirst()
    var text = String.UnicodeScalarView()
    while let scalar = rest.popFirst(), scalar != "\"" {
      if scalar == "\\", let next = rest.first, next == "\"" || next == "\\" {
        text.append(next)
        rest.removeFirst()
      } else {
        text.append(scalar)
      }
    }
    return String(text)
  }

  /// Decodes a value. A value that is not UTF-8 is read as Latin-1.
  private static func inLatin1(_ text: String) -> String {
    let bytes = HeaderText.bytes(text)
    return String(validating: bytes, as: UTF8.self)
      ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
  }

  /// Decodes `charset'language'percent-encoded` (RFC 8187 §3.2) in UTF-8 or Latin-1; nil for anything else.
  private static func decoded(_ value: String) -> String? {
    let parts = value.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    var bytes: [UInt8] = []
    var rest = parts[2].utf8[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        guard byte < 0x80 else { return nil }
        bytes.append(byte)
        continue
      }
      let digits = rest.prefix(2).compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
      guard digits.count == 2 else { return nil }
      bytes.append(UInt8(digits[0] * 16 + digits[1]))
      rest = rest.dropFirst(2)
    }
    switch parts[0].lowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1": return String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
    default: return nil
    }
  }
}
