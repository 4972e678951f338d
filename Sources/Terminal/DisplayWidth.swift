/// How many columns of a terminal text takes. Terminals do not agree on every emoji; this follows
/// Unicode's East Asian Width (UAX #11, wide and full-width are 2) and emoji presentation.
package enum DisplayWidth {
  /// Columns of `text`, which must be free of control characters.
  package static func of(_ text: String) -> Int {
    if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
    return text.reduce(0) { $0 + of($1) }
  }

  /// `text` cut to at most `columns`, the last of them `…` where something is missing.
  package static func truncated(_ text: String, to columns: Int) -> String {
    if of(text) <= columns { return text }
    return columns > 0 ? prefix(of: text, within: columns - 1) + "…" : ""
  }

  /// `path` cut to at most `columns` at its front; where not even its last component fits, in the middle of that, whose
  /// end may be a digest.
  package static func truncatedPath(
    _ path: String, to columns: Int, ellipsis: String = "…"
  ) -> String {
    if of(path) <= columns { return path }
    let room = columns - of(ellipsis)
    if room < 0 { return "" }
    let name = path.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init)
    if let name, of(name) > room {
      let begin = String(prefix(of: name, within: room / 2))
      return begin + ellipsis + suffix(of: name, within: room - of(begin))
    }
    let end = suffix(of: path, within: room)
    // From a slash on, where one is left: half a directory's name is no use.
    return ellipsis + end[(end.firstIndex(of: "/") ?? end.startIndex)...]
  }

  /// `path` cut to at most `columns` in its middle, and at its front where there is too little room: for one whose first `begin`
  /// characters and whose last `end` others have too.
  ///
  /// What comes after the former and before the latter is left as far as there is room, of which four columns are for the one, and
  /// as much as the name takes, up to the half, for the other. Others that differ in between alone may still look alike.
  package static func truncatedPath(
    _ path: String, to columns: Int, alike begin: Int, _ end: Int, ellipsis: String = "…"
  ) -> String {
    if of(path) <= columns { return path }
    // Beside two marks.
    let room = columns - 2 * of(ellipsis)
    if room < 1 { return truncatedPath(path, to: columns, ellipsis: ellipsis) }
    let name = String(path[(path.lastIndex(of: "/") ?? path.startIndex)...])
    let kept = max(min(of(name), room - room / 2), differentEnd(of: path, end, within: room - 4))
    // From the beginning of the component where they differ, if that leaves a character by which they do.
    let component = begin - path.prefix(begin).reversed().prefix { $0 != "/" }.count
    let start = begin - component < room - kept ? component : begin
    let lead = start > 0 ? ellipsis : ""
    let rest = String(path.dropFirst(start))
    if of(lead + rest) <= columns { return lead + rest }
    let left = columns - of(lead) - of(ellipsis)
    let front = prefix(of: rest, within: left - kept)
    return lead + front + ellipsis + suffix(of: path, within: left - of(String(front)))
  }

  /// The columns of the end of `path` that differs from others, which have its last `end` characters too: from the beginning of
  /// the component where it does, if that fits into `most`.
  private static func differentEnd(of path: String, _ end: Int, within most: Int) -> Int {
    if end == 0 { return 0 }
    let more = path.dropLast(end).reversed().prefix { $0 != "/" }.count
    let component = of(String(path.suffix(end + more)))
    return component <= most ? component : min(of(String(path.suffix(end + 1))), most)
  }

  /// What of `text` fits into `columns`, up to a space where one stands in its latter half, and the rest.
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

  /// Rows of a terminal that a line takes which is wrapped at `columns`; 1 for an empty one.
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

  private static func suffix(of text: String, within columns: Int) -> String {
    String(prefix(of: String(text.reversed()), within: columns).reversed())
  }

  /// The words of `text` on lines of at most `columns`; a longer word stands alone. nil: on one line.
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

  private static func of(_ character: Character) -> Int {
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

  /// Wide and full-width scalars, without those that are emoji by default.
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2329...0x232a, 0x2e80...0x303e, 0x3041...0xa4cf, 0xa960...0xa97f,
    0xac00...0xd7a3, 0xf900...0xfaff, 0xfe10...0xfe19, 0xfe30...0xfe6f, 0xff01...0xff60,
    0xffe0...0xffe6, 0x16fe0...0x1b2ff, 0x1f200...0x1f265, 0x20000...0x3fffd,
  ]
}
