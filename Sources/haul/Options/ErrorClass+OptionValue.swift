import Arguments
import JobModel
import Reports

/// Accepts only the classes that this program knows.
extension ErrorClass: OptionValue {
  package static var expected: String {
    "an error class: \(OneOf.listed(candidates))"
  }
  package static var candidates: [String] { ErrorTable.rows.map(\.word.rawValue) }

  package init?(argument: String) {
    self.init(rawValue: argument)
    if ErrorTable.advice(on: self) == nil { return nil }
  }

  package var argument: String { rawValue }
}
