/// The name of a file, without its directory.
enum FileName {
  /// A name that is fit for a file, made of `text`; nil where nothing is left of it.
  static func fit(_ text: String) -> String? {
    var name =
      text.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false).last ?? [][...]
    name = name.split(separator: "\\", omittingEmptySubsequences: false).last ?? [][...]
    var kept = String.UnicodeScalarView(name.filter { !isUnfit($0) })[...]
    kept = kept.drop { $0 == "." || $0.properties.isWhitespace }
    while let last = kept.last, last == "." || last.properties.isWhitespace { kept.removeLast() }
    // Programs would take it for an option.
    if kept.first == "-" {
      kept.replaceSubrange(kept.startIndex...kept.startIndex, with: "_".unicodeScalars)
    }
    if kept.isEmpty { return nil }
    return shortened(String(kept))
  }

  /// The name of a file that nothing names.
  static let unknown = "download"

  /// The name that stands last in the path of a URL, fit for a file; nil where there is none.
  static func last(of url: WebURL) -> String? {
    url.path.split(separator: "/").last.flatMap { fit(HeaderText.percentDecoded($0)) }
  }

  /// A control character, one that shows nothing, or one that changes the direction of the text around it.
  private static func isUnfit(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7f...0x9f, 0x061c, 0x200b...0x200f, 0x202a...0x202e, 0x2028...0x2029,
      0x2066...0x2069, 0xfeff:
      true
    default: false
    }
  }

  /// `name`, without the end of its stem where it is longer than 255 bytes.
  static func shortened(_ name: String) -> String {
    let end = endOfStem(name)
    return shortened(name[..<end], String(name[end...]))
  }

  /// Where the extension of a name begins. An ending of more than 64 bytes is no extension.
  static func endOfStem(_ name: String) -> String.Index {
    let dot = name.dropFirst().lastIndex(of: ".") ?? name.endIndex
    return name[dot...].utf8.count > 64 ? name.endIndex : dot
  }

  /// `stem` and `rest`, where need be without the end of the stem: a name has at most 255 bytes.
  static func shortened(_ stem: Substring, _ rest: String) -> String {
    var bytes = stem.utf8.prefix(max(0, 255 - rest.utf8.count))
    guard bytes.count < stem.utf8.count else { return stem + rest }
    // Not in the middle of a scalar.
    while true {
      if let text = String(bytes) { return text + rest }
      bytes.removeLast()
    }
  }
}
