/// A subcommand: a struct whose properties have defaults, tables that say which options and
/// operands set them, and what to do then.
package protocol Command: Sendable {
  /// The command's name as users type it: `worker`.
  static var name: String { get }
  /// One sentence, shown in the list of commands too.
  static var abstract: String { get }
  /// Paragraphs separated by blank lines; a line that starts with a space is not rewrapped.
  static var discussion: String { get }
  static var examples: [Example] { get }
  /// Left out of help, suggestions and completion; runs all the same.
  static var isHidden: Bool { get }
  static var options: [Option<Self>] { get }
  static var operands: [Operand<Self>] { get }
  /// Options that other programs have and this command has not, as typed, and what to do here instead: one or two
  /// sentences.
  static var habits: [String: String] { get }
  /// What to add where an option's value is refused, by the option as typed: a sentence.
  static var remarks: [String: String] { get }

  /// All defaults.
  init()

  /// Does the work; data goes to standard output, all else to standard error.
  /// - Throws: `ExitError` to end with its code and sentence; any other error ends the command
  ///   with code 1 and the error's description.
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

  /// The options of a group this command holds at `path`.
  package static func group<Group: OptionGroup>(
    _ path: any WritableKeyPath<Self, Group> & Sendable
  ) -> [Option<Self>] {
    Group.options.map { $0.lifted(to: path, section: Group.title) }
  }
}

/// A command line worth showing, and what it does.
package struct Example: Sendable, Equatable {
  package var line: String
  package var help: String

  /// `line` is complete: `haul worker --queue films`.
  package init(_ line: String, _ help: String) {
    self.line = line
    self.help = help
  }
}
