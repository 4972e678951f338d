/// The reason why a database call ended without a result.
///
/// If the task of a call is cancelled, the call throws `CancellationError` instead.
package enum PostgresError: Error, Sendable, Equatable {
  /// The connection string is not valid, or the server requires a password and none is given.
  case configuration(String)
  /// The connection attempt failed. If a server answered and refused, the error has its SQLSTATE.
  case connecting(SQLState?, String)
  /// The server refused a statement. The connection is still usable.
  case server(ServerError)
  /// The connection broke or was closed. It is unknown whether a running statement took effect.
  case connectionLost(String)
  /// The server did not answer in time. The statement was cancelled, or the connection was closed.
  case timedOut
  /// A value is missing, is NULL, or does not have the requested type. The error does not contain the value.
  case decoding(column: String, String)
  /// A pooler in front of the server may give each transaction a different server process.
  case noSession
  /// A pooler in front of the server may give each statement a different server process.
  case noTransactions
  /// The caller used this interface incorrectly.
  case misuse(String)

  /// The server's description of an error (PostgreSQL manual, "Error and Notice Message Fields").
  package struct ServerError: Sendable, Equatable {
    package let state: SQLState
    package let message: String
    /// The detail message of the error; nil if there is none. It may quote values of rows, so do not log it.
    package let detail: String?
    package let hint: String?
    package let constraint: String?
  }

  /// The server's SQLSTATE; nil if no server answered.
  package var sqlState: SQLState? {
    switch self {
    case .connecting(let state, _): state
    case .server(let error): error.state
    default: nil
    }
  }

  /// Whether a connection pooler is the cause of the error.
  package var isOfPooler: Bool { self == .noSession || self == .noTransactions }

  /// Whether the transaction may succeed if it is repeated unchanged.
  package var isRetryable: Bool {
    sqlState == .serializationFailure || sqlState == .deadlockDetected
  }

  /// Whether a later attempt to connect may succeed without any change on this machine.
  ///
  /// False for a wrong password, a missing database or a missing right. True for a server that is down, starting, stopping,
  /// read-only or at its connection limit.
  package var isTransient: Bool {
    switch self {
    case .connectionLost, .timedOut: true
    case .connecting(let state?, _):
      !state.isInClass("28") && state != .invalidCatalogName && state != .insufficientPrivilege
    case .connecting(nil, _): true
    case .server(let error):
      isRetryable || error.state == .readOnlyTransaction
        || ["08", "53", "57"].contains { error.state.isInClass($0) }
    case .configuration, .noSession, .noTransactions, .decoding, .misuse: false
    }
  }
}

/// Safe to log: contains no connection string, no password, no parameter and no value of a row.
extension PostgresError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .configuration(let message): message
    case .connecting(let state?, let message):
      "cannot connect to the database (\(state.rawValue)): \(message)"
    case .connecting(nil, let message): "cannot connect to the database: \(message)"
    case .server(let error): error.description
    case .connectionLost(let message): "database connection lost: \(message)"
    case .timedOut: "the database did not answer in time"
    case .decoding(let column, let message): "column \(column): \(message)"
    case .noSession:
      "the database is behind a connection pooler in transaction mode (transaction pooling), but this command needs its own session: use session mode (pool_mode = session), or connect to PostgreSQL itself"
    case .noTransactions:
      "the database is behind a connection pooler in statement mode (statement pooling), but Haul needs transactions: use session mode (pool_mode = session), or connect to PostgreSQL itself"
    case .misuse(let message): message
    }
  }
}

extension PostgresError.ServerError: CustomStringConvertible {
  /// The SQLSTATE and the primary message. In class 22 (data exceptions), the message quotes a value and is omitted.
  package var description: String {
    state.isInClass("22")
      ? "database error \(state.rawValue): a value is not valid for its type"
      : "database error \(state.rawValue): \(message)"
  }
}
