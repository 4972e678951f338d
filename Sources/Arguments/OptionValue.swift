/// A type that can be read from the text of an option, an operand or an environment variable.
package protocol OptionValue: Sendable {
  /// A description of valid values that can follow "must be", such as `a whole number`.
  static var expected: String { get }

  /// Returns a description of valid values for the error about the invalid text `argument`.
  static func expected(insteadOf argument: String) -> String

  /// All valid texts, if they are few, for help and completion; otherwise empty.
  static var candidates: [String] { get }

  /// Reads a value from the whole text `argument`; nil if the text is not valid.
  init?(argument: String)

  /// The value as text that `init(argument:)` can read. Help shows default values in this form.
  var argument: String { get }
}

extension OptionValue where Self: Comparable {
  /// Returns a description of the values within `range` that can follow "must be". The bounds stand before any examples:
  /// `a duration from 1s to 1d, such as 90s or 1h30m`.
  static func expected(within range: ClosedRange<Self>) -> String {
    let bounds = "from \(range.lowerBound.argument) to \(range.upperBound.argument)"
    guard let examples = expected.firstRange(of: " such as ")?.lowerBound else {
      return "\(expected) \(bounds)"
    }
    return "\(expected[..<examples]) \(bounds),\(expected[examples...])"
  }
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

/// Lets options take the raw values of an enumeration. Declare only the conformance: `extension Format: OptionValue {}`.
extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
  package static var expected: String { OneOf.listed(candidates) }
  package static var candidates: [String] { allCases.map(\.rawValue) }
  package init?(argument: String) { self.init(rawValue: argument) }
  package var argument: String { rawValue }
}

/// Formats lists of words for sentences.
package enum OneOf {
  /// Returns the words as a list in a sentence, such as `fail, skip or replace`. `conjunction` precedes the last word.
  package static func listed(_ words: [String], by conjunction: String = "or") -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
  }
}
