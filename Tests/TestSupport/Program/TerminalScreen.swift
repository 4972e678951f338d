import Foundation

/// A terminal of its own in which a test runs a program, to see what a person would see: wrapping,
/// scrolling and resizing are those of tmux.
///
/// Gone with this object, and with the test process.
package final class TerminalScreen: Sendable {
  /// What stands in the window and where the cursor is.
  package struct Content: Sendable, Equatable, CustomStringConvertible {
    /// From the top, without trailing blanks and without blank rows below the last text.
    package var rows: [String]
    /// The row of the cursor, from 0.
    package var cursorRow: Int
    /// False while a program hides it.
    package var hasCursor: Bool

    package var description: String {
      rows.joined(separator: "\n") + "\n(cursor in row \(cursorRow)\(hasCursor ? "" : ", hidden"))"
    }
  }

  private let directory: TemporaryDirectory
  private let server: ChildProcess

  /// Runs `program` in a window of that size; the environment is set besides what the test process has.
  package init(
    columns: Int, rows: Int, environment: [String: String] = [:], _ program: String,
    _ arguments: [String] = []
  ) async throws {
    directory = try TemporaryDirectory()
    server = try ChildProcess(
      "tmux", ["-S", directory.path("socket"), "-f", "/dev/null", "-u", "-D"],
      environment: environment.merging(["LC_ALL": "C.UTF-8"]) { given, _ in given })
    try await eventually("tmux to listen") {
      do {
        try await tmux(["set-option", "-g", "status", "off"])
        return true
      } catch is TmuxFailed {
        return false
      }
    }
    try await tmux(
      ["new-session", "-d", "-x", "\(columns)", "-y", "\(rows)", "--", program] + arguments)
  }

  /// One with a shell that waits for input: what is typed before its prompt is there stands above or behind that.
  package static func shell(
    columns: Int, rows: Int, environment: [String: String] = [:]
  ) async throws -> TerminalScreen {
    let screen = try await TerminalScreen(
      columns: columns, rows: rows, environment: environment, "sh")
    try await screen.prompt()
    return screen
  }

  /// Waits for the prompt of a shell, which differs for root, in the last row, and returns what stands there.
  @discardableResult
  package func prompt() async throws -> Content {
    try await wait(for: "a prompt") { ["$", "#"].contains($0.rows.last) }
  }

  /// Makes the window that large; its program gets SIGWINCH.
  package func resize(columns: Int, rows: Int) async throws {
    try await tmux(["resize-window", "-x", "\(columns)", "-y", "\(rows)"])
  }

  /// Types keys by the names tmux gives them, `Enter`, `C-c`, or text.
  package func type(_ keys: String...) async throws {
    try await tmux(["send-keys"] + keys)
  }

  /// What stands there now.
  package func content() async throws -> Content {
    let state = try await tmux(["display-message", "-p", "#{cursor_y} #{cursor_flag}"])
    let numbers = state[0].split(separator: " ").compactMap { Int($0) }
    var rows = try await tmux(["capture-pane", "-p"])
    while rows.last == "" { rows.removeLast() }
    return Content(rows: rows, cursorRow: numbers[0], hasCursor: numbers[1] == 1)
  }

  /// Waits until what stands there is as wanted, and returns it.
  ///
  /// - Throws: ``TimedOut`` with what stands there instead.
  @discardableResult
  package func wait(
    for what: String, within limit: Duration = .seconds(30), where matches: (Content) -> Bool
  ) async throws -> Content {
    var last: Content?
    do {
      try await eventually(what, within: limit) {
        let content = try await content()
        last = content
        return matches(content)
      }
    } catch let error as TimedOut {
      throw TimedOut(
        what: error.what, limit: error.limit,
        detail: "the screen shows:\n\(last.map { "\($0)" } ?? "")")
    }
    guard let last else { throw TimedOut(what: what, limit: limit * patience) }
    return last
  }

  /// Runs a command of tmux to its end and returns the lines it printed.
  @discardableResult
  private func tmux(_ arguments: [String]) async throws -> [String] {
    let output = try await ChildProcess.run(
      "tmux", ["-N", "-S", directory.path("socket")] + arguments)
    guard output.exit == .code(0) else { throw TmuxFailed(output: output) }
    return output.standardOutput
  }
}

/// A command of tmux failed.
package struct TmuxFailed: Error {
  package let output: ChildProcess.Output
}
