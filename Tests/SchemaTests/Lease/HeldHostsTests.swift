import JobQueue
import Postgres
import TestSupport
import Testing

/// Some hosts are locked all the time, and others only for a moment, but again and again.
struct HeldHostsTests {
  private static let hosts = "SELECT FROM haul.host h WHERE h.name"
  private static let lanes =
    "SELECT FROM haul.lane l JOIN haul.host h ON h.id = l.host WHERE h.name"

  /// Locks rows of three hosts while `body` runs. `late.test`, whose id is higher, is locked until another session has waited for
  /// it for 50 ms: five times as long as a first try.
  private func holding(_ rows: String, _ pool: Pool, _ body: () async throws -> Void) async throws {
    let (holder, watcher) = (try await pool.connect(), try await pool.connect())
    try await holder.script("BEGIN; \(rows) = 'late.test' FOR UPDATE")
    let waits = """
      SELECT count(*) > 0 FROM pg_locks l WHERE NOT l.granted AND l.waitstart < clock_timestamp() - interval '50 milliseconds'
        AND $1 = ANY (pg_blocking_pids(l.pid))
      """
    try await pool.holding("\(rows) <> 'late.test' FOR UPDATE") {
      async let release: Void = {
        try await eventually("a session that waits for the last host", within: .seconds(60)) {
          try await watcher.query(waits, [holder.backendPID])[0].decode(0, as: Bool.self)
        }
        try await holder.script("ROLLBACK")
      }()
      try await body()
      try await release
    }
    await holder.close()
    await watcher.close()
  }

  private func submit(_ pool: Pool, after delay: Duration? = nil) async throws {
    for host in ["a.test", "b.test", "c.test", "late.test"] {
      try await pool.submit(1, to: host, after: delay)
    }
  }

  @Test func `a settlement waits for each of them in turn`() async throws {
    try await Pool.open { pool in
      try await submit(pool)
      let worker = try await pool.worker()
      let leases = try await worker.claim(4)
      try await holding(Self.hosts, pool) {
        try await eventually("the end of the last host's job", within: .seconds(60)) {
          let reply = try await worker.call(
            leases.map { LeaseEnding(job: $0.job, token: $0.token, result: .released) })
          return reply.settled.count == 1
        }
      }
    }
  }

  @Test func `due jobs wait for each of them in turn`() async throws {
    try await Pool.open { pool in
      // The lanes are there.
      try await submit(pool)
      try await pool.worker().claim(4)
      try await submit(pool, after: .seconds(60))
      try await pool.execute("UPDATE haul.scheduled SET run_at = run_at - interval '1 hour'")
      try await holding(Self.lanes, pool) {
        try await eventually("the last host's job", within: .seconds(60)) {
          try await pool.jobs.promote(limit: 9).due == 1
        }
      }
    }
  }
}
