/// What there is to know about an option besides where its value goes: the one source of parsing,
/// help, suggestions and completion.
package struct OptionSpec: Sendable, Equatable {
  /// Without dashes.
  package var long: String
  package var short: Character?
  /// Another letter for it, which people know from other programs.
  package var otherShort: Character?
  /// What stands for the value in help, `<n>`; nil for a flag, which takes no value.
  package var placeholder: String?
  /// One or two sentences.
  package var help: String
  /// The environment variable read when the option is not given; an empty one counts as unset.
  package var environment: String?
  /// A flag that may be denied: `--name=no`.
  package var isDeniable = false
  /// Each use adds a value. Its environment variable is split at commas.
  package var repeats = false
  /// Everything the value may be, where that is a short list.
  package var candidates: [String] = []
  /// Where values come from that are no short list; for completion.
  package var source: ValueSource?
  /// The value without the option, as a user would write it; empty when there is none to show.
  package var defaultText = ""
  /// The heading it stands under in help; nil for the command's own options.
  package var section: String?

  /// Present in every command.
  static let help = OptionSpec(long: "help", short: "h", help: "Show help information.")
  /// Present in the root.
  static let version = OptionSpec(long: "version", help: "Show the version.")
}

/// An option of `Root`: a row of the table that a command declares.
package struct Option<Root>: Sendable {
  var spec: OptionSpec
  let setter: Setter<Root>

  private init(_ spec: OptionSpec, _ setter: Setter<Root>) {
    self.spec = spec
    self.spec.candidates = spec.placeholder == nil ? [] : setter.candidates
    self.setter = setter
  }

  /// An option with a value, to be given once.
  package static func value<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value> & Sendable, environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(path))
  }

  /// An option with a value within `range`, to be given once.
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

  /// An option with a value, to be given once, for a property that is nil until set.
  package static func value<Value: OptionValue>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value?> & Sendable, environment: String? = nil,
    _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(optional: path))
  }

  /// An option with a value within `range`, to be given once, for a property that is nil until set.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, short: Character? = nil, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Value?> & Sendable, in range: ClosedRange<Value>,
    environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(
      long: long, short: short, placeholder: placeholder, help: help, environment: environment)
    return Option(spec, .last(optional: path, where: .init(range)))
  }

  /// An option whose value is `none` or within `range`, to be given once, for a property that is nil until set.
  package static func value<Value: OptionValue & Comparable>(
    _ long: String, _ placeholder: String,
    _ path: any WritableKeyPath<Root, Settable<Value>?> & Sendable, in range: ClosedRange<Value>,
    _ help: String
  ) -> Option {
    Option(
      OptionSpec(long: long, placeholder: placeholder, help: help),
      .last(optional: path, where: .init(orNone: range)))
  }

  /// An option with a value, to be given once, that `store` puts where it belongs.
  package static func value<Value: OptionValue>(
    _ long: String, _ placeholder: String, of type: Value.Type, _ help: String,
    store: @escaping @Sendable (inout Root, Value) -> Void
  ) -> Option {
    Option(OptionSpec(long: long, placeholder: placeholder, help: help), .storing(store))
  }

  /// An option that may be given many times; its values replace the property's default.
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

  /// An option without a value that makes the property true. Its environment variable may say
  /// `1`, `true`, `yes`, `on` or `0`, `false`, `no`, `off`.
  package static func flag(
    _ long: String, short: Character? = nil, _ path: any WritableKeyPath<Root, Bool> & Sendable,
    environment: String? = nil, _ help: String
  ) -> Option {
    let spec = OptionSpec(long: long, short: short, help: help, environment: environment)
    return Option(spec, .last(path))
  }

  /// A flag for a property that is nil until set. `--name=no` makes it false.
  package static func deniableFlag(
    _ long: String, _ path: any WritableKeyPath<Root, Bool?> & Sendable, _ help: String
  ) -> Option {
    Option(OptionSpec(long: long, help: help, isDeniable: true), .last(optional: path))
  }

  /// A flag that `--name=no` denies. `store` puts the answer where it belongs.
  package static func deniableFlag(
    _ long: String, _ help: String, store: @escaping @Sendable (inout Root, Bool) -> Void
  ) -> Option {
    Option(OptionSpec(long: long, help: help, isDeniable: true), .storing(store))
  }

  /// This option with `source` for the completion of its values.
  package func from(_ source: ValueSource) -> Option {
    var option = self
    option.spec.source = source
    return option
  }

  /// This option for a struct that holds `Root` at `path`.
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

/// Options that several commands share, as a struct that each holds:
///
///     static let options: [Option<Self>] = [.flag("once", \.once, "Stop when idle.")]
///       + group(\.database)
package protocol OptionGroup: Sendable {
  /// The heading in help, `DATABASE OPTIONS`; nil puts them under the command's own.
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
  /// Empty: help shows no default for a flag.
  package var argument: String { self ? "1" : "" }
}
