import HaulSystem

/// A destination for finished log lines.
package struct LogOutput: Sendable {
  /// Writes a line. Called once per line with its event and the whole line, including the newline. Any thread may call it.
  let write: @Sendable (LogEvent, [UInt8]) -> Void

  private init(event write: @escaping @Sendable (LogEvent, [UInt8]) -> Void) { self.write = write }

  /// Creates an output that calls `write` with each line, including its newline. Any thread may call the output.
  package init(_ write: @escaping @Sendable ([UInt8]) -> Void) {
    self.init(event: { _, line in write(line) })
  }

  /// Returns an output that writes only the lines that `isShown` accepts. `isShown` is called once for each line.
  package func filtered(_ isShown: @escaping @Sendable (LogEvent) -> Bool) -> LogOutput {
    LogOutput(event: { event, line in if isShown(event) { write(event, line) } })
  }

  /// The output to standard error: one unbuffered `write(2)` per line, so that a killed process loses no line. A slow reader
  /// delays no other thread: see ``StandardStream/write(_:)``.
  package static let standardError = LogOutput { line in
    try? StandardStream.error.write(line)
  }

  /// Returns an output to standard error with `prefix` before each line. The prefix is written unchanged, so it must be safe
  /// for a terminal.
  package static func standardError(prefix: String) -> LogOutput {
    let prefix = Array(prefix.utf8)
    return LogOutput { line in try? StandardStream.error.write(prefix + line) }
  }
}
