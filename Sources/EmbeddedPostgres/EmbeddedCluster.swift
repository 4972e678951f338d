/// A private PostgreSQL cluster that runs as long as a process of this machine uses it.
///
/// Its server listens on a Unix socket alone and believes the kernel about who connects (peer
/// authentication); the role is `haul`.
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

  private let socketDirectory: String

  private init(socketDirectory: String) {
    self.socketDirectory = socketDirectory
  }

  /// Starts the cluster, or joins the users of a running one; makes it the first time.
  package static func open(
    _ location: ClusterLocation, observe: @escaping @Sendable (Step) -> Void = { _ in }
  ) async throws(EmbeddedPostgresError) -> EmbeddedCluster {
    throw .programsMissing
  }

  /// libpq's string for a database of the cluster.
  package func conninfo(database: String) -> String { "" }

  /// Makes the database if it is not there; another maker at the same time is no error.
  package func ensureDatabase(_ name: String) async throws {}

  /// Lets go; the last user has the server stop, which is begun and not waited for. Again is no error.
  package func close() {}

  /// libpq's string for `database` of the cluster if it runs now; nil where none does. The caller does
  /// not become a user of it.
  package static func running(_ location: ClusterLocation, database: String) -> String? { nil }
}
