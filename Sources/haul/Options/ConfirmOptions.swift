import Arguments
import Glibc
import HaulSystem
import JobModel
import JobQueue
import Terminal

/// Asks for confirmation before a command changes more jobs than the user may expect.
struct ConfirmOptions: OptionGroup {
  static let title: String? = nil
  static let options: [Option<Self>] = [
    .flag("dry-run", \.isDryRun, "Count the jobs by state, and change nothing."),
    .flag(
      "yes", \.isConfirmed,
      "Do not ask for confirmation. Without this option, Haul asks on a terminal if you give no ids and no --batch."
    ),
  ]

  var isDryRun = false
  var isConfirmed = false

  /// Returns whether the command may change the jobs of `selector`. With --dry-run it returns false, and prints what the
  /// command would do.
  ///
  /// `verb` is the action on the jobs, such as `cancel`. `states` are the states of jobs that the action changes.
  ///
  /// - Throws: ``ExitError`` if the user answers no.
  func allows(
    _ verb: String, _ selector: JobSelector, in states: [JobState], _ queue: JobQueue,
    _ output: OutputOptions
  ) async throws -> Bool {
    guard isDryRun || asks(selector) else { return true }
    let counts = try await queue.affected(selector, in: states)
    let total = counts.reduce(0) { $0 + $1.count }
    let shown = counts.map { "\($0.count) \($0.state.rawValue)" }.joined(separator: ", ")
    let jobs = counted(total, "job")
    let sentence =
      "\(verb) \(total == JobQueue.mostAffected ? "at least " : "")\(jobs)\(total == 0 ? "" : " (\(shown))")"
    if isDryRun {
      try output.print(
        [.init("dry_run", .bool(true)), .init("jobs", .number(total))], orSay: "would \(sentence)")
      return false
    }
    if total == 0 { return true }
    try Confirmation.require(
      "\(sentence.prefix(1).uppercased())\(sentence.dropFirst()) in the pool \(ConnectedPool.name ?? "")?"
    )
    return true
  }

  /// Returns whether to ask: a person is at the terminal, and may have meant fewer jobs.
  private func asks(_ selector: JobSelector) -> Bool {
    !isConfirmed && selector.ids == nil && selector.batch == nil && Confirmation.isPossible
  }
}

/// A question to the person at the terminal.
enum Confirmation {
  /// Whether a person is at the terminal.
  static var isPossible: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1 }

  /// Asks the question and waits for the answer.
  ///
  /// - Throws: ``ExitError`` if the answer is not yes.
  static func require(_ question: String) throws(ExitError) {
    StandardStream.say("\(question) [y/N] ")
    let answer = readLine()?.filter { !$0.isWhitespace }.lowercased()
    guard answer == "y" || answer == "yes" else {
      throw ExitError(.failed, "nothing was changed.")
    }
  }
}
