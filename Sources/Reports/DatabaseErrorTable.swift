package import Arguments
package import Postgres

/// Explains database errors for the person who runs a command: cause, advice and exit code.
package enum DatabaseErrorTable {
  /// A database error as in `docs/errors.md`, with its exit code.
  package struct Row: Sendable {
    /// The patterns of the error. A pattern is an SQLSTATE of five characters, the class of an SQLSTATE (its first two
    /// characters), or words of a libpq message. In such words, " … " matches any text.
    package let signs: [String]
    /// The cause of the error.
    package let cause: String
    /// The advice for the user.
    package let advice: String
    package let code: ExitCode
    let phase: Phase

    init(_ phase: Phase, _ signs: String..., cause: String, advice: String, _ code: ExitCode) {
      (self.phase, self.signs, self.cause, self.advice, self.code) =
        (phase, signs, cause, advice, code)
    }

    /// Returns whether this row describes an error of this phase with this code or this text of libpq.
    fileprivate func matches(_ phase: Phase, _ state: SQLState?, _ text: String) -> Bool {
      guard self.phase == .always || self.phase == phase else { return false }
      // There are two rows for 28000. This is the first one.
      if advice == DatabaseErrorTable.stranger && !isOfStranger(text) { return false }
      return signs.contains { sign in
        guard let state else {
          return sign.split(separator: " … ").allSatisfy { text.contains($0) }
        }
        return sign == state.rawValue || sign.count == 2 && state.isInClass(sign)
      }
    }
  }

  /// The phase of a connection to which a row of the table applies.
  enum Phase: Sendable {
    /// The program is not connected to the database yet.
    case connecting
    /// The program is connected to the database.
    case connected
    case always
  }

  /// Returns the row whose patterns match the error's SQLSTATE or message; nil if no row matches.
  package static func row(for error: PostgresError) -> Row? {
    let failure: (phase: Phase, state: SQLState?, text: String)? =
      switch error {
      case .configuration(let text): (.connecting, nil, text)
      case .connecting(let state, let text): (.connecting, state, text)
      case .server(let server): (.connected, server.state, "")
      case .noSession, .noTransactions: (.connecting, nil, "\(error)")
      case .connectionLost, .timedOut, .decoding, .misuse: nil
      }
    guard let failure else { return nil }
    return rows.first { $0.matches(failure.phase, failure.state, failure.text) }
      ?? (failure.phase == .connecting ? unreachable : unexplained)
  }

  /// Returns whether the error means that a server on a local socket has no role with the user's name. `reason` is libpq's
  /// error message.
  package static func isOfStranger(_ reason: String) -> Bool {
    reason.contains(" on socket ") && reason.contains(/role ".*" does not exist/)
  }

  /// The advice for a user who has no role on the server: the end of a sentence.
  package static let adviceForStranger =
    "run Haul as a user that this PostgreSQL knows, for example with 'runuser -u postgres -- haul …'."

  fileprivate static let stranger =
    "Name an existing user with user= in --database, or \(adviceForStranger)"
}

extension DatabaseErrorTable {
  /// All rows, in the order in which they are tried. The first row that matches is used.
  package static let rows = beforeConnecting + poolers + whileConnecting + statements

  /// The row for an error without an SQLSTATE that fits no other row. The cause is that no server answered.
  package static let unreachable = Row(
    .connecting, "no code", cause: "No server answers.",
    advice:
      "Check that the server runs and that --database or HAUL_DATABASE_URL names this server.",
    .unavailable)

  /// The row for an SQLSTATE that fits no other row.
  package static let unexplained = Row(
    .connected, "any other", cause: "The server refused a statement of Haul.",
    advice: "Run 'haul check' to check the database, the schema and the permissions.",
    .configuration)

  /// Errors that libpq finds on this machine. They have no SQLSTATE, and waiting does not help. (fe-secure-openssl.c,
  /// fe-connect.c, fe-auth.c)
  private static let beforeConnecting = [
    Row(
      .connecting, "service file", "definition of service", cause: "The service does not exist.",
      advice: service, .configuration),
    Row(
      .connecting, "demands a password", cause: "The server needs a password, but none was given.",
      advice: "Check --database, HAUL_DATABASE_URL or ~/.pgpass.", .configuration),
    Row(
      .connecting, "connection string", cause: "The connection string is not valid.",
      advice: "Check --database or HAUL_DATABASE_URL.", .configuration),
    Row(
      .connecting, "server does not support SSL",
      cause: "The connection string requires TLS, but the server does not support it.",
      advice:
        "Set 'ssl = on' and a certificate in the server's postgresql.conf, or remove sslmode=require or verify-full from the connection string.",
      .configuration),
    Row(
      .connecting, "local user with ID … does not exist",
      cause:
        "The connection string names no user, and the system has no name for the user of this process.",
      advice: "Name the database user with user= in --database, or in PGUSER.", .configuration),
    Row(
      .connecting, "certificate verify failed",
      cause: "This machine does not accept the certificate of the server.",
      advice:
        "Check that sslrootcert contains the authority that signed the server's certificate. Also check the clock of this machine with 'date': a certificate is valid only between its dates.",
      .configuration),
    Row(
      .connecting, "alert bad certificate", "alert certificate expired", "alert unknown ca",
      cause: "The server does not accept the certificate of the client.",
      advice:
        "Check that ssl_ca_file of the server contains the authority that signed sslcert. Also check the dates of sslcert and the clock of the server.",
      .unavailable),
    Row(
      .connecting, "certificate file … : Permission denied",
      "private key file … : Permission denied", "revocation list … : Permission denied",
      cause: "This user has no permission to read a file that the connection string names.",
      advice:
        "Let this user read the file. The key may also belong to root if this user's group can read it (chmod 640).",
      .configuration),
    Row(
      .connecting, "certificate file", "private key file", "revocation list",
      "does not match host name", "invalid port number", "invalid integer value", #"value: ""#,
      cause:
        "The connection string names a file or value that Haul cannot use, or the certificate is for another host name.",
      advice: "Check the files and names in --database, HAUL_DATABASE_URL or the service file.",
      .configuration),
  ]

