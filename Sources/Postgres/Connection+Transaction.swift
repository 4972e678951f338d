import HaulSystem
import Synchronization

extension Connection {
  /// The transaction whose body the current task runs.
  @TaskLocal private static var current: Connection?

  /// The maximum number of times that a transaction is begun.
  private static let transactionAttempts = 8

  /// Runs `body` in a transaction at READ COMMITTED. The changes of the transaction are durable on return.
  ///
  /// `body` gets a connection value of its own while it runs, and other callers of this connection wait. After a deadlock or a
  /// serialization failure, the function rolls back the transaction and runs `body` again, with growing random waits. `body`
  /// runs at most 8 times in total. So `body` must have no other effects that cannot be repeated. On any other error and on
  /// cancellation, the function rolls back and throws. If the connection is lost during the commit, it is unknown whether the
  /// commit took effect.
  package func transaction<T: Sendable>(
    _ body: @Sendable (Connection) async throws -> T
  ) async throws -> T {
    try await repeated { try await attemptTransaction(body) }
  }

  private func repeated<T: Sendable>(_ attempt: () async throws -> T) async throws -> T {
    var backoff = Backoff(first: .milliseconds(10), limit: .seconds(1))
    for _ in 1..<Self.transactionAttempts {
      do {
        return try await attempt()
      } catch let error as PostgresError where error.isRetryable {
        try await Task.sleep(for: backoff.next())
      }
    }
    return try await attempt()
  }

  /// Runs `body` in a read-only transaction with one snapshot, and otherwise like ``transaction(_:)``.
  package func snapshot<T: Sendable>(
    _ body: @Sendable (Connection) async throws -> T
  ) async throws -> T {
    try await repeated {
      try await attemptTransaction(isolation: "REPEATABLE READ READ ONLY", body)
    }
  }

  /// Runs `body` once in a transaction with this isolation level.
  func attemptTransaction<T: Sendable>(
    isolation: String = "READ COMMITTED", _ body: @Sendable (Connection) async throws -> T
  ) async throws -> T {
    if isTransaction {
      throw PostgresError.misuse("a transaction cannot contain another transaction")
    }
    try await takeTurn(shielded: false)
    defer { mutex.release() }
    let inner = Connection(
      link: link, backendPID: backendPID, isTransaction: true, route: route)
    defer { inner.isOver.store(true, ordering: .relaxed) }
    do {
      _ = try await inner.perform(inner.beginning(isolation))
      let value = try await Self.$current.withValue(inner) { try await body(inner) }
      let commit = try await inner.perform(.query("COMMIT", []), shielded: true)
      // After an error, the server answers a COMMIT with ROLLBACK and reports a success.
      guard commit.commandTag == "COMMIT" else {
        throw PostgresError.misuse(
          "the transaction's code ignored an error, so PostgreSQL rolled the transaction back")
      }
      return value
    } catch {
      await inner.rollBack()
      throw error
    }
  }

  private func beginning(_ isolation: String) -> Operation.Request {
    let begin = "BEGIN ISOLATION LEVEL \(isolation)"
    if case .shared(let settings) = route { return .script("\(begin); \(settings)") }
    return .query(begin, [])
  }

  /// Ends the transaction, whatever its state. If that fails, closes the connection.
  private func rollBack() async {
    do {
      _ = try await perform(.query("ROLLBACK", []), shielded: true)
    } catch {
      link.requestClose()
    }
  }

  /// Waits until no other call uses the connection. The caller must then call `mutex.release()`.
  func takeTurn(shielded: Bool) async throws {
    if isTransaction, isOver.load(ordering: .relaxed) {
      throw PostgresError.misuse("a transaction's connection was used after its end")
    }
    if !isTransaction, let current = Self.current, current.link === link,
      !current.isOver.load(ordering: .relaxed)
    {
      // This call would wait for the transaction, and the transaction would wait for this call.
      throw PostgresError.misuse("a transaction's body must use the connection it is given")
    }
    if !shielded { try Task.checkCancellation() }
    try await mutex.acquire(shielded: shielded)
  }
}
