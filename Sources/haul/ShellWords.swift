/// A command line cut into words as bash cuts it, for completion: quotation marks and backslashes removed, nothing
/// expanded. Pure.
struct ShellWords {
  /// The last is the one being typed, empty after a blank.
  private(set) var words = [""]
  /// The quotation mark that is open at the end of the line.
  private(set) var quote: Character?

  /// The words of `line`.
  static func split(_ line: String) -> [String] { ShellWords(line).words }

  init(_ line: String) {
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
  func quoted(_ text: String) -> String? {
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