  private static let service =
    "Check the name of the service in ~/.pg_service.conf (or the file that PGSERVICEFILE names) and in the system's pg_service.conf (on Debian in /etc/postgresql-common)."

  /// Errors of a pooler. (PgBouncer)
  private static let poolers = [
    Row(
      .connecting, "transaction pooling",
      cause:
        "A connection pooler may use a different session for each transaction, but this command needs its own session.",
      advice: "Use session mode (pool_mode = session), or connect to PostgreSQL itself.",
      .configuration),
    Row(
      .connecting, "statement pooling", cause: "A connection pooler does not allow transactions.",
      advice: "Use session mode (pool_mode = session), or connect to PostgreSQL itself.",
      .configuration),
    Row(
      .connecting, "query_wait_timeout",
      cause: "The connection pooler had no free connection in time.",
      advice:
        "Try again when other connections have ended, or raise default_pool_size of the pooler.",
      .unavailable),
  ]

  /// Errors of a server that answers but accepts no session.
  private static let whileConnecting = [
    Row(
      .connecting, "28000", cause: "The local server has no role with the name of this user.",
      advice: stranger,
      .configuration),
    Row(
      .connecting, "28000", cause: "The server does not let this user connect from this machine.",
      advice:
        "Check the user in --database or HAUL_DATABASE_URL, and what pg_hba.conf requires: sslmode, sslcert and sslkey.",
      .configuration),
    Row(
      .connecting, "28", cause: "The password is wrong.",
      advice: "Check the user and the password in --database, HAUL_DATABASE_URL or ~/.pgpass.",
      .configuration),
    Row(
      .connecting, "3D000", cause: "The database does not exist.",
      advice: "Check the name of the database in --database or HAUL_DATABASE_URL.", .configuration),
    Row(
      .connecting, "42501", cause: "This user has no permission to connect to the database.",
      advice: "Ask an administrator for this permission.", .notPermitted),
    Row(
      .connecting, "53300",
      cause: "All connections of the server, the role or the database are in use.",
      advice:
        "Try again when a connection has ended, or raise max_connections or the CONNECTION LIMIT. 'haul check' counts connections.",
      .unavailable),
    Row(
      .connecting, "57P03", cause: "The server is starting, stopping or recovering.",
      advice: "Try again when the server has started.", .unavailable),
  ]

  private static let statements = [
    Row(
      .always, "25006",
      cause: "The server is read-only: it is a standby, or default_transaction_read_only is on.",
      advice:
        "Connect to the primary, or name all servers in the connection string (host=a,b). If default_transaction_read_only is the cause, wait until it is off again.",
      .tryAgain),
    Row(
      .connected, "0A000",
      cause:
        "The server does not support a statement of Haul. It is a standby, or a server that is only similar to PostgreSQL.",
      advice: "If it is a standby, connect to the primary. Otherwise use PostgreSQL 15 or newer.",
      .configuration),
    Row(
      .connected, "22P05", cause: "The encoding of the database cannot store a character.",
      advice:
        "Haul needs UTF8. Create another database with 'createdb --encoding UTF8 --template template0 NAME'.",
      .configuration),
    Row(
      .connected, "22", cause: "The server refused a value.", advice: "Nothing was changed.",
      .badInput),
    Row(
      .connected, "23", cause: "A value conflicts with other data in the database.",
      advice: "Nothing was changed.",
      .badInput),
    Row(
      .connected, "42501", cause: "This user has no permission to do this.",
      advice: "Connect as a user that has this permission, or ask an administrator to grant it.",
      .notPermitted),
    Row(
      .connected, "53100", cause: "The disk of the database is full.",
      advice: "Free some space on that disk, and try again.", .tryAgain),
    Row(
      .connected, "53", cause: "The server lacks memory, connections or another resource.",
      advice: "Try again later. The log of the server has details.", .tryAgain),
    Row(
      .connected, "55",
      cause: "Another session, such as a dump, holds a lock that this command needs.",
      advice: "Try again when the other session has ended.", .tryAgain),
    Row(
      .connected, "57014",
      cause: "An administrator or the timeout of a pooler cancelled the statement.",
      advice: "Connect to PostgreSQL itself, not to a pooler, and try again.", .tryAgain),
    Row(
      .connected, "57", cause: "The server is ending its sessions.", advice: "Try again.", .tryAgain
    ),
    Row(.connected, "08", cause: "The connection failed.", advice: "Try again.", .tryAgain),
    Row(
      .connected, "40", cause: "Another session changed or locked the same rows at the same time.",
      advice: "Try again.", .tryAgain),
    Row(
      .connected, "58", cause: "The server could not read or write a file.",
      advice: "Read the log of the server.",
      .inputOutput),
    Row(
      .connected, "XX", cause: "The server found an internal error or damaged data.",
      advice: "Read the log of the server.", .inputOutput),
    Row(
      .connected, "3F000", "42P01", "42703", "42704", "42883", "HA",
      cause: "The schema of the database does not match this program.",
      advice: "Run 'haul migrate' with the newest Haul version in use.", .configuration),
  ]
}
