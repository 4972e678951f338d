/// What there is to know about an operand besides where its value goes.
package struct OperandSpec: Sendable, Equatable {
  /// Without brackets: `url`.
  package var name: String
  /// One or two sentences.
  package var help: String
  package var isRequired: Bool
  /// Takes all remaining operands. Only the last operand of a command may do so.
  package var repeats: Bool
  /// Everything the value may be, where that is a short list.
  package var candidates: [String]
  /// Where values come from that are no short list; for completion.
  package var source: ValueSource?

  /// The operand in a usage line: `<url>`, `[<dir>]`, `<id> ...`.
  package var usage: String {
    let name = "<\(name)>" + (repeats ? " ..." : "")
    return isRequired ? name : "[\(name)]"
  }
}

/// An operand of `Root`, in the order in which they stand on the command line.
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

  /// This operand with `source` for the completion of its values.
  package func from(_ source: ValueSource) -> Operand {
    var operand = self
    operand.spec.source = source
    return operand
  }

  /// Must be given.
  package static func required<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, Value> & Sendable, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: true, repeats: false, .last(path))
  }

  /// May be left out; the property then keeps its default.
  package static func optional<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, Value?> & Sendable, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: false, repeats: false, .last(optional: path))
  }

  /// All remaining operands. None at all is accepted only if `isRequired` is false.
  package static func repeated<Value: OptionValue>(
    _ name: String, _ path: any WritableKeyPath<Root, [Value]> & Sendable,
    isRequired: Bool = true, _ help: String
  ) -> Operand {
    Operand(name, help, isRequired: isRequired, repeats: true, .all(path))
  }
}
