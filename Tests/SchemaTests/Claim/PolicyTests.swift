import JobQueue
import Postgres
import TestSupport
import Testing

/// How hosts get the limits that operators set.
struct PolicyTests {
  /// Creates `count` hosts, `1.many.test` and so on.
  private func hosts(_ count: Int, _ pool: Pool) async throws {
    try await pool.execute(
      "SELECT haul.ensure_hosts(ARRAY(SELECT n || '.many.test' FROM generate_series(1, $1::int) n))",
      [count])
  }

  private func caps(_ pool: Pool) async throws -> [Int: Int] {
    let rows = try await pool.admin.query(
      "SELECT cap, count(*)::int AS count FROM haul.host WHERE name LIKE '%.many.test' GROUP BY cap"
    )
    var caps: [Int: Int] = [:]
    for row in rows { caps[try row.decode("cap")] = try row.decode("count") }
    return caps
  }

  @Test func `one statement changes at most a thousand hosts`() async throws {
    try await Pool.open { pool in
      try await hosts(2500, pool)
      try await pool.execute("SELECT haul.set_host('*', 9, NULL, NULL)")
      #expect(try await caps(pool) == [9: 1000, 4: 1500])
      // A worker of any version calls this every second.
      _ = try await pool.jobs.promote(limit: 1)
      #expect(try await caps(pool) == [9: 2000, 4: 500])
      #expect(try await pool.jobs.setHost("*", cap: 7))
      #expect(try await caps(pool) == [7: 2500])
      #expect(try await pool.jobs.unsetHost("*"))
      #expect(try await caps(pool) == [4: 2500])
      #expect(try await pool.value("SELECT count(*) FROM haul.host_change") == 0)
    }
  }

  @Test func `hosts of a submission that is not committed yet follow a new policy`() async throws {
    try await Pool.open { pool in
      let other = try await pool.connect()
      try await other.script(
        "BEGIN; SELECT haul.ensure_hosts(ARRAY['1.many.test', '2.many.test'])")
      #expect(try await pool.jobs.setHost("*.many.test", cap: 9))
      try await other.script("COMMIT")
      #expect(try await caps(pool) == [4: 2])
      _ = try await pool.jobs.promote(limit: 1)
      #expect(try await caps(pool) == [9: 2])
    }
  }

  @Test(arguments: ["host", "lane", "host_change"])
  func `a host that is locked gets its limits later`(table: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(2, to: "1.many.test")
      try await hosts(3, pool)
      let column = table == "host" ? "id" : "host"
      try await pool.holding(
        """
        SELECT FROM haul.\(table) WHERE \(column) = (SELECT id FROM haul.host WHERE name = '1.many.test') FOR UPDATE
        """
      ) {
        _ = try await pool.jobs.promote(limit: 1)
        try await pool.execute("SELECT haul.set_host('2.many.test', 8, NULL, NULL)")
        #expect(try await caps(pool) == [8: 1, 4: 2])
        guard table != "host_change" else { return }
        #expect(try await !pool.jobs.setHost("*.many.test", cap: 9))
        #expect(try await caps(pool) == [9: 1, 8: 1, 4: 1])
      }
      _ = try await pool.jobs.promote(limit: 1)
      #expect(try await pool.value("SELECT count(*) FROM haul.host_change") == 0)
      #expect(try await caps(pool) == (table == "host_change" ? [8: 1, 4: 2] : [9: 2, 8: 1]))
    }
  }

  @Test func `hosts behind a thousand with locked lanes get their limits`() async throws {
    try await Pool.open { pool in
      try await hosts(2100, pool)
      try await pool.execute(
        """
        INSERT INTO haul.lane_key (host, queue, instance) SELECT h.id, 1, 0 FROM haul.host h WHERE h.id <= 1500;
        """)
      try await pool.execute(
        "INSERT INTO haul.lane (host, queue, instance, priority, head) SELECT h.id, 1, 0, 5, 1 FROM haul.host h WHERE h.id <= 1500"
      )
      try await pool.holding("SELECT FROM haul.lane FOR UPDATE") {
        #expect(try await !pool.jobs.setHost("*.many.test", cap: 9))
        #expect(try await caps(pool)[9] == 600)
        try await pool.execute(
          "SELECT haul.set_host(h.name, 7, NULL, NULL) FROM haul.host h ORDER BY h.id DESC LIMIT 1")
        #expect(try await caps(pool)[7] == 1)
      }
      #expect(try await pool.jobs.setHost("*.many.test", cap: 8))
      #expect(try await caps(pool) == [8: 2099, 7: 1])
      try await pool.admin.script("DELETE FROM haul.lane; DELETE FROM haul.lane_key")
    }
  }

  /// Neither with old statistics nor in a session that keeps its plans.
  @Test func `only the hosts of a step are compared with the policies`() async throws {
    try await Pool.open { pool in
      try await hosts(5000, pool)
      let before: Int64 = try await reads(pool) { try await pool.jobs.promote(limit: 1) }
      for _ in 1...2 { _ = try await pool.jobs.promote(limit: 1) }
      let after: Int64 = try await reads(pool) { try await pool.jobs.promote(limit: 1) }
      // A row of host is read when it is locked and when it is changed, and its lanes are looked for.
      #expect(before < 10_000 && after < 10_000, "\(before), \(after)")
    }
  }

  /// The rows of hosts and changes that a call reads in this session.
  private func reads(_ pool: Pool, _ call: () async throws -> some Sendable) async throws -> Int64 {
    let sum = """
      SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_xact_user_tables
      WHERE relname IN ('host', 'host_change', 'host_name', 'host_policy')
      """
    try await pool.admin.script("BEGIN")
    let before: Int64 = try await pool.admin.query(sum)[0].decode(0)
    _ = try await call()
    let after: Int64 = try await pool.admin.query(sum)[0].decode(0)
    try await pool.admin.script("COMMIT")
    return after - before
  }

  @Test func `only an operator's change ends a cap that Haul has learned`() async throws {
    try await Pool.open { pool in
      try await hosts(1, pool)
      try await pool.execute("UPDATE haul.host SET cap = 2")
      _ = try await pool.jobs.promote(limit: 1)
      #expect(try await caps(pool) == [2: 1])
      try await pool.jobs.setHost("*", cap: 4)
      #expect(try await caps(pool) == [4: 1])
    }
  }

  @Test func `policies are set by one session after the other, and read while they are set`()
    async throws
  {
    try await Pool.open { pool in
      try await hosts(3, pool)
      _ = try await pool.jobs.promote(limit: 1)
      let (one, two) = (try await pool.connect(), try await pool.connect())
      try await one.script("BEGIN; SELECT haul.set_host('*', 9, NULL, NULL)")
      async let second: Void = two.script("SELECT haul.set_host('*', 7, NULL, NULL)")
      try await pool.untilBlocked(two)
      // A submission does not wait, and maintenance goes on without the policies.
      try await pool.submit(2, to: "4.many.test")
      _ = try await pool.jobs.promote(limit: 1)
      try await one.script("COMMIT")
      try await second
      _ = try await pool.jobs.promote(limit: 1)
      #expect(try await caps(pool) == [7: 4])
    }
  }
}
