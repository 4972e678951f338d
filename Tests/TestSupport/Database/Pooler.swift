import Foundation
import Glibc

/// A PgBouncer of a test's own in front of a server. It listens on a Unix socket, and ends with this object.
package final class Pooler: Sendable {
  /// When a client gives its server process back.
  package enum Mode: String, Sendable {
    case session, transaction, statement
  }

  /// For libpq: the database's own with the pooler's address.
  package let conninfo: String
  private let root: TemporaryDirectory
  private let process: ChildProcess

  /// Returns when it accepts connections. `size` is its number of processes for each database and user, and only `users`
  /// may connect; `settings` are lines of its file.
  package init(
    to database: TestDatabase, _ mode: Mode, size: Int, users: [String] = ["postgres"],
    settings: [String] = []
  ) async throws {
    root = try TemporaryDirectory()
    chmod(root.path, 0o777)
    let server = try Self.server(of: database)
    let lines =
      [
        "[databases]", "* = \(server)", "[pgbouncer]", "listen_port = 6432",
        "unix_socket_dir = \(root.path)", "auth_type = trust", "auth_file = \(root.path("users"))",
        "pool_mode = \(mode.rawValue)", "default_pool_size = \(size)", "max_client_conn = 200",
      ] + settings
    try Self.write(users.map { "\"\($0)\" \"\"" }, to: root.path("users"))
    try Self.write(lines, to: root.path("pgbouncer.ini"))
    conninfo = "\(database.conninfo) host=\(root.path) port=6432"
    // It refuses root, as PostgreSQL does; the kernel ends it with the test process all the same.
    let owner =
      getuid() == 0 ? ["--reuid", "postgres", "--regid", "postgres", "--init-groups"] : []
    process = try ChildProcess(
      "setpriv",
      owner + ["--pdeathsig", "keep", "/usr/sbin/pgbouncer", root.path("pgbouncer.ini")])
    try await process.first("PgBouncer to accept connections", within: .seconds(60)) { output in
      output.standardError.contains { $0.contains("process up") } ? () : nil
    }
  }

  /// The server's address as PgBouncer takes it.
  private static func server(of database: TestDatabase) throws -> String {
    guard let host = database.conninfo.firstMatch(of: /host=([^ ]+)/)?.1 else {
      throw NoTestServer()
    }
    let port = database.conninfo.firstMatch(of: /port=([0-9]+)/)?.1 ?? "5432"
    return "host=\(host) port=\(port)"
  }

  private static func write(_ lines: [String], to path: String) throws {
    try (lines.joined(separator: "\n") + "\n").write(
      toFile: path, atomically: false, encoding: .utf8)
    chmod(path, 0o644)
  }
}
