/// Splits command-line arguments into options and operands. It does not know which options exist.
///
/// The syntax follows the POSIX utility syntax guidelines and GNU long options: `--name`, `--name=value`, `-c4`, `-c 4`,
/// `-abc`. `--` ends the options, and `-` alone is an operand. The caller asks for an option's value, because only the caller
/// knows whether the option has one. A value may begin with `-`.
struct ArgumentLexer {
  enum Token: Equatable {
    /// An option with its dashes, as the user wrote it: `-c` or `--name`.
    case option(String)
    case operand(String)
  }

  private let arguments: [String]
  private var position = 0
  /// The short options of the current argument that are not read yet: `bc` after `-a` of `-abc`.
  private var cluster = Substring()
  /// The text after `=` of the last long option; nil if there is none, or if it has been read.
  private var attached: String?
  private var optionsEnded = false

  init(_ arguments: [String]) { self.arguments = arguments }

  /// Whether text after `=` was not read, because the option takes no value.
  var hasUnclaimedValue: Bool { attached != nil }

  /// Returns the next token; nil at the end.
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

  /// Returns the value of the last option: the text attached to it (`--name=v`, `-c4`), or otherwise the whole next argument.
  /// Returns nil if there is no value.
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

  /// The remaining arguments, for a subcommand. Call it after an operand.
  var rest: [String] { Array(arguments[position...]) }
}
