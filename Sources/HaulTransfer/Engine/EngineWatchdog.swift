internal import Glibc
import Synchronization

/// Frees an engine thread that does not come back from libcurl, by breaking its connections.
///
/// libssh2 1.10 can read for ever without a callback if sshd loses the process that sends a file and keeps the connection: the end of the
/// channel inside a packet counts as nothing to read yet. Only the end of the connection ends that. Clock: `ContinuousClock`.
final class EngineWatchdog: Sendable {
  private struct State {
    var sockets: Set<Int32> = []
    /// When the thread began its turn; nil while it waits for something to do.
    var since: ContinuousClock.Instant?
  }

  /// The longest a turn may take. libcurl itself waits for the end of an SFTP file, for as long as a source may be silent.
  let limit: Duration
  private let state = Mutex(State())

  init(limit: Duration) {
    self.limit = limit
  }

  /// The thread begins a turn.
  func begin(now: ContinuousClock.Instant) { state.withLock { $0.since = now } }

  /// The thread waits.
  func end() { state.withLock { $0.since = nil } }

  /// libcurl got `socket`.
  func opened(_ socket: Int32) { state.withLock { _ = $0.sockets.insert(socket) } }

  /// Closes `socket`. Under the lock, because otherwise its number could belong to another file before it is broken.
  func close(_ socket: Int32) {
    state.withLock { state in
      state.sockets.remove(socket)
      _ = Glibc.close(socket)
    }
  }

  /// Breaks every connection if the turn takes too long. To be called by another thread.
  func look(now: ContinuousClock.Instant) {
    state.withLock { state in
      guard let since = state.since, now - since >= limit else { return }
      for socket in state.sockets { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  /// Looks now and then until cancelled.
  func keepLooking() async {
    while (try? await Task.sleep(for: limit / 2)) != nil { look(now: .now) }
  }
}
