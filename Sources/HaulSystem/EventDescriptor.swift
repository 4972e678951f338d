import Glibc
import HaulCLinux

/// A file descriptor with which any thread can wake a thread that waits for a socket.
package final class EventDescriptor: Sendable {
  private let descriptor: Int32

  /// Creates the descriptor.
  ///
  /// - Throws: an error if the process has no free file descriptor.
  package init() throws(SystemError) {
    descriptor = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))
    if descriptor < 0 { throw SystemError("eventfd") }
  }

  deinit {
    close(descriptor)
  }

  package func signal() {
    eventfd_write(descriptor, 1)
  }

  /// Blocks until the socket is ready for one of `events`, a thread signals, or the deadline passes. The call may return early,
  /// so the caller must check for itself what has happened.
  ///
  /// Returns whether the socket is ready.
  package func wait(
    socket: Int32, events: Int32, until deadline: ContinuousClock.Instant?
  ) -> Bool {
    var descriptors = [
      pollfd(fd: socket, events: Int16(events), revents: 0),
      pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
    ]
    let wait = deadline.map { max(0, ($0 - .now).wholeMilliseconds) }
    guard unsafe poll(&descriptors, 2, wait.map { Int32(min($0, 60_000)) } ?? -1) > 0 else {
      return false
    }
    if descriptors[1].revents != 0 {
      var count: eventfd_t = 0
      unsafe eventfd_read(descriptor, &count)
    }
    return descriptors[0].revents != 0
  }
}
