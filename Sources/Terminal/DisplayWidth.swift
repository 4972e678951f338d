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
    var kept = ""
    var used = 0
    for character in text {
      used += of(character)
      if used > columns - 1 { break }
      kept.append(character)
    }
    return columns > 0 ? kept + "…" : ""
  }

  /// The words of `text` on lines of at most `columns`; a longer word stands alone. nil: on one line.
  package static func wrapped(_ text: String, to columns: Int?) -> [String] {
    guard let columns else { return [text] }
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
