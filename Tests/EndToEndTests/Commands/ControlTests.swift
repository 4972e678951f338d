import Foundation
import Postgres
import TestSupport
import Testing

/// What an operator does to jobs from the command line, and what he sees.
@Suite struct ControlTests {
  @Test func `waiting jobs are paused, resumed, cancelled and queued again`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let job = try await pool.submit(file.origin.url("/small/a"), to: "a")
      for (command, state) in [
        ("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled"), ("retry", "queued"),
        ("pause", "paused"), ("cancel", "cancelled"), ("retry", "queued"),
      ] {
        #expect(try await pool.command(command, "\(job)", "--json") == [#"{"jobs":1}"#])
        #expect(try await pool.state(of: job) == state)
        // A second time there is nothing to do.
        #expect(try await pool.command(command, "\(job)", "--json") == [#"{"jobs":0}"#])
      }
      #expect(try await pool.violations() == [])
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      #expect(try await pool.attempts(of: job) == [Attempt("completed", from: 0)])
    }
  }

  @Test func `cancel --undo says why it undoes nothing, and a cancelled batch takes new jobs`()
    async throws
  {
    try await HaulPool.open { pool in
      let job = try await pool.submit("http://h/a", to: "a")
      #expect(
        try await pool.command("cancel", "--undo", "\(job)")
          == ["no cancellation to undo: 1 job is queued"])
      try await pool.command("submit", "http://h/b", "--batch", "films")
      try await pool.command("cancel", "--batch", "films")
      try await pool.command("submit", "http://h/c", "--batch", "films")
      #expect(
        try await pool.values(
          "SELECT state::text FROM haul.jobs WHERE batch = 'films' ORDER BY job")
          == ["cancelled", "queued"])
      let listed = try await pool.command("history", "--batch", "films", "--json")
      #expect(listed.count == 1 && listed[0].contains(#""action":"cancel""#))
      try await pool.command("cancel", "--undo", "--batch", "films")
      try await pool.command("cancel", "--batch", "films")
      try await pool.command("retry", "--batch", "films")
      #expect(
        try await pool.values("SELECT action FROM haul.operations ORDER BY id")
          == ["cancel", "cancel --undo", "cancel", "retry"])
    }
  }

  @Test func `a running job is paused, and resumed goes on where it stood`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      try await pool.command("pause", "\(job)")
      try await worker.event("job.paused")
      #expect(try await pool.state(of: job) == "paused")
      #expect(try pool.parts().count == 1)
      #expect(!FileManager.default.fileExists(atPath: pool.directory + "/file"))

      try await pool.command("resume", "\(job)")
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")
      #expect(try file.firstDifference(in: pool.directory) == nil)
      #expect(
        try await pool.attempts(of: job)
          == [Attempt("paused", from: 0), Attempt("completed", from: GatedFile.half)])
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test(arguments: [false, true])
  func `a running job is cancelled, and goes on where it stopped if that is taken back`(
    isLate: Bool
  ) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      try await pool.command("cancel", "--host", file.origin.host)
      try await worker.event("job.cancelled")
      #expect(try await pool.state(of: job) == "cancelled")
      if isLate {
        _ = try await pool.admin.execute(
          "UPDATE haul.outcome SET finished_at = finished_at - interval '61 minutes'")
      }
      try await pool.stop(worker)
      #expect(try pool.parts().count == (isLate ? 0 : 1))
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == (isLate ? 0 : 1))
      #expect(!FileManager.default.fileExists(atPath: pool.directory + "/file"))
      #expect(try await pool.violations() == [])

      #expect(try await pool.haul(["cancel", "--undo", "--state", "failed"]).exit == .code(64))
      let undone = try await pool.command("cancel", "--host", file.origin.host, "--undo")
      #expect(undone == ["1 job queued again"])
      file.gate.open()
      let next = try pool.worker("--exit-when-idle")
      #expect(try await next.exit() == .code(0))
      #expect(try file.firstDifference(in: pool.directory) == nil)
      #expect(
        try await pool.attempts(of: job)
          == [
            Attempt("cancelled", from: 0), Attempt("completed", from: isLate ? 0 : GatedFile.half),
          ])
    }
  }

  @Test func `a failed job is queued again by its error, and done once its cause is gone`()
    async throws
  {
    try await HaulPool.open { pool in
      let nginx = try await Nginx()
      let job = try await pool.submit(nginx.url("/late"), to: "late")
      let first = try pool.worker("--exit-when-idle")
      #expect(try await first.exit() == .code(0))
      #expect(try await pool.state(of: job) == "failed")
      let error: String = try await pool.value("SELECT error FROM haul.jobs")

      try Pattern(seed: 1).write(to: nginx.root + "/late", length: 10_000)
      #expect(try await pool.command("retry", "--error", error, "--json") == [#"{"jobs":1}"#])
      let second = try pool.worker("--exit-when-idle")
      #expect(try await second.exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      #expect(try FileTree.areEqual(nginx.root + "/late", pool.directory + "/late"))
    }
  }

  @Test(arguments: [([], 0), (["/missing"], 1), (["/small/c", "/missing"], 1)])
  func `a submission that is waited for ends with what became of it`(
    targets: [String], code: Int
  ) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let urls = (["/small/a", "/small/b"] + targets).map { file.origin.url($0) }
      let output = try await pool.haul(["submit", "--wait", "--json"] + urls)
      #expect(output.exit == .code(Int32(code)))
      let counts: [Int64] = try await pool.values(
        "SELECT count(*) FROM haul.jobs GROUP BY state ORDER BY state")
      let failed = targets.count { $0 == "/missing" }
      #expect(counts == [Int64(urls.count - failed)] + (failed == 0 ? [] : [Int64(failed)]))
      try await pool.stop(worker)
    }
  }

  @Test func `what the commands print is what the views hold`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await pool.command(
        "submit", "--wait", file.origin.url("/small/a"), file.origin.url("/small/b?c=ü"),
        "--batch", "first")
      let running = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      let paused = try await pool.submit(file.origin.url("/small/p"), to: "p ä")
      try await pool.command("pause", "\(paused)")

      let next = "array_position(haul.first_jobs('{}', 9), job)"
      for (command, view, order) in [
        (["jobs"], "jobs", next), (["jobs", "--state", "completed"], "jobs", "job DESC"),
        (["jobs", "--batch", "first"], "jobs", "job DESC"), (["queues"], "queues", "queue"),
        (["hosts"], "hosts", "host"), (["job", "\(running)"], "jobs", "job"),
      ] {
        let printed = try await pool.haul(command + ["--json"])
        #expect(printed.exit == .code(0))
        let condition =
          switch command.dropFirst().first {
          case "--state": "state = 'completed'"
          case "--batch": "batch = 'first'"
          case let id?: "job = \(id)"
          case nil: "true"
          }
        let held: [String] = try await pool.values(
          "SELECT to_json(v)::text FROM haul.\(view) v WHERE \(condition) ORDER BY \(order)")
        #expect(printed.standardOutput.count == held.count && !held.isEmpty)
        for (line, row) in zip(printed.standardOutput, held) {
          #expect(try differing(line, row) == [], "\(command): \(line) \(row)")
        }
      }
      let present = try await pool.command("job", "\(running)", "--json")
      #expect(present.first?.contains(#""result":"running""#) == true, "\(present)")
      file.gate.open()
      try await pool.wait(for: running, toBe: "completed")
      let history = try await pool.command("job", "\(running)", "--json")
      #expect(history.first?.contains(#""result":"completed""#) == true)
    }
  }

  /// Keys that both objects have with different values, and `none` if they share hardly any; rates and
  /// times left move between two looks, and an interval is in seconds here.
  private func differing(_ first: String, _ second: String) throws -> [String] {
    let (left, right) = (try object(first), try object(second))
    let common = Set(left.keys).intersection(right.keys).subtracting([
      "rate", "time_left", "min_interval",
    ])
    if common.count < 5 { return ["none"] }
    return common.filter { left[$0]?.isEqual(right[$0]) != true }.sorted()
  }

  private func object(_ text: String) throws -> [String: NSObject] {
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8))
    return try #require(object as? [String: NSObject])
  }

  @Test func `a host may be typed as in any of its URLs`() async throws {
    try await HaulPool.open { pool in
      let said = try await pool.command("host", "block", "LOCALHOST:80")
      #expect(said == ["localhost: blocked until you unblock it"])
      #expect(try await pool.values("SELECT host FROM haul.hosts") == ["localhost"])
      #expect(try await pool.command("host", "unblock", "Localhost") == ["localhost: unblocked"])
      try await pool.command("host", "set", "*.EXAMPLE.org:443", "--cap", "1")
      #expect(try await pool.values("SELECT pattern FROM haul.policies") == ["*.example.org"])
      try await pool.command("host", "unset", "*.Example.org")
      // As an earlier version may have taken it.
      _ = try await pool.admin.query("SELECT haul.set_host('OLD.example.org', 1, NULL, NULL)", [])
      try await pool.command("host", "unset", "OLD.example.org")
      #expect(try await pool.value("SELECT count(*) FROM haul.policies") == 0)
    }
  }
}
