/// A named event that happens once: a test opens it, servers and tests wait for it.
package final class Gate: Sendable {
  /// Appears in the message of a wait that timed out.
  package let name: String
  private let opened = Watched(false)

  package init(_ name: String) {
    self.name = name
  }

  /// Lets all pass that wait and all that come later. Opening twice is no error.
  package func open() {
    opened.update { $0 = true }
  }

  package var isOpen: Bool { opened.value }

  /// - Throws: ``TimedOut``; `CancellationError`.
  package func wait(within limit: Duration = .seconds(30)) async throws {
    try await opened.first("gate '\(name)'", within: limit) { $0 ? () : nil }
  }

  /// For threads that may block.
  ///
  /// - Throws: ``TimedOut``.
  package func waitBlocking(within limit: Duration = .seconds(60)) throws {
    try opened.firstBlocking("gate '\(name)'", within: limit) { $0 }
  }
}
