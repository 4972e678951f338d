import Foundation
import Glibc
import TestSupport
import Testing

/// What a person sees of a batch that is waited for.
struct ProgressTests {
  /// The two lines of a file of which half is there, without rates.
  private static let half = [
    80: [
      "films/a.bin       ━━━━━━━━━━╸──────────  50%    4.0/8.0 MiB",
      "0 of 1 file       ━━━━━━━━━━╸──────────  50%    4.0/8.0 MiB",
    ],
    50: ["films/a.bin       50%", "0 of 1 file       50%"],
    120: [
      "films/a.bin       ━━━━━━━━━━━━━━━━━━━━────────────────────  50%    4.0/8.0 MiB",
      "0 of 1 file       ━━━━━━━━━━━━━━━━━━━━────────────────────  50%    4.0/8.0 MiB",
    ],
  ]

  /// A file that stops half-way, a pool with a worker, and a terminal that has not waited yet.
  private func withStage(
    _ body: (GatedFile, HaulPool, TerminalScreen) async throws -> Void
  ) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await worker.event("worker.started")
      try await pool.command(
        "submit", file.origin.url("/file"), "--out", "films/a.bin", "--batch", "monday")
      let screen = try await TerminalScreen.shell(
        columns: 80, rows: 24,
        environment: [
          "HAUL_DATABASE_URL": pool.database.conninfo, "HAUL": HaulProcess.path,
        ])
      try await body(file, pool, screen)
      file.gate.open()
      try await pool.stop(worker)
    }
  }

  private func waitForHalf(_ screen: TerminalScreen, columns: Int) async throws {
    let wanted = try #require(Self.half[columns])
    try await screen.wait(for: "half of the file at \(columns) columns") { content in
      let bars = content.rows.filter { $0.contains("50%") }
      return zip(bars, wanted).allSatisfy { $0.hasPrefix($1) } && bars.count == wanted.count
        && content.rows.suffix(2) == bars && content.cursorRow == content.rows.count
    }
  }

  @Test(arguments: ["batch wait monday", "submit URL --out films/a.bin --batch monday --wait"])
  func `a region shows how far it is, follows the terminal's size and leaves nothing behind`(
    command: String
  ) async throws {
    try await withStage { file, _, screen in
      let command = command.replacingOccurrences(of: "URL", with: file.origin.url("/file"))
      try await screen.type("$HAUL \(command); echo \"exit $?\"", "Enter")
      try await waitForHalf(screen, columns: 80)
      try await screen.resize(columns: 50, rows: 10)
      try await waitForHalf(screen, columns: 50)
      try await screen.resize(columns: 120, rows: 30)
      try await waitForHalf(screen, columns: 120)
      file.gate.open()
      let end = try await screen.wait(for: "the end") { $0.rows.suffix(2).first == "exit 0" }
      #expect(end.rows.dropLast(2).last == "completed 1 job, 8.0 MiB")
      #expect(!end.rows.contains { $0.contains("%") })
      #expect(end.hasCursor)
    }
  }

  @Test func `interrupted it leaves the terminal as it was, and the job running`() async throws {
    try await withStage { _, pool, screen in
      try await screen.type("$HAUL batch wait monday", "Enter")
      try await waitForHalf(screen, columns: 80)
      try await screen.type("C-c")
      try await screen.prompt()
      try await screen.type("echo \"exit $?\"", "Enter")
      let end = try await screen.wait(for: "the exit code") { $0.rows.contains("exit 130") }
      #expect(end.rows.contains { $0.hasPrefix("haul batch wait: stopped waiting") })
      #expect(!end.rows.contains { $0.contains("%") })
      #expect(end.hasCursor)
      #expect(try await pool.value("SELECT state::text FROM haul.jobs") == "running")
    }
  }

  @Test func `killed it leaves a prompt below what it had shown`() async throws {
    try await withStage { _, _, screen in
      try await screen.type("sh -c 'echo pid $$; exec $HAUL batch wait monday'", "Enter")
      try await waitForHalf(screen, columns: 80)
      let shown = try await screen.content()
      let line = try #require(shown.rows.first { $0.hasPrefix("pid ") })
      kill(try #require(pid_t(line.dropFirst(4))), SIGKILL)
      let end = try await screen.prompt()
      #expect(end.rows.filter { $0.contains("50%") }.count == 2)
      #expect(end.hasCursor)
    }
  }

  @Test func `without a terminal there are lines, and with --quiet the result alone`() async throws
  {
    try await withStage { file, pool, _ in
      let waiting = try pool.start(["batch", "wait", "monday"])
      _ = try await waiting.child.first("a line of progress") { output in
        output.standardError.first { $0.hasPrefix("haul batch wait: 0 of 1 file, ") }
      }
      let quiet = try pool.start(["batch", "wait", "monday", "--quiet", "--json"])
      file.gate.open()
      #expect(try await waiting.child.result().standardOutput == ["completed 1 job, 8.0 MiB"])
      let result = try await quiet.child.result()
      #expect(result.standardError == [])
      #expect(
        result.objects == [
          #"{"batch":"monday","completed":1,"failed":0,"cancelled":0,"bytes":8388608,"errors":{}}"#
        ])
    }
  }

  @Test func `a batch that nobody serves is told once; one that is not there is refused`()
    async throws
  {
    try await HaulPool.open { pool in
      let output = try await pool.haul(["batch", "wait", "monday"])
      #expect(output.exit == .code(65))
      #expect(
        output.standardError.first?.hasPrefix(
          #"haul batch wait: there is no batch "monday" in the pool "#) == true)

      try await pool.command("submit", "http://127.0.0.1/a", "--batch", "monday")
      let waiting = try pool.start(["batch", "wait", "monday"])
      _ = try await waiting.child.first("the hint") { output in
        output.standardError.first {
          $0.hasPrefix("haul batch wait: nothing is running: no worker serves the queue default.")
        }
      }
      let facts = try await pool.command("job", "1").map { $0.split(separator: " ") }
      #expect(
        facts.contains { $0.joined(separator: " ").hasPrefix("DOES NOT START no worker serves") })
      try await pool.command("pause", "--batch", "monday")
      _ = try await waiting.child.first("another hint") { output in
        output.standardError.first { $0.hasSuffix("haul resume --batch monday") }
      }
      try await pool.command("cancel", "--batch", "monday")
      let end = try await waiting.child.result()
      #expect(end.exit == .code(1))
      #expect(
        end.standardError.last
          == "haul batch wait: 1 job cancelled. List them with: "
          + "haul jobs --batch monday --state cancelled")
      #expect(end.standardError.filter { $0.contains("no worker serves") }.count == 1)
    }
  }
}
