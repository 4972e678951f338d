import Arguments
import EmbeddedPostgres
import FoundationEssentials
import JobQueue
import LocalPool
import Postgres
import Reports

/// Where the database is.
struct DatabaseOptions: OptionGroup {
  static let title: String? = "DATABASE OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "database", "<conninfo>", \.given, environment: "HAUL_DATABASE_URL",
      """
      A libpq connection string or postgresql:// URI. Default: the environment variables of libpq (PGHOST, \
      PGSERVICE and so on), or the database of 'haul up' while it runs. Keep passwords in ~/.pgpass.
      """)
  ]

  /// The option or its environment variable; nil where neither is there.
  var given: String?

  /// Whether a server that only reads is of no use.
  private var writes = false

  /// The same database for a command that changes something: where several servers are named, the one that can be written to.
  var writing: Self {
    var options = self
    options.writes = true
    return options
  }

  /// Whether a pooler in transaction mode is of no use.
  private var needsSession = false

  /// The same database for a command that holds locks of a session.
  var inSession: Self {
    var options = self
    options.needsSession = true
    return options
  }

  /// Where the database's address comes from.
  enum Place {
    /// The user, here or in libpq's environment.
    case named(String)
    /// No database was named. The server of 'haul up' runs, so the command uses it.
    case standing(String)
    /// No database was named, and libpq looks where PostgreSQL usually is.
    case usual

    var conninfo: String {
      switch self {
      case .named(let conninfo), .standing(let conninfo): conninfo
      case .usual: ""
      }
    }
  }

  /// libpq's connection string; empty means libpq's environment and defaults.
  var conninfo: String { place.conninfo }

  private var place: Place {
    if let given { return .named(given) }
    let environment = ProcessInfo.processInfo.environment
    if Self.isLibpqTold(by: environment) { return .named("") }
    guard let location = try? ClusterLocation.standard(environment: environment),
      let conninfo = EmbeddedCluster.running(location, database: LocalPool.standingDatabase)
    else { return .usual }
    return .standing(conninfo)
  }

  /// The variables that lead commands away from the database of 'haul up'.
  static var variables: [String] {
    let environment = ProcessInfo.processInfo.environment
    return (["HAUL_DATABASE_URL"] + libpqVariables).filter { environment[$0, default: ""] != "" }
  }

  private static let libpqVariables = [
    "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE", "PGUSER",
  ]

  /// Whether libpq's environment says where the database is; an empty variable says nothing.
  private static func isLibpqTold(by environment: [String: String]) -> Bool {
    libpqVariables.contains { environment[$0, default: ""] != "" }
  }

  /// How a command connects. A submission of millions of lines is one statement that may take long,
  /// and its user can interrupt it; that the server is gone shows by keepalive long before.
  var configuration: ConnectionConfiguration { configuration(conninfo) }

  private func configuration(_ conninfo: String) -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: conninfo, applicationName: "haul", queryTimeout: .seconds(6 * 3600),
      writes: writes, needsSession: needsSession)
  }

  /// Gives `body` libpq's connection string, and says why there is no connection where it finds that there is none.
  func withConninfo<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let place = place
    do {
      return try await body(place.conninfo)
    } catch PostgresError.connecting(let state, let text) {
      throw Self.reason(place, state, text)
    } catch let error as PostgresError where error.isRefusedStatement {
      throw await refusal(error, place.conninfo) ?? error
    }
  }

  /// A refused statement with the pool's prefix, which needs a connection of its own; nil without one.
  private func refusal(_ error: PostgresError, _ conninfo: String) async -> (any Error)? {
    guard let connection = try? await Connection.connect(configuration(conninfo)) else {
      return nil
    }
    let prefix = try? await RolePrefix.present(connection)
    await connection.close()
    return prefix.map { RefusedStatement(prefix: $0, refusal: error) }
  }

  /// Why there is no connection. If no database was named, libpq's message does not help.
  static func reason(_ place: Place, _ state: SQLState?, _ text: String) -> ExitError {
    let advice = "Start a pool with 'haul up', or name a database with --database."
    switch (place, state) {
    case (.standing, .invalidCatalogName?):
      return ExitError(
        .unavailable,
        "no pool runs here, only downloads by 'haul get', which show their progress in their own terminals. "
          + advice)
    case (.usual, nil):
      return ExitError(.unavailable, "no pool runs here and no database is named. \(advice)")
    case (.usual, _):
      let reason = ExitError(from: PostgresError.connecting(state, text))
      let advice =
        DatabaseErrorTable.isOfStranger(text)
        ? "Start a pool with 'haul up', name a database with --database, or \(DatabaseErrorTable.adviceForStranger)"
        : advice
      return ExitError(
        reason.code,
        "no pool runs here and no database is named. The PostgreSQL of this machine refuses the connection: "
          + "\(text). \(advice)")
    default:
      let reason = ExitError(from: PostgresError.connecting(state, text))
      guard let hint = hint(place) else { return reason }
      return ExitError(reason.code, "\(reason.message ?? text) \(hint)")
    }
  }

  /// That libpq's environment leads away from the pool of 'haul up' on this machine; nil where it does not.
  private static func hint(_ place: Place) -> String? {
    let names = variables.filter { $0 != "HAUL_DATABASE_URL" }
    // Who names a server means that one.
    guard case .named("") = place, !names.isEmpty,
      Set(names).isDisjoint(with: ["PGHOST", "PGHOSTADDR", "PGSERVICE"]),
      let location = try? ClusterLocation.standard(
        environment: ProcessInfo.processInfo.environment),
      EmbeddedCluster.running(location, database: LocalPool.standingDatabase) != nil
    else { return nil }
    return
      "A pool of 'haul up' runs on this machine; Haul uses it if \(names.joined(separator: ", ")) \(names.count == 1 ? "is" : "are") not set."
  }

  /// Gives `body` a connection of its own.
  func withConnection<Result: Sendable>(
    _ body: (Connection) async throws -> Result
  ) async throws -> Result {
    try await withConninfo { conninfo in
      let connection = try await Connection.connect(configuration(conninfo))
      ConnectedPool.note(connection)
      do {
        let result = try await body(connection)
        await connection.close()
        return result
      } catch {
        await connection.close()
        throw error
      }
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
