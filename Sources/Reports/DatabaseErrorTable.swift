package import Arguments
package import Postgres

/// What an error of the database means for the person who runs a command: its cause, the way out and the exit code.
package enum DatabaseErrorTable {
  /// What `docs/errors.md` shows of an error, and how a command ends with it.
  package struct Row: Sendable {
    /// What tells it, one of these: a code of five characters, a class of two, or words of libpq, all that have " … " between them.
    package let signs: [String]
    /// What happened.
    package let cause: String
    /// What a person can do.
    package let advice: String
    package let code: ExitCode
    let phase: Phase

    init(_ phase: Phase, _ signs: String..., cause: String, advice: String, _ code: ExitCode) {
      (self.phase, self.signs, self.cause, self.advice, self.code) =
        (phase, signs, cause, advice, code)
    }

    /// Whether an error of this phase with that code, or that text of libpq, is of this row.
    fileprivate func matches(_ phase: Phase, _ state: SQLState?, _ text: String) -> Bool {
      guard self.phase == .always || self.phase == phase else { return false }
      // The first of the two rows of 28000.
      if advice == DatabaseErrorTable.stranger && !isOfStranger(text) { return false }
      return signs.contains { sign in
        guard let state else {
          return sign.split(separator: " … ").allSatisfy { text.contains($0) }
        }
        return sign == state.rawValue || sign.count == 2 && state.isInClass(sign)
      }
    }
  }

  /// When an error counts as that of a row.
  enum Phase: Sendable {
    /// Before there is a connection.
    case connecting
    /// Once there is one.
    case connected
    case always
  }

  /// The row for an error that the server or libpq gave a code or words for; nil for the other errors.
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

  /// Whether a server on a local socket has no role of the user's name, which is the system's user where none is given.
  package static func isOfStranger(_ reason: String) -> Bool {
    reason.contains(" on socket ") && reason.contains(/role ".*" does not exist/)
  }

  /// The end of a sentence.
  package static let adviceForStranger =
    "run it as a user that this PostgreSQL knows, as with 'runuser -u postgres -- haul …'."

  fileprivate static let stranger =
    "Name a user that is there with user= in --database, or \(adviceForStranger)"
}

extension DatabaseErrorTable {
  /// In the order in which they are looked at: the first one counts.
  package static let rows = beforeConnecting + poolers + whileConnecting + statements

  /// No server answered, and none of the rows fits.
  package static let unreachable = Row(
    .connecting, "no code", cause: "No server answers.",
    advice: "Check that the server runs and that --database or HAUL_DATABASE_URL names it.",
    .unavailable)

  /// A code that no row has.
  package static let unexplained = Row(
    .connected, "any other", cause: "The server refuses what Haul asks.",
    advice: "'haul check' looks at database, schema and rights.", .configuration)

  /// What libpq finds on this machine: there is no code, and waiting does not mend it. (fe-secure-openssl.c, fe-connect.c,
  /// fe-auth.c)
  private static let beforeConnecting = [
    Row(
      .connecting, "service file", "definition of service", cause: "The service is not there.",
      advice: service, .configuration),
    Row(
      .connecting, "demands a password", cause: "The server wants a password, and there is none.",
      advice: "Check --database, HAUL_DATABASE_URL or ~/.pgpass.", .configuration),
    Row(
      .connecting, "connection string", cause: "The address cannot be read.",
      advice: "Check --database or HAUL_DATABASE_URL.", .configuration),
    Row(
      .connecting, "server does not support SSL",
      cause: "The address asks for TLS, and the server has none.",
      advice:
        "Set 'ssl = on' and a certificate in its postgresql.conf, or take sslmode=require or verify-full out of the address.",
      .configuration),
    Row(
      .connecting, "local user with ID … does not exist",
      cause: "The address names no user, and the system has no name for the user of this process.",
      advice: "Name the database's user with user= in --database, or in PGUSER.", .configuration),
    Row(
      .connecting, "certificate verify failed", cause: "The server's certificate is not accepted.",
      advice:
        "Check that sslrootcert is the authority that signed it, and this machine's clock with 'date': a certificate counts only between its dates.",
      .configuration),
    Row(
      .connecting, "alert bad certificate", "alert certificate expired", "alert unknown ca",
      cause: "The server does not accept the client's certificate.",
      advice:
        "Check that ssl_ca_file of the server has the authority that signed sslcert, the dates of sslcert, and the server's clock.",
      .unavailable),
    Row(
      .connecting, "certificate file … : Permission denied",
      "private key file … : Permission denied", "revocation list … : Permission denied",
      cause: "This user may not read a file of the address.",
      advice:
        "Let this user read it; a key may also be root's and readable by this user's group (chmod 640).",
      .configuration),
    Row(
      .connecting, "certificate file", "private key file", "revocation list",
      "does not match host name", "invalid port number", "invalid integer value", #"value: ""#,
      cause: "The address names what cannot be used, or another server.",
      advice: "Check the files and names in --database, HAUL_DATABASE_URL or the service file.",
      .configuration),
  ]

