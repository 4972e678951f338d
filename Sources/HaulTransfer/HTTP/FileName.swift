/// The name of a file, without its directory.
enum FileName {
  /// Returns `text` changed to a safe file name; nil if no character is left.
  static func fit(_ text: String) -> String? {
    var name =
      text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).last ?? [][...]
    name = name.split(separator: "\\", omittingEmptySubsequences: false).last ?? [][...]
    var kept = String.UnicodeScalarView(name.filter { !isUnfit($0) })[...]
    kept = kept.drop { $0 == "." || $0.properties.isWhitespace }
    while let last = kept.last, last == "." || last.properties.isWhitespace { kept.removeLast() }
    // Programs would read a name that begins with a hyphen as an option.
    if kept.first == "-" {
      kept.replaceSubrange(kept.startIndex...kept.startIndex, with: "_".unicodeScalars)
    }
    if kept.isEmpty { return nil }
    return shortened(String(kept))
  }

  /// The file name if the response and the URL have no usable name.
  static let unknown = "download"

  /// Returns the last name in the path of a URL, made safe for a file; nil if the path has none.
  static func last(of url: WebURL) -> String? {
    url.path.split(separator: "/").last.flatMap { fit(HeaderText.percentDecoded($0)) }
  }

  /// Returns whether a character is a control character, is invisible, or changes the direction of the text around it.
  private static func isUnfit(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f...0x9f, 0x061c, 0x200b...0x200f, 0x202a...0x202e, 0x2028...0x2029,
      0x2066...0x2069, 0xfeff:
      true
    default: false
    }
  }

  /// Returns `name`. If it is longer than 255 bytes, the part before its extension is shortened at the end.
  static func shortened(_ name: String) -> String {
    let end = endOfStem(name)
    return shortened(name[..<end], String(name[end...]))
  }

  /// Returns the position where the extension of a name begins. A suffix of more than 64 bytes is not an extension.
  static func endOfStem(_ name: String) -> String.Index {
    let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
    return name[dot...].utf8.count > 64 ? name.endIndex : dot
  }

  /// Returns `stem` followed by `rest`. If the result would be longer than 255 bytes, the stem is shortened at the end.
  static func shortened(_ stem: Substring, _ rest: String) -> String {
    var bytes = stem.utf8.prefix(max(0, 255 - rest.utf8.count))
    guard bytes.count < stem.utf8.count else { return stem + rest }
    // The cut must not be inside a scalar.
    while true {
      if let text = String(bytes) { return text + rest }
      bytes.removeLast()
    }
  }
}
