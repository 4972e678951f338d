/// A new value for a setting, or `none` to remove the old value.
package enum Settable<Value: OptionValue>: OptionValue {
  case none
  case value(Value)

  package static var expected: String { "\(Value.expected), or none" }
  package static var candidates: [String] {
    Value.candidates.isEmpty ? [] : Value.candidates + ["none"]
  }

  package init?(argument: String) {
    if argument == "none" {
      self = .none
    } else if let value = Value(argument: argument) {
      self = .value(value)
    } else {
      return nil
    }
  }

  package var argument: String {
    switch self {
    case .none: "none"
    case .value(let value): value.argument
    }
  }
}

extension Setter.Rule {
  /// Creates a rule that accepts `none` or a value within `range`, including its bounds.
  init<Bound: OptionValue & Comparable>(
    orNone range: ClosedRange<Bound>
  ) where Value == Settable<Bound> {
    self.init(
      expected: { _ in "\(Bound.expected(within: range)), or none" },
      holds: { setting in
        guard case .value(let value) = setting else { return true }
        return range.contains(value)
      })
  }
}
