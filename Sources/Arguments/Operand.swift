/// The description of an operand: everything except the property that stores its value.
package struct OperandSpec: Sendable, Equatable {
  /// The name of the operand without brackets, such as `url`.
  package var name: String
  /// The help text of the operand: one or two sentences.
  package var help: String
  package var isRequired: Bool
  /// Whether the operand takes all remaining arguments. Only the last operand of a command can be of this kind.
  package var repeats: Bool
  /// All possible values, if they are few; otherwise empty.
  package var candidates: [String]
  /// The source of possible values for completion; nil if ``candidates`` lists all values, or if completion is not possible.
  package var source: ValueSource?

  /// The operand in a usage line, such as `<url>`, `[<dir>]` or `<id> ...`.
  package var usage: String {
    let name = "<\(name)>" + (repeats ? " ..." : "")
    return isRequired ? name : "[\(name)]"
  }
}

/// An operand of the command `Root`. A command declares its operands in the order of the command line.
package struct Operand<Root>: Sendable {
  private(set) var spec: OperandSpec
  let setter: Setter<Root>

  private init(
    _ name: String, _ help: String, isRequired: Bool, repeats: Bool, _ setter: Setter<Root>
  ) {
    spec = OperandSpec(
      name: name, help: help, isRequired: isRequired, repeats: repeats,
      candidates: setter.candidates)
    self.setter = setter
  }

  /// Returns this operand with `source` as the source of values for completion.
  package func from(_ source: ValueSource) -> Operand {
    var operand = self
    operand.spec.source = source
    return operand
  }

  /// Creates an operand that must be given.
  package static func required<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: true, repeats: false, .last(path))
  }

  /// Creates an operand that may be left out. The property then keeps its default.
  package static func optional<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: false, repeats: false, .last(optional: path))
  }

  /// Creates an operand that takes all remaining arguments. If `isRequired` is false, users may omit the operand.
  package static func repeated<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, [Value]> & Sendable,
    isRequired: Bool = true, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: isRequired, repeats: true, .all(path))
  }
}
