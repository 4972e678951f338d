import HaulSystem

/// Reads the arguments of a command into a new instance of the command. The value of a property comes from its option,
/// otherwise from its environment variable, otherwise from its default.
struct CommandParser<C: Command> {
  let environment: [String: String]

  func parse(_ arguments: [String]) throws(ParseExit) -> C {
    let options = C.options
    let specs = options.map(\.spec) + [.help]
    var given: [String: [Given]] = [:]
    var operands: [String] = []
    var lexer = ArgumentLexer(arguments)
    while let token = lexer.next() {
      switch token {
      case .operand(let text): operands.append(text)
      case .option(let name):
        if let advice = C.habits[name] { throw .usage("unknown option \(quoted(name)): \(advice)") }
        let spec = try specs.named(name)
        if spec == .help { throw .help }
        let value = try lexer.value(of: spec, named: name)
        given[spec.long, default: []].append(Given(name: name, value: value))
      }
    }
    var command = C()
    for option in options { try apply(option, given[option.spec.long], to: &command) }
    try apply(operands, to: &command)
    return command
  }

  /// An option on the command line.
  private struct Given {
    /// The long or short name with its dashes, as the user wrote it.
    let name: String
    let value: String
  }

  private func apply(
    _ option: Option<C>, _ given: [Given]?, to command: inout C
  ) throws(ParseExit) {
    let spec = option.spec
    if let given {
      do throws(ParseExit) {
        try apply(option, given, spec, to: &command)
      } catch .usage(let message) {
        let remark = given.compactMap { C.remarks[$0.name] }.first
        throw .usage([message, remark].compactMap(\.self).joined(separator: " "))
      }
    } else if let name = spec.environment, let text = environment[name], !text.isEmpty {
      let texts = spec.repeats ? text.split(separator: ",").map(String.init) : [text]
      try set(option.setter, texts, to: &command) { _ in "environment variable \(name)" }
    }
  }

  private func apply(
    _ option: Option<C>, _ given: [Given], _ spec: OptionSpec, to command: inout C
  ) throws(ParseExit) {
    if spec.placeholder != nil, !spec.repeats, given.count > 1 {
      throw .usage("option '\(given[1].name)' is given more than once. Give it once.")
    }
    try set(option.setter, given.map(\.value), to: &command) { wrong in
      let name = given.first { $0.value == wrong }?.name ?? "--\(spec.long)"
      return "option '\(name)'"
    }
  }

  private func apply(_ texts: [String], to command: inout C) throws(ParseExit) {
    var rest = texts[...]
    for operand in C.operands {
      let spec = operand.spec
      let taken = spec.repeats ? rest : rest.prefix(1)
      rest = rest.dropFirst(taken.count)
      if taken.isEmpty && !spec.isRequired { continue }
      if taken.isEmpty { throw .usage("operand <\(spec.name)> is missing.") }
      try set(operand.setter, Array(taken), to: &command) { _ in "operand <\(spec.name)>" }
    }
    if let extra = rest.first { throw .usage("unexpected operand \(quoted(extra)).") }
  }

  /// Sets a property from `texts`. `subject` returns the beginning of the error for an invalid text: the option, operand or
  /// variable that has the text.
  private func set(
    _ setter: Setter<C>, _ texts: [String], to command: inout C, subject: (String) -> String
  ) throws(ParseExit) {
    do throws(Setter<C>.Mismatch) {
      try setter.set(&command, texts)
    } catch {
      var message = "\(subject(error.text)) must be \(error.expected), not \(quoted(error.text))."
      if let near = Suggestion.nearest(to: error.text, among: setter.candidates) {
        message += " Did you mean '\(near)'?"
      }
      throw .usage(message)
    }
  }
}

extension [OptionSpec] {
  /// Returns the option written as `name`, including its dashes. Abbreviations are not accepted: with them, every new option
  /// could break an existing command line.
  func named(_ name: String) throws(ParseExit) -> OptionSpec {
    if let spec = first(where: { $0.spellings.contains(name) }) { return spec }
    var message = "unknown option \(quoted(name))."
    let word = String(name.drop { $0 == "-" })
    if let near = Suggestion.nearest(to: word, among: map(\.long)) {
      message += " Did you mean '--\(near)'?"
    }
    throw .usage(message)
  }
}

extension OptionSpec {
  /// The option's spellings on a command line, short ones first.
  var spellings: [String] { shorts.map { "-\($0)" } + ["--\(long)"] }

  var shorts: [Character] { [short, otherShort].compactMap(\.self) }
}

extension ArgumentLexer {
  /// Reads the value of the option `spec`, which the user wrote as `name`. A flag without a value gives `1`.
  fileprivate mutating func value(
    of spec: OptionSpec, named name: String
  ) throws(ParseExit) -> String {
    guard let placeholder = spec.placeholder else {
      if spec.isDeniable, hasUnclaimedValue, let answer = value() { return answer }
      if hasUnclaimedValue { throw .usage("option '\(name)' takes no value.") }
      return "1"
    }
    guard let value = value() else {
      throw .usage("option '\(name)' needs a value \(placeholder).")
    }
    return value
  }
}

/// Returns the user's text in quotation marks, safe to print.
func quoted(_ text: String) -> String { "'\(SafeText.visible(text))'" }
