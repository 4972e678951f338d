import Arguments
import EmbeddedPostgres
import FoundationEssentials
import JobQueue
import LocalPool
package import Postgres
import Reports

/// The options that name the database.
struct DatabaseOptions: OptionGroup {
  static let title: String? = "DATABASE OPTIONS"
  static let options: [Option<Self>] = [
    .value(
      "database", "<conninfo>", \.given, environment: "HAUL_DATABASE_URL",
      """
      The database of the pool: a libpq connection string or postgresql:// URI. Default: the environment \
      variables of libpq (PGHOST, PGSERVICE and so on), or else the database of a running 'haul up'. \
      'haul check' shows which one that is. Keep passwords in ~/.pgpass.
      """),
    .value(
      "schema", "<name>", \.schemaName, environment: "HAUL_SCHEMA",
      "The schema of the pool in this database (default: \(SchemaName.usual.name))."),
  ]

  /// The value of the option or its environment variable, or nil if both are missing.
  var given: String?

  /// The value of the option or its environment variable, or nil if both are missing.
  var schemaName: SchemaName?

  /// The schema of the pool.
  var schema: SchemaName { schemaName ?? .usual }

  /// Whether the server must accept writes.
  private var writes = false

  /// The options for a command that changes data. If several servers are named, the command connects to the writable one.
  var writing: Self {
    var options = self
    options.writes = true
    return options
  }

  /// Whether the connection must keep its session, which a pooler in transaction mode does not allow.
  private var needsSession = false

  /// The options for a command that holds locks of a session.
  var inSession: Self {
    var options = self
    options.needsSession = true
    return options
  }

  /// The source of the database's address.
  enum Place {
    /// The user named the database, by an option or in libpq's environment variables.
    case named(String)
    /// The user named no database, and the server of `haul up` is running, so the command uses that server.
    case standing(String)
    /// The user named no database. libpq looks for PostgreSQL in its default place.
    case usual

    var conninfo: String {
      switch self {
      case .named(let conninfo), .standing(let conninfo): conninfo
      case .usual: ""
      }
    }
  }

  /// libpq's connection string. If it is empty, libpq uses its environment and defaults.
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

  /// The names of the variables in this process's environment that keep commands from using the database of `haul up`.
  static var variables: [String] {
    let environment = ProcessInfo.processInfo.environment
    return (["HAUL_DATABASE_URL", "HAUL_SCHEMA"] + libpqVariables).filter {
      environment[$0, default: ""] != ""
    }
  }

  private static let libpqVariables = [
    "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGSERVICE", "PGUSER",
  ]

  /// Returns whether libpq's environment names the database. An empty variable does not count.
  private static func isLibpqTold(by environment: [String: String]) -> Bool {
    libpqVariables.contains { environment[$0, default: ""] != "" }
  }

  /// The settings for the command's connection. The query timeout is long, because submitting millions of lines is one
  /// statement. The user can interrupt it, and keepalive detects a lost server much earlier.
  var configuration: ConnectionConfiguration { configuration(conninfo) }

  private func configuration(_ conninfo: String) -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: conninfo, schema: schema, applicationName: "haul", queryTimeout: .seconds(6 * 3600),
      writes: writes, needsSession: needsSession)
  }

  /// Calls `body` with libpq's connection string. If `body` cannot connect, the error says why.
  func withConninfo<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let place = place
    ConnectedPool.note(schema)
    if case .standing = place, schema != .usual {
      throw ExitError(
        .usage,
        "the pool of 'haul up' has no schema \(schema.name). Unset HAUL_SCHEMA and omit --schema, or name a database with --database."
      )
    }
    do {
      return try await body(place.conninfo)
    } catch PostgresError.connecting(let state, let text) {
      throw Self.reason(place, state, text)
    } catch let error as PostgresError where error.isRefusedStatement {
      throw await refusal(error, place.conninfo) ?? error
    }
  }

  /// Returns the error for a refused statement with the pool's role prefix. This needs a separate connection. Returns nil if
  /// that connection fails.
  private func refusal(_ error: PostgresError, _ conninfo: String) async -> (any Error)? {
    guard let connection = try? await Connection.connect(configuration(conninfo)) else {
      return nil
    }
    let prefix = try? await RolePrefix.present(connection)
    await connection.close()
    return prefix.map { RefusedStatement(prefix: $0, refusal: error) }
  }

  /// Returns the error for a failed connection. If the user named no database and no server answered, the error omits libpq's
  /// message `text`, which would not help.
  static func reason(_ place: Place, _ state: SQLState?, _ text: String) -> ExitError {
    let advice = "Start a pool with 'haul up', or name a database with --database."
    switch (place, state) {
    case (.standing, .invalidCatalogName?):
      return ExitError(
        .unavailable,
        "no pool is running here. Only 'haul get' is running, and each 'haul get' shows its progress in its own terminal. "
          + advice)
    case (.usual, nil):
      return ExitError(.unavailable, "no pool is running here and no database is named. \(advice)")
    case (.usual, _):
      let reason = ExitError(from: PostgresError.connecting(state, text))
      let advice =
        DatabaseErrorTable.isOfStranger(text)
        ? "Start a pool with 'haul up', name a database with --database, or \(DatabaseErrorTable.adviceForStranger)"
        : advice
      return ExitError(
        reason.code,
        "no pool is running here and no database is named. The PostgreSQL of this machine refuses the connection: "
          + "\(text). \(advice)")
    default:
      let reason = ExitError(from: PostgresError.connecting(state, text))
      let sentence = naming(place, reason.message ?? text)
      guard let hint = hint(place) else { return ExitError(reason.code, sentence) }
      return ExitError(reason.code, "\(sentence) \(hint)")
    }
  }

  /// Replaces option names in `sentence` with libpq's environment variables, if these variables name the database.
  private static func naming(_ place: Place, _ sentence: String) -> String {
    guard case .named("") = place else { return sentence }
    let names = variables.filter { !$0.hasPrefix("HAUL_") }
    return
      sentence
      .replacing("--database or HAUL_DATABASE_URL", with: names.joined(separator: " or "))
      .replacing("--database, HAUL_DATABASE_URL", with: names.joined(separator: ", "))
  }

  /// Returns a hint if libpq's environment selects a different database than the pool of 'haul up' on this machine. Otherwise
  /// returns nil.
  private static func hint(_ place: Place) -> String? {
    let names = variables.filter { !$0.hasPrefix("HAUL_") }
    // A user who names a server means that server.
    guard case .named("") = place, !names.isEmpty,
      Set(names).isDisjoint(with: ["PGHOST", "PGHOSTADDR", "PGSERVICE"]),
      let location = try? ClusterLocation.standard(
        environment: ProcessInfo.processInfo.environment),
      EmbeddedCluster.running(location, database: LocalPool.standingDatabase) != nil
    else { return nil }
    return
      "A pool of 'haul up' runs on this machine. To use that pool, unset \(OneOf.listed(names, by: "and"))."
  }

  /// Calls `body` with a new connection.
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

  /// Calls `body` with the queue, after a check that this program can use the database's schema.
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

extension SchemaName: OptionValue {
  package static let expected =
    "a name of at most 40 lower-case letters, digits and '_' that begins with a letter and is not an SQL keyword"

  package init?(argument: String) { self.init(argument) }

  package var argument: String { name }
}
