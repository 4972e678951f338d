import Arguments
import JobModel
import Reports

/// An error class that this program knows.
struct ErrorClassArgument: OptionValue {
  static var expected: String {
    "an error class (\(candidates.joined(separator: ", ")))"
  }
  static var candidates: [String] { ErrorTable.rows.map(\.word.rawValue) }

  let errorClass: ErrorClass
  var argument: String { errorClass.rawValue }

  init?(argument: String) {
    errorClass = ErrorClass(rawValue: argument)
    guard ErrorTable.advice(on: errorClass) != nil else { return nil }
  }
}
