/// A type that can be read from the text of an option, an operand or an environment variable.
package protocol OptionValue: Sendable {
  /// The expected value, as it follows "must be": `a whole number`.
  static var expected: String { get }

  /// Returns the expected value, for an error about `argument`, which cannot be read as this type.
  static func expected(insteadOf argument: String) -> String

  /// All possible texts, if they are a short list, for help and completion. Otherwise empty.
  static var candidates: [String] { get }

  /// Reads the whole of `argument`. Returns nil if it is not a valid value.
  init?(argument: String)

  /// The value as text that `init(argument:)` can read. Help shows defaults this way.
  var argument: String { get }
}

extension OptionValue {
  package static var candidates: [String] { [] }
  package static func expected(insteadOf argument: String) -> String { expected }
}

extension String: OptionValue {
  package static var expected: String { "text" }
  package init?(argument: String) { self = argument }
  package var argument: String { self }
}

extension Int: OptionValue {
  package static var expected: String { "a whole number" }
  package init?(argument: String) { self.init(argument, radix: 10) }
  package var argument: String { String(self) }
}

extension Int64: OptionValue {
  package static var expected: String { "a whole number" }
  package init?(argument: String) { self.init(argument, radix: 10) }
  package var argument: String { String(self) }
}

/// Makes an enumeration of names a value. Declare the conformance only: `extension Format: OptionValue {}`.
extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
  package static var expected: String { OneOf.listed(candidates) }
  package static var candidates: [String] { allCases.map(\.rawValue) }
  package init?(argument: String) { self.init(rawValue: argument) }
  package var argument: String { rawValue }
}

/// Lists alternatives in a sentence.
package enum OneOf {
  /// Returns the words as a list: `fail, skip or replace`.
  package static func listed(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}
