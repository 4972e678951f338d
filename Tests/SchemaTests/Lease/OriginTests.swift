import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// After a promotion, a restore or a crash commits may be missing: what they handed out is not handed out again.
struct OriginTests {
  private static let tokenStep: Int64 = 4_294_967_296
  private static let jobStep: Int64 = 16_777_216

  private func token(_ pool: Pool, _ worker: TestWorker) async throws -> Int64 {
    try await pool.submit(1)
    let lease = try await worker.claimOne()
    #expect(try await worker.end(lease, .completed) == .completed)
    return lease.token
  }

  @Test func `a new pool begins with one and remembers its origin`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      #expect(try await token(pool, worker) == 1)
      #expect(try await token(pool, worker) == 2)
      let origin: String = try await pool.value(
        """
        SELECT concat_ws(' ', p.timeline, p.system = c.system_identifier, p.server_start = pg_postmaster_start_time())
        FROM haul.pool p, pg_control_system() c
        """)
      #expect(origin == "1 t t")
    }
  }

  @Test(arguments: [
    "timeline = timeline + 1, server_start = '-infinity'",
    "system = system + 1, server_start = '-infinity'",
    // As after pg_dump and pg_restore on the same server.
    "database = 1",
  ])
  func `on another timeline, server or database tokens and jobs go on far above`(
    change: String
  ) async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      #expect(try await token(pool, worker) == 1)
      let last: Int64 = try await pool.value("SELECT max(id) FROM haul.job")
      try await pool.execute("UPDATE haul.pool SET \(change)")
      #expect(try await token(pool, worker) == Self.tokenStep + 2)
      #expect(try await token(pool, worker) == Self.tokenStep + 3)
      #expect(
        try await pool.column("SELECT id FROM haul.job WHERE id > \(last) ORDER BY id")
          == [last + Self.jobStep + 1, last + Self.jobStep + 2])
    }
  }

  @Test func `a restart alone changes nothing`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      #expect(try await token(pool, worker) == 1)
      try await pool.execute("UPDATE haul.pool SET server_start = '-infinity'")
      #expect(try await token(pool, worker) == 2)
    }
  }

  /// A crash empties the tables that are not logged.
  @Test(arguments: [true, false])
  func `after a crash tokens go on far above, once`(beginsWithRescue: Bool) async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      #expect(try await token(pool, worker) == 1)
      try await pool.execute("TRUNCATE haul.pulse")
      if beginsWithRescue { _ = try await pool.jobs.rescue() }
      #expect(try await token(pool, worker) == Self.tokenStep + 2)
      _ = try await pool.jobs.rescue()
      #expect(try await token(pool, worker) == Self.tokenStep + 3)
      #expect(try await pool.value("SELECT max(id) < 1000 FROM haul.job"))
    }
  }

  @Test func `of two sessions that notice it one makes the step`() async throws {
    try await Pool.open { pool in
      let (one, two) = (try await pool.worker(), try await pool.worker())
      #expect(try await token(pool, one) == 1)
      try await pool.submit(2)
      try await pool.execute("UPDATE haul.pool SET timeline = 7, server_start = '-infinity'")
      try await one.work.script("BEGIN")
      let first = try await one.claimOne()
      // It waits for nobody, and may draw no token yet.
      let early = try await two.call(room: 1)
      #expect(early.claimed.isEmpty && early.contended)
      try await one.work.script("COMMIT")
      let second = try await two.claimOne()
      #expect([first.token, second.token] == [Self.tokenStep + 2, Self.tokenStep + 3])
    }
  }

  /// As on Amazon Aurora, which has the function but refuses it.
  @Test func `a server that does not tell its WAL position still gives tokens`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      #expect(try await token(pool, worker) == 1)
      try await pool.execute(
        "ALTER FUNCTION pg_catalog.pg_current_wal_lsn() RENAME TO pg_hidden_wal_lsn")
      try await pool.execute("UPDATE haul.pool SET server_start = '-infinity'")
      #expect(try await token(pool, worker) == 2)
      #expect(
        try await pool.value(
          "SELECT p.timeline = c.timeline_id FROM haul.pool p, pg_control_checkpoint() c"))
    }
  }

  /// Else its round would hide the crash from those that draw tokens.
  @Test func `the leader waits while another session notes the origin`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      #expect(try await token(pool, worker) == 1)
      try await pool.execute("TRUNCATE haul.pulse")
      try await pool.holding("SELECT FROM haul.pool FOR UPDATE") { () async throws in
        #expect(try await pool.jobs.rescue().grace)
        #expect(try await pool.value("SELECT count(*) FROM haul.pulse") == 0)
      }
      #expect(try await token(pool, worker) == Self.tokenStep + 2)
    }
  }

  /// As after a promotion that lost the commits of the first one.
  @Test func `a token that belongs to another worker is lost`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let (owner, other) = (try await pool.worker(), try await pool.worker())
      let lease = try await owner.claimOne()
      #expect(try await owner.heartbeat([lease]).lost.isEmpty)
      #expect(try await other.heartbeat([lease]).lost == [lease.token])
    }
  }
}
