/// A command line cut into words as bash cuts it, for completion: quotation marks and backslashes removed, nothing
/// expanded. Pure.
enum ShellWords {
  /// The words of `line`; the last is the one being typed, empty after a blank.
  static func split(_ line: String) -> [String] {
    var words = [""]
    var quote: Character?
    var isEscaped = false
    for character in line {
      if isEscaped {
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
    return words
  }
}
