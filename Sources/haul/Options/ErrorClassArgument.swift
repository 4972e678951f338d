import Arguments
import Reports

/// A class of errors, as the database and the logs spell it.
struct ErrorClassArgument: OptionValue {
  static var expected: String {
    "a class of errors (\(candidates.joined(separator: ", ")))"
  }
  static var candidates: [String] { ErrorTable.rows.map(\.word) }

  let argument: String

  init?(argument: String) {
    guard ErrorTable.advice(on: argument) != nil else { return nil }
    self.argument = argument
  }
}
