internal import Glibc
import Synchronization

/// Breaks the connections of an engine thread that does not return from libcurl.
///
/// libssh2 1.10 can read forever without a callback if sshd loses the process that sends a file and keeps the connection: if
/// the channel ends inside a packet, libssh2 only sees that there is nothing to read yet. Only the end of the connection stops
/// this. Clock: `ContinuousClock`.
final class EngineWatchdog: Sendable {
  private struct State {
    var sockets: Set<Int32> = []
    /// The time at which the thread began its turn, or nil while it waits for work.
    var since: ContinuousClock.Instant?
  }

  /// The longest time that a turn may take. libcurl waits for the end of an SFTP file as long as a source may be silent.
  let limit: Duration
  private let state = Mutex(State())

  init(limit: Duration) {
    self.limit = limit
  }

  /// Records that the thread begins a turn.
  func begin(now: ContinuousClock.Instant) { state.withLock { $0.since = now } }

  /// Records that the thread waits for work.
  func end() { state.withLock { $0.since = nil } }

  /// Records that libcurl opened `socket`.
  func opened(_ socket: Int32) { state.withLock { _ = $0.sockets.insert(socket) } }

  /// Closes `socket`, and holds the lock meanwhile. Otherwise another file could get the socket's number before `look` breaks
  /// the socket.
  func close(_ socket: Int32) {
    state.withLock { state in
      state.sockets.remove(socket)
      _ = Glibc.close(socket)
    }
  }

  /// Breaks every connection if the turn takes too long. Call this on another thread than the engine's.
  func look(now: ContinuousClock.Instant) {
    state.withLock { state in
      guard let since = state.since, now - since >= limit else { return }
      for socket in state.sockets { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  /// Calls `look` every half ``limit`` until the task is cancelled.
  func keepLooking() async {
    while (try? await Task.sleep(for: limit / 2)) != nil { look(now: .now) }
  }
}
