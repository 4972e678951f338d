import Foundation
import Postgres
import TestSupport
import Testing

/// Lists, metrics, the page and `haul top` say the same of one moment.
@Suite struct OneTruthTests {
  /// What is the same thing wherever it stands.
  private struct Figures: Equatable {
    var running, waiting, paused, completed, failed: Int
    /// Bytes a second.
    var rate: Int
  }

  /// Five jobs that wait, of which one was interrupted and two are to be tried later; two that are paused, two that run, three
  /// that have failed, of which one waits again, and one that is done. Then the worker stands still.
  private func withPool(_ body: (HaulPool) async throws -> Void) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker("--concurrency", "2")
      func submit(_ path: String, _ name: String, _ options: String...) async throws -> Int64 {
        let output = try await pool.haul(
          ["submit", file.origin.url(path), "--out", name, "--batch", "films"] + options)
        #expect(output.exit == .code(0), "\(output.standardError)")
        return try await pool.value("SELECT id FROM haul.job WHERE path = $1", [name])
      }
      try await pool.wait(for: try await submit("/small/1", "done"), toBe: "completed")
      var failed: [Int64] = []
      for name in ["no1", "no2", "no3"] { failed.append(try await submit("/none", name)) }
      for job in failed { try await pool.wait(for: job, toBe: "failed") }
      let interrupted = try await submit("/file", "interrupted")
      _ = try await file.checkpoint(worker)
      try await pool.command("pause", "\(interrupted)")
      try await pool.wait(for: interrupted, toBe: "paused")
      for name in ["run1", "run2"] {
        try await pool.wait(for: try await submit("/file", name), toBe: "running")
      }
      try await pool.command("resume", "\(interrupted)")
      try await pool.command("retry", "\(failed[0])")
      for name in ["wait", "paused1", "paused2"] { _ = try await submit("/small/2", name) }
      for name in ["later1", "later2"] {
        _ = try await submit("/small/3", name, "--not-before", "9000h")
      }
      for name in ["paused1", "paused2"] {
        let job: Int64 = try await pool.value("SELECT id FROM haul.job WHERE path = $1", [name])
        try await pool.command("pause", "\(job)")
      }
      try await worker.stop()
      try await pool.admin.execute(
        """
        UPDATE haul.worker SET heartbeat_at = clock_timestamp() + interval '1 hour',
          expires_at = clock_timestamp() + interval '2 hours',
          received = '[{"queue": "default", "batch": "films", "rate": 3145728}]'
        """)
      try await body(pool)
      worker.wake()
      file.gate.open()
      try await pool.stop(worker)
    }
  }

  private static let expected = Figures(
    running: 2, waiting: 5, paused: 2, completed: 1, failed: 2, rate: 3_145_728)

  private func objects(_ pool: HaulPool, _ arguments: String...) async throws -> [[String: Any]] {
    let output = try await pool.haul(arguments + ["--json"])
    return try output.standardOutput.map { try object(Data($0.utf8)) }
  }

  private func object(_ data: Data) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  private func sum(_ objects: [[String: Any]], _ names: String...) -> Int {
    objects.reduce(0) { sum, object in
      names.reduce(sum) { $0 + (object[$1] as? Int ?? 0) }
    }
  }

  /// `haul queues`, `haul batches`, `haul failures` and `haul workers`.
  private func lists(_ pool: HaulPool) async throws -> Figures {
    let queues = try await objects(pool, "queues")
    let batches = try await objects(pool, "batches")
    let workers = try await objects(pool, "workers")
    let failures = try await objects(pool, "failures")
    let figures = Figures(
      running: sum(queues, "running"), waiting: sum(queues, "queued", "interrupted", "scheduled"),
      paused: sum(queues, "held"), completed: sum(batches, "completed"),
      failed: sum(failures, "jobs"), rate: sum(queues, "rate"))
    for rows in [batches, workers] {
      #expect(sum(rows, "running") == figures.running && sum(rows, "rate") == figures.rate)
    }
    #expect(sum(batches, "failed") == figures.failed && sum(batches, "held") == figures.paused)
    #expect(
      sum(batches, "unfinished") == figures.running + figures.waiting + figures.paused)
    return figures
  }

  private func metrics(_ lines: [String]) -> Figures {
    func value(_ isMeant: (String) -> Bool) -> Int {
      lines.filter { !$0.hasPrefix("#") && isMeant($0) }
        .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }
        .reduce(0) { $0 + Int($1) }
    }
    func jobs(_ states: String...) -> Int {
      value { line in
        line.hasPrefix("haul_jobs{") && states.contains { line.contains("state=\"\($0)\"") }
      }
    }
    #expect(jobs("running") == value { $0.hasPrefix("haul_running_jobs ") })
    #expect(
      value { $0.hasPrefix("haul_failed_jobs{") }
        == value { $0.hasPrefix("haul_ended_jobs{state=\"failed\"}") })
    return Figures(
      running: jobs("running"), waiting: jobs("queued", "interrupted", "scheduled"),
      paused: jobs("paused"),
      completed: value { $0.hasPrefix("haul_ended_jobs{state=\"completed\"}") },
      failed: value { $0.hasPrefix("haul_failed_jobs{") },
      rate: value { $0.hasPrefix("haul_transfer_bytes_per_second ") })
  }

  /// The page, as its script computes it.
  private func page(_ state: [String: Any]) throws -> Figures {
    let totals = try #require(state["totals"] as? [String: Any])
    let queues = try #require(state["queues"] as? [[String: Any]])
    let batches = try #require(state["batches"] as? [[String: Any]])
    let failures = try #require(state["failures"] as? [[String: Any]])
    #expect(sum(queues, "rate") == sum([totals], "rate"))
    #expect(sum(queues, "running") == sum([totals], "running"))
    #expect(sum(batches, "failed") == sum([totals], "failed"))
    #expect(sum(failures, "jobs") == sum([totals], "failed"))
    return Figures(
      running: sum([totals], "running"), waiting: sum(queues, "queued", "interrupted", "scheduled"),
      paused: sum(queues, "held"), completed: sum([totals], "completed"),
      failed: sum([totals], "failed"), rate: sum([totals], "rate"))
  }

  @Test func `lists, metrics, page and top say the same of one moment`() async throws {
    try await withPool { pool in
      #expect(try await lists(pool) == Self.expected)
      #expect(metrics(try await pool.command("metrics")) == Self.expected)
      let coordinator = try await ListeningPage(pool)
      let state = try await coordinator.ask("/api/state").body.joined(separator: "\n")
      #expect(try page(try object(Data(state.utf8))) == Self.expected)
      #expect(metrics(try await coordinator.ask("/metrics").body) == Self.expected)
      let screen = try await TerminalScreen.shell(
        columns: 110, rows: 24,
        environment: ["HAUL_DATABASE_URL": pool.database.conninfo, "HAUL": HaulProcess.path])
      try await screen.type("$HAUL top", "Enter")
      try await screen.wait(for: "the same in top") { content in
        let text = content.rows.joined(separator: "\n")
        return ["2 running", "5 waiting", "3.0 MiB/s", "3 failures in 1 h"].allSatisfy {
          text.contains($0)
        }
      }
      try await screen.type("q")
      coordinator.process.signal(SIGTERM)
      #expect(try await coordinator.process.exit() == .code(0))
    }
  }
}
