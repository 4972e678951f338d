import Foundation
import Postgres
import TestSupport
import Testing

/// Retention by the commands of the program.
struct PruneCommandTests {
  @Test func `ended jobs are counted, exported and removed`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "--batch", "b", "http://h/a", "http://h/b")
      try await pool.command("submit", "http://h/c")
      try await pool.command("cancel", "--batch", "b")
      #expect(
        try await pool.command("prune", "--older", "0", "--dry-run") == ["would remove 2 jobs"])
      let directory = try TemporaryDirectory()
      let file = directory.path("old.jsonl")
      #expect(
        try await pool.command("prune", "--older", "0", "--export", file) == ["2 jobs removed"])
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines[0].contains(#""state": "cancelled""#) && lines[0].contains("http://h/a"))
      let attributes = try FileManager.default.attributesOfItem(atPath: file)
      #expect(attributes[.posixPermissions] as? Int == 0o600)
      #expect(try await pool.command("prune", "--older", "0", "--json")[0].hasPrefix(#"{"jobs":0"#))
      let batch = try await pool.command("batches", "--json")[0]
      #expect(batch.contains(#""jobs":2"#) && batch.contains(#""cancelled":2"#), "\(batch)")
    }
  }

  @Test func `the leader removes jobs when their time has come`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "--batch", "b", "http://h/a", "http://h/b")
      try await pool.command("submit", "http://h/c")
      #expect(
        try await pool.command(
          "queue", "set", "*", "--keep-cancelled", "1s", "--keep-failed", "90d")
          == ["all queues: keep_failed 90d, keep_cancelled 1s"])
      #expect(
        try await pool.command("queue", "set", "data", "--keep-failed", "forever")
          == ["queue data: keep_failed forever"])
      let list = try await pool.command("queues", "data").joined(separator: "\n")
      #expect(list.contains("keeps cancelled jobs for 1s") && !list.contains("90d"), "\(list)")
      try await pool.command("cancel", "--batch", "b")
      let coordinator = try pool.start(["coordinator"])
      try await eventually("two jobs removed") {
        try await pool.value("SELECT count(*) FROM haul.job") == 1
      }
      coordinator.signal(SIGTERM)
      #expect(try await coordinator.exit() == .code(0))
    }
  }

  @Test(arguments: [
    (["prune"], "haul prune: no retention is set"),
    (["prune", "--older", "-1d"], "haul prune: "),
    (
      ["prune", "--older", "1d", "--state", "queued"],
      "haul prune: only completed, failed and cancelled"
    ),
    (
      ["prune", "--older", "1d", "--queue", "nowhere"], "haul prune: there is no queue \"nowhere\""
    ),
    (["queue", "set", "*", "--weight", "3"], "haul queue set: only the retention"),
    (["queue", "set", "data", "--keep-failed", "soon"], "haul queue set: "),
    (["queue", "set", "nowhere", "--keep-failed", "1d"], "haul queue set: there is no queue"),
  ])
  func `a wrong wish gets a sentence and changes nothing`(
    _ arguments: [String], _ sentence: String
  ) async throws {
    try await HaulPool.open { pool in
      let output = try await pool.haul(arguments)
      #expect(output.exit != .code(0))
      #expect(output.standardError.first?.hasPrefix(sentence) == true, "\(output.standardError)")
    }
  }
}
