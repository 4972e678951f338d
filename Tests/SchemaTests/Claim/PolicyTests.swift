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
