import Glibc

/// Standard output or standard error. Each call writes all of the given bytes immediately, without stdio's buffer.
///
/// A write to standard output blocks while its reader does not read. A write to standard error never blocks: see
/// ``ErrorQueue``.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Writes `text` to standard error. The text must already be safe for a terminal. A failed write is not an error, because
  /// there is no other place to report it.
  package static func say(_ text: String) { try? error.write(text) }

  /// Waits at most 1 second until standard error has accepted all earlier writes. Call this before the process ends.
  package static func flush() { ErrorQueue.shared.flush(within: .seconds(1)) }

  /// Writes all of `bytes`, in one system call unless a signal or a full disk interrupts it.
  /// - Throws: the first error except EINTR, for standard output only. If the pipe is closed, the process first gets SIGPIPE,
  ///   unless it ignores that signal.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
    if self == .error { return ErrorQueue.shared.append(bytes) }
    var written = 0
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { buffer in
        unsafe Glibc.write(
          rawValue, buffer.baseAddress?.advanced(by: written), buffer.count - written)
      }
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { throw SystemError("write", "the output") }
      written += count
    }
  }

  /// Writes `text` unchanged. The text must already be safe for a terminal.
  package func write(_ text: String) throws(SystemError) {
    try write(Array(text.utf8))
  }
}
