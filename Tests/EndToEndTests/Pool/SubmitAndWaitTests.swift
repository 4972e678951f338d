import Foundation
import Glibc
import TestSupport
import Testing

/// A whole pool made of the program's own commands: database, store, worker, origin.
struct SubmitAndWaitTests {
  private func run(
    _ arguments: [String], _ database: TestDatabase
  ) async throws -> ChildProcess.Output {
    try await ChildProcess.run(
      HaulProcess.path, arguments, environment: ["HAUL_DATABASE_URL": database.conninfo])
  }

  @Test func `submit --wait ends with the jobs, and with 1 if some failed`() async throws {
    try await withTestDatabase { database in
      let directory = try TemporaryDirectory()
      let site = Site(["/a": Representation(seed: 1, length: 100_000)])
      let origin = try OriginServer(handler: site.answer)
      _ = try await run(["store", "init", "films", directory.path], database)
      let worker = try HaulProcess(
        [
          "worker", "--store", "films=\(directory.path)", "--allow-net", "127.0.0.1",
          "--log-format", "json",
        ], environment: ["HAUL_DATABASE_URL": database.conninfo])
      try await worker.event("worker.started")

      let good = try await run(["submit", "--wait", origin.url("/a")], database)
      #expect(good.exit == .code(0))
      let file = directory.path("127.0.0.1_\(origin.port)/a")
      #expect(try Data(contentsOf: URL(filePath: file)).count == 100_000)
      let bad = try await run(["submit", "--wait", "--json", origin.url("/absent")], database)
      #expect(bad.exit == .code(1))
      #expect(bad.standardError.count == 2)
      #expect(
        bad.standardError.first
          == "haul submit: http_404: 127.0.0.1_\(origin.port)/absent: the server answered 404")
      #expect(
        bad.standardError.last?.hasPrefix(
          "haul submit: 1 job failed (1 http_404). List them with: haul jobs --batch submit-")
          == true)

      worker.signal(SIGTERM)
      #expect(try await worker.exit() == .code(0))
    }
  }

  /// Earlier submissions brought the job; each line names it again, once to a batch where it is not.
  @Test(arguments: [[], ["--batch", "tuesday"]])
  func `submit --wait waits for what was in the queue already`(batch: [String]) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      let line = ["submit", "--wait", file.origin.url("/file"), "--out", "file"] + batch
      let wait = try pool.start(line)
      _ = try await wait.child.output.first("the report") {
        $0.standardOutput.first {
          $0 == "submitted 0 jobs, 1 existed already, 0 queued again"
        }
      }
      #expect(try await pool.state(of: job) == "running")
      let process: Int = try await pool.value("SELECT pid FROM haul.workers")
      let shown = try await pool.command("job", "\(job)")
      #expect(shown.contains { $0.wholeMatch(of: /PID +([0-9]+)/)?.1 == "\(process)" }, "\(shown)")
      #expect(shown.contains { $0.hasPrefix("MACHINE ") })
      file.gate.open()
      let output = try await wait.child.result()
      #expect(output.exit == .code(0))
      #expect(output.standardOutput.last == "completed 1 job, 8.0 MiB")
      try await pool.stop(worker)
    }
  }

  @Test func `submit --batch --wait waits for all of the batch`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await pool.command(
        "submit", file.origin.url("/file"), "--out", "file", "--batch", "monday")
      _ = try await file.checkpoint(worker)
      let wait = try pool.start([
        "submit", "--wait", "--batch", "monday", file.origin.url("/small/a"),
      ])
      _ = try await wait.child.output.first("the report") { $0.standardOutput.first }
      file.gate.open()
      #expect(try await wait.child.result().standardOutput.last == "completed 2 jobs, 8.0 MiB")
      try await pool.stop(worker)
    }
  }
}
