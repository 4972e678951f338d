/// Splits a command line into words as bash does, for completion. This type removes quotation marks and backslashes, but does
/// not expand variables or patterns.
package struct ShellWords {
  /// The words of the line. The user is typing the last word. If the line ends with a blank, the last word is empty.
  package private(set) var words = [""]
  /// The quotation mark that is still open at the end of the line; nil if none is open.
  package private(set) var quote: Character?

  package init(_ line: String) {
    var isEscaped = false
    for character in line {
      if isEscaped {
        if quote != nil && !#"$`"\"#.contains(character) { words[words.count - 1].append("\\") }
        words[words.count - 1].append(character)
        isEscaped = false
      } else if character == "\\" && quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil && (character == "'" || character == "\"") {
        quote = character
      } else if quote == nil && (character == " " || character == "\t") {
        if words.last != "" { words.append("") }
      } else {
        words[words.count - 1].append(character)
      }
    }
  }

  /// Returns `text`, quoted so that it can be appended to the line. Returns nil if that is impossible: `!` cannot be quoted in
  /// double quotation marks.
  package func quoted(_ text: String) -> String? {
    switch quote {
    case "'": return text.replacing("'", with: #"'\''"#)
    case .some:
      if text.contains("!") { return nil }
      return Self.escaped(text) { #"\"$`"#.unicodeScalars.contains($0) }
    case nil:
      return Self.escaped(text) { scalar in
        scalar.isASCII && !scalar.properties.isAlphabetic
          && !"0123456789._:@%+,/=-".unicodeScalars.contains(scalar)
      }
    }
  }

  private static func escaped(_ text: String, _ isSpecial: (Unicode.Scalar) -> Bool) -> String {
    var escaped = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if isSpecial(scalar) { escaped.append("\\") }
      escaped.append(scalar)
    }
    return String(escaped)
  }
}

/// A command line that the user types in bash, for completion. Bash replaces the end of the line with the chosen candidate, and
/// does not quote the candidate.
package struct BashLine {
  private let split: ShellWords
  /// The number of characters at the start of the last word that bash keeps. Bash replaces the rest of the word.
  package let kept: Int

  /// Creates a line. `replaced` is the end of the line that bash replaces.
  package init(_ line: String, replacing replaced: String) {
    split = ShellWords(line)
    kept = ShellWords(String(line.dropLast(replaced.count))).words.last?.count ?? 0
  }

  /// The words of the line, as in ``ShellWords/words``.
  package var words: [String] { split.words }

  /// Returns the text that bash must insert so that the last word becomes `text`. A newline ends the returned text. Returns an
  /// empty string if that is impossible.
  package func candidate(_ text: String) -> String {
    split.quoted(String(text.dropFirst(kept))).map { $0 + "\n" } ?? ""
  }
}
