/// The description of an operand, without the property that takes its value.
package struct OperandSpec: Sendable, Equatable {
  /// The name without brackets: `url`.
  package var name: String
  /// The help in one or two sentences.
  package var help: String
  package var isRequired: Bool
  /// Whether the operand takes all remaining arguments. Only the last operand of a command may do so.
  package var repeats: Bool
  /// All possible values, if they are a short list. Otherwise empty.
  package var candidates: [String]
  /// The source of the values for completion, if they are not a short list.
  package var source: ValueSource?

  /// The operand in a usage line: `<url>`, `[<dir>]`, `<id> ...`.
  package var usage: String {
    let name = "<\(name)>" + (repeats ? " ..." : "")
    return isRequired ? name : "[\(name)]"
  }
}

/// An operand of `Root`. A command declares its operands in the order of the command line.
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

  /// Returns this operand with `source` for completing its values.
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

  /// Creates an operand that takes all remaining arguments. If `isRequired` is false, there may be none.
  package static func repeated<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, [Value]> & Sendable,
    isRequired: Bool = true, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: isRequired, repeats: true, .all(path))
  }
}
