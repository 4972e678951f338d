import Foundation
import TestSupport
import Testing

/// The list of jobs of `haul top` in a real terminal.
struct TopJobsTests {
  @Test func `jobs are found, opened and steered, and one that ends says how`() async throws {
    try await TopStage.withRunning { pool, worker, file in
      try await pool.command(
        "submit", file.origin.url("/absent"), "--out", "absent", "--batch", "bad")
      let absent: Int64 = try await pool.value("SELECT id FROM haul.job WHERE path = 'absent'")
      try await pool.wait(for: absent, toBe: "failed")
      let stage = try await TopStage(pool, rows: 40)
      let screen = stage.screen
      try await screen.type("$HAUL top; echo \"exit $?\"", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      try await narrow(stage)
      try await steer(stage)
      try await screen.type("Escape")
      try await stage.line(containing: "batch monday, /two: 1")
      // One that is paused no longer runs, and stays for a while.
      try await screen.type("Escape")
      try await stage.rows("all jobs again", isAll)
      try await screen.type("f")
      try await stage.line(containing: "running: 3")
      try await screen.type("p")
      try await stage.line(containing: "is paused; press u in list 7 to resume it")
      try await stage.rows("the paused job") { $0.contains { $0.contains(" paused ") } }
      try await stage.line(containing: "running: 2")
      try await pool.command("resume", "--batch", "monday")
      try await screen.type("q")
      try await screen.wait(for: "the exit code") { $0.rows.contains("exit 0") }
      // Another one has no rows of before.
      try await screen.type("clear; echo at home; $HAUL top; echo \"exit $?\"", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      file.gate.open()
      try await stage.rows("a job that has ended") { rows in
        rows.contains { $0.contains("films/") && $0.contains(" completed") }
      }
      try await stage.line(containing: "No job is running.")
      try await verify(stage, pool)
      try await screen.type("q")
      try await screen.wait(for: "the exit code") { $0.rows.contains("exit 0") }
      try await stage.expectHome()
      try await pool.stop(worker)
    }
  }

  /// Opens the only job of the list, and steers it from there.
  private func steer(_ stage: TopStage) async throws {
    let screen = stage.screen
    try await screen.type("/two", "Enter")
    try await stage.line(containing: "batch monday, /two: 1")
    try await screen.type("Enter")
    try await stage.rows("all of the job") { rows in
      rows.contains { $0.hasPrefix("PRIORITY") && $0.hasSuffix(" 5") }
        && rows.contains { $0.hasPrefix("ATTEMPT") }
    }
    try await screen.type("+")
    try await stage.line(containing: "has priority 4 (0 is first, 9 is last)")
    try await stage.rows("another priority") { rows in
      rows.contains { $0.hasPrefix("PRIORITY") && $0.hasSuffix(" 4") }
    }
    try await screen.type("p")
    try await stage.line(containing: "is paused; press u in list 7 to resume it")
    try await stage.rows("the pause") {
      $0.contains { $0.hasPrefix("STATE") && $0.hasSuffix("paused") }
    }
    try await screen.type("u")
    try await stage.line(containing: "1 job resumed")
    try await stage.rows("the job as it goes on") { rows in
      rows.contains { $0.hasPrefix("STATE") && $0.hasSuffix("running") }
    }
  }

  /// Compares a finished file from the list, and once more when it is gone.
  private func verify(_ stage: TopStage, _ pool: HaulPool) async throws {
    try await stage.screen.type("7", "/two", "Enter")
    try await stage.rows("the finished job") { rows in
      rows.contains { $0.contains("films/two") && $0.contains(" completed ") }
        && rows.contains { $0.hasSuffix("/two: 1") }
    }
    try await stage.screen.type("v")
    try await stage.line(containing: "the file matches its record, compared by digest")
    try FileManager.default.removeItem(atPath: pool.directory + "/films/two")
    try await stage.screen.type("v")
    try await stage.line(containing: ": missing")
  }

  /// Whether three jobs that run are listed, and the one that has failed.
  @Sendable private func isAll(_ rows: [String]) -> Bool {
    rows.count { $0.contains(" running ") && $0.contains("films/") } == 3
      && rows.contains { $0.contains(" failed ") && $0.contains(" http_404 ") }
  }

  /// Lists all jobs, and some by text, by state and by batch; in the end those of the batch monday.
  private func narrow(_ stage: TopStage) async throws {
    let screen = stage.screen
    try await screen.type("7")
    try await stage.rows("all jobs", isAll)
    // By text, by state, by the batch of a row.
    try await screen.type("/films/two", "Enter")
    try await stage.line(containing: "/films/two: 1")
    try await screen.type("Escape")
    try await stage.rows("all jobs again", isAll)
    try await screen.type("ff")
    try await stage.rows("the failed job") { rows in
      rows.contains { $0.hasSuffix(" failed: 1") } && !rows.contains { $0.contains("films/") }
    }
    try await screen.type("Escape")
    try await stage.rows("all jobs again", isAll)
    try await screen.type("b")
    try await stage.line(containing: "batch bad: 1")
    try await screen.type("5", "/mon", "Enter")
    try await stage.line(containing: "1 of 2")
    try await screen.type("Enter")
    try await stage.line(containing: "batch monday: 3")
  }
}
