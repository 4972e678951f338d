import TestSupport
import Testing

/// A few jobs spread over the workers.
@Suite struct WorkSpreadTests {
  /// Another worker of the same store, of which only the row is there.
  private static let peer = """
    INSERT INTO haul.worker (secret_digest, machine, pid, version, concurrency, instances, registered_at, heartbeat_at,
      expires_at, steady_since)
    SELECT w.secret_digest, w.machine, w.pid, w.version, w.concurrency, w.instances, w.registered_at, w.heartbeat_at,
      clock_timestamp() + interval '1 hour', w.steady_since FROM haul.worker w RETURNING 1
    """
  /// Two heartbeats have come since: the answer to the first of them has been read.
  private static let beats = """
    SELECT count(*) FROM haul.worker w WHERE w.heartbeat_at > (SELECT max(p.expires_at) FROM haul.worker p)
      - interval '1 hour' + interval '3 seconds'
    """
  private static let claims = """
    SELECT string_agg(c.jobs::text, ' ' ORDER BY c.call)
    FROM (SELECT l.call, count(*) AS jobs FROM haul.lease l GROUP BY l.call) c
    """

  @Test func `a worker leaves its share to another that waits for the same jobs`() async throws {
    let gate = Gate("all jobs run")
    let origin = try OriginServer { request, reply in
      if request.path != "/first" { try reply.wait(for: gate) }
      try Representation(seed: 1, length: 10).answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.command("host", "set", "*", "--cap", "16")
      let worker = try pool.worker("--concurrency", "16")
      // A host that has not answered yet gets one transfer at a time.
      try await pool.wait(for: pool.submit(origin.url("/first"), to: "first"), toBe: "completed")
      let _: Int = try await pool.value(Self.peer)
      try await eventually("two heartbeats") { try await pool.value(Self.beats) == 1 }
      let urls = (1...16).map { origin.url("/\($0)") }
      #expect(try await pool.haul(["submit"] + urls).exit == .code(0))
      try await eventually("all jobs to run") {
        try await pool.value("SELECT count(*) FROM haul.lease") == 16
      }
      #expect(try await pool.value(Self.claims) == "4 4 4 4")
      gate.open()
      try await pool.stop(worker)
    }
  }
}
