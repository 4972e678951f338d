import JobQueue
import Log
import Maintenance
import Postgres

/// The worker's two connections, with the calls that use them.
///
/// `work` carries claims, the ends of leases and checkpoints; `control` carries heartbeats and notifications, so that no wait
/// for a lock delays a heartbeat.
struct Database: Sendable {
  let caller: JobQueue.Caller
  let work: Session
  let control: Session
  let logger: Logger

  /// How long a worker sends heartbeats while it has no connection for work. Without heartbeats, its leases expire.
  private static let patience = Duration.seconds(10)
  /// The longest pause between two attempts of a call that keeps failing.
  private static let longestPause = Duration.seconds(1)

  /// Returns the configuration of `work`. Because a worker's calls are short, a connection that is silent for `queryTimeout` is
  /// closed.
  static func workConfiguration(_ pool: WorkerConfiguration) -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: pool.conninfo, schema: pool.schema, applicationName: "haul-worker",
      queryTimeout: .seconds(20), writes: true)
  }

  /// Creates both sessions for a registered worker. `work` begins with the connection `first`, made with
  /// ``workConfiguration(_:)``. `observe` gets the events of the control session.
  init(
    _ pool: WorkerConfiguration, first: Connection, caller: JobQueue.Caller, logger: Logger,
    observe: @escaping @Sendable (Session.Event) -> Void
  ) {
    self.caller = caller
    self.logger = logger
    work = Session(
      Self.workConfiguration(pool), first: first, observe: { logger.log($0) })
    control = Session(
      ConnectionConfiguration(
        conninfo: pool.conninfo, schema: pool.schema, applicationName: "haul-worker-control",
        connectTimeout: .seconds(5),
        queryTimeout: .seconds(5), writes: true),
      onConnect: { connection in
        try await JobQueue(connection).attachSession(caller)
        try await connection.listen(connection.schema.name)
        try await connection.requireSession()
      }, observe: observe)
  }

  /// Calls `body` with the queue over a live work connection. Waits for a connection if necessary.
  func queue<T: Sendable>(
    _ body: @Sendable (JobQueue) async throws -> T
  ) async throws -> T {
    try await work.withConnection { connection in
      try await body(
        JobQueue(connection) { state in
          logger.info(.databaseRetry, (.code, LogValue(state.rawValue)))
        })
    }
  }

  /// Repeats `body` over a live work connection until the database has answered. Use this only for calls that may be repeated.
  /// The function logs errors that waiting does not solve, and continues, because an operator may solve them.
  func persist<T: Sendable>(
    _ body: @Sendable (JobQueue) async throws -> T
  ) async throws -> T {
    var pause = Duration.milliseconds(50)
    while true {
      do {
        return try await queue(body)
      } catch let error as PostgresError {
        if work.isClosed { throw error }
        logger.warning(.databaseLost, (.reason, LogValue(error.description)))
        try await Task.sleep(for: error.isTransient ? pause : Self.longestPause)
        pause = min(pause * 2, Self.longestPause)
      }
    }
  }

  /// Whether the work connection has been down for so long that other workers should take over this worker's jobs. This worker
  /// cannot save results, even if its heartbeats arrive. If the control connection was down too, the time counts only from the
  /// moment when the control connection was back.
  var isCutOffFromWork: Bool {
    let (lost, connected) = (work.timeLost ?? .zero, control.timeConnected ?? .zero)
    return min(lost, connected) >= Self.patience
  }

  func close() async {
    await work.close()
    await control.close()
  }
}
