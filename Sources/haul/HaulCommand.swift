import Arguments
import JobModel

/// A command of this program: whatever `perform` throws becomes an exit code in one place.
protocol HaulCommand: Command {
  /// The code for a queue, batch, host, job, store or worker that does not exist.
  static var codeOfUnknownName: ExitCode { get }

  /// The least role of the database that the command needs; nil where none of them is enough.
  static var role: PoolRole? { get }

  /// Does the work; data goes to standard output, all else to standard error.
  func perform() async throws
}

extension HaulCommand {
  static var codeOfUnknownName: ExitCode { .badInput }
  static var role: PoolRole? { .monitor }

  func run() async throws {
    do {
      try await perform()
    } catch {
      throw ExitError(from: error, unknownName: Self.codeOfUnknownName, role: Self.role)
    }
  }
}
