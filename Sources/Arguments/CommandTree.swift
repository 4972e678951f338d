import HaulSystem

/// A program: its name, version and tree of commands.
package struct CommandTree: Sendable {
  package let root: CommandNode
  /// The program's version. `--version` prints the version after the name.
  package let version: String
  private let versionLines: @Sendable () -> [String]
  /// Command names of other programs (the keys), and the commands of this program to suggest (the values).
  private let synonyms: [String: String]

  /// Creates a program whose commands are in `sections`.
  package init(
    name: String, version: String, versionLines: @escaping @Sendable () -> [String] = { [] },
    synonyms: [String: String] = [:],
    _ abstract: String, discussion: String = "", _ sections: [CommandSection]
  ) {
    root = CommandNode(group: name, abstract, discussion, [.version, .help], sections)
    self.version = version
    self.versionLines = versionLines
    self.synonyms = synonyms
  }

  /// The result of reading a command line.
  enum Resolution: Sendable {
    /// The caller must run a command. `path` is the command as typed, such as `haul store init`.
    case command(any Command, path: String)
    /// The caller must print help or the version to standard output.
    case text(String)
    /// The caller must report a wrong command line. `message` does not contain the command's name.
    case usage(String, path: String)
  }

  /// Parses `arguments`, runs the command that they name, and returns its exit code. `arguments` do not contain the program's
  /// name. Help goes to standard output, errors to standard error.
  package func run(arguments: [String], environment: [String: String]) async -> Int32 {
    switch resolve(arguments, environment: environment) {
    case .command(let command, let path):
      do {
        try await command.run()
        return ExitCode.success.rawValue
      } catch let error as ExitError {
        let hint = error.code == .usage ? Self.hint(path) : ""
        if let message = error.message { complain(path, message, hint: hint) }
        return error.code.rawValue
      } catch {
        complain(path, "\(error)")
        return ExitCode.failed.rawValue
      }
    case .text(let text):
      do {
        try StandardStream.output.write(text)
        return ExitCode.success.rawValue
      } catch {
        complain(root.name, "\(error).")
        return ExitCode.inputOutput.rawValue
      }
    case .usage(let message, let path):
      complain(path, message, hint: Self.hint(path))
      return ExitCode.usage.rawValue
    }
  }

  /// Returns the action that `arguments` request, without running it. `environment` provides default values. Its variable
  /// COLUMNS is the width of help in columns.
  func resolve(_ arguments: [String], environment: [String: String]) -> Resolution {
    var node = root
    var path = root.name
    var rest = arguments
    if rest.first == "help" {
      rest = rest.dropFirst() + ["--help"]
    }
    if rest == ["version"] { rest = ["--version"] }
    while true {
      do throws(ParseExit) {
        if let parse = node.parse { return .command(try parse(rest, environment), path: path) }
        (node, rest) = try step(from: node, rest)
        path += " \(node.name)"
      } catch {
        switch error {
        case .help:
          return .text(HelpFormatter(environment: environment).help(of: node, path: path))
        case .version:
          let lines = ["\(root.name) \(version)"] + versionLines()
          return .text(lines.joined(separator: "\n") + "\n")
        case .usage(let message): return .usage(message, path: path)
        }
      }
    }
  }

  /// Returns the child of `node` that the first argument names, and the remaining arguments.
  private func step(
    from node: CommandNode, _ arguments: [String]
  ) throws(ParseExit) -> (CommandNode, [String]) {
    var lexer = ArgumentLexer(arguments)
    switch lexer.next() {
    case nil: throw .usage("a command is missing.")
    case .option(let name):
      throw try node.options.named(name) == .version ? .version : .help
    case .operand(let name):
      if let child = node.children.first(where: { $0.name == name }) { return (child, lexer.rest) }
      var message = "unknown command \(quoted(name))."
      let names = node.children.filter { !$0.isHidden }.map(\.name)
      let synonym = node.name == root.name ? synonyms[name] : nil
      if let near = synonym ?? Suggestion.nearest(to: name, among: names) {
        message += " Did you mean '\(near)'?"
      } else if names.count == 1, Int(name) != nil {
        message += " Did you mean '\(names[0]) \(name)'?"
      } else if name == "list", let lister = root.children.first(where: { isLister($0, of: node) })
      {
        message += " Did you mean '\(root.name) \(lister.name)'?"
      }
      throw .usage(message)
    }
  }

  /// Returns whether the name of `node` is the plural of the name of `group`: `hosts` for `host`.
  private func isLister(_ node: CommandNode, of group: CommandNode) -> Bool {
    ["s", "es"].contains { node.name == group.name + $0 }
  }

  private static func hint(_ path: String) -> String { "See '\(path) --help'.\n" }

  /// Prints an error on one line. `message` may contain text from elsewhere.
  private func complain(_ path: String, _ message: String, hint: String = "") {
    StandardStream.say("\(path): \(SafeText.visible(message))\n\(hint)")
  }
}
