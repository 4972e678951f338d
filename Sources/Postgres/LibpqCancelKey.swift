import CLibpq
import Glibc

/// One `PGcancel`: the right to cancel what a connection runs. It does not need the connection.
///
/// `@unchecked Sendable` holds because libpq never changes the object between its making and its freeing, and says that any
/// thread may use it (PostgreSQL manual, "Canceling Queries in Progress").
@safe final class LibpqCancelKey: @unchecked Sendable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  deinit {
    unsafe PQfreeCancel(handle)
  }

  /// Connects, asks, and waits until the server has closed: blocks. The signal has then been sent
  /// to the process. Failure is not reported: the code that waits for the call's end notices it.
  func request() {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
      _ = unsafe PQcancel(handle, message.baseAddress, Int32(message.count))
    }
  }
}
