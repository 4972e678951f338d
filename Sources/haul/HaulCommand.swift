import Arguments
import JobModel

/// A command of this program. ``run()`` converts every error that ``perform()`` throws to an exit code and a sentence.
protocol HaulCommand: Command {
  /// The exit code if a queue, batch, host, job, store or worker does not exist.
  static var codeOfUnknownName: ExitCode { get }

  /// The exit code if the database does not fit the version of this program.
  static var codeOfOtherVersion: ExitCode { get }

  /// The database role with the fewest rights that the command needs; nil if no role has enough rights.
  static var role: PoolRole? { get }

  /// Runs the command. Data goes to standard output, everything else to standard error.
  func perform() async throws
}

extension HaulCommand {
  static var codeOfUnknownName: ExitCode { .badInput }
  static var codeOfOtherVersion: ExitCode { .configuration }
  static var role: PoolRole? { .monitor }

  func run() async throws {
    do {
      try await perform()
    } catch {
      let error = ExitError(
        from: error, unknownName: Self.codeOfUnknownName, otherVersion: Self.codeOfOtherVersion,
        role: Self.role)
      throw ExitError(error.code, error.message.map(ConnectedPool.advice))
    }
  }
}
