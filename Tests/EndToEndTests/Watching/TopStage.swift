import Foundation
import TestSupport
import Testing

/// A shell in a terminal that has written its settings to `before`, on a pool.
struct TopStage {
  let pool: HaulPool
  let screen: TerminalScreen
  let directory: TemporaryDirectory

  init(
    _ pool: HaulPool, conninfo: String? = nil, columns: Int = 110, rows: Int = 24
  ) async throws {
    self.pool = pool
    directory = try TemporaryDirectory()
    screen = try await TerminalScreen.shell(
      columns: columns, rows: rows,
      environment: [
        "HAUL_DATABASE_URL": conninfo ?? pool.database.conninfo, "HAUL": HaulProcess.path,
        "DIR": directory.path,
      ])
    try await screen.type("cd \"$DIR\"; stty -a > before; echo at home", "Enter")
    try await screen.wait(for: "the shell") { $0.rows.contains("at home") }
  }

  func rows(_ what: String, _ matches: @escaping @Sendable ([String]) -> Bool) async throws {
    try await screen.wait(for: what) { !$0.hasCursor && matches($0.rows) }
  }

  func line(containing text: String) async throws {
    try await rows("'\(text)'") { $0.contains { $0.contains(text) } }
  }

  /// The page of before is there with its cursor, and the terminal is as it was.
  func expectHome() async throws {
    try await screen.wait(for: "the shell as it was") { content in
      content.hasCursor && content.rows.contains("at home")
        && ["$", "#"].contains(content.rows.last)
    }
    try await screen.type("stty -a > after; echo told", "Enter")
    try await screen.wait(for: "the settings") { $0.rows.contains("told") }
    let (before, after) = (try settings("before"), try settings("after"))
    #expect(before.contains("speed"))
    #expect(before == after)
  }

  private func settings(_ name: String) throws -> String {
    try String(contentsOfFile: directory.path(name), encoding: .utf8)
  }

  /// Three files of which half is there, of one batch, and the worker that brings them.
  static func withRunning(
    _ body: (HaulPool, HaulProcess, GatedFile) async throws -> Void
  ) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await worker.event("worker.started")
      for name in ["one", "two", "three"] {
        try await pool.command(
          "submit", file.origin.url("/file"), "--out", "films/\(name)", "--batch", "monday")
      }
      try await body(pool, worker, file)
      file.gate.open()
    }
  }

  static func half(_ rows: [String]) -> Int {
    rows.count { $0.contains("films/") && $0.contains(" 50% ") && $0.contains("4.0/8.0 MiB") }
  }
}
