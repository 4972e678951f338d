import Arguments

/// The name of a new batch. The database accepts it, and it can be shown on one line.
struct BatchName: OptionValue {
  static let expected = "a name of 1 to 200 characters without control characters"

  let argument: String

  init?(argument: String) {
    guard (1...200).contains(argument.unicodeScalars.count),
      !argument.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
    else { return nil }
    self.argument = argument
  }
}
