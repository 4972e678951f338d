import Glibc
import HaulSystem
import Postgres

/// A private PostgreSQL cluster. The cluster's server runs while at least one process on this machine uses the cluster.
///
/// The server listens only on a Unix socket, and the kernel says which user connects (peer authentication). The database role
/// is `haul`. Each process that uses the cluster holds a shared lock, which the kernel releases when the process dies. If the
/// last process was killed, the server continues to run, and the next process takes the server over.
package final class EmbeddedCluster: Sendable {
  /// A step of ``open(_:observe:)`` that may take a while.
  package enum Step: Sendable, Equatable {
    /// The cluster is being created. This happens only once.
    case creating
    case starting
    /// Another process is starting the server, or the server is being stopped.
    case waiting
    /// The server is recovering from a crash.
    case recovering
  }

  private let directory: ClusterDirectory
  private let server: PostmasterFile
  private let users: FileLock

  private init(_ directory: ClusterDirectory, _ server: PostmasterFile, _ users: FileLock) {
    self.directory = directory
    self.server = server
    self.users = users
  }

  /// Opens the cluster: starts its server, or uses the running server. Creates the cluster if it does not exist.
  ///
  /// Waits without limit for recovery, and for other processes that start or stop the server. Cancellation ends the wait.
  /// `observe` is called on any thread, and may be called again with the same step.
  ///
  /// - Throws: any ``EmbeddedPostgresError`` except `noHome`. It is not an error if another process is stopping or starting the
  ///   server, or if the server had crashed.
  package static func open(
    _ location: ClusterLocation, observe: @escaping @Sendable (Step) -> Void = { _ in }
  ) async throws(EmbeddedPostgresError) -> EmbeddedCluster {
    let directory = ClusterDirectory(location: location, user: try .current())
    try directory.prepare()
    let turn = try await FileLock.take(directory.turnLock, .exclusive) { observe(.waiting) }
    defer { turn.release() }
    // This wait is short. Only the last process that uses the server takes this lock exclusively, while it tells the server to
    // stop.
    let users = try await FileLock.take(directory.usersLock, .shared) {}
    do {
      var start = ServerStart(directory, turn: turn, users: users, observe: observe)
      return EmbeddedCluster(directory, try await start.untilReady(), users)
    } catch {
      leave(directory, users)
      throw error
    }
  }

  /// Returns libpq's connection string for a database of the cluster. The string requires that the server runs as the right
  /// user, so that the client never connects to another user's server.
  package func conninfo(database: String) -> String {
    server.conninfo(database: database, user: directory.user)
  }

  /// Creates the database if it does not exist. It is not an error if another process creates the database meanwhile.
  ///
  /// - Throws: `PostgresError`, `CancellationError`.
  package func ensureDatabase(_ name: String) async throws {
    let connection = try await Connection.connect(
      ConnectionConfiguration(conninfo: conninfo(database: "postgres"), applicationName: "haul"))
    do {
      // Only one process creates databases at a time. The lock ends with the connection.
      try await connection.execute("SELECT pg_advisory_lock(hashtext('haul: make a database'))")
      let found = try await connection.query("SELECT FROM pg_database WHERE datname = $1", [name])
      if found.isEmpty {
        let quoted = name.split(separator: "\"", omittingEmptySubsequences: false)
          .joined(separator: "\"\"")
        try await connection.execute("CREATE DATABASE \"\(quoted)\" TEMPLATE template0")
      }
    } catch {
      await connection.close()
      throw error
    }
    await connection.close()
  }

  /// Ends this process's use of the cluster. The last process asks the server to stop, but does not wait until the server has
  /// stopped. A second call is not an error.
  package func close() {
    Self.leave(directory, users)
  }

  /// Returns libpq's connection string for `database` if the server of the cluster runs; otherwise nil. The call does not keep
  /// the server running.
  package static func running(_ location: ClusterLocation, database: String) -> String? {
    guard let user = try? ServerUser.current() else { return nil }
    let directory = ClusterDirectory(location: location, user: user)
    let note = SmallFile.read(directory.usersLock) ?? ""
    guard case .ready(let server) = try? ServerState.of(directory, note: note) else { return nil }
    return server.conninfo(database: database, user: user)
  }

  /// Stops the server if no other process uses it.
  ///
  /// The function takes the users' lock exclusively, so that no process can begin to use the server meanwhile. It writes a note
  /// into the lock file before it signals the server. A process that takes the lock later finds the note and waits until the
  /// server has ended.
  private static func leave(_ directory: ClusterDirectory, _ users: FileLock) {
    defer { users.release() }
    guard (try? users.tryTake(.exclusive)) ?? false else { return }
    switch (try? ServerState.of(directory, note: "")) ?? .none {
    // No server runs, or its state is unknown. The next process takes a running server over.
    case .none: break
    case .starting(let server), .ready(let server), .stopping(let server):
      users.leave(note: server.identity)
      // Fast shutdown: sessions are ended, and committed data is kept. (postgres(1))
      kill(server.pid, SIGINT)
    }
  }
}
