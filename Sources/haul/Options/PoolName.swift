import Arguments

/// The name of a queue or store that the database accepts.
struct PoolName: OptionValue {
  static let expected = "a name of at most 63 letters, digits, '.', '_' and '-'"

  /// The value of a property before its required operand is read.
  static let unset = PoolName(unchecked: "")

  let argument: String

  private init(unchecked argument: String) { self.argument = argument }

  init?(argument: String) {
    let isWord = { (character: Character) in
      character.isASCII && (character.isLetter || character.isNumber)
    }
    guard let first = argument.first, isWord(first), argument.utf8.count <= 63,
      argument.allSatisfy({ isWord($0) || "._-".contains($0) })
    else { return nil }
    self.argument = argument
  }
}
