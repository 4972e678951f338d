import Glibc
import Synchronization

/// SIGTERM and SIGINT, received by the main thread and by no other.
///
/// A command that wants to stop in order says so with `handle`; without that the signals do what
/// they do to any program. Signals belong to the process, and so does the handler.
struct StopSignals {
  private static let handler = Mutex<(@Sendable (Int32) -> Void)?>(nil)

  private let set: sigset_t

  /// Blocks them for the calling thread and all that it starts from now on.
  static func block() -> StopSignals {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGTERM)
    unsafe sigaddset(&set, SIGINT)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    return StopSignals(set: set)
  }

  /// From now on each signal calls `body` with its number, on the main thread. SIGPIPE is ignored
  /// from here on too: a reader of the log that goes away does not stop a server.
  static func handle(_ body: @escaping @Sendable (Int32) -> Void) {
    _ = signal(SIGPIPE, SIG_IGN)
    handler.withLock { $0 = body }
  }

  /// From now on the signals end the process again.
  static func handleNoMore() {
    handler.withLock { $0 = nil }
  }

  /// Waits for them for the rest of the process's life.
  func deliver() -> Never {
    var set = set
    while true {
      var number: Int32 = 0
      guard unsafe sigwait(&set, &number) == 0 else { continue }
      if let handler = Self.handler.withLock({ $0 }) {
        handler(number)
      } else {
        _ = signal(number, SIG_DFL)
        unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(number)
      }
    }
  }
}