  private static let service =
    "Check the service's name, ~/.pg_service.conf or the file that PGSERVICEFILE names, and the system's pg_service.conf, on Debian in /etc/postgresql-common."

  /// A pooler answers. (PgBouncer)
  private static let poolers = [
    Row(
      .connecting, "transaction pooling",
      cause:
        "A pooler gives each transaction another session, and the command needs one of its own.",
      advice: "Use session mode (pool_mode = session), or connect to PostgreSQL itself.",
      .configuration),
    Row(
      .connecting, "statement pooling", cause: "A pooler allows no transactions.",
      advice: "Use session mode (pool_mode = session), or connect to PostgreSQL itself.",
      .configuration),
    Row(
      .connecting, "query_wait_timeout", cause: "A pooler had no connection free in time.",
      advice: "Try again when others have ended, or raise the pooler's default_pool_size.",
      .unavailable),
  ]

  /// A server answers, and takes no session.
  private static let whileConnecting = [
    Row(
      .connecting, "28000", cause: "The local server has no role of this user's name.",
      advice: stranger,
      .configuration),
    Row(
      .connecting, "28000", cause: "The server does not let this user in from here.",
      advice:
        "Check the user in --database or HAUL_DATABASE_URL, and what pg_hba.conf asks of it: sslmode, sslcert, sslkey.",
      .configuration),
    Row(
      .connecting, "28", cause: "The password is wrong.",
      advice: "Check user and password in --database, HAUL_DATABASE_URL or ~/.pgpass.",
      .configuration),
    Row(
      .connecting, "3D000", cause: "There is no such database.",
      advice: "Check the database's name in --database or HAUL_DATABASE_URL.", .configuration),
    Row(
      .connecting, "42501", cause: "This user may not connect to the database.",
      advice: "Ask for the right to connect.", .notPermitted),
    Row(
      .connecting, "53300",
      cause: "All connections of the server, the role or the database are in use.",
      advice:
        "Try again when one has ended, or raise max_connections or the CONNECTION LIMIT; 'haul check' counts them.",
      .unavailable),
    Row(
      .connecting, "57P03", cause: "The server starts, stops or recovers.",
      advice: "Try again when it has started.", .unavailable),
  ]

  private static let statements = [
    Row(
      .always, "25006",
      cause: "The server only reads: it is a standby, or default_transaction_read_only is on.",
      advice:
        "Name the primary, or all servers as in host=a,b; where the setting is to blame, wait until it is taken back.",
      .tryAgain),
    Row(
      .connected, "0A000",
      cause:
        "The server cannot do that: a standby does not know what runs, and servers like PostgreSQL lack parts of it.",
      advice: "Name the primary, and use PostgreSQL 15 or newer itself.", .configuration),
    Row(
      .connected, "22P05", cause: "The database's encoding lacks a character.",
      advice:
        "Haul needs UTF8: make another database with 'createdb --encoding UTF8 --template template0 NAME'.",
      .configuration),
    Row(.connected, "22", cause: "A value is refused.", advice: "Nothing was changed.", .badInput),
    Row(
      .connected, "23", cause: "A value contradicts other data.", advice: "Nothing was changed.",
      .badInput),
    Row(
      .connected, "42501", cause: "This user may not do that.",
      advice: "Connect as a user that may, or let an administrator grant it.", .notPermitted),
    Row(
      .connected, "53100", cause: "The disk of the database is full.",
      advice: "Make room there, and try again.", .tryAgain),
    Row(
      .connected, "53", cause: "The server lacks memory, connections or another resource.",
      advice: "Try again later; the server's log says more.", .tryAgain),
    Row(
      .connected, "55", cause: "Somebody else holds what is needed, such as a dump.",
      advice: "Try again when that has ended.", .tryAgain),
    Row(
      .connected, "57014",
      cause: "The statement was cancelled, by an administrator or by the time-out of a pooler.",
      advice: "Connect to PostgreSQL itself and not to a pooler, and try again.", .tryAgain),
    Row(.connected, "57", cause: "The server ends its sessions.", advice: "Try again.", .tryAgain),
    Row(.connected, "08", cause: "The connection failed.", advice: "Try again.", .tryAgain),
    Row(
      .connected, "40", cause: "Another session was in the way.", advice: "Try again.", .tryAgain),
    Row(
      .connected, "58", cause: "The server could not read or write a file.",
      advice: "Look at the server's log.",
      .inputOutput),
    Row(
      .connected, "XX", cause: "The server found a fault of its own or damaged data.",
      advice: "Look at the server's log.", .inputOutput),
    Row(
      .connected, "3F000", "42P01", "42703", "42704", "42883", "HA",
      cause: "The schema is not the one that this program needs.",
      advice: "Run 'haul migrate' with the newest haul in use.", .configuration),
  ]
}
