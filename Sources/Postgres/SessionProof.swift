/// Finds out whether a connection through a pooler keeps its server process.
///
/// 1. A pooler is easy to detect. It hands out its own keys for cancel requests, because clients that share a process cannot
///    share a key. So the process that it names (libpq: PQbackendPID) differs from the process that answers
///    `pg_backend_pid()`. A proxy that only forwards bytes does not count as a pooler: sessions survive there.
/// 2. Behind a pooler, it proves nothing that two queries get the same process: it may have been the only idle process. So a
///    second connection opens a transaction and holds a process meanwhile.
///    - In session mode, this is never the process of the first connection, and the first connection keeps its own.
///    - In transaction mode, the second connection gets the process that became idle last, which is the process of the first
///      connection. A pooler that rotates its processes gives the first connection two different processes in two queries.
/// 3. Queries of other clients can hide a change of process by chance. So there are several rounds, each with a new second
///    connection.
///
/// The session also gets a mark in a setting, and ``Connection/requireSession()`` checks the mark before work that needs the
/// session. If another connection of Haul has used the same process, that connection has overwritten the mark. A different
/// process does not have the mark.
enum SessionProof {
  private static let rounds = 3
  /// How long the pooler may take to give the second connection a process.
  private static let patience = Duration.seconds(3)

  /// Returns a random mark that no other session has.
  static func mark() -> String { String(UInt64.random(in: 0...UInt64.max), radix: 16) }

  /// Checks a connection through a pooler, then gives the session its settings and its mark. Does nothing without a pooler.
  /// - Throws: `PostgresError.noSession`; other errors if there is no proof in time.
  static func prove(
    _ connection: Connection, _ configuration: ConnectionConfiguration
  ) async throws {
    guard case .marked(let mark) = connection.route else { return }
    guard try await isKept(connection, configuration) else { throw PostgresError.noSession }
    try await connection.script(
      """
      \(configuration.ownSettings());
      SELECT pg_catalog.set_config('haul_session.mark', '\(mark)', false)
      """, timeout: patience)
    try await connection.requireSession()
  }

  private static func isKept(
    _ connection: Connection, _ configuration: ConnectionConfiguration
  ) async throws -> Bool {
    for _ in 0..<rounds {
      for _ in 0..<2 {
        guard try await hasItsProcess(connection) else { return false }
      }
      let (link, named) = try await Connection.reach(configuration)
      let rival = Connection(link: link, backendPID: named, isTransaction: false)
      do {
        let isFree = try await holdsAnother(rival, than: connection)
        await rival.close()
        guard isFree, try await hasItsProcess(connection) else { return false }
      } catch let error as PostgresError where error.isLackOfProcesses {
        // The pooler had no free process for the second connection. In session mode, the first connection still has its own
        // process and gets an answer.
        await rival.close()
        return try await hasItsProcess(connection)
      } catch {
        await rival.close()
        throw error
      }
    }
    return true
  }

  /// Returns whether `rival`, in a transaction, has a different process from `connection`, and `connection` still has its own.
  private static func holdsAnother(
    _ rival: Connection, than connection: Connection
  ) async throws -> Bool {
    try await rival.script("BEGIN", timeout: patience)
    if try await process(of: rival) == connection.backendPID { return false }
    return try await hasItsProcess(connection)
  }

  private static func hasItsProcess(_ connection: Connection) async throws -> Bool {
    try await process(of: connection) == connection.backendPID
  }

  private static func process(of connection: Connection) async throws -> Int32 {
    try await connection.query("SELECT pg_catalog.pg_backend_pid()", timeout: patience)[0].decode(0)
  }
}

extension PostgresError {
  /// Whether a pooler had no free process. (PgBouncer: query_wait_timeout)
  fileprivate var isLackOfProcesses: Bool {
    switch self {
    case .timedOut: true
    case .connectionLost(let reason): reason.contains("query_wait_timeout")
    default: false
    }
  }
}

extension Connection {
  /// Checks that the connection still has the server process that it started with.
  ///
  /// The check asks the server only if a pooler is between this program and the server. Call this function before work that
  /// needs locks or settings of the session. If the check fails, the connection ends.
  ///
  /// - Throws: `PostgresError.noSession`, and the errors of ``query(_:_:timeout:)``.
  package func requireSession() async throws {
    guard case .marked(let mark) = route else { return }
    let rows = try await query(
      "SELECT pg_catalog.current_setting('haul_session.mark', true) IS NOT DISTINCT FROM $1", [mark]
    )
    if try rows[0].decode(0, as: Bool.self) { return }
    link.requestClose(because: .noSession)
    throw PostgresError.noSession
  }
}
