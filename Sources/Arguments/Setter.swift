/// Reads texts into a property of `Root`: what options and operands have in common.
struct Setter<Root>: Sendable {
  /// A text that is not a value of the property's type.
  struct Mismatch: Error {
    var text: String
    /// To follow "must be".
    var expected: String
  }

  /// Sets the property from all texts given for it, at least one, in the order of the command line.
  var set: @Sendable (inout Root, [String]) throws(Mismatch) -> Void
  /// The property's value as a user would write it; empty when there is nothing to show.
  var text: @Sendable (Root) -> String
  /// Everything a text may be, where that is a short list.
  var candidates: [String] = []

  /// The last text wins, but each must be readable.
  static func last<Value: OptionValue>(
    _ path: any WritableKeyPath<Root, Value> & Sendable, where rule: Rule<Value> = Rule()
  ) -> Setter {
    Setter(
      set: { (root, texts) throws(Mismatch) in
        for text in texts { root[keyPath: path] = try rule.read(text) }
      },
      text: { $0[keyPath: path].argument },
      candidates: Value.candidates)
  }

  /// Sets a property that is nil until set, as `last` does.
  static func last<Value: OptionValue>(
    optional path: any WritableKeyPath<Root, Value?> & Sendable, where rule: Rule<Value> = Rule()
  ) -> Setter {
    Setter(
      set: { (root, texts) throws(Mismatch) in
        for text in texts { root[keyPath: path] = try rule.read(text) }
      },
      text: { $0[keyPath: path]?.argument ?? "" },
      candidates: Value.candidates)
  }

  /// The last text wins, but each must be readable; `store` puts the value where it belongs.
  static func storing<Value: OptionValue>(
    _ store: @escaping @Sendable (inout Root, Value) -> Void
  ) -> Setter {
    Setter(
      set: { (root, texts) throws(Mismatch) in
        for text in texts { store(&root, try Rule<Value>().read(text)) }
      },
      text: { _ in "" },
      candidates: Value.candidates)
  }

  /// All texts in the order of the command line, instead of the default.
  static func all<Value: OptionValue>(
    _ path: any WritableKeyPath<Root, [Value]> & Sendable
  ) -> Setter {
    Setter(
      set: { (root, texts) throws(Mismatch) in
        var values: [Value] = []
        for text in texts { values.append(try Rule<Value>().read(text)) }
        root[keyPath: path] = values
      },
      text: { $0[keyPath: path].map(\.argument).joined(separator: ",") },
      candidates: Value.candidates)
  }

  /// What a value must be besides being of its type.
  struct Rule<Value: OptionValue>: Sendable {
    var expected: @Sendable (_ insteadOf: String) -> String = {
      Value.expected(insteadOf: $0)
    }
    var holds: @Sendable (Value) -> Bool = { _ in true }

    func read(_ text: String) throws(Mismatch) -> Value {
      guard let value = Value(argument: text), holds(value) else {
        throw Mismatch(text: text, expected: expected(text))
      }
      return value
    }
  }
}

extension Setter.Rule where Value: Comparable {
  /// Within `range`, bounds included.
  init(_ range: ClosedRange<Value>) {
    let bounds = "from \(range.lowerBound.argument) to \(range.upperBound.argument)"
    self.init(expected: { _ in "\(Value.expected) \(bounds)" }, holds: { range.contains($0) })
  }
}
