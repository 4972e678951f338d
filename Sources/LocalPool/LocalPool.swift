package import EmbeddedPostgres
import FoundationEssentials
import JobQueue
package import Postgres
import Synchronization

/// A pool on one machine that needs no set-up. Its database is in a PostgreSQL cluster that Haul starts itself. When the pool
/// has been opened, the database has the current schema, and workers whose processes had ended hold no leases.
package final class LocalPool: Sendable {
  /// The name of the database of `haul up`. `haul get` has its own database, so that limits that `haul get` sets do not affect
  /// `haul up`.
  package static let standingDatabase = "haul"
  package static let getDatabase = "get"

  /// The interval between two checks that the server runs.
  private static let interval = Duration.milliseconds(500)

  private let cluster: Mutex<EmbeddedCluster>
  private let location: ClusterLocation
  private let database: String
  /// libpq's connection string for the database.
  package let conninfo: String
  /// The connection that prepared the database. The code that opened the pool continues to use the connection, and closes it.
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

  /// Opens the pool. Starts the cluster or uses the running one, creates and migrates the database if needed, and takes jobs
  /// back from workers whose processes have ended. The caller must call `close()`.
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

  /// Restarts the database server whenever it ends, until the task is cancelled. Sessions that wait for the server continue
  /// after the restart. If the process has too many open files, the function waits and does not throw.
  ///
  /// - Throws: `EmbeddedPostgresError` if the server does not start, `CancellationError` if the task is cancelled.
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
      // This does not stop the server, because `next` already uses it.
      last.close()
    }
  }

  /// Opens the cluster; returns nil if no file can be opened.
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

  /// Ends this process's use of the cluster. The last process that uses the cluster stops the server. A second call is not an
  /// error.
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
      // All pools of the cluster belong to one person, so they may share their roles.
      _ = try await Migrator.migrate(connection, roles: .shared)
    }
    let queue = JobQueue(connection)
    let dead = try await queue.leaseHolders().filter { !isRunning(pid: $0.value) }
    if !dead.isEmpty { _ = try await queue.rescue(workers: Array(dead.keys)) }
  }

  /// Returns whether the process `pid` of this machine lives. All workers of the cluster run on this machine, because the
  /// server listens only on a local socket. If another process has the id of a dead one, this returns true, and the lease
  /// expires later. A process that has ended but was not collected by its parent counts as dead (proc(5), `/proc/pid/stat`).
  private static func isRunning(pid: Int) -> Bool {
    guard let status = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
      let end = status.lastIndex(of: ")")
    else { return false }
    let state = status[end...].dropFirst(2).first
    return state != "Z" && state != "X"
  }
}
