import Foundation
import TestSupport
import Testing

/// The order of `haul jobs`, and long lists on a terminal.
struct ListOrderTests {
  private func jobs(_ pool: HaulPool, _ selectors: String...) async throws -> [String] {
    try await pool.haul(["jobs", "--json"] + selectors).standardOutput.map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      return "\(object?["job"] ?? "") \(object?["state"] ?? "")"
    }
  }

  @Test func `what runs first stands first, and what has ended last`() async throws {
    try await HaulPool.open { pool in
      let urls = (1...7).map { "http://h/\($0)" }
      try await pool.command("submit", urls[0], "--not-before", "2h", "--batch", "b")
      try await pool.command("submit", urls[1], "--not-before", "1h", "--batch", "b")
      try await pool.command("submit", urls[2], urls[3], "--batch", "b")
      try await pool.command("submit", urls[4], "--priority", "0")
      try await pool.command("submit", urls[5], urls[6])
      try await pool.command("cancel", "6")
      try await pool.command("cancel", "7")
      try await pool.command("pause", "4")
      let all = [
        "5 queued", "3 queued", "2 scheduled", "1 scheduled", "4 paused", "7 cancelled",
        "6 cancelled",
      ]
      #expect(try await jobs(pool) == all)
      #expect(try await jobs(pool, "--limit", "3") == Array(all.prefix(3)))
      #expect(
        try await jobs(pool, "--batch", "b")
          == ["3 queued", "2 scheduled", "1 scheduled", "4 paused"])
      #expect(try await jobs(pool, "--state", "cancelled", "--limit", "1") == ["7 cancelled"])
      #expect(
        try await jobs(pool, "--queue", "default", "--host", "h", "2", "7")
          == ["2 scheduled", "7 cancelled"])
      #expect(try await jobs(pool, "--error", "tls") == [])
    }
  }

  /// Types `haul jobs` with these arguments, and `echo "exit $?"`.
  private func list(
    _ pool: HaulPool, _ arguments: String, pager: String
  ) async throws -> TerminalScreen {
    let screen = try await TerminalScreen.shell(
      columns: 80, rows: 24,
      environment: [
        "HAUL_DATABASE_URL": pool.database.conninfo, "HAUL": HaulProcess.path, "PAGER": pager,
      ])
    try await screen.type("$HAUL jobs \(arguments); echo \"exit $?\"", "Enter")
    return screen
  }

  @Test func `a list that is longer than the terminal goes through the pager`() async throws {
    try await HaulPool.open { pool in
      let urls = (1...30).map { "http://h/\($0)" }
      _ = try await pool.haul(["submit"] + urls)
      let paged = try await list(pool, "", pager: "sed -n \"1s/^/paged: /p;31p\"")
      let end = try await paged.wait(for: "the end") { $0.rows.contains("exit 0") }
      #expect(end.rows.contains { $0.hasPrefix("paged: JOB") }, "\(end)")
      #expect(
        end.rows.contains { $0.hasSuffix(" h/30") } && !end.rows.contains { $0.hasSuffix(" h/29") })
      for (arguments, pager) in [
        ("--no-pager", "false"), ("--json | cut -c1-70", "false"), ("| cut -c1-70", "false"),
        ("--limit 5", "false"), ("--json", "false"), ("", ""), ("", "cat"),
        ("", "no-such-pager-here"),
      ] {
        let screen = try await list(pool, arguments, pager: pager)
        let end = try await screen.wait(for: "the end") { $0.rows.contains("exit 0") }
        let last = arguments == "--limit 5" ? "h/5" : "h/30"
        #expect(
          end.rows.contains { $0.contains(last) || $0.contains("\"job\":30,") },
          "\(arguments) \(end)")
      }
    }
  }

  @Test(arguments: [true, false])
  func `q ends less and is no error, and an interrupt is for less`(
    isInterrupted: Bool
  ) async throws {
    try await HaulPool.open { pool in
      let submitted = try await pool.haul(["submit"] + (1...2000).map { "http://h/\($0)" })
      #expect(submitted.exit == .code(0))
      let screen = try await list(pool, "--limit 2000", pager: "less")
      try await screen.wait(for: "the first page") { content in
        content.rows.last == ":" && content.rows.contains { $0.hasPrefix(" JOB") }
      }
      if isInterrupted {
        try await screen.type("C-c")
        // less drops what is typed until it has seen the interrupt.
        try await eventually("the last page") {
          try await screen.type("G")
          return try await screen.content().rows.contains { $0.hasSuffix(" h/2000") }
        }
      }
      try await screen.type("q")
      let end = try await screen.wait(for: "the end") { $0.rows.contains("exit 0") }
      #expect(!end.rows.contains { $0.hasPrefix("haul jobs: ") }, "\(end)")
    }
  }
}
