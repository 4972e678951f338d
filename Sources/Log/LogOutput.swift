/// Where finished lines go.
package struct LogOutput: Sendable {
  /// Called once a line with the whole line, its newline included; from any thread.
  let write: @Sendable ([UInt8]) -> Void

  /// An output of one's own, for tests.
  package init(_ write: @escaping @Sendable ([UInt8]) -> Void) { self.write = write }

  /// Standard error, one `write(2)` a line, unbuffered, so that a killed process has said all it
  /// said. A reader that does not read holds the caller up; a line that cannot be written is lost,
  /// since there is nowhere left to say so.
  package static let standardError = LogOutput { line in
    try? StandardStream.error.write(line)
  }

  /// The same with `prefix` before each line, as it is, so it must be safe for a terminal.
  package static func standardError(prefix: String) -> LogOutput {
    let prefix = Array(prefix.utf8)
    return LogOutput { line in standardError.write(prefix + line) }
  }
}
