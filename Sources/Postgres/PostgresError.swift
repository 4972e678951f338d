/// Why a call on the database ended without a result.
///
/// A cancelled task's call throws `CancellationError` instead.
package enum PostgresError: Error, Sendable, Equatable {
  /// The connection string cannot be understood, or a password is demanded and none is given.
  case configuration(String)
  /// No connection came about. The code is there when a server answered and refused.
  case connecting(SQLState?, String)
  /// The server refused a statement; the connection is usable.
  case server(ServerError)
  /// The connection broke or was closed. Whether a statement under way took effect is unknown.
  case connectionLost(String)
  /// No answer in time. The statement was cancelled, or the connection was given up with it.
  case timedOut
  /// A value is not there, is NULL, or is not of the type asked for. Holds no value.
  case decoding(column: String, String)
  /// A pooler stands before the server and gives each transaction another server process.
  case noSession
  /// A pooler stands before the server and gives each statement another server process.
  case noTransactions
  /// The caller broke a rule of this interface.
  case misuse(String)

  /// What the server says about an error (PostgreSQL manual, "Error and Notice Message Fields").
  package struct ServerError: Sendable, Equatable {
    package let state: SQLState
    package let message: String
    /// May quote values of rows: not for logs.
    package let detail: String?
    package let hint: String?
    package let constraint: String?
  }

  /// The server's code, where a server answered.
  package var sqlState: SQLState? {
    switch self {
    case .connecting(let state, _): state
    case .server(let error): error.state
    default: nil
    }
  }

  /// Whether a pooler is in the way.
  package var isOfPooler: Bool { self == .noSession || self == .noTransactions }

  /// Whether the same transaction may well succeed when it is tried again.
  package var isRetryable: Bool {
    sqlState == .serializationFailure || sqlState == .deadlockDetected
  }

  /// Whether connecting again later, with nothing changed here, may well succeed.
  ///
  /// A wrong password, a missing database or a missing right is not; a server that is away,
  /// starting, stopping or full is, and one that only reads.
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

/// Safe to log: no connection string, no password, no parameter, no value of a row.
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
      "a pooler in transaction mode (transaction pooling) stands before the database, and this needs a session of its own: use session mode (pool_mode = session), or connect to PostgreSQL itself"
    case .noTransactions:
      "a pooler in statement mode (statement pooling) stands before the database, and Haul needs transactions: use session mode (pool_mode = session), or connect to PostgreSQL itself"
    case .misuse(let message): message
    }
  }
}

extension PostgresError.ServerError: CustomStringConvertible {
  /// The code and the primary message, which in class 22 (data exceptions) quotes a value and is
  /// left out.
  package var description: String {
    state.isInClass("22")
      ? "database error \(state.rawValue): a value is not valid for its type"
      : "database error \(state.rawValue): \(message)"
  }
}
