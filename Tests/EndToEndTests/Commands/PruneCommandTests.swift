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

  @Test func `a file that others can read is refused, and a broken line is ended`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "--batch", "b", "http://h/a")
      try await pool.command("cancel", "--batch", "b")
      let directory = try TemporaryDirectory()
      let file = try directory.write("{\"job\": 1", to: "old.jsonl")
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
      let refused = try await pool.haul(["prune", "--older", "0", "--export", file])
      #expect(refused.exit == .code(64), "\(refused)")
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 1)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
      try await pool.command("prune", "--older", "0", "--export", file)
      let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
      #expect(lines.count == 2 && lines[0] == "{\"job\": 1", "\(lines)")
    }
  }

  @Test func `a batch whose failed jobs were removed has failed all the same`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer { _, reply in
        try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      }
      try await pool.command("submit", "--batch", "b", origin.url("/a"))
      let worker = try pool.worker()
      try await pool.wait(for: 1, toBe: "failed")
      worker.signal(SIGTERM)
      _ = try await worker.exit()
      try await pool.command("prune", "--older", "0")
      let output = try await pool.haul(["batch", "wait", "b"])
      #expect(output.exit == .code(1), "\(output)")
      #expect(
        output.standardError.joined().contains("1 job failed (1 removed since then)"),
        "\(output.standardError)")
      for selection in [[], ["--batch", "b"]] {
        let why = try await pool.haul(["why"] + selection).standardOutput.joined()
        #expect(
          why.hasSuffix(
            "1 failed. 1 failed or cancelled job was removed since then: to download its file, submit its URL again."
          ), "\(why)")
      }
      let failures = try await pool.haul(["failures"])
      #expect(
        failures.standardError.first?.hasSuffix("They were queued again or removed.") == true,
        "\(failures)")
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

  @Test func `a job is found by path and URL, and remembered when it is gone`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let url = file.origin.url("/small/a")
      try await pool.command("submit", url)
      let path: String = try await pool.value("SELECT path FROM haul.job")
      let report = try await pool.command("job", "1")
      for name in [path, url] { #expect(try await pool.command("job", name) == report) }
      let worker = try pool.worker()
      try await pool.wait(for: 1, toBe: "completed")
      worker.signal(SIGTERM)
      _ = try await worker.exit()
      try await pool.command("prune", "--older", "0")
      for name in [path, url] {
        let lines = try await pool.command("job", name)
        #expect(
          lines.count == 1 && lines[0].contains("sha-256=")
            && lines[0].hasSuffix("Its job was removed."), "\(lines)")
        let object = try await pool.command("job", name, "--json")[0]
        #expect(object.hasPrefix(#"{"removed":true,"store":"data""#), "\(object)")
      }
      for (name, sentence) in [
        ("1", "there is no job 1"), ("nothing", "no job has the path or URL \"nothing\""),
      ] {
        let output = try await pool.haul(["job", name])
        #expect(output.exit == .code(65), "\(output)")
        #expect(output.standardError.first?.contains(sentence) == true, "\(output.standardError)")
      }
      // The same list again brings nothing anew.
      #expect(try await pool.command("submit", url).joined().contains("0"))
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
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
