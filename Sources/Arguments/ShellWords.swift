/// A command line cut into words as bash cuts it, for completion: quotation marks and backslashes removed, nothing
/// expanded. Pure.
package struct ShellWords {
  /// The last is the one being typed, empty after a blank.
  package private(set) var words = [""]
  /// The quotation mark that is open at the end of the line.
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

  /// `text` as it stands for itself where the line ends; nil where it cannot, as no `!` can in double quotation marks.
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

/// A line as typed in bash, which puts a candidate as it is in the place of the line's end.
package struct BashLine {
  private let split: ShellWords
  /// How many characters of the last word stand before what is replaced.
  package let kept: Int

  /// `line` ends with `replaced`.
  package init(_ line: String, replacing replaced: String) {
    split = ShellWords(line)
    kept = ShellWords(String(line.dropLast(replaced.count))).words.last?.count ?? 0
  }

  /// The words of the line, as ``ShellWords/words`` gives them.
  package var words: [String] { split.words }

  /// What bash is to put there so that the last word becomes `text`, and a line end; empty where nothing can.
  package func candidate(_ text: String) -> String {
    split.quoted(String(text.dropFirst(kept))).map { $0 + "\n" } ?? ""
  }
}
