package import EmbeddedPostgres
import FoundationEssentials
import JobQueue
package import Postgres
import Synchronization

/// A pool on one machine without any set-up: a database of the embedded cluster, migrated, with nothing left in it that
/// a dead process held.
package final class LocalPool: Sendable {
  /// The database of `haul up`; `haul get` has one of its own, since it sets caps as its user likes.
  package static let standingDatabase = "haul"
  package static let getDatabase = "get"

  /// How often the server is looked for.
  private static let interval = Duration.milliseconds(500)

  private let cluster: Mutex<EmbeddedCluster>
  private let location: ClusterLocation
  private let database: String
  /// libpq's string for the database.
  package let conninfo: String
  /// The connection that prepared the database. The code that opened the pool continues to use it, and closes it.
  package let connection: Connection

  private init(
    _ cluster: EmbeddedCluster, at location: ClusterLocation, database: String,
    _ connection: Connection
  ) {
    self.cluster = Mutex(cluster)
    self.location = location
    self.database = database
    self.connection = connection
    conninfo = cluster.conninfo(database: database)
  }

  /// Starts the cluster or joins its users, makes and migrates the database where that is needed, and takes back the
  /// leases of workers whose processes have ended. `close()` it.
  ///
  /// - Throws: `EmbeddedPostgresError`, `PostgresError`, `JobQueueError`.
  package static func open(
    database: String, at location: ClusterLocation,
    observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void
  ) async throws -> LocalPool {
    let cluster = try await EmbeddedCluster.open(location, observe: observe)
    do {
      let connection = try await connect(to: database, of: cluster)
      try await prepare(connection)
      return LocalPool(cluster, at: location, database: database, connection)
    } catch {
      cluster.close()
      throw error
    }
  }

  /// Starts the server again whenever it has ended, until the task is cancelled: sessions that wait for it go on then.
  /// That no file can be opened passes, and meanwhile the server may well run.
  ///
  /// - Throws: `EmbeddedPostgresError` where it does not start, `CancellationError`.
  package func keepServing(
    observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void
  ) async throws {
    while true {
      try await Task.sleep(for: Self.interval)
      if EmbeddedCluster.running(location, database: database) != nil { continue }
      guard let next = try await opened(observe) else { continue }
      let last = cluster.withLock { cluster in
        defer { cluster = next }
        return cluster
      }
      // Not its last user: `next` is one by now.
      last.close()
    }
  }

  /// nil where no file can be opened.
  private func opened(
    _ observe: @escaping @Sendable (EmbeddedCluster.Step) -> Void
  ) async throws -> EmbeddedCluster? {
    do {
      return try await EmbeddedCluster.open(location, observe: observe)
    } catch {
      if case .openFiles = error { return nil }
      throw error
    }
  }

  /// Lets the cluster go; its last user stops it. Again is no error.
  package func close() { cluster.withLock { $0 }.close() }

  private static func connect(
    to database: String, of cluster: EmbeddedCluster
  ) async throws -> Connection {
    let configuration = ConnectionConfiguration(
      conninfo: cluster.conninfo(database: database), applicationName: "haul",
      queryTimeout: .seconds(3600))
    do {
      return try await Connection.connect(configuration)
    } catch PostgresError.connecting(let state, _) where state == .invalidCatalogName {
      try await cluster.ensureDatabase(database)
      return try await Connection.connect(configuration)
    }
  }

  private static func prepare(_ connection: Connection) async throws {
    if try await !Migrator.isCurrent(connection) {
      // The cluster and all pools in it are one person's.
      _ = try await Migrator.migrate(connection, roles: .shared)
    }
    let queue = JobQueue(connection)
    let dead = try await queue.leaseHolders().filter { !isRunning(pid: $0.value) }
    if !dead.isEmpty { _ = try await queue.rescue(workers: Array(dead.keys)) }
  }

  /// Whether the process `pid` of this machine lives. All workers of the cluster are processes of this machine, since
  /// it listens on a local socket alone. A process that has taken the number of a dead one counts as alive: then the
  /// lease expires as any other. One that its parent has not buried yet is dead (proc(5), `/proc/pid/stat`).
  private static func isRunning(pid: Int) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let end = status.lastIndex(of: ")")
    else { return false }
    let state = status[end...].dropFirst(2).first
    return state != "Z" && state != "X"
  }
}
