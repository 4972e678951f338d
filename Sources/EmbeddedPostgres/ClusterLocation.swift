import FoundationEssentials
import Glibc

/// Where the cluster lives, and where to look for what runs it.
package struct ClusterLocation: Sendable, Equatable {
  /// Absolute.
  package let directory: String
  /// `XDG_RUNTIME_DIR`: a short place for the socket, where the user has one.
  let runtimeDirectory: String?
  /// Directories to find PostgreSQL's programs in: those of `PATH`, and Debian's.
  let programDirectories: [String]

  /// The data's, below ``directory``.
  var data: String { "\(directory)/data" }

  /// Whether there are any data.
  package var isMade: Bool { FileManager.default.fileExists(atPath: data) }

  /// Where Debian's packages put each major version's.
  static let packages = "/usr/lib/postgresql"

  /// `HAUL_STATE_DIR`, else for root `/var/lib/haul`, else `haul` in `XDG_STATE_HOME` or in
  /// `~/.local/state` (XDG Base Directory Specification: what is not absolute there is ignored).
  ///
  /// - Throws: `noHome` where none of them is set.
  package static func standard(
    environment: [String: String]
  ) throws(EmbeddedPostgresError) -> ClusterLocation {
    ClusterLocation(
      directory: try directory(environment: environment, isRoot: geteuid() == 0),
      environment: environment)
  }

  /// The cluster in `directory`, which need not exist; its parents are made as well.
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

  /// `path` from the root on, without slashes at its end.
  private static func absolute(_ path: String) -> String {
    var path = path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
    return path
  }
}
