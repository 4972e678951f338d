import Glibc
import Synchronization

/// SIGTERM, SIGINT, and, unless they are ignored (nohup(1)), SIGHUP and SIGTSTP (Ctrl-Z), received by the main thread and by
/// no other.
///
/// A command that stops gracefully calls `handle`; without that the signals do what
/// they do to any program. Signals belong to the process, and so does the handler.
package struct StopSignals {
  private struct Suspension {
    let before: @Sendable () -> Void
    let after: @Sendable () -> Void
  }

  private static let handler = Mutex<(@Sendable (Int32) -> Void)?>(nil)
  private static let suspension = Mutex<Suspension?>(nil)

  /// Shells, `timeout` and others pass a signal on that the process has had from the terminal already:
  /// what comes so soon after the first is no second one.
  private static let echoTime = Duration.seconds(1)

  private let set: sigset_t

  /// Blocks them for the calling thread and all threads that it starts from now on.
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

  /// From now on the first signal calls `stop`, on the main thread. A second one, a second later or
  /// more, ends the process with 75 as a crash would: leases that are still held are taken back by
  /// others within seconds. `atOnce` is called before that and must not wait.
  ///
  /// SIGPIPE is ignored from here on too: a reader of the log that goes away does not stop a server.
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

  /// From now on the first signal calls `farewell`, on the main thread, and then ends the process as it
  /// would any program, so that a shell knows that it was interrupted.
  package static func beforeEnding(_ farewell: @escaping @Sendable () -> Void) {
    handler.withLock { handler in
      handler = { number in
        farewell()
        obey(number)
      }
    }
  }

  /// Runs `body`, in which a program has the terminal. An interrupt from there (SIGINT) is for that program alone.
  package static func lendingTerminal<Value>(_ body: () -> Value) -> Value {
    let last = handler.withLock { handler in
      defer { handler = { number in if number != SIGINT { obey(number) } } }
      return handler
    }
    defer { handler.withLock { $0 = last } }
    return body()
  }

  /// From now on `before` is called when the user suspends the process, and `after` when it is continued, both on the main
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

  /// Waits for them for the rest of the process's life.
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

  /// Returns when the process is continued.
  private static func suspend() {
    let suspension = suspension.withLock { $0 }
    suspension?.before()
    obey(SIGTSTP)
    suspension?.after()
  }

  /// Does to the process what the signal does to any program, and blocks it again should the process live on.
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
