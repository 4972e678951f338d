import Glibc
import Postgres
import TestSupport
import Testing

/// A job that the database cannot end, whatever is wrong with its data: a log names it.
@Suite struct SetAsideJobTests {
  /// From now on nothing but its failure can be written about this job.
  private func poison(_ pool: HaulPool, _ job: Int64) async throws {
    try await pool.admin.script(
      """
      CREATE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'poison' USING ERRCODE = '22003'; END $$;
      CREATE TRIGGER poison BEFORE INSERT ON haul.attempt FOR EACH ROW
        WHEN (NEW.job = \(job) AND NEW.error IS DISTINCT FROM 'internal') EXECUTE FUNCTION public.poison()
      """)
  }

  private func expectNamed(_ log: HaulProcess, _ pool: HaulPool, _ job: Int64) async throws {
    let failed = try await log.event("job.failed", within: .seconds(60))
    #expect(failed[field: "job"] == "\(job)")
    #expect(failed[field: "error"] == "internal")
    #expect(
      failed[field: "message"]
        == "the database cannot record the end of this job; 'haul job \(job)' shows the reason")
    let check = try await pool.command("check")
    #expect(check.contains { $0.contains("set aside: 1 job;") }, "\(check)")
    #expect(try await pool.state(of: job) == "failed")
    #expect(try await pool.violations() == [])
  }

  @Test func `the worker that settles it names it`() async throws {
    let origin = try OriginServer { try Representation(seed: 1, length: 5000).answer($0, $1) }
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/1"), to: "1")
      try await poison(pool, job)
      let other = try await pool.submit(origin.url("/2"), to: "2")
      let worker = try pool.worker()
      try await expectNamed(worker, pool, job)
      try await pool.wait(for: other, toBe: "completed")
      try await worker.drain()
    }
  }

  @Test func `the leader that takes it from a dead worker names it`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let coordinator = try await pool.coordinator()
      let worker = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(worker)
      try await poison(pool, job)
      worker.signal(SIGKILL)
      try await worker.exit()
      try await pool.expire(worker.workerNumber())
      try await expectNamed(coordinator, pool, job)
      file.gate.open()
      try await coordinator.drain()
    }
  }
}
