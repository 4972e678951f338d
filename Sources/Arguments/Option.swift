/// The description of an option, without the property that takes its value. Parsing, help, suggestions and completion all use
/// it.
package struct OptionSpec: Sendable, Equatable {
  /// The long name without dashes.
  package var long: String
  package var short: Character?
  /// A second short name, which people know from other programs.
  package var otherShort: Character?
  /// The placeholder of the value in help: `<n>`. Nil for a flag, which takes no value.
  package var placeholder: String?
  /// The help in one or two sentences.
  package var help: String
  /// The environment variable to read if the option is not given. An empty variable counts as unset.
  package var environment: String?
  /// Whether the flag can be switched off: `--name=no`.
  package var isDeniable = false
  /// Whether each use adds a value. The option's environment variable is then split at commas.
  package var repeats = false
  /// All possible values, if they are a short list. Otherwise empty.
  package var candidates: [String] = []
  /// The source of the values for completion, if they are not a short list.
  package var source: ValueSource?
  /// The default value as a user would write it. Empty if there is none to show.
  package var defaultText = ""
  /// The heading above the option in help. Nil for the command's own options.
  package var section: String?

  /// The option `--help`, which every command has.
  static let help = OptionSpec(long: "help", short: "h", help: "Show help information.")
  /// The option `--version`, which only the root has.
  static let version = OptionSpec(long: "version", help: "Show the version.")
}

/// An option of `Root`: a row in the table that a command declares.
package struct Option<Root>: Sendable {
  var spec: OptionSpec
  let setter: Setter<Root>

  private init(_ spec: OptionSpec, _ setter: Setter<Root>) {
    self.spec = spec
    self.spec.candidates = spec.placeholder == nil ? [] : setter.candidates
    self.setter = setter
  }

  /// Creates an option with a value. It may be given once.
  package static func value<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value> & Sendable, environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(path))
  }

  /// Creates an option with a value within `range`. It may be given once.
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

  /// Creates an option with a value for a property that is nil until set. It may be given once.
  package static func value<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value?> & Sendable, environment: String? = nil,
    _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(optional: path))
  }

  /// Creates an option with a value within `range` for a property that is nil until set. It may be given once.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value?> & Sendable, in range: ClosedRange<Value>,
    environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(optional: path, where: .init(range)))
  }

  /// Creates an option whose value is `none` or within `range`, for a property that is nil until set. It may be given once.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Settable<Value>?> & Sendable, in range: ClosedRange<Value>,
    _ help: String
  ) -> Option {
    Option(
      OptionSpec(long: long, placeholder: placeholder, help: help),
      .last(optional: path, where: .init(orNone: range)))
  }

  /// Creates an option whose value is passed to `store`. It may be given once.
  package static func value<Value: OptionValue>(
    _ long: String, _ placeholder: String, of type: Value.Type, _ help: String,
    store: @escaping @Sendable (inout Root, Value) -> Void
  ) -> Option {
    Option(OptionSpec(long: long, placeholder: placeholder, help: help), .storing(store))
  }

  /// Creates an option that may be given many times. Its values replace the property's default.
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

  /// Creates an option without a value that makes the property true. Its environment variable may be `1`, `true`, `yes`, `on`
  /// or `0`, `false`, `no`, `off`.
  package static func flag(
    _ long: String, short: Character? = nil, _ path: any WritableKeyPath<Root, Bool> & Sendable,
    environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(long: long, short: short, help: help, environment: environment)
    return Option(spec, .last(path))
  }

  /// Creates a flag for a property that is nil until set. `--name=no` makes the property false.
  package static func deniableFlag(
    _ long: String, _ path: any WritableKeyPath<Root, Bool?> & Sendable, _ help: String
  ) -> Option {
    Option(OptionSpec(long: long, help: help, isDeniable: true), .last(optional: path))
  }

  /// Creates a flag that `--name=no` switches off. The answer is passed to `store`.
  package static func deniableFlag(
    _ long: String, _ help: String, store: @escaping @Sendable (inout Root, Bool) -> Void
  ) -> Option {
    Option(OptionSpec(long: long, help: help, isDeniable: true), .storing(store))
  }

  /// Returns this option with `source` for completing its values.
  package func from(_ source: ValueSource) -> Option {
    var option = self
    option.spec.source = source
    return option
  }

  /// Returns this option for a struct that holds `Root` at `path`.
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

/// A group of options that several commands share. Each command holds the struct:
///
///     static let options: [Option<Self>] = [.flag("once", \.once, "Stop when idle.")]
///       + group(\.database)
package protocol OptionGroup: Sendable {
  /// The heading in help: `DATABASE OPTIONS`. If it is nil, help lists the options with the command's own.
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
  /// `1` for true. Empty for false, because help shows no default for a flag.
  package var argument: String { self ? "1" : "" }
}
