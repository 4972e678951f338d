import Glibc

/// A directory with PostgreSQL's server programs.
struct ServerInstallation: Sendable, Equatable {
  /// The absolute path of the directory.
  let directory: String
  let major: Int

  static let oldest = 15

  func program(_ name: String) -> String { "\(directory)/\(name)" }

  /// Returns all installations that are new enough, newest first.
  static func all(
    in location: ClusterLocation, for user: ServerUser
  ) async throws(EmbeddedPostgresError) -> [ServerInstallation] {
    var found: [ServerInstallation] = []
    for listed in location.programDirectories {
      guard let directory = resolved(listed), unsafe access("\(directory)/initdb", X_OK) == 0,
        !found.contains(where: { $0.directory == directory })
      else { continue }
      var major = major(ofPackage: directory)
      if major == nil {
        let path = "\(directory)/postgres"
        major = Self.major(of: try await ServerProgram.run(path, ["--version"], as: user).output)
      }
      if let major, major >= oldest {
        found.append(ServerInstallation(directory: directory, major: major))
      }
    }
    return found.sorted { $0.major > $1.major }
  }

  /// Returns the directory of the server program that `directory` contains or links to; nil if there is none.
  private static func resolved(_ directory: String) -> String? {
    guard let path = unsafe realpath("\(directory)/postgres", nil) else { return nil }
    defer { unsafe free(path) }
    let text = unsafe String(cString: path)
    return text.lastIndex(of: "/").map { String(text[..<$0]) }
  }

  /// Returns the major version from the path of a Debian package, such as 15 for `/usr/lib/postgresql/15/bin`. This saves
  /// running the program. Returns nil for other paths.
  static func major(ofPackage directory: String) -> Int? {
    let names = directory.split(separator: "/")
    guard names.count == 5, directory.hasPrefix(ClusterLocation.packages + "/") else { return nil }
    return Int(names[3])
  }

  /// Returns the major version from a version text: 15 for `postgres (PostgreSQL) 15.14 (Debian 15.14-0+deb12u1)`, 18 for
  /// `postgres (PostgreSQL) 18beta1`. Returns nil for other texts.
  static func major(of version: String) -> Int? {
    let words = version.split(separator: " ")
    guard words.count >= 3, words[1] == "(PostgreSQL)" else { return nil }
    return Int(words[2].prefix { $0.isWholeNumber })
  }

  /// Returns the installation for data of this major version, or the newest one if there is no data yet.
  ///
  /// - Throws: `programsMissing`, `otherMajor`.
  static func choose(
    from installed: [ServerInstallation], data major: Int?, in directory: String
  ) throws(EmbeddedPostgresError) -> ServerInstallation {
    guard let major else {
      guard let newest = installed.first else { throw .programsMissing }
      return newest
    }
    guard let fitting = installed.first(where: { $0.major == major }) else {
      throw .otherMajor(data: major, installed: installed.first?.major, directory: directory)
    }
    return fitting
  }
}
