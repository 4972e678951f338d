import Glibc

/// Standard output or standard error, written completely and without stdio's buffer.
///
/// Output blocks while its reader does not read. Errors and logs never block: see ``ErrorQueue``.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Writes `text` to standard error. The text must already be safe for a terminal. A failed write is not an error, because
  /// there is no other place to report it.
  package static func say(_ text: String) { try? error.write(text) }

  /// Waits at most a second until standard error has accepted everything written to it. Call it before the process ends.
  package static func flush() { ErrorQueue.shared.flush(within: .seconds(1)) }

  /// Writes all of `bytes`, in one system call unless a signal or a full disk interrupts it.
  /// - Throws: the first failure other than EINTR, only for standard output. A closed pipe raises SIGPIPE before that, unless
  ///   the process ignores it.
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
