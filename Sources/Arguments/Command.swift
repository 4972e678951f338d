/// A subcommand: a struct whose properties have defaults. Its tables of options and operands say which arguments set the
/// properties.
package protocol Command: Sendable {
  /// The command's name as users type it, such as `worker`.
  static var name: String { get }
  /// One sentence that describes the command, for help and the list of commands.
  static var abstract: String { get }
  /// The long description for help: paragraphs separated by blank lines. A line that starts with a space is not rewrapped.
  static var discussion: String { get }
  static var examples: [Example] { get }
  /// Whether the command is left out of help, suggestions and completion. Users can still run it.
  static var isHidden: Bool { get }
  static var options: [Option<Self>] { get }
  static var operands: [Operand<Self>] { get }
  /// Advice for users who type an option of another program that this command lacks. Each key is the option as typed. Each
  /// value is one or two sentences for the error message.
  static var habits: [String: String] { get }
  /// Sentences to add to the error when an option's value is invalid. The key is the option as typed.
  static var remarks: [String: String] { get }

  /// Creates the command with the default value of every option and operand.
  init()

  /// Runs the command. Data goes to standard output, everything else to standard error.
  /// - Throws: `ExitError` to end the command with the exit code and the message of that error. Any other error ends the
  ///   command with code 1 and the error's description.
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

  /// Returns the options of the option group that this command holds at `path`.
  package static func group<Group: OptionGroup>(
    _ path: any WritableKeyPath<Self, Group> & Sendable
  ) -> [Option<Self>] {
    Group.options.map { $0.lifted(to: path, section: Group.title) }
  }
}

/// An example command line with its explanation.
package struct Example: Sendable, Equatable {
  package var line: String
  package var help: String

  /// Creates an example. `line` is a complete command line, such as `haul worker --queue films`.
  package init(_ line: String, _ help: String) {
    self.line = line
    self.help = help
  }
}
