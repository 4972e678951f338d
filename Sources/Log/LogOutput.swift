import HaulSystem

/// Where finished lines go.
package struct LogOutput: Sendable {
  /// Called once a line with its event and the whole line, its newline included; from any thread.
  let write: @Sendable (LogEvent, [UInt8]) -> Void

  private init(event write: @escaping @Sendable (LogEvent, [UInt8]) -> Void) { self.write = write }

  /// An output of one's own.
  package init(_ write: @escaping @Sendable ([UInt8]) -> Void) {
    self.init(event: { _, line in write(line) })
  }

  /// This output, limited to the lines that `isShown` accepts. `isShown` is called once for each line; other lines are dropped.
  package func filtered(_ isShown: @escaping @Sendable (LogEvent) -> Bool) -> LogOutput {
    LogOutput(event: { event, line in if isShown(event) { write(event, line) } })
  }

  /// Standard error, one `write(2)` a line, unbuffered, so that a killed process has said all it
  /// said. A reader that does not read delays no other thread: see ``StandardStream/write(_:)``.
  package static let standardError = LogOutput { line in
    try? StandardStream.error.write(line)
  }

  /// Standard error with `prefix` before each line. The prefix is written unchanged, so it must be safe for a terminal.
  package static func standardError(prefix: String) -> LogOutput {
    let prefix = Array(prefix.utf8)
    return LogOutput { line in try? StandardStream.error.write(prefix + line) }
  }
}
