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
      "database", "<conninfo>", \.given, environment: "HAUL_DATABASE_URL",
      """
      A libpq connection string or postgresql:// URI; without it libpq's own environment (PGHOST, \
      PGSERVICE and so on) counts, else the database of 'haul up' while that runs. Keep passwords \
      in ~/.pgpass.
      """)
  ]

  /// The option or its environment variable; nil where neither is there.
  var given: String?

  /// libpq's connection string; empty means libpq's environment and defaults.
  var conninfo: String {
    if let given { return given }
    let environment = ProcessInfo.processInfo.environment
    if Self.isLibpqTold(by: environment) { return "" }
    guard let location = try? ClusterLocation.standard(environment: environment) else { return "" }
    return EmbeddedCluster.running(location, database: LocalPool.standingDatabase) ?? ""
  }

  /// Whether libpq's environment says where the database is; an empty variable says nothing.
  private static func isLibpqTold(by environment: [String: String]) -> Bool {
    ["PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE", "PGUSER"]
      .contains { environment[$0, default: ""] != "" }
  }

  /// How a command connects. A submission of millions of lines is one statement that may take long,
  /// and its user can interrupt it; that the server is gone shows by keepalive long before.
  var configuration: ConnectionConfiguration { configuration(conninfo) }

  private func configuration(_ conninfo: String) -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: conninfo, applicationName: "haul", queryTimeout: .seconds(6 * 3600))
  }

  private func connect() async throws -> Connection {
    let conninfo = conninfo
    do {
      return try await Connection.connect(configuration(conninfo))
    } catch let error as PostgresError {
      let isTold = Self.isLibpqTold(by: ProcessInfo.processInfo.environment)
      guard case .connecting = error, conninfo.isEmpty, !isTold else { throw error }
      let exit = ExitError(from: error)
      throw ExitError(
        exit.code,
        "\(exit.message ?? "") No embedded database runs either: 'haul up' starts one.")
    }
  }

  /// Gives `body` a connection of its own.
  func withConnection<Result: Sendable>(
    _ body: (Connection) async throws -> Result
  ) async throws -> Result {
    let connection = try await connect()
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
