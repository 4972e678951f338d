import HaulSystem
import Synchronization

/// One connection to PostgreSQL, with a thread of its own that makes all calls of libpq.
///
/// Any number of tasks may use it; their calls are served one at a time in the order they came.
/// A task cancelled while it waits for its turn leaves; one whose statement runs has it cancelled on
/// the server, and its call throws `CancellationError` once the server has answered, unless the
/// statement was finished first. The connection closes when the last reference to it goes.
package final class Connection: Sendable {
  let link: Link
  let mutex = AsyncMutex()
  /// Whether this is what the body of a transaction gets: it shares the link of another.
  package let isTransaction: Bool
  /// Set when the transaction this belongs to has ended.
  let isOver = Atomic(false)

  /// The process that serves this connection; shown in `pg_stat_activity`.
  package let backendPID: Int32
  let route: Route

  /// How a connection reaches its server process.
  enum Route: Equatable {
    /// Without a pooler.
    case direct
    /// Through a pooler that keeps the process for it. The mark in the settings tells the session from others.
    case marked(String)
    /// Through a pooler that may give each transaction another process. Transactions begin with these statements.
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

  /// Returns a connection ready for statements.
  ///
  /// It has the limits and the isolation of `ConnectionConfiguration.ownSettings`.
  ///
  /// - Throws: `PostgresError.configuration`, `.connecting`, `.noSession` or `.noTransactions`; `CancellationError` at once, even
  ///   while a name is being resolved.
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

  /// Returns the link of a new connection that has sent no command yet, and the server process id.
  static func reach(_ configuration: ConnectionConfiguration) async throws -> (Link, Int32) {
    let link = try Link(queryTimeout: configuration.queryTimeout)
    let connected = Promise<Int32>()
    let isStarted = DetachedThread.start {
      LinkThread.run(configuration, link: link, connected: connected)
    }
    guard isStarted else { throw PostgresError.connecting(nil, "no thread can be started") }
    let pid = try await connected.value {
      connected.settle(.failure(CancellationError()))
      link.requestClose()
    }
    return (link, pid)
  }

  /// Whether another process may serve the next call: no lock, setting or LISTEN outlives a transaction.
  package var isShared: Bool { if case .shared = route { true } else { false } }

  /// The database and its server, for people: `haul at db.example.org:5432`, or with the directory of its socket.
  package var database: String { link.database }

  /// Whether the connection has ended, by `close()` or by itself. It does not come back.
  package var isLost: Bool { link.isLost }

  /// What arrives on the channels of `listen`, for one reader; ends when the connection does.
  ///
  /// At most 1,000 are kept for a reader that does not come, the newest.
  package var notifications: AsyncStream<Notification> { link.notifications }

  /// Runs one statement with its parameters as `$1`, `$2`… and returns its rows.
  ///
  /// One round trip, three where ``isShared``; nothing is prepared on the server. Outside a transaction its effects are durable
  /// on return. `timeout` stands in for the configuration's. Throws `PostgresError` or
  /// `CancellationError`; no row is not an error.
  package func query(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = [], timeout: Duration? = nil
  ) async throws -> Rows {
    let texts = parameters.map { $0?.postgresText }
    if texts.contains(where: { $0?.utf8.contains(0) ?? false }) {
      throw PostgresError.misuse("a parameter holds a NUL character, which PostgreSQL cannot store")
    }
    return try await perform(.query(sql, texts), timeout: timeout)
  }

  /// Runs one statement as `query` does, for its effect. Returns the number of rows affected.
  @discardableResult
  package func execute(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = [], timeout: Duration? = nil
  ) async throws -> Int {
    try await query(sql, parameters, timeout: timeout).affected
  }

  /// Runs several statements, separated by semicolons, in one implicit transaction unless they say
  /// otherwise. The time-out, the configuration's unless given, holds for all together.
  package func script(_ sql: String, timeout: Duration? = nil) async throws {
    _ = try await perform(.script(sql), timeout: timeout)
  }

  /// Lets `notifications` receive what is sent to the channel from now on. Not where ``isShared``.
  package func listen(_ channel: String) async throws {
    if isShared { throw PostgresError.misuse("LISTEN through a connection that has no session") }
    let quoted = channel.split(separator: "\"", omittingEmptySubsequences: false)
    _ = try await perform(.query("LISTEN \"\(quoted.joined(separator: "\"\""))\"", []))
  }

  /// Ends the connection without waiting for calls under way, which throw `connectionLost`; a
  /// statement that runs is asked to stop. On return the server has received the end of the connection.
  package func close() async {
    await link.close()
  }

  /// Waits for its turn, then for the answer.
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
