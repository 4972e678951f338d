import FoundationEssentials
import Glibc

/// The location of the embedded PostgreSQL cluster: its directory, and the directories in which to look for PostgreSQL's
/// programs.
package struct ClusterLocation: Sendable, Equatable {
  /// The absolute path of the cluster's directory.
  package let directory: String
  /// The directory `XDG_RUNTIME_DIR`, which gives the socket a short path; nil if the user has no such directory.
  let runtimeDirectory: String?
  /// The directories in which to find PostgreSQL's programs: the directories of `PATH` and of Debian's packages.
  let programDirectories: [String]

  /// The data directory, below ``directory``.
  var data: String { "\(directory)/data" }

  /// Whether the data directory of the cluster exists.
  package var isMade: Bool { FileManager.default.fileExists(atPath: data) }

  /// The directory in which Debian's packages install each major version.
  static let packages = "/usr/lib/postgresql"

  /// Returns the standard location: `HAUL_STATE_DIR`; otherwise `/var/lib/haul` for root; otherwise `haul` in `XDG_STATE_HOME`
  /// or in `~/.local/state`. Relative paths in `XDG_STATE_HOME` are ignored (XDG Base Directory Specification).
  ///
  /// - Throws: `noHome` if `HAUL_STATE_DIR`, `XDG_STATE_HOME` and `HOME` are all unset and this process does not run as root.
  package static func standard(
    environment: [String: String]
  ) throws(EmbeddedPostgresError) -> ClusterLocation {
    ClusterLocation(
      directory: try directory(environment: environment, isRoot: geteuid() == 0),
      environment: environment)
  }

  /// Creates the location of a cluster in `directory`. The directory and its parents need not exist; they are created later.
  package init(directory: String) {
    self.init(directory: directory, environment: ProcessInfo.processInfo.environment)
  }

  private init(directory: String, environment: [String: String]) {
    self.init(
      directory: directory,
      runtimeDirectory: environment["XDG_RUNTIME_DIR"].flatMap { $0.hasPrefix("/") ? $0 : nil },
      programDirectories: (environment["PATH"] ?? "").split(separator: ":").map(String.init)
        + Self.packageDirectories)
  }

  private static var packageDirectories: [String] {
    let majors = (try? FileManager.default.contentsOfDirectory(atPath: packages)) ?? []
    return majors.map { "\(packages)/\($0)/bin" }
  }

  init(directory: String, runtimeDirectory: String?, programDirectories: [String]) {
    self.directory = Self.absolute(directory)
    self.runtimeDirectory = runtimeDirectory
    self.programDirectories = programDirectories.filter { $0.hasPrefix("/") }
  }

  static func directory(
    environment: [String: String], isRoot: Bool
  ) throws(EmbeddedPostgresError) -> String {
    if let chosen = environment["HAUL_STATE_DIR"], !chosen.isEmpty { return chosen }
    if isRoot { return "/var/lib/haul" }
    if let state = environment["XDG_STATE_HOME"], state.hasPrefix("/") { return "\(state)/haul" }
    if let home = environment["HOME"], home.hasPrefix("/") { return "\(home)/.local/state/haul" }
    throw .noHome
  }

  /// Returns `path` as an absolute path without slashes at its end.
  private static func absolute(_ path: String) -> String {
    var path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
