/// A subcommand: a struct whose properties have defaults. Its tables of options and operands say which arguments set the
/// properties.
package protocol Command: Sendable {
  /// The command's name as users type it: `worker`.
  static var name: String { get }
  /// A sentence about the command. The list of commands shows it too.
  static var abstract: String { get }
  /// The long description: paragraphs separated by blank lines. A line that starts with a space is not rewrapped.
  static var discussion: String { get }
  static var examples: [Example] { get }
  /// Whether help, suggestions and completion leave the command out. It can still be run.
  static var isHidden: Bool { get }
  static var options: [Option<Self>] { get }
  static var operands: [Operand<Self>] { get }
  /// Options of other programs that this command does not have, as typed. Each value says in one or two sentences what to do
  /// instead.
  static var habits: [String: String] { get }
  /// A sentence to add to the error when an option's value is invalid. The key is the option as typed.
  static var remarks: [String: String] { get }

  /// Creates the command with all defaults.
  init()

  /// Runs the command. Data goes to standard output, everything else to standard error.
  /// - Throws: `ExitError` to end with its code and sentence. Any other error ends the command with code 1 and the error's
  ///   description.
  func run() async throws
}

extension Command {
  package static var discussion: String { "" }
  package static var examples: [Example] { [] }
  package static var isHidden: Bool { false }
  package static var options: [Option<Self>] { [] }
  package static var operands: [Operand<Self>] { [] }
  package static var habits: [String: String] { [:] }
  package static var remarks: [String: String] { [:] }

  /// Returns the options of the group that this command holds at `path`.
  package static func group<Group: OptionGroup>(
    _ path: any WritableKeyPath<Self, Group> & Sendable
  ) -> [Option<Self>] {
    Group.options.map { $0.lifted(to: path, section: Group.title) }
  }
}

/// An example command line and what it does.
package struct Example: Sendable, Equatable {
  package var line: String
  package var help: String

  /// Creates an example. `line` is a complete command line: `haul worker --queue films`.
  package init(_ line: String, _ help: String) {
    self.line = line
    self.help = help
  }
}
