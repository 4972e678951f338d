import Glibc

/// Standard output or standard error, written with `write(2)` at once and whole, without stdio's
/// buffer. Blocks while the reader does not read.
package enum StandardStream: Int32, Sendable {
  case output = 1
  case error = 2

  /// Says `text`, which must be safe for a terminal already, on standard error. Where that cannot be written nobody is left
  /// to be told, and that is no error.
  package static func say(_ text: String) { try? error.write(text) }

  /// Writes all of `bytes`; one system call unless a signal or a full disk cuts it short.
  /// - Throws: the first failure other than EINTR. A closed pipe raises SIGPIPE before that, unless
  ///   the process ignores it.
  package func write(_ bytes: [UInt8]) throws(SystemError) {
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

  /// Writes `text` as it is, so it must be safe for a terminal already.
  package func write(_ text: String) throws(SystemError) {
    try write(Array(text.utf8))
  }
}
