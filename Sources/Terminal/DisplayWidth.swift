/// Measures the width of text in terminal columns. Terminals disagree about some emoji. This type follows Unicode's East Asian
/// Width (UAX #11: wide and full-width characters take 2 columns) and emoji presentation.
package enum DisplayWidth {
  /// Returns the width of `text` in columns. `text` must not contain control characters.
  package static func of(_ text: String) -> Int {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.reduce(0) { $0 + of($1) }
  }

  /// Returns the beginning of `text`, at most `columns` wide. If the text was cut, the last column is `…`.
  package static func truncated(_ text: String, to columns: Int) -> String {
    if of(text) <= columns { return text }
    return columns > 0 ? prefix(of: text, within: columns - 1) + "…" : ""
  }

  /// Returns `text` in at most `columns`. A longer text gets `…` instead of its middle.
  package static func shortened(_ text: String, to columns: Int) -> String {
    if of(text) <= columns { return text }
    let head = prefix(of: text, within: (columns - 1) / 2)
    var room = columns - 1 - of(String(head))
    let tail = text.reversed().prefix { character in
      room -= of(character)
      return room >= 0
    }
    return columns > 0 ? head + "…" + String(tail.reversed()) : ""
  }

  /// Splits `text` into a first part that is at most `columns` wide, and the rest. If the second half of the first part
  /// contains a space, the split is at the last space.
  package static func broken(_ text: String, at columns: Int) -> (first: String, rest: String) {
    if of(text) <= columns { return (text, "") }
    let head = prefix(of: text, within: columns)
    let tail = text[head.endIndex...]
    if tail.first == " " { return (String(head), String(tail.dropFirst())) }
    guard let space = head.lastIndex(of: " "), of(String(head[..<space])) * 2 >= columns else {
      return (String(head), String(tail))
    }
    return (String(head[..<space]), String(text[space...].dropFirst()))
  }

  /// Returns the number of terminal rows of a line that is wrapped at `columns`. An empty line has 1 row.
  static func rows(of line: String, columns: Int) -> Int {
    var rows = 1
    var used = 0
    for character in line {
      let width = of(character)
      used += width
      if used > columns {
        rows += 1
        used = width
      }
    }
    return rows
  }

  private static func prefix(of text: String, within columns: Int) -> Substring {
    var used = 0
    return text.prefix { character in
      used += of(character)
      return used <= columns
    }
  }

  /// Returns the words of `text` on lines that are at most `columns` wide. A longer word gets a line of its own. If `columns`
  /// is nil, all words are on one line.
  package static func wrapped(_ text: String, to columns: Int?) -> [String] {
    guard let columns, of(text) > columns else { return [text] }
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let line = lines.last, of(line) + 1 + of(String(word)) <= columns {
        lines[lines.count - 1] = "\(line) \(word)"
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }

  static func of(_ character: Character) -> Int {
    if character.isASCII { return 1 }
    if character.unicodeScalars.contains("\u{fe0f}") { return 2 }
    return character.unicodeScalars.map(of).max() ?? 0
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    if scalar.properties.isEmojiPresentation { return 2 }
    return wide.contains { $0.contains(scalar.value) } ? 2 : 1
  }

  /// Wide and full-width scalars, without the scalars that are emoji by default.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0xa4cf, 0xa960...0xa97f,
    0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60,
    0xffe0...0xffe6, 0x16fe0...0x1b2ff, 0x1f200...0x1f265, 0x20000...0x3fffd,
  ]
}
