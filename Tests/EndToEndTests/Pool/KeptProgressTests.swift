import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// A job that fails through no fault of its own goes on where it stopped once somebody has mended what was wrong.
@Suite struct KeptProgressTests {
  /// Half of the file is there and recorded, and its worker gone in order.
  private func half(_ pool: HaulPool, _ file: GatedFile) async throws -> Int64 {
    let job = try await file.submit(to: pool)
    let first = try pool.worker()
    _ = try await file.checkpoint(first)
    try await pool.stop(first)
    return job
  }

  /// A worker that was told of no private address.
  private func strictWorker(_ pool: HaulPool) throws -> HaulProcess {
    try pool.start([
      "worker", "--store", "\(HaulPool.store)=\(pool.directory)", "--exit-when-idle",
    ])
  }

  private func goesOn(_ pool: HaulPool, _ file: GatedFile, _ job: Int64) async throws {
    file.gate.open()
    let last = try pool.worker("--exit-when-idle")
    let resumed = try await last.event("job.resumed")
    #expect(resumed[field: "offset"] == "\(GatedFile.half)")
    #expect(try await last.exit(within: .seconds(60)) == .code(0))
    #expect(try await pool.state(of: job) == "completed")
    #expect(try file.firstDifference(in: pool.directory) == nil)
    #expect(try pool.parts() == [])
    #expect(try await pool.violations() == [])
  }

  @Test func `a worker without --allow-net costs a job nothing of what it has`() async throws {
    let file = try GatedFile()
    try await HaulPool.open { pool in
      let job = try await half(pool, file)
      let strict = try strictWorker(pool)
      #expect(try await strict.exit(within: .seconds(60)) == .code(0))
      #expect(try await pool.state(of: job) == "failed")
      #expect(try pool.parts().count == 1)
      #expect(try await pool.violations() == [])
      // What other jobs go through does not touch it.
      try await pool.command("submit", "http://127.0.0.9:1/x", "--out", "x", "--batch", "other")
      try await pool.command("cancel", "--batch", "other")

      let said = try await pool.command("job", "\(job)").joined(separator: "\n")
      #expect(said.contains("--allow-net 127.0.0.1/32"))
      #expect(said.contains("WHAT TO DO"))
      try await pool.command("retry", "--error", "blocked_address")
      try await goesOn(pool, file, job)
    }
  }

  @Test func `submitted again, it goes on too`() async throws {
    let file = try GatedFile()
    try await HaulPool.open { pool in
      let job = try await half(pool, file)
      #expect(try await strictWorker(pool).exit(within: .seconds(60)) == .code(0))
      _ = try await file.submit(to: pool)
      try await goesOn(pool, file, job)
    }
  }

  /// 1. A checkpoint is recorded, and the connection goes silent before the worker hears of it.
  /// 2. The worker is told to stop: the run ends without the answer.
  /// 3. It gives the connection up, asks again and is answered: what the database calls durable must still be there.
  @Test func `what is on its way to the database when a run ends stays on the disk`() async throws {
    let file = try GatedFile()
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      let job = try await file.submit(to: pool)
      let first = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await file.origin.sent(GatedFile.half)
      relay.lose(.silence, replyTo: "haul.checkpoint(")
      try await relay.lost(1)
      first.signal(SIGTERM)
      #expect(try await first.exit(within: .seconds(60)) == .code(0))
      try await goesOn(pool, file, job)
    }
  }

  @Test func `nothing is kept for longer than a week`() async throws {
    let file = try GatedFile()
    try await HaulPool.open { pool in
      let job = try await half(pool, file)
      #expect(try await strictWorker(pool).exit(within: .seconds(60)) == .code(0))
      try await pool.admin.execute(
        "UPDATE haul.outcome SET finished_at = finished_at - interval '8 days' WHERE job = $1",
        [job])
      // A worker sweeps when it starts or ends.
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      #expect(try pool.parts() == [])
    }
  }
}
