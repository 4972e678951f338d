import Glibc
import HaulSystem
import Postgres

/// A private PostgreSQL cluster that runs as long as a process of this machine uses it.
///
/// The server listens on a Unix socket only and trusts the kernel about who connects (peer authentication). The role is
/// `haul`. Shared locks, which the kernel drops when a process dies, count the users. A server whose last user was killed
/// runs on, and the next user takes it over.
package final class EmbeddedCluster: Sendable {
  /// What `open` is doing that may take a while.
  package enum Step: Sendable, Equatable {
    /// The cluster is made, the first time.
    case creating
    case starting
    /// Another process starts the server, or it is being stopped.
    case waiting
    /// The server replays what a crash left unfinished.
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

  /// Starts the cluster, or joins the users of a running one; makes it the first time.
  ///
  /// Waits without limit for others who start or stop it, and for recovery; cancellation ends the wait.
  /// `observe` is called on any thread, and may be called again with the same step.
  ///
  /// - Throws: every case but `noHome`. A server that another process stops or starts just now, and one
  ///   that crashed, is not an error.
  package static func open(
    _ location: ClusterLocation, observe: @escaping @Sendable (Step) -> Void = { _ in }
  ) async throws(EmbeddedPostgresError) -> EmbeddedCluster {
    let directory = ClusterDirectory(location: location, user: try .current())
    try directory.prepare()
    let turn = try await FileLock.take(directory.turnLock, .exclusive) { observe(.waiting) }
    defer { turn.release() }
    // Only for a moment in the way: the last user, who tells the server to stop.
    let users = try await FileLock.take(directory.usersLock, .shared) {}
    do {
      var start = ServerStart(directory, turn: turn, users: users, observe: observe)
      return EmbeddedCluster(directory, try await start.untilReady(), users)
    } catch {
      leave(directory, users)
      throw error
    }
  }

  /// libpq's string for a database of the cluster. It names the user that the server must run as, so
  /// that the client never talks to another user's server.
  package func conninfo(database: String) -> String {
    server.conninfo(database: database, user: directory.user)
  }

  /// Makes the database if it is not there; another maker at the same time is no error.
  ///
  /// - Throws: `PostgresError`, `CancellationError`.
  package func ensureDatabase(_ name: String) async throws {
    let connection = try await Connection.connect(
      ConnectionConfiguration(conninfo: conninfo(database: "postgres"), applicationName: "haul"))
    do {
      // One maker at a time; the lock goes with the connection.
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

  /// Lets go; the last user has the server stop, which is begun and not waited for. Again is no error.
  package func close() {
    Self.leave(directory, users)
  }

  /// libpq's string for `database` of the cluster if it runs now; nil where none does. The caller does
  /// not become a user of it.
  package static func running(_ location: ClusterLocation, database: String) -> String? {
    guard let user = try? ServerUser.current() else { return nil }
    let directory = ClusterDirectory(location: location, user: user)
    let note = SmallFile.read(directory.usersLock) ?? ""
    guard case .ready(let server) = try? ServerState.of(directory, note: note) else { return nil }
    return server.conninfo(database: database, user: user)
  }

  /// Stops the server if no other process uses it.
  ///
  /// The note is written before the signal is sent, and no process can become a user meanwhile. A process that becomes a
  /// user just afterwards finds the note and waits for the server to end.
  private static func leave(_ directory: ClusterDirectory, _ users: FileLock) {
    defer { users.release() }
    guard (try? users.tryTake(.exclusive)) ?? false else { return }
    switch (try? ServerState.of(directory, note: "")) ?? .none {
    case .none: break  // Or one that cannot be looked at, which the next user takes over.
    case .starting(let server), .ready(let server), .stopping(let server):
      users.leave(note: server.identity)
      // Fast shutdown: sessions are ended, what is committed is kept. (postgres(1))
      kill(server.pid, SIGINT)
    }
  }
}
