import JobQueue
package import Log
package import Postgres
import Synchronization

/// A process that only runs the pool's maintenance. Any number of coordinators may run. Only one process at a time, the leader,
/// does the work; the others stand by.
package final class PoolCoordinator: Sendable {
  private let conninfo: String
  private let schema: SchemaName
  private let logger: Logger
  private let leadership = Mutex<Task<Void, Never>?>(nil)
  private let housekeeper = Mutex<Leadership?>(nil)

  /// Whether this process was the leader, which runs the pool's maintenance, in its last round.
  package var isLeading: Bool { housekeeper.withLock { $0?.isLeading ?? false } }

  /// The number of maintenance rounds that this process has begun.
  package var rounds: Int { housekeeper.withLock { $0?.rounds ?? 0 } }

  /// Creates a coordinator without starting it. `conninfo` is a libpq connection string, and `schema` the
  /// schema of the pool.
  package init(conninfo: String, schema: SchemaName = .usual, logger: Logger) {
    self.conninfo = conninfo
    self.schema = schema
    self.logger = logger
  }

  /// Runs the coordinator until ``stop()`` is called. Calls `onStarted` when the database has accepted the coordinator.
  /// - Throws: errors at the start, such as a schema that is too new or a missing role. Later database errors are logged, and
  ///   the coordinator waits until they pass.
  package func run(onStarted: () -> Void = {}) async throws {
    let configuration = ConnectionConfiguration(
      conninfo: conninfo, schema: schema, applicationName: "haul-coordinator", writes: true)
    let first = try await Connection.connect(configuration)
    try await JobQueue(first).requireSchema()
    // This call changes nothing. If this user has no permission to run maintenance, the coordinator fails here and not in every
    // round.
    _ = try await JobQueue(first).rollUp(limit: 0)
    await first.close()

    let session = Session(
      configuration, observe: { [logger] in logger.log($0) })
    logger.info(.coordinatorStarted)
    onStarted()
    let housekeeper = Leadership(lock: session, work: session, logger: logger)
    self.housekeeper.withLock { $0 = housekeeper }
    let task = leadership.withLock { running in
      let task = running ?? Task { await housekeeper.run() }
      running = task
      return task
    }
    await task.value
    await session.close()
    logger.info(.coordinatorStopped)
  }

  /// Ends ``run()``. Another coordinator or a worker takes over the pool's maintenance within 2 seconds.
  package func stop() {
    leadership.withLock { running in
      if running == nil { running = Task {} }
      running?.cancel()
    }
  }
}
