import Arguments
import EmbeddedPostgres
import FoundationEssentials
import JobQueue
import LocalPool
import Postgres

/// Where the database is.
struct DatabaseOptions: OptionGroup {
  static let title: String? = "DATABASE OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "database", "<conninfo>", \.conninfo, environment: "HAUL_DATABASE_URL",
      """
      A libpq connection string or postgresql:// URI; without it libpq's own environment (PGHOST, \
      PGSERVICE and so on) counts, and without that the database of haul up. Keep passwords in \
      ~/.pgpass.
      """)
  ]

  /// As given.
  var conninfo: String?

  /// Variables by which libpq's environment says which database is meant.
  /// (PostgreSQL manual, libpq, "Environment Variables")
  private static let libpqNames = ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE"]

  /// libpq's connection string; empty means libpq's environment.
  var address: String {
    let environment = ProcessInfo.processInfo.environment
    if let conninfo { return conninfo }
    if Self.libpqNames.contains(where: { environment[$0] != nil }) { return "" }
    guard let location = try? ClusterLocation.standard(environment: environment) else { return "" }
    return EmbeddedCluster.running(location, database: LocalPool.standingDatabase) ?? ""
  }

  /// How a command connects. A submission of millions of lines is one statement that may take long,
  /// and its user can interrupt it; that the server is gone shows by keepalive long before.
  var configuration: ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: address, applicationName: "haul", queryTimeout: .seconds(6 * 3600))
  }

  /// Gives `body` a connection of its own.
  func withConnection<Result: Sendable>(
    _ body: (Connection) async throws -> Result
  ) async throws -> Result {
    let connection = try await Connection.connect(configuration)
    do {
      let result = try await body(connection)
      await connection.close()
      return result
    } catch {
      await connection.close()
      throw error
    }
  }

  /// Gives `body` the queue, once database and program are known to fit.
  func withQueue<Result: Sendable>(
    _ body: (JobQueue) async throws -> Result
  ) async throws -> Result {
    try await withConnection { connection in
      let queue = JobQueue(connection)
      try await queue.requireSchema()
      return try await body(queue)
    }
  }
}
