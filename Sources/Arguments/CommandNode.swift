/// A node in the tree of commands: a command that runs, or a name with commands below it (`store init`).
package struct CommandNode: Sendable {
  package let name: String
  package let abstract: String
  package let isHidden: Bool
  /// The commands below this node, grouped under headings; empty for a command that runs.
  package let sections: [CommandSection]
  /// Reads the arguments after the command's name. Nil for a node with subcommands.
  let parse: (@Sendable ([String], [String: String]) throws(ParseExit) -> any Command)?
  /// Makes the parts that only help and completion need. Every start of the program makes all nodes, so these parts are made on
  /// demand.
  private let details: @Sendable () -> Details

  private struct Details {
    var discussion: String
    var options: [OptionSpec]
    var examples: [Example] = []
    var operands: [OperandSpec] = []
  }

  /// Creates the node of a command without subcommands.
  package init<C: Command>(_ command: C.Type) {
    name = C.name
    abstract = C.abstract
    isHidden = C.isHidden
    sections = []
    parse = { (arguments, environment) throws(ParseExit) in
      try CommandParser<C>(environment: environment).parse(arguments)
    }
    details = {
      let defaults = C()
      let options = C.options.map { option in
        var spec = option.spec
        spec.defaultText = option.setter.text(defaults)
        return spec
      }
      return Details(
        discussion: C.discussion, options: options + [.help], examples: C.examples,
        operands: C.operands.map(\.spec))
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
    self.sections = sections
    isHidden = false
    parse = nil
    details = { Details(discussion: discussion, options: options) }
  }

  /// The long description for help, as in ``Command/discussion``.
  package var discussion: String { details().discussion }
  /// The examples for help; empty for a node that groups commands.
  package var examples: [Example] { details().examples }
  /// All options of the command, including `--help`.
  package var options: [OptionSpec] { details().options }
  /// The operands in their order; empty for a node that groups commands.
  package var operands: [OperandSpec] { details().operands }

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
