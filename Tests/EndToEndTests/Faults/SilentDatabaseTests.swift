import Postgres
import TestSupport
import Testing

/// The database answers nothing for longer than a lease holds, and nobody else takes the job.
@Suite struct SilentDatabaseTests {
  private let first: Int64 = 1 << 20
  private let second: Int64 = 2 << 20

  /// 1. A record of the first MiB is not answered, and the second MiB comes.
  /// 2. The worker fences itself and stops the transfer.
  /// 3. The database answers, and the lease is still live: the worker gives the job back and claims it again.
  @Test func `what came during the silence is not fetched again`() async throws {
    let (gate, late) = (Gate("the record"), Gate("the fence"))
    let origin = try OriginServer { request, reply in
      var representation = Representation(seed: 3, length: 3 << 20)
      representation.gates = [first: gate, second: late]
      try representation.answer(request, reply)
    }
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      let job = try await pool.submit(origin.url("/a"), to: "a")
      relay.lose(.silence, replyTo: "haul.checkpoint(", count: .max)
      let worker = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await relay.lost(1)
      gate.open()
      try await eventually("two MiB to be there") {
        try await pool.value("SELECT coalesce(max(bytes), 0) FROM haul.running") == second
      }
      relay.partition()
      try await worker.event("worker.fenced", within: .seconds(60))
      late.open()
      // By then a stop waits for nothing but the answer.
      try await relay.asked(6)
      // Else the worker, which leads, might rescue itself before its first heartbeat.
      try await pool.admin.script(
        "UPDATE haul.worker SET heartbeat_at = heartbeat_at + interval '1 hour', expires_at = expires_at + interval '1 hour'"
      )
      relay.restore()
      try await pool.wait(for: job, toBe: "completed", within: .seconds(60))
      #expect(
        try await pool.values("SELECT result::text FROM haul.attempts ORDER BY token") == [
          "released", "completed",
        ])
      #expect(
        try await pool.value("SELECT max(resumed_at) FROM haul.attempts") == second)
      #expect(
        try FileTree.firstDifference(
          of: "\(pool.directory)/a", from: Pattern(seed: 3), length: 3 << 20) == nil)
    }
  }
}
