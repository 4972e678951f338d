/// The description of an option: everything except the property that stores its value. Parsing, help, suggestions and
/// completion all use it.
package struct OptionSpec: Sendable, Equatable {
  /// The long name of the option without dashes.
  package var long: String
  package var short: Character?
  /// A second short name, for users who know it from other programs; nil if there is none.
  package var otherShort: Character?
  /// The placeholder of the value in help, such as `<n>`. Nil for a flag, which takes no value.
  package var placeholder: String?
  /// The help text of the option: one or two sentences.
  package var help: String
  /// The environment variable that sets the option if the command line does not; nil if there is none. An empty variable counts
  /// as unset.
  package var environment: String?
  /// Whether the flag can be switched off with `--name=no`.
  package var isDeniable = false
  /// Whether users may give the option several times. Each use then adds a value. In the option's environment variable, commas
  /// separate the values.
  package var repeats = false
  /// All possible values, if they are few; otherwise empty.
  package var candidates: [String] = []
  /// The source of possible values for completion; nil if ``candidates`` lists all values, or if completion is not possible.
  package var source: ValueSource?
  /// The default value as a user would write it; empty if help shows no default.
  package var defaultText = ""
  /// The heading above the option in help; nil for the command's own options.
  package var section: String?

  /// The option `--help`, which every command has.
  static let help = OptionSpec(long: "help", short: "h", help: "Show help information.")
  /// The option `--version`, which only the root has.
  static let version = OptionSpec(long: "version", help: "Show the version.")
}

/// An option of the command `Root`: a row in the table that the command declares.
package struct Option<Root>: Sendable {
  var spec: OptionSpec
  let setter: Setter<Root>

  private init(_ spec: OptionSpec, _ setter: Setter<Root>) {
    self.spec = spec
    self.spec.candidates = spec.placeholder == nil ? [] : setter.candidates
    self.setter = setter
  }

  /// Creates an option with a value. Users may give the option once.
  package static func value<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value> & Sendable, environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(path))
  }

  /// Creates an option with a value within `range`. Users may give the option once.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, short: Character? = nil, or otherShort: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value> & Sendable, in range: ClosedRange<Value>,
    environment: String? = nil, _ help: String
  ) -> Option {
    var spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    spec.otherShort = otherShort
    return Option(spec, .last(path, where: .init(range)))
  }

  /// Creates an option with a value, for a property that is nil by default. Users may give the option once.
  package static func value<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value?> & Sendable, environment: String? = nil,
    _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(optional: path))
  }

  /// Creates an option with a value within `range`, for a property that is nil by default. Users may give the option once.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value?> & Sendable, in range: ClosedRange<Value>,
    environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(optional: path, where: .init(range)))
  }

  /// Creates an option whose value is `none` or within `range`, for a property that is nil by default. Users may give the
  /// option once.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Settable<Value>?> & Sendable, in range: ClosedRange<Value>,
    _ help: String
  ) -> Option {
    Option(
      OptionSpec(long: long, placeholder: placeholder, help: help),
      .last(optional: path, where: .init(orNone: range)))
  }

  /// Creates an option with a value that is passed to `store`. Users may give the option once.
  package static func value<Value: OptionValue>(
    _ long: String, _ placeholder: String, of type: Value.Type, _ help: String,
    store: @escaping @Sendable (inout Root, Value) -> Void
  ) -> Option {
    Option(OptionSpec(long: long, placeholder: placeholder, help: help), .storing(store))
  }

  /// Creates an option that users may give many times. Its values replace the property's default.
  package static func values<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, [Value]> & Sendable, environment: String? = nil,
    _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment,
      repeats: true)
    return Option(spec, .all(path))
  }

  /// Creates an option without a value that sets the property to true. The environment variable of the option may be `1`,
  /// `true`, `yes` or `on` for true, and `0`, `false`, `no` or `off` for false.
  package static func flag(
    _ long: String, short: Character? = nil, _ path: any WritableKeyPath<Root, Bool> & Sendable,
    environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(long: long, short: short, help: help, environment: environment)
    return Option(spec, .last(path))
  }

  /// Creates a flag for a property that is nil by default. `--name` sets the property to true, and `--name=no` sets it to
  /// false.
  package static func deniableFlag(
    _ long: String, _ path: any WritableKeyPath<Root, Bool?> & Sendable, _ help: String
  ) -> Option {
    Option(OptionSpec(long: long, help: help, isDeniable: true), .last(optional: path))
  }

  /// Creates a flag that is passed to `store`: true for `--name`, false for `--name=no`.
  package static func deniableFlag(
    _ long: String, _ help: String, store: @escaping @Sendable (inout Root, Bool) -> Void
  ) -> Option {
    Option(OptionSpec(long: long, help: help, isDeniable: true), .storing(store))
  }

  /// Returns this option with `source` as the source of values for completion.
  package func from(_ source: ValueSource) -> Option {
    var option = self
    option.spec.source = source
    return option
  }

  /// Converts this option of `Root` to an option of a command that holds a `Root` at `path`.
  package func lifted<Outer>(
    to path: any WritableKeyPath<Outer, Root> & Sendable, section: String? = nil
  ) -> Option<Outer> {
    var spec = spec
    spec.section = section
    let lifted = Setter<Outer>(
      set: { [setter] (outer, texts) throws(Setter<Outer>.Mismatch) in
        do throws(Setter<Root>.Mismatch) {
          try setter.set(&outer[keyPath: path], texts)
        } catch {
          throw Setter<Outer>.Mismatch(text: error.text, expected: error.expected)
        }
      },
      text: { [setter] in setter.text($0[keyPath: path]) },
      candidates: setter.candidates)
    return Option<Outer>(spec, lifted)
  }
}

/// A group of options that several commands share. Each command has a property for the group, and adds the group's options to
/// its own options:
///
///     static let options: [Option<Self>] = [.flag("once", \.once, "Stop when idle.")]
///       + group(\.database)
package protocol OptionGroup: Sendable {
  /// The heading of the group in help, such as `DATABASE OPTIONS`. If it is nil, help lists these options with the command's
  /// own options.
  static var title: String? { get }
  static var options: [Option<Self>] { get }
}

extension Bool: OptionValue {
  package static var expected: String { "1 or 0" }
  package init?(argument: String) {
    switch argument.lowercased() {
    case "1", "true", "yes", "on": self = true
    case "0", "false", "no", "off": self = false
    default: return nil
    }
  }
  /// The flag as text: `1` for true, and empty for false, because help shows no default for a flag.
  package var argument: String { self ? "1" : "" }
}
