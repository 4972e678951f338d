internal import Glibc
import Synchronization

/// Breaks the connections of an engine thread that does not return from libcurl.
///
/// libssh2 1.10 can read forever without a callback. This happens if sshd loses the process that sends a file but keeps the
/// connection: the channel ends inside a packet, and libssh2 waits for the rest. Only the end of the connection ends this wait.
///
/// A turn is one pass of the thread through its loop. Clock: `ContinuousClock`.
final class EngineWatchdog: Sendable {
  private struct State {
    var sockets: Set<Int32> = []
    /// When the thread began its current turn; nil while it waits for work.
    var since: ContinuousClock.Instant?
  }

  /// The longest time that a turn may take. It must be longer than the stall time, for which libcurl may wait at the end of an
  /// SFTP file.
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

  /// Closes `socket` while holding the lock. Otherwise another file could get the socket's number before `look` shuts the
  /// socket down.
  func close(_ socket: Int32) {
    state.withLock { state in
      state.sockets.remove(socket)
      _ = Glibc.close(socket)
    }
  }

  /// Breaks every connection if the turn takes too long. Call this from a thread other than the engine's.
  func look(now: ContinuousClock.Instant) {
    state.withLock { state in
      guard let since = state.since, now - since >= limit else { return }
      for socket in state.sockets { _ = shutdown(socket, Int32(SHUT_RDWR)) }
    }
  }

  /// Calls `look` again and again, after pauses of half of ``limit``, until the task is cancelled.
  func keepLooking() async {
    while (try? await Task.sleep(for: limit / 2)) != nil { look(now: .now) }
  }
}
