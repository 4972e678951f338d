import Postgres
import TestSupport
import Testing

/// `haul rescue worker`: an operator takes the jobs of one worker away.
@Suite struct RescueWorkerTests {
  @Test func `another worker takes a running transfer over, and the rescued one ends`() async throws
  {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let first = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(first)
      let second = try pool.worker()
      try await second.event("worker.started")

      let number = try await first.workerNumber()
      let output = try await pool.command("rescue", "worker", "\(number)")
      #expect(
        output == [
          "worker \(number) (\(try await machine(pool, number))) is fenced and can no longer report on jobs. Other workers take over the job of this worker"
        ])
      // Nobody has told its process anything.
      #expect(try await first.exit() == .code(0))
      try await second.event("job.resumed")
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")

      #expect(try file.firstDifference(in: pool.directory) == nil)
      #expect(
        try await pool.attempts(of: job)
          == [Attempt("rescued", from: 0), Attempt("completed", from: GatedFile.half)])
      #expect(first.events("job.completed").isEmpty)
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])

      let again = try await pool.command("rescue", "worker", "\(number)", "--json")
      #expect(
        again == ["{\"worker\":\(number),\"jobs\":0,\"ended\":true,\"kept\":0}"])
      let said = try await pool.command("rescue", "worker", "\(number)")
      #expect(said.last?.hasSuffix("has already ended. It had no jobs") == true)
    }
  }

  /// Its connections stay, so that for the pool it lives.
  @Test func `a worker that stands still loses its job, and finds that out when it goes on`()
    async throws
  {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let coordinator = try await pool.coordinator()
      let first = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(first)
      try await first.stop()
      let second = try pool.worker()
      try await second.event("worker.started")

      try await pool.command("rescue", "worker", "\(try await first.workerNumber())")
      try await second.event("job.resumed")
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")
      first.wake()
      #expect(try await first.exit() == .code(0))

      #expect(try file.firstDifference(in: pool.directory) == nil)
      #expect(try await pool.attempts(at: job) == ["rescued", "completed"])
      #expect(first.events("job.completed").isEmpty)
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
      try await coordinator.drain()
    }
  }

  private func machine(_ pool: HaulPool, _ worker: Int64) async throws -> String {
    try await pool.admin.query(
      "SELECT format('%s, pid %s', machine, pid) FROM haul.workers WHERE worker = $1", [worker])[0]
      .decode(0)
  }
}
