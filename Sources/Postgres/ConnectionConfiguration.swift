import HaulSystem

/// The address of the database, with time-outs and requirements for a connection.
package struct ConnectionConfiguration: Sendable {
  let conninfo: String
  let schema: SchemaName
  let applicationName: String
  let connectTimeout: Duration
  let queryTimeout: Duration
  /// Whether a read-only server, such as a standby, is unusable. If so, the next of several hosts is tried.
  var writes: Bool
  /// Whether the connection must keep its server process. Session locks, LISTEN and settings require it.
  var needsSession: Bool
  /// Whether the server may compile statements (PostgreSQL: jit).
  let compiles: Bool

  /// Creates a configuration.
  ///
  /// - Parameters:
  ///   - conninfo: libpq's key=value string or URI; empty means libpq's environment variables. The values in the string
  ///     override the defaults of this initialiser (keepalives and `tcp_user_timeout`).
  ///   - schema: the schema of the pool. Each statement that names the schema `haul` then means this schema.
  ///   - applicationName: the name in `pg_stat_activity`, unless the string or environment sets another.
  ///   - connectTimeout: for each host of the string, the maximum time until the host is ready for queries, unless the string
  ///     sets another time. Name resolution inside libpq cannot be interrupted and is not counted.
  ///   - queryTimeout: the maximum time for one statement, from sending it to receiving its last row.
  ///   - writes: whether to reject read-only servers.
  ///   - needsSession: whether to reject a pooler that may give each transaction a different server process. If false, such a
  ///     pooler is accepted. Behind such a pooler, LISTEN does not work, and each call takes three round trips.
  ///   - compiles: whether the server may compile statements (JIT).
  package init(
    conninfo: String,
    schema: SchemaName = .usual,
    applicationName: String,
    connectTimeout: Duration = .seconds(10),
    queryTimeout: Duration = .seconds(60),
    writes: Bool = false,
    needsSession: Bool = true,
    compiles: Bool = true
  ) {
    self.conninfo = conninfo
    self.schema = schema
    self.applicationName = applicationName
    self.connectTimeout = connectTimeout
    self.queryTimeout = queryTimeout
    self.writes = writes
    self.needsSession = needsSession
    self.compiles = compiles
  }

  /// Returns SQL for the first settings of a session, or of a transaction if `isLocal`. They override the settings that an
  /// administrator has made for the role or database.
  ///
  /// The program has its own time-outs and waits idle for notifications, and its statements need READ COMMITTED. The setting
  /// `default_transaction_read_only` stays unchanged, because a provider sets it for a reason. `transaction_timeout` exists only
  /// since PostgreSQL 17.
  func ownSettings(isLocal: Bool = false) -> String {
    """
    SELECT pg_catalog.set_config(own.name, own.value, \(isLocal))
    FROM (VALUES ('statement_timeout', '0'), ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'),
      ('idle_session_timeout', '0'), ('transaction_timeout', '0'),\(compiles ? "" : " ('jit', 'off'),")
      ('default_transaction_isolation', 'read committed')) AS own (name, value)
    WHERE pg_catalog.current_setting(own.name, true) IS NOT NULL
    """
  }

  /// Returns SQL that applies the session's settings if the server process `named` runs it, and that returns the id of the
  /// process that runs it. (``SessionProof``)
  func greeting(_ named: Int32) -> String {
    """
    BEGIN ISOLATION LEVEL READ COMMITTED;
    \(ownSettings()) AND pg_catalog.pg_backend_pid() = \(named);
    COMMIT;
    SELECT pg_catalog.pg_backend_pid()
    """
  }

  /// Returns the time-out for each server from the connection string or `PGCONNECT_TIMEOUT`: whole seconds, from 2 to 600; nil
  /// if neither sets one. (libpq: `connect_timeout`)
  static func timeout(
    in parameters: [String: String], environment: String?
  ) -> Duration? {
    guard let seconds = (parameters["connect_timeout"] ?? environment).flatMap({ Int($0) }),
      seconds > 0
    else { return nil }
    return .seconds(min(max(seconds, 2), 600))
  }

  /// The values that apply if the connection string does not set them (PostgreSQL manual, "Parameter Key Words").
  /// `tcp_user_timeout` also limits a TCP connect, so that time is left for the next host if the first one is dead.
  var defaults: [String: String] {
    [
      "fallback_application_name": applicationName,
      "keepalives_idle": "10",
      "keepalives_interval": "5",
      "keepalives_count": "3",
      "tcp_user_timeout": String(connectTimeout.wholeMilliseconds),
    ]
  }
}

/// Omits the connection string, because it may contain a password.
extension ConnectionConfiguration: CustomStringConvertible {
  package var description: String {
    "ConnectionConfiguration(applicationName: \(applicationName))"
  }
}
