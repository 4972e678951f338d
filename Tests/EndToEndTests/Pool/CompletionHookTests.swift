import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// The command that a worker runs after each job that has completed.
@Suite struct CompletionHookTests {
  private func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      if request.path == "/missing" {
        return try reply.head("HTTP/1.1 404 Not Found\nContent-Length: 0")
      }
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
  }

  private func lines(_ path: String) -> [String] {
    (try? String(contentsOfFile: path, encoding: .utf8))?.split(separator: "\n").map(String.init)
      ?? []
  }

  @Test func `it learns of the job, and its exit code is logged`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let note = directory.path("note")
      try await pool.command(
        "submit", origin.url("/a?token=hunter2"), "--out", "x/a", "--batch", "b")
      try await pool.submit(origin.url("/missing"), to: "missing")
      let fields = [
        "JOB", "FILE", "PATH", "STORE", "QUEUE", "BATCH", "HOST", "URL", "BYTES", "FETCHED",
        "DIGEST",
      ]
      let command =
        "[ -f \"$HAUL_FILE\" ] && echo \(fields.map { "$HAUL_\($0)" }.joined(separator: "'|'")) "
        + ">>\(note); echo said; exit 3"
      let worker = try pool.worker("--exit-when-idle", "--on-complete", command)
      #expect(try await worker.exit() == .code(0))
      let said = try #require(lines(note).first).components(separatedBy: "|")
      let root = String(cString: realpath(pool.directory, nil))
      #expect(
        said.dropLast() == [
          "1", "\(root)/x/a", "x/a", "data", "default", "b", origin.host,
          origin.url("/a?token=***"), "1000", "1000",
        ])
      #expect(said.last?.hasPrefix("sha-256=") == true)
      #expect(lines(note).count == 1)
      #expect(worker.events("hook.failed").map { $0[field: "code"] } == ["3"])
      #expect(worker.child.output.value.standardError.contains("said"))
      // After the database has it.
      let completed = try #require(worker.events("job.completed").first)
      #expect(completed.index < worker.events("hook.failed")[0].index)
    }
  }

  @Test func `it gets nothing that leads to the database or to systemd`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let note = directory.path("note")
      let own = [
        "CREDENTIALS_DIRECTORY": "/nowhere", "NOTIFY_SOCKET": directory.path("notify"),
        "WATCHDOG_PID": "1", "WATCHDOG_USEC": "60000000", "PGSERVICEFILE": "/nowhere/database",
      ]
      try await pool.submit(origin.url("/a"), to: "a")
      let worker = try pool.worker(
        "--exit-when-idle", "--on-complete", "env >\(note)", environment: own)
      #expect(try await worker.exit() == .code(0))
      let names = Set(lines(note).compactMap { $0.split(separator: "=").first.map(String.init) })
      #expect(names.contains("HAUL_FILE"))
      #expect(names.isDisjoint(with: own.keys) && !names.contains("HAUL_DATABASE_URL"))
    }
  }

  @Test func `transfers do not wait for it, and a worker that stops does`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let (begun, go) = (directory.path("begun"), directory.path("go"))
      // A shell has no event for a file that comes to be: the test makes it when the worker drains.
      let worker = try pool.worker(
        "--on-complete", "echo x >>\(begun); while [ ! -e \(go) ]; do sleep 0.05; done")
      for number in 1...8 { try await pool.submit(origin.url("/\(number)"), to: "\(number)") }
      for number in 1...8 { try await pool.wait(for: Int64(number), toBe: "completed") }
      try await eventually("four commands to begin") { lines(begun).count >= 4 }
      #expect(lines(begun).count == 4)
      worker.signal(SIGTERM)
      try await worker.event("worker.draining")
      try directory.write("", to: "go")
      #expect(try await worker.exit() == .code(0))
      #expect(lines(begun).count == 8)
      #expect(worker.events("hook.done").count == 8)
    }
  }

  @Test func `a command that does not end is killed at the end of a drain's time`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let begun = directory.path("begun")
      let worker = try pool.worker("--on-complete", "echo $$ >>\(begun); exec sleep 3600")
      for number in 1...5 { try await pool.submit(origin.url("/\(number)"), to: "\(number)") }
      for number in 1...5 { try await pool.wait(for: Int64(number), toBe: "completed") }
      try await eventually("four commands to begin") { lines(begun).count == 4 }
      worker.signal(SIGTERM)
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      #expect(worker.events("hook.failed").map { $0[field: "signal"] } == ["9", "9", "9", "9"])
      #expect(worker.events("hook.skipped").count == 1)
      for pid in lines(begun).compactMap({ Int32($0) }) { #expect(kill(-pid, 0) != 0) }
    }
  }
}
