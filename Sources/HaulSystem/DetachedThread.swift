import Glibc

/// Starts separate threads for work that may block. The program does not wait for the end of these threads.
package enum DetachedThread {
  private final class Box {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
      self.body = body
    }
  }

  /// Runs `body` on a new thread. Returns false, and does not run `body`, if the system cannot create a thread.
  ///
  /// The new thread blocks signals, so that the threads that handle signals receive them. The thread does not block signals
  /// that report its own faults, such as SIGSEGV.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
    var blocked = sigset_t()
    unsafe sigfillset(&blocked)
    for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] {
      unsafe sigdelset(&blocked, fault)
    }
    // A new thread inherits the signal mask of the thread that creates it.
    var before = sigset_t()
    unsafe pthread_sigmask(SIG_SETMASK, &blocked, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

    let box = unsafe Unmanaged.passRetained(Box(body))
    var thread = pthread_t()
    let status = unsafe pthread_create(
      &thread, nil,
      { argument in
        guard let argument = unsafe argument else { return nil }
        unsafe Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
        return nil
      }, box.toOpaque())
    guard status == 0 else {
      unsafe box.release()
      return false
    }
    pthread_detach(thread)
    return true
  }
}
