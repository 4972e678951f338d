import Foundation
import Postgres
import TestSupport
import Testing

/// Commands that mean many jobs: they are counted first, and a person is asked.
@Suite struct ConfirmTests {
  private func states(_ pool: HaulPool) async throws -> [String] {
    try await pool.values("SELECT state::text FROM haul.jobs ORDER BY job")
  }

  @Test func `a dry run counts and changes nothing`() async throws {
    try await HaulPool.open { pool in
      for number in 1...4 {
        try await pool.command(
          "submit", "http://h.test/\(number)", "--out", "\(number)", "--batch", "b")
      }
      try await pool.command("pause", "1")
      let before = try await states(pool)
      for (arguments, sentence) in [
        (["cancel", "--queue", "default"], "would cancel 4 jobs (3 queued, 1 paused)"),
        (["cancel", "--batch", "b", "--state", "queued"], "would cancel 3 jobs (3 queued)"),
        (["pause", "--host", "h.test"], "would pause 3 jobs (3 queued)"),
        (["resume", "1", "2"], "would resume 1 job (1 paused)"),
        (["retry", "--queue", "default"], "would retry 0 jobs"),
        (
          ["prioritize", "--state", "paused", "--priority", "1"],
          "would prioritize 1 job (1 paused)"
        ),
      ] {
        let output = try await pool.haul(arguments + ["--dry-run"])
        #expect(output.standardOutput == [sentence] && output.exit == .code(0), "\(output)")
      }
      #expect(
        try await pool.command("cancel", "--queue", "default", "--dry-run", "--json")
          == [#"{"dry_run":true,"jobs":4}"#])
      let output = try await pool.haul(["cancel", "--batch", "none", "--dry-run"])
      #expect(output.exit == .code(65))
      #expect(try await states(pool) == before)

      let worker = try pool.worker()
      try await eventually("the worker to be there") {
        try await pool.value("SELECT count(*) FROM haul.workers") == 1
      }
      let id: Int64 = try await pool.value("SELECT worker FROM haul.workers")
      let lines = try await pool.command("drain", "\(id)", "--dry-run")
      #expect(lines.count == 1 && lines[0].hasPrefix("would drain worker \(id) ("), "\(lines)")
      #expect(try await pool.value("SELECT count(*) FROM haul.worker WHERE NOT draining") == 1)
      try await worker.drain()
    }
  }

  @Test func `a person is asked before more than the ids or the batch are changed`() async throws {
    try await HaulPool.open { pool in
      for number in 1...3 {
        try await pool.command(
          "submit", "http://h.test/\(number)", "--out", "\(number)", "--batch", "b")
      }
      let shell = try await TerminalScreen.shell(
        columns: 80, rows: 24, environment: ["HAUL_DATABASE_URL": pool.database.conninfo])
      func run(_ command: String, answer: String?, until text: String) async throws {
        _ = try await shell.prompt()
        try await shell.type("clear; \(HaulProcess.path) \(command)", "Enter")
        if let answer {
          try await shell.wait(for: "the question") { $0.rows.contains { $0.hasSuffix("[y/N]") } }
          try await shell.type(answer, "Enter")
        }
        try await shell.wait(for: text) { $0.rows.contains { $0.contains(text) } }
      }
      try await run("cancel --queue default", answer: "n", until: "nothing was changed")
      try await pool.command("queue", "create", "music", "--store", HaulPool.store)
      let worker = try pool.worker("--queue", "music")
      try await worker.event("worker.started")
      try await run("queue delete music", answer: "n", until: "nothing was changed")
      #expect(try await pool.value("SELECT count(*) FROM haul.queues WHERE queue = 'music'") == 1)
      try await run("queue delete music --yes", answer: nil, until: "deleted the queue music")
      try await worker.drain()
      #expect(try await states(pool) == ["queued", "queued", "queued"])
      try await run("cancel --host h.test", answer: "", until: "nothing was changed")
      #expect(try await states(pool) == ["queued", "queued", "queued"])
      try await run("pause --state queued", answer: "y", until: "3 jobs paused")
      try await run("resume --queue default --yes", answer: nil, until: "3 jobs resumed")
      try await run("pause 1", answer: nil, until: "1 job paused")
      try await run("cancel --batch b", answer: nil, until: "3 jobs cancelled")
      try await run("cancel --queue default", answer: nil, until: "no job")
    }
  }
}
