import JobQueue
import Postgres
import TestSupport
import Testing

/// Advisory locks are anybody's: a login that takes them stops nothing.
struct AdvisoryLockTests {
  /// A monitor that holds the locks that earlier versions used, and the next thousand keys of their sequence.
  private func withGreedyMonitor(_ pool: Pool, _ body: () async throws -> Void) async throws {
    try await pool.database.withLogin("haul_monitor") { login in
      let monitor = try await login.connect()
      for lock in ["hashtextextended('haul.partitions', 0)", "(x'4861'::bigint << 48)"] {
        _ = try await monitor.query("SELECT pg_advisory_lock(\(lock))")
      }
      _ = try await monitor.query(
        "SELECT pg_advisory_lock((x'4861'::bigint << 48) | n), pg_advisory_lock(n) FROM generate_series(1, 1000) n"
      )
      try await body()
      await monitor.close()
    }
  }

  @Test func `workers register, lists are submitted and partitions made`() async throws {
    try await Pool.open { pool in
      try await withGreedyMonitor(pool) {
        for session in [pool.admin, pool.patient] {
          try await session.execute("SET statement_timeout = '20s'")
        }
        let worker = try await pool.worker()
        try await worker.work.execute("SET statement_timeout = '20s'")
        try await JobQueue(worker.work).attachSession(worker.caller)
        try await pool.submit(3)
        try await pool.execute("SELECT setval('haul.job_id', 3000000)")
        try await pool.submit(3)
        #expect(try await worker.claim(4).count == 4)
      }
    }
  }

  @Test func `a login without the owner's rights cannot stop a migration`() async throws {
    try await withTestDatabase { database in
      let (monitor, owner) = (try await database.connect(), try await database.connect())
      _ = try await monitor.query("SELECT pg_advisory_lock(hashtextextended('haul.migrate', 0))")
      try await monitor.script("SET ROLE haul_monitor")
      await #expect(throws: PostgresError.self) {
        try await monitor.script("BEGIN; LOCK TABLE haul.migration IN ROW SHARE MODE")
      }
      try await owner.execute("UPDATE haul.repeatable SET digest = 'another'")
      try await owner.execute("SET statement_timeout = '20s'")
      let report = try await Migrator.migrate(owner)
      #expect(!report.refreshed.isEmpty)
      await monitor.close()
    }
  }

  @Test func `somebody keeps house`() async throws {
    try await Pool.open { pool in
      try await pool.execute("DELETE FROM haul.pulse")
      try await withGreedyMonitor(pool) {
        #expect(try await pool.jobs.lead())
        _ = try await pool.jobs.rescue()
        // However long it takes, that round was just now, and nobody else need hold one.
        try await pool.execute(
          "UPDATE haul.pulse SET round_at = clock_timestamp() + interval '1 hour'")
        #expect(try await pool.jobs.lead() == false)
      }
    }
  }

  /// Two submissions that cross a boundary at once would else wait for each other's end.
  @Test func `partitions are there before the step that needs them`() async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT setval('haul.job_id', 5 * 1048576 - 2)")
      try await pool.submit(4)
      #expect(
        try await pool.value(
          """
          SELECT count(DISTINCT j.xmin::text) = 1 AND bool_and(c.xmin::text <> j.xmin::text)
          FROM haul.job j JOIN pg_class c ON c.oid = j.tableoid
          """))
    }
  }
}
