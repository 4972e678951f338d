package import Glibc

/// The user nobody, for tests that run as root and want to know what is said to one who may not do everything.
package enum OrdinaryUser {
  package static let id: uid_t = 65_534

  /// Whether this process may become that user, who is let to where the program is built.
  package static var isPossible: Bool {
    get async {
      guard getuid() == 0 else { return false }
      return (try? await run(["--version"]))?.exit == .code(0)
    }
  }

  /// Runs `haul` to its end; any exit code is no error.
  package static func run(
    _ arguments: [String], environment: [String: String] = [:], directory: String? = nil
  ) async throws -> ChildProcess.Output {
    try await ChildProcess.run(
      "setpriv",
      ["--reuid", "\(id)", "--regid", "\(id)", "--clear-groups", HaulProcess.path] + arguments,
      environment: environment, directory: directory)
  }
}
