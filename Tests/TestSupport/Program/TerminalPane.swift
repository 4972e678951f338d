import Foundation

/// A real terminal that shows what the test writes.
package final class Pane: Sendable {
  package let screen: TerminalScreen
  private let directory: TemporaryDirectory
  private let input: FileHandle

  /// An empty one of that size.
  package init(columns: Int, rows: Int) async throws {
    directory = try TemporaryDirectory()
    let file = try directory.write("", to: "input")
    guard let input = FileHandle(forWritingAtPath: file) else { throw POSIXError(.ENOENT) }
    self.input = input
    screen = try await TerminalScreen(
      columns: columns, rows: rows, "tail", ["--bytes=+1", "--follow", file])
  }

  package func write(_ text: String) { input.write(Data(text.utf8)) }

  /// Waits until exactly these rows stand there, and the cursor at the start of the next.
  package func expect(_ rows: [String], _ comment: String) async throws {
    try await screen.wait(for: comment) {
      $0.rows == rows && $0.cursorRow == rows.count && $0.hasCursor
    }
  }
}
