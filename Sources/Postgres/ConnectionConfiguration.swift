import HaulSystem

/// Where the database is, and how long to wait for it.
package struct ConnectionConfiguration: Sendable {
  let conninfo: String
  let applicationName: String
  let connectTimeout: Duration
  let queryTimeout: Duration
  /// Whether a server that only reads, a standby or one that is set so, is of no use: of several hosts the next is tried then.
  var writes: Bool
  /// Whether the connection must keep its server process: for locks of the session, LISTEN and settings.
  var needsSession: Bool
  /// Whether the server may compile statements (PostgreSQL: jit).
  let compiles: Bool

  /// - Parameters:
  ///   - conninfo: libpq's key=value string or URI; empty means libpq's environment variables.
  ///     What it sets wins over the defaults made here (keepalives, `tcp_user_timeout`).
  ///   - applicationName: shown in `pg_stat_activity` unless the string or environment sets another.
  ///   - connectTimeout: for each host of the string until it is ready for queries, unless the string sets another. Name
  ///     resolution inside libpq cannot be interrupted and is not counted.
  ///   - queryTimeout: for one statement, from its sending to its last row.
  ///   - writes: whether a server that only reads counts as none.
  ///   - needsSession: whether a pooler that gives each transaction another server process counts as none. Without a
  ///     session, such a pooler is no hindrance, but there is no LISTEN, and each call takes three round trips.
  ///   - compiles: whether the server may compile statements.
  package init(
    conninfo: String,
    applicationName: String,
    connectTimeout: Duration = .seconds(10),
    queryTimeout: Duration = .seconds(60),
    writes: Bool = false,
    needsSession: Bool = true,
    compiles: Bool = true
  ) {
    self.conninfo = conninfo
    self.applicationName = applicationName
    self.connectTimeout = connectTimeout
    self.queryTimeout = queryTimeout
    self.writes = writes
    self.needsSession = needsSession
    self.compiles = compiles
  }

  /// The first settings of a session, or of a transaction if `isLocal`. They override what an administrator has set for the
  /// role or database.
  ///
  /// The program has time-outs of its own, waits idle for notifications, and its statements need READ COMMITTED. Who may write is
  /// left as it is: a provider sets `default_transaction_read_only` for a reason. `transaction_timeout` is PostgreSQL 17's.
  func ownSettings(isLocal: Bool = false) -> String {
    """
    SELECT pg_catalog.set_config(own.name, own.value, \(isLocal))
    FROM (VALUES ('statement_timeout', '0'), ('lock_timeout', '0'), ('idle_in_transaction_session_timeout', '0'),
      ('idle_session_timeout', '0'), ('transaction_timeout', '0'),\(compiles ? "" : " ('jit', 'off'),")
      ('default_transaction_isolation', 'read committed')) AS own (name, value)
    WHERE pg_catalog.current_setting(own.name, true) IS NOT NULL
    """
  }

  /// Gives the session its own settings if the process `named` serves it, and answers which process does. (``SessionProof``)
  func greeting(_ named: Int32) -> String {
    """
    BEGIN ISOLATION LEVEL READ COMMITTED;
    \(ownSettings()) AND pg_catalog.pg_backend_pid() = \(named);
    COMMIT;
    SELECT pg_catalog.pg_backend_pid()
    """
  }

  /// The time-out for each server that the connection string or `PGCONNECT_TIMEOUT` sets: whole seconds, from 2 to 600; nil where
  /// neither sets one. (libpq: `connect_timeout`)
  static func timeout(
    in parameters: [String: String], environment: String?
  ) -> Duration? {
    guard let seconds = (parameters["connect_timeout"] ?? environment).flatMap({ Int($0) }),
      seconds > 0
    else { return nil }
    return .seconds(min(max(seconds, 2), 600))
  }

  /// What is used where the connection string says nothing (PostgreSQL manual, "Parameter Key
  /// Words"). `tcp_user_timeout` also bounds a TCP connect, so that a dead first host of several
  /// leaves time for the next.
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

/// Leaves the connection string out: it may hold a password.
extension ConnectionConfiguration: CustomStringConvertible {
  package var description: String {
    "ConnectionConfiguration(applicationName: \(applicationName))"
  }
}
