import CLibpq
import Glibc

/// A `PGcancel`: the right to cancel the running statement of a connection. It works without the connection's `PGconn`.
///
/// `@unchecked Sendable` is safe because libpq does not change the object after its creation, and any thread may use it
/// (PostgreSQL manual, "Canceling Queries in Progress").
@safe final class LibpqCancelKey: @unchecked Sendable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  deinit {
    unsafe PQfreeCancel(handle)
  }

  /// Connects, sends the request, and blocks until the server has closed this new connection. By then, the server has signalled
  /// the process that runs the statement. Failures are not reported: the code that waits for the end of the call notices them.
  func request() {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
      _ = unsafe PQcancel(handle, message.baseAddress, Int32(message.count))
    }
  }
}
