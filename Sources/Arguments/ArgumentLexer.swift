/// Cuts an argument vector into options and operands without knowing the options.
///
/// POSIX utility syntax guidelines with GNU long options: `--name`, `--name=value`, `-c4`, `-c 4`,
/// `-abc`; `--` ends the options and `-` alone is an operand. An option's value is taken on demand,
/// because only the caller knows whether an option has one; it may begin with `-`.
struct ArgumentLexer {
  enum Token: Equatable {
    /// With its dashes, as the user wrote it: `-c` or `--name`.
    case option(String)
    case operand(String)
  }

  private let arguments: [String]
  private var position = 0
  /// Short options of the current argument that are still to come, `bc` after `-a` of `-abc`.
  private var cluster = Substring()
  /// The text after `=` of a long option, until it is taken.
  private var attached: String?
  private var optionsEnded = false

  init(_ arguments: [String]) { self.arguments = arguments }

  /// Text after `=` that was not used: the option takes no value.
  var hasUnclaimedValue: Bool { attached != nil }

  /// The next token, nil at the end.
  mutating func next() -> Token? {
    attached = nil
    if let letter = cluster.popFirst() { return .option("-\(letter)") }
    guard position < arguments.count else { return nil }
    let argument = arguments[position]
    position += 1
    if optionsEnded || argument == "-" || !argument.hasPrefix("-") { return .operand(argument) }
    if argument == "--" {
      optionsEnded = true
      return next()
    }
    guard argument.hasPrefix("--") else {
      cluster = argument.dropFirst()
      return next()
    }
    guard let equals = argument.firstIndex(of: "=") else { return .option(argument) }
    attached = String(argument[argument.index(after: equals)...])
    return .option(String(argument[..<equals]))
  }

  /// The value of the option just returned: what is attached to it (`--name=v`, `-c4`), else the
  /// whole next argument; nil when there is none.
  mutating func value() -> String? {
    if let value = attached {
      attached = nil
      return value
    }
    if !cluster.isEmpty {
      defer { cluster = Substring() }
      return String(cluster)
    }
    guard position < arguments.count else { return nil }
    defer { position += 1 }
    return arguments[position]
  }

  /// What is left when a subcommand takes over. Call after an operand.
  var rest: [String] { Array(arguments[position...]) }
}
