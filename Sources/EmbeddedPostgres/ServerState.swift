import HaulSystem

/// The state of a cluster's server, according to its own file and to the kernel.
enum ServerState: Sendable, Equatable {
  case none
  case starting(PostmasterFile)
  case ready(PostmasterFile)
  /// The server reports that it is stopping, or a note of the last process that used the server says so.
  case stopping(PostmasterFile)

  /// Reads the state.
  /// - Parameter note: the text in the users' lock.
  /// - Throws: `openFiles`. The state is then unknown, and the server may be running.
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
