import Glibc

/// Where finished lines go.
package struct LogOutput: Sendable {
  /// Called once a line with the whole line, its newline included; from any thread.
  let write: @Sendable ([UInt8]) -> Void

  /// An output of one's own, for tests.
  package init(_ write: @escaping @Sendable ([UInt8]) -> Void) { self.write = write }

  /// Standard error, one `write(2)` a line, unbuffered, so that a killed process has said all it
  /// said. A reader that does not read holds the caller up; a line that cannot be written is lost.
  package static let standardError = LogOutput { line in
    var written = 0
    while written < line.count {
      let count = unsafe line.withUnsafeBytes { bytes in
        unsafe Glibc.write(
          STDERR_FILENO, bytes.baseAddress?.advanced(by: written), bytes.count - written)
      }
      // Less than the whole line is written only when a signal or a full disk cuts it short.
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return }
      written += count
    }
  }
}
