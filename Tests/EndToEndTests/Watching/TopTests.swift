import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// `haul top` in a real terminal, on a pool that runs.
struct TopTests {
  @Test func `a job is cancelled, a worker drained, and the terminal is as it was`() async throws {
    try await TopStage.withRunning { pool, worker, _ in
      let stage = try await TopStage(pool)
      let screen = stage.screen
      try await screen.type("$HAUL top; echo \"exit $?\"", "Enter")
      try await stage.rows("three halves") { rows in
        TopStage.half(rows) == 3 && rows[1].contains("3 running")
          && rows.last?.contains("q quit") == true
      }
      // The second row is chosen, asked about, let be, and then cancelled.
      try await screen.type("/two", "Enter")
      try await stage.line(containing: "1 of 3")
      try await screen.type("c")
      try await stage.line(containing: "(films/two)? y/N")
      try await screen.type("n")
      try await stage.line(containing: "nothing was changed")
      try await screen.type("c")
      try await stage.line(containing: "(films/two)? y/N")
      try await screen.type("y")
      try await stage.line(containing: "1 job cancelled")
      let job: Int64 = try await pool.value("SELECT id FROM haul.job WHERE path = 'films/two'")
      try await pool.wait(for: job, toBe: "cancelled")
      try await screen.type("Escape")
      try await stage.rows("two halves") { TopStage.half($0) == 2 }
      try await screen.type("4")
      try await stage.line(containing: "alive")
      try await screen.type("d")
      try await stage.line(containing: "It stops and hands over 2 running jobs. y/N")
      try await screen.type("y")
      try await stage.line(containing: " is draining")
      #expect(try await worker.exit() == .code(0))
      #expect(
        try await pool.values("SELECT state::text FROM haul.jobs WHERE path <> 'films/two'")
          == ["interrupted", "interrupted"])
      try await stage.line(containing: "No worker is running.")
      try await screen.type("q")
      try await screen.wait(for: "the exit code") { $0.rows.contains("exit 0") }
      try await stage.expectHome()
    }
  }

  @Test func `queues, hosts and batches are steered, and failures retried`() async throws {
    try await TopStage.withRunning { pool, worker, file in
      try await pool.command(
        "submit", file.origin.url("/absent"), "--out", "absent", "--batch", "bad")
      let job: Int64 = try await pool.value("SELECT id FROM haul.job WHERE path = 'absent'")
      try await pool.wait(for: job, toBe: "failed")
      let stage = try await TopStage(pool)
      let screen = stage.screen
      try await screen.type("$HAUL top; echo \"exit $?\"", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      try await screen.type("2", "/def", "Enter")
      try await stage.line(containing: "1 of 2")
      try await screen.type("p")
      try await stage.line(containing: "queue default is paused; running jobs continue")
      #expect(try await pool.value("SELECT paused FROM haul.queues WHERE queue = 'default'"))
      try await screen.type("u")
      try await stage.line(containing: "queue default is resumed")
      try await screen.type("3")
      try await stage.line(
        containing: file.origin.url("").replacingOccurrences(of: "http://", with: ""))
      try await screen.type("p")
      try await stage.line(containing: "blocked until you unblock it")
      try await stage.line(containing: "blocked by an operator until you run 'haul host unblock'")
      try await screen.type("6")
      try await stage.line(containing: "http_404")
      try await screen.type("r")
      try await stage.line(containing: "Retry all jobs that failed with http_404 on")
      try await screen.type("y")
      try await stage.line(containing: "1 job queued again")
      #expect(try await pool.state(of: job) == "queued")
      try await screen.type("1", "/one", "Enter")
      try await stage.line(containing: "1 of 3")
      try await screen.type("p")
      try await stage.line(containing: "job 1 is paused; press u in list 7 to resume it")
      try await screen.type("5", "/mon", "Enter")
      try await stage.line(containing: "1 of 2")
      try await screen.type("p")
      try await stage.line(containing: "2 jobs paused")
      try await eventually("three paused jobs") {
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'paused'") == 3
      }
      try await screen.type("q")
      try await stage.expectHome()
      try await pool.stop(worker)
    }
  }

  @Test(arguments: [(SIGTERM, 143), (SIGHUP, 129), (SIGINT, 130)])
  func `a signal leaves the terminal as it was`(number: Int32, code: Int) async throws {
    try await TopStage.withRunning { pool, worker, _ in
      let stage = try await TopStage(pool)
      try await stage.screen.type(
        "sh -c 'echo $$ > pid; exec $HAUL top'", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      let pid = try String(contentsOfFile: stage.directory.path("pid"), encoding: .utf8)
      kill(try #require(pid_t(pid.trimmingCharacters(in: .whitespacesAndNewlines))), number)
      try await stage.screen.wait(for: "the shell") { content in
        content.hasCursor && ["$", "#"].contains(content.rows.last)
      }
      try await stage.screen.type("echo \"exit $?\"", "Enter")
      try await stage.screen.wait(for: "the exit code") { $0.rows.contains("exit \(code)") }
      try await stage.expectHome()
      try await pool.stop(worker)
    }
  }

  @Test func `Ctrl-Z gives the terminal back, and fg takes it again; so does a stop unforeseen`()
    async throws
  {
    try await TopStage.withRunning { pool, worker, _ in
      let stage = try await TopStage(pool)
      let screen = stage.screen
      try await screen.type("sh -c 'echo $$ > pid; exec $HAUL top'; echo \"exit $?\"", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      try await screen.type("C-z")
      try await screen.wait(for: "word of the shell") { content in
        content.hasCursor && content.rows.contains { $0.contains("Stopped") }
          && TopStage.half(content.rows) == 0
      }
      try await screen.type("stty -a > stopped; fg", "Enter")
      try await stage.rows("three halves again") { TopStage.half($0) == 3 }
      #expect(
        try String(contentsOfFile: stage.directory.path("stopped"), encoding: .utf8)
          == String(contentsOfFile: stage.directory.path("before"), encoding: .utf8))
      // Nobody can tidy up before SIGSTOP; the shell's user would type `stty sane` and `fg`.
      let pid = try String(contentsOfFile: stage.directory.path("pid"), encoding: .utf8)
      kill(try #require(pid_t(pid.trimmingCharacters(in: .whitespacesAndNewlines))), SIGSTOP)
      try await screen.wait(for: "word of the shell") { content in
        content.rows.contains { $0.contains("Stopped") }
      }
      try await screen.type("stty sane; clear; fg", "Enter")
      try await stage.rows("three halves for the third time") { rows in
        TopStage.half(rows) == 3 && rows[0].hasPrefix("haul top")
      }
      try await screen.type("q")
      try await screen.wait(for: "the shell") { $0.hasCursor && ["$", "#"].contains($0.rows.last) }
      try await pool.stop(worker)
    }
  }

  @Test func `it follows the terminal's size`() async throws {
    try await TopStage.withRunning { pool, worker, _ in
      let stage = try await TopStage(pool)
      try await stage.screen.type("$HAUL top", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      for (columns, rows) in [(200, 50), (80, 24), (45, 12)] {
        try await stage.screen.resize(columns: columns, rows: rows)
        try await stage.rows("\(columns) x \(rows)") { lines in
          lines.count == rows && lines.count { $0.contains(" 50% ") } == 3
            && (columns < 200 || lines.contains { $0.contains("BATCH") })
        }
      }
      try await stage.screen.resize(columns: 30, rows: 5)
      try await stage.line(containing: "too small")
      try await stage.screen.resize(columns: 110, rows: 24)
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      try await stage.screen.type("q")
      try await stage.expectHome()
      try await pool.stop(worker)
    }
  }

  @Test func `who may only look is told so, and nothing is done`() async throws {
    try await TopStage.withRunning { pool, worker, _ in
      let role = "monitor_\(pool.database.name)"
      try await pool.admin.script("CREATE ROLE \"\(role)\" LOGIN IN ROLE haul_monitor")
      let stage = try await TopStage(pool, conninfo: "\(pool.database.conninfo) user=\(role)")
      let screen = stage.screen
      try await screen.type("$HAUL top", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      try await screen.type("c")
      try await stage.line(containing: "this action needs the role haul_submitter")
      for (pane, sign) in [
        ("2", "default"), ("3", "127.0.0.1"), ("4", "alive"), ("5", "monday"),
        ("6", "No failed jobs"),
        ("7", " running "),
      ] {
        try await screen.type(pane)
        try await stage.line(containing: sign)
      }
      try await screen.type("4")
      try await stage.line(containing: "alive")
      try await screen.type("d")
      try await stage.line(containing: "this action needs the role haul_admin")
      try await screen.type("q")
      try await stage.expectHome()
      #expect(try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'running'") == 3)
      try await pool.stop(worker)
      try await pool.admin.script("DROP ROLE \"\(role)\"")
    }
  }

  @Test func `a lost connection is said, and made again`() async throws {
    try await TopStage.withRunning { pool, worker, file in
      let relay = try DatabaseRelay(to: pool.database)
      let stage = try await TopStage(pool, conninfo: relay.conninfo)
      let screen = stage.screen
      try await screen.type("$HAUL top --interval 200ms", "Enter")
      try await stage.rows("three halves") { TopStage.half($0) == 3 }
      relay.partition()
      try await stage.rows("word of it") { rows in
        (rows[0].contains("connection lost") || rows[0].contains("no answer for"))
          && TopStage.half(rows) == 3
      }
      relay.restore()
      try await stage.rows("what is new") { $0[0].contains("maintenance: worker") }
      file.gate.open()
      try await stage.line(containing: "No job is running.")
      try await screen.type("q")
      try await stage.expectHome()
      try await pool.stop(worker)
    }
  }

  @Test func `without a terminal, or with names that are not there, it ends at once`() async throws
  {
    try await HaulPool.open { pool in
      for (arguments, code, sentence) in [
        (
          [], 64,
          "haul top: this command needs a terminal. Use 'haul jobs --state running' to list running jobs, or"
        ),
        (
          ["--batch", "a", "--queue", "b"], 64,
          "haul top: you cannot use --queue and --batch together."
        ),
      ] as [([String], Int32, String)] {
        let output = try await pool.haul(["top"] + arguments)
        #expect(output.exit == .code(code))
        #expect(output.standardOutput == [])
        #expect(output.standardError.first?.hasPrefix(sentence) == true, "\(output.standardError)")
      }
      let stage = try await TopStage(pool)
      try await stage.screen.type("$HAUL top --batch monday; echo \"exit $?\"", "Enter")
      try await stage.screen.wait(for: "the refusal") { content in
        content.rows.contains {
          $0.hasPrefix(#"haul top: there is no batch "monday" in the pool "#)
        }
          && content.rows.contains("exit 65")
      }
      try await stage.screen.type("TERM=dumb $HAUL top; echo \"exit $?\"", "Enter")
      try await stage.screen.wait(for: "the refusal") { $0.rows.contains("exit 64") }
      try await stage.screen.type("$HAUL top --database 'host=/nowhere'; echo \"exit $?\"", "Enter")
      try await stage.screen.wait(for: "the refusal") { $0.rows.contains("exit 69") }
      try await stage.expectHome()
    }
  }
}
