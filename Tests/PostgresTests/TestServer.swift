import Foundation
import Postgres
import TestSupport

/// The throw-away server of a test run, and what tests do with it again and again.
enum TestServer {
  struct Missing: Error, CustomStringConvertible {
    let description =
      "HAUL_TEST_POSTGRES is not set: it must hold the connection string of a superuser on a"
      + " throw-away PostgreSQL server; scripts/with-postgres starts one and sets it"
  }

  private static func conninfo() throws -> String {
    guard let conninfo = ProcessInfo.processInfo.environment["HAUL_TEST_POSTGRES"],
      !conninfo.isEmpty
    else { throw Missing() }
    return conninfo
  }

  /// The directory of the server's socket.
  static func host() throws -> String {
    guard let match = try conninfo().firstMatch(of: /host=([^ ]+)/) else { throw Missing() }
    return String(match.1)
  }

  /// Settings such as `user=x` are added to the server's connection string.
  static func configuration(
    _ settings: String = "", queryTimeout: Duration = .seconds(60)
  ) throws -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: try conninfo() + " " + settings, applicationName: "haul-tests",
      connectTimeout: .seconds(30), queryTimeout: queryTimeout)
  }

  static func connect() async throws -> Connection {
    try await .connect(configuration())
  }

  /// Waits until the server's process `pid` runs a statement, or no longer does.
  static func wait(until pid: Int32, isActive: Bool, on observer: Connection) async throws {
    try await eventually("process \(pid) \(isActive ? "active" : "idle")") {
      let rows = try await observer.query(
        "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND state = 'active'", [pid])
      return try rows[0].decode(0) == (isActive ? 1 : 0)
    }
  }

  /// Waits until the server's process `pid` is gone.
  static func waitForEnd(of pid: Int32, on observer: Connection) async throws {
    try await eventually("end of process \(pid)") {
      try await observer.query("SELECT FROM pg_stat_activity WHERE pid = $1", [pid]).isEmpty
    }
  }

  /// Makes a table of its own for one test, with a column `id bigint` that is its primary key, and a
  /// column `word text`.
  static func makeTable(on connection: Connection) async throws -> String {
    let name = "test_\(UInt64.random(in: 0...UInt64.max))"
    try await connection.execute("CREATE TABLE \(name) (id bigint PRIMARY KEY, word text)")
    return name
  }

  static func count(_ table: String, on connection: Connection) async throws -> Int {
    try await connection.query("SELECT count(*) FROM \(table)")[0].decode(0)
  }
}
