/// A type that the text of an option, an operand or an environment variable can be read as.
package protocol OptionValue: Sendable {
  /// What is expected, to follow "must be": `a whole number`.
  static var expected: String { get }

  /// What is expected, in answer to `argument`, which cannot be read as this type.
  static func expected(insteadOf argument: String) -> String

  /// Everything the text may be, where that is a short list; for help and completion. Else empty.
  static var candidates: [String] { get }

  /// Reads the whole of `argument`; nil when it is not one of these.
  init?(argument: String)

  /// Spelled so that `init(argument:)` reads it back; help shows defaults so.
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

/// An enumeration of names is a value by saying so: `extension Format: OptionValue {}`.
extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
  package static var expected: String { OneOf.listed(candidates) }
  package static var candidates: [String] { allCases.map(\.rawValue) }
  package init?(argument: String) { self.init(rawValue: argument) }
  package var argument: String { rawValue }
}

/// Lists alternatives in a sentence.
package enum OneOf {
  /// `fail, skip or replace`
  package static func listed(_ words: [String]) -> String {
    guard let last = words.last, words.count > 1 else { return words.first ?? "" }
    return words.dropLast().joined(separator: ", ") + " or " + last
  }
}
