/// A node in the tree of commands: a command that runs, or a name with commands below it (`store init`).
package struct CommandNode: Sendable {
  package let name: String
  package let abstract: String
  package let discussion: String
  package let examples: [Example]
  package let isHidden: Bool
  /// All options of the command, including `--help`.
  package let options: [OptionSpec]
  package let operands: [OperandSpec]
  /// The commands below this node, grouped under headings; empty for a command that runs.
  package let sections: [CommandSection]
  /// Reads the arguments after the command's name. Nil for a node with subcommands.
  let parse: (@Sendable ([String], [String: String]) throws(ParseExit) -> any Command)?

  /// Creates the node of a command without subcommands.
  package init<C: Command>(_ command: C.Type) {
    name = C.name
    abstract = C.abstract
    discussion = C.discussion
    examples = C.examples
    isHidden = C.isHidden
    let defaults = C()
    options =
      C.options.map { option in
        var spec = option.spec
        spec.defaultText = option.setter.text(defaults)
        return spec
      } + [.help]
    operands = C.operands.map(\.spec)
    sections = []
    parse = { (arguments, environment) throws(ParseExit) in
      try CommandParser<C>(environment: environment).parse(arguments)
    }
  }

  /// Creates a node that only groups the commands below it.
  package init(
    group name: String, _ abstract: String, discussion: String = "", _ commands: [CommandNode]
  ) {
    let section = CommandSection("SUBCOMMANDS", commands)
    self.init(group: name, abstract, discussion, [.help], [section])
  }

  init(
    group name: String, _ abstract: String, _ discussion: String, _ options: [OptionSpec],
    _ sections: [CommandSection]
  ) {
    self.name = name
    self.abstract = abstract
    self.discussion = discussion
    self.options = options
    self.sections = sections
    examples = []
    isHidden = false
    operands = []
    parse = nil
  }

  /// The commands below this node, in the order in which help shows them.
  package var children: [CommandNode] { sections.flatMap(\.commands) }
}

/// A group of commands under one heading in the help.
package struct CommandSection: Sendable {
  /// The heading in capitals, as help shows it.
  package let title: String
  package let commands: [CommandNode]

  /// Creates a section. Help shows `commands` in their order.
  package init(_ title: String, _ commands: [CommandNode]) {
    self.title = title
    self.commands = commands
  }
}

/// The reason why reading a command line ended without a command to run.
enum ParseExit: Error, Equatable {
  case help
  case version
  /// The command line is wrong. The text is one or two sentences, safe to print.
  case usage(String)
}
