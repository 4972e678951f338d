import Glibc
import Synchronization

/// Receives SIGTERM, SIGINT, SIGHUP and SIGTSTP (Ctrl-Z) on the main thread only. If the process ignores SIGHUP or SIGTSTP, as
/// after nohup(1), the process continues to ignore that signal.
///
/// A command that stops gracefully calls `handle`. Otherwise the signals have their default effect. Signals belong to the
/// process, so the process has only one handler.
package struct StopSignals {
  private struct Suspension {
    let before: @Sendable () -> Void
    let after: @Sendable () -> Void
  }

  private static let handler = Mutex<(@Sendable (Int32) -> Void)?>(nil)
  private static let suspension = Mutex<Suspension?>(nil)

  /// Shells, `timeout` and other programs pass on a signal that the terminal has already sent to the process. A signal this
  /// soon after the first one does not count as a second signal.
  private static let echoTime = Duration.seconds(1)

  private let set: sigset_t

  /// Blocks the signals for the calling thread and all threads that it starts later.
  package static func block() -> StopSignals {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, SIGTERM)
    unsafe sigaddset(&set, SIGINT)
    for number in [SIGHUP, SIGTSTP] {
      var action = sigaction()
      unsafe sigaction(number, nil, &action)
      // SIG_DFL is the null pointer.
      let isIgnored = unsafe action.__sigaction_handler.sa_handler != nil
      if !isIgnored { unsafe sigaddset(&set, number) }
    }
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
    return StopSignals(set: set)
  }

  /// Calls `stop` on the main thread at the first signal.
  ///
  /// At a second signal, at least 1 second later, calls `atOnce` and then ends the process with exit code 75. `atOnce` must not
  /// wait. As after a crash, other processes take back the leases of this process within seconds.
  ///
  /// This function also makes the process ignore SIGPIPE. A server thus continues when the reader of the server's log goes
  /// away.
  package static func handle(
    _ stop: @escaping @Sendable () -> Void, atOnce: @escaping @Sendable () -> Void
  ) {
    _ = signal(SIGPIPE, SIG_IGN)
    handler.withLock { handler in
      handler = { _ in
        let first = ContinuousClock.now
        Self.handler.withLock { $0 = { _ in stopAtOnce(first: first, atOnce) } }
        stop()
      }
    }
  }

  /// Calls `farewell` on the main thread at the first signal, and then ends the process by that signal. A shell thus knows that
  /// the process was interrupted.
  package static func beforeEnding(_ farewell: @escaping @Sendable () -> Void) {
    handler.withLock { handler in
      handler = { number in
        farewell()
        obey(number)
      }
    }
  }

  /// Runs `body` while another program uses the terminal. An interrupt from the terminal (SIGINT) then affects only that
  /// program.
  package static func lendingTerminal<Value>(_ body: () -> Value) -> Value {
    let last = handler.withLock { handler in
      defer { handler = { number in if number != SIGINT { obey(number) } } }
      return handler
    }
    defer { handler.withLock { $0 = last } }
    return body()
  }

  /// Calls `before` when the user suspends the process (Ctrl-Z), and `after` when the process continues. Both run on the main
  /// thread.
  package static func aroundSuspension(
    _ before: @escaping @Sendable () -> Void, _ after: @escaping @Sendable () -> Void = {}
  ) {
    suspension.withLock { $0 = Suspension(before: before, after: after) }
  }

  private static func stopAtOnce(first: ContinuousClock.Instant, _ atOnce: () -> Void) {
    if first.duration(to: .now) < echoTime { return }
    atOnce()
    // EX_TEMPFAIL of <sysexits.h>.
    _exit(75)
  }

  /// Waits for signals and handles them for the rest of the process's life.
  package func deliver() -> Never {
    var set = set
    while true {
      var number: Int32 = 0
      guard unsafe sigwait(&set, &number) == 0 else { continue }
      if number == SIGTSTP {
        Self.suspend()
      } else if let handler = Self.handler.withLock({ $0 }) {
        handler(number)
      } else {
        Self.obey(number)
      }
    }
  }

  /// Suspends the process, and returns when it continues.
  private static func suspend() {
    let suspension = suspension.withLock { $0 }
    suspension?.before()
    obey(SIGTSTP)
    suspension?.after()
  }

  /// Gives the signal its default effect on the process. Blocks the signal again if the process lives on.
  private static func obey(_ number: Int32) {
    var set = sigset_t()
    unsafe sigemptyset(&set)
    unsafe sigaddset(&set, number)
    _ = signal(number, SIG_DFL)
    unsafe pthread_sigmask(SIG_UNBLOCK, &set, nil)
    raise(number)
    unsafe pthread_sigmask(SIG_BLOCK, &set, nil)
  }
}
