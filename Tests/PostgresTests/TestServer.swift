import Foundation
import Postgres
import Testing

/// The throw-away server of a test run, and what tests do with it again and again.
enum TestServer {
  struct Missing: Error, CustomStringConvertible {
    let description =
      "HAUL_TEST_POSTGRES is not set: it must hold the connection string of a superuser on a"
      + " throw-away PostgreSQL server; scripts/with-postgres starts one and sets it"
  }

  static func conninfo() throws -> String {
    guard let conninfo = ProcessInfo.processInfo.environment["HAUL_TEST_POSTGRES"],
      !conninfo.isEmpty
    else { throw Missing() }
    return conninfo
  }

  /// - Parameter settings: added to the connection string, such as `user=x`.
  static func configuration(
    _ settings: String = "", queryTimeout: Duration = .seconds(30)
  ) throws -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: try conninfo() + " " + settings, applicationName: "haul-tests",
      connectTimeout: .seconds(20), queryTimeout: queryTimeout)
  }

  static func connect(queryTimeout: Duration = .seconds(30)) async throws -> Connection {
    try await .connect(configuration(queryTimeout: queryTimeout))
  }

  /// Waits until the process `pid` of the server runs something, or no longer does.
  static func wait(
    on observer: Connection, until pid: Int32, isActive: Bool
  ) async throws {
    try await waitUntil {
      try await observer.query(
        """
        SELECT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND state = 'active') AS active
        """, [pid])[0].decode("active") == isActive
    }
  }

  /// Asks again and again, for half a minute at most, until the answer is yes.
  static func waitUntil(_ condition: () async throws -> Bool) async throws {
    let deadline = ContinuousClock.now + .seconds(30)
    while try await !condition() {
      try #require(ContinuousClock.now < deadline, "what was waited for did not happen")
      await Task.yield()
    }
  }
}
