import HaulSystem
import Synchronization

/// A connection to PostgreSQL. A separate thread makes all libpq calls.
///
/// Any number of tasks may use the connection. The connection serves the calls of these tasks one at a time in the order of
/// arrival. If a task is cancelled while its call waits, the call leaves the queue. If the call's statement is already running,
/// the server cancels the statement. The call then throws `CancellationError` once the server has answered, unless the statement
/// finished first. The connection closes when its last reference is released.
package final class Connection: Sendable {
  let link: Link
  let mutex = AsyncMutex()
  /// Whether this value is the connection that the body of a transaction gets. Such a value uses the libpq connection of the
  /// value on which ``transaction(_:)`` was called.
  package let isTransaction: Bool
  /// Whether the transaction of this connection has ended.
  let isOver = Atomic(false)

  /// The process id of the server process, as `pg_stat_activity` shows it.
  package let backendPID: Int32
  let route: Route

  /// The way from a connection to its server process.
  enum Route: Equatable {
    /// No pooler is between this program and the server.
    case direct
    /// A pooler keeps one server process for this connection. The text is a mark in the session's settings that distinguishes
    /// this session from other sessions.
    case marked(String)
    /// A pooler may give each transaction a different server process. Each transaction begins with the statements in `settings`.
    case shared(settings: String)
  }

  init(link: Link, backendPID: Int32, isTransaction: Bool, route: Route = .direct) {
    self.link = link
    self.backendPID = backendPID
    self.route = route
    self.isTransaction = isTransaction
  }

  deinit {
    if !isTransaction { link.requestClose() }
  }

  /// Connects to the database, and returns a connection that is ready for statements.
  ///
  /// The connection has the limits and the isolation level of `ConnectionConfiguration.ownSettings`.
  ///
  /// - Throws: `PostgresError.configuration`, `.connecting`, `.noSession` or `.noTransactions`. On cancellation, throws
  ///   `CancellationError` immediately, even while a name is being resolved.
  package static func connect(_ configuration: ConnectionConfiguration) async throws -> Connection {
    let (link, named) = try await reach(configuration)
    do {
      let rows = try await link.perform(
        .script(configuration.greeting(named)), timeout: configuration.connectTimeout)
      let serving = try rows[0].decode(0, as: Int32.self)
      let connection = Connection(
        link: link, backendPID: serving, isTransaction: false,
        route: route(isPooled: serving != named, configuration))
      try await SessionProof.prove(connection, configuration)
      return connection
    } catch {
      link.requestClose()
      guard let error = error as? PostgresError, !error.isOfPooler else { throw error }
      throw PostgresError.connecting(error.sqlState, error.description)
    }
  }

  private static func route(isPooled: Bool, _ configuration: ConnectionConfiguration) -> Route {
    if !isPooled { return .direct }
    if configuration.needsSession { return .marked(SessionProof.mark()) }
    return .shared(settings: configuration.ownSettings(isLocal: true))
  }

  /// Returns the link of a new connection that has not sent any command yet, and the id of the server process.
  static func reach(_ configuration: ConnectionConfiguration) async throws -> (Link, Int32) {
    let link = try Link(
      queryTimeout: configuration.queryTimeout, schema: configuration.schema)
    let connected = Promise<Int32>()
    let isStarted = DetachedThread.start {
      LinkThread.run(configuration, link: link, connected: connected)
    }
    guard isStarted else { throw PostgresError.connecting(nil, "cannot start a thread") }
    let pid = try await connected.value {
      connected.settle(.failure(CancellationError()))
      link.requestClose()
    }
    return (link, pid)
  }

  /// Whether a pooler may run the next call in a different server process. If so, no lock, setting or LISTEN outlives a
  /// transaction.
  package var isShared: Bool { if case .shared = route { true } else { false } }

  /// The database and its server in a form for people, such as `haul at db.example.org:5432`. For a Unix socket, the text has
  /// the socket's directory instead of the host. If the pool has a schema of its own, the text ends with `, schema lab`.
  package var database: String { link.database }

  /// The schema of the pool, which statements call `haul`.
  package var schema: SchemaName { link.schema }

  /// Whether the server was a standby when the connection was made. A standby accepts only reads and does not support LISTEN.
  package var isStandby: Bool { link.isStandby }

  /// Whether the connection has ended, by `close()` or because it was lost. An ended connection stays ended.
  package var isLost: Bool { link.isLost }

  /// The notifications on the channels of `listen`, for one reader. The stream ends with the connection.
  ///
  /// If no reader takes them, the newest 1,000 notifications are kept.
  package var notifications: AsyncStream<Notification> { link.notifications }

  /// Runs one statement with its parameters as `$1`, `$2`… and returns its rows.
  ///
  /// A call takes one round trip, or three if ``isShared`` is true. The call prepares no statement on the server. Outside a
  /// transaction, the effects are durable on return. `timeout` replaces the configuration's time-out. Throws `PostgresError` or
  /// `CancellationError`. A result without rows is not an error.
  package func query(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = [], timeout: Duration? = nil
  ) async throws -> Rows {
    let texts = parameters.map { $0?.postgresText }
    if texts.contains(where: { $0?.utf8.contains(0) ?? false }) {
      throw PostgresError.misuse(
        "a parameter contains a NUL character, which PostgreSQL cannot store")
    }
    return try await perform(.query(sql, texts), timeout: timeout)
  }

  /// Runs one statement like `query`, and returns the number of affected rows.
  @discardableResult
  package func execute(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = [], timeout: Duration? = nil
  ) async throws -> Int {
    try await query(sql, parameters, timeout: timeout).affected
  }

  /// Runs several statements, separated by semicolons, in one implicit transaction, unless the statements control transactions
  /// themselves. The time-out covers all statements together. Default: the time-out of the configuration.
  package func script(_ sql: String, timeout: Duration? = nil) async throws {
    _ = try await perform(.script(sql), timeout: timeout)
  }

  /// Subscribes to a channel. `notifications` then receives the channel's notifications. This is not possible if ``isShared``
  /// is true.
  package func listen(_ channel: String) async throws {
    if isShared {
      throw PostgresError.misuse("LISTEN needs a connection with a session of its own")
    }
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false)
    _ = try await perform(.query("LISTEN \"\(quoted.joined(separator: "\"\""))\"", []))
  }

  /// Ends the connection without waiting for running calls, which throw `connectionLost`. The server cancels a running
  /// statement. On return, the server has received the end of the connection.
  package func close() async {
    await link.close()
  }

  /// Waits until the connection is free, then for the answer.
  func perform(
    _ request: Operation.Request, timeout: Duration? = nil, shielded: Bool = false
  ) async throws -> Rows {
    if isShared, !isTransaction {
      return try await attemptTransaction { try await $0.perform(request, timeout: timeout) }
    }
    try await takeTurn(shielded: shielded)
    defer { mutex.release() }
    return try await link.perform(request, timeout: timeout, shielded: shielded)
  }
}
