import HaulSystem

/// What a cluster's server is about, by its own word and the kernel's.
enum ServerState: Sendable, Equatable {
  case none
  case starting(PostmasterFile)
  case ready(PostmasterFile)
  /// It says so itself, or the note of its last user says that this user stopped it.
  case stopping(PostmasterFile)

  /// - Parameter note: what stands in the users' lock.
  /// - Throws: `openFiles`: then the state is unknown, and the server may be running.
  static func of(
    _ directory: ClusterDirectory, note: String
  ) throws(EmbeddedPostgresError) -> ServerState {
    guard let text = try translating(try SmallFile.readable(directory.postmasterFile)),
      let server = PostmasterFile(text),
      let processes = ServerProcesses(directory), processes.contain(server.pid)
    else { return .none }
    if note == server.identity { return .stopping(server) }
    return switch server.status {
    case .starting: .starting(server)
    case .ready: .ready(server)
    case .stopping: .stopping(server)
    }
  }
}
