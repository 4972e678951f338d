/// Reads texts into a property of `Root`, for options and operands.
struct Setter<Root>: Sendable {
  /// The error for a text that is not a value of the property's type.
  struct Mismatch: Error {
    var text: String
    /// A description of valid values that can follow "must be".
    var expected: String
  }

  /// Sets the property from all texts given for it, in the order of the command line. There is at least one text.
  var set: @Sendable (inout Root, [String]) throws(Mismatch) -> Void
  /// Returns the property's value as a user would write it. Empty if there is nothing to show.
  var text: @Sendable (Root) -> String
  /// All valid texts, if they are few; otherwise empty.
  var candidates: [String] = []

  /// Creates a setter that uses the last text. All texts must be valid.
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

  /// Creates a setter for a property that is nil by default. It uses the last text. All texts must be valid.
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

  /// Creates a setter that passes each value to `store`, so that the last value stays. All texts must be valid.
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

  /// Creates a setter that replaces the default with all texts, in the order of the command line.
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

  /// A condition on a value, in addition to its type.
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
  /// Creates a rule that accepts values within `range`, including its bounds.
  init(_ range: ClosedRange<Value>) {
    self.init(expected: { _ in Value.expected(within: range) }, holds: { range.contains($0) })
  }
}
