import Postgres
import TestSupport
import Testing

/// `haul migrate --check`, as a pipeline runs it before it replaces programs.
struct MigrateCheckTests {
  @Test func `it fails while the schema is missing or old, and changes nothing`() async throws {
    try await HaulPool.open { pool in
      let current = try await pool.haul(["migrate", "--check"])
      #expect(current.exit == .code(0), "\(current)")
      try await pool.admin.execute(
        "UPDATE haul.repeatable SET digest = 'other'")
      let old = try await pool.haul(["migrate", "--check"])
      #expect(old.exit == .code(1))
      #expect(
        old.standardError.last
          == "haul migrate: the schema is older than this program. Run: haul migrate")
      #expect(
        try await pool.value("SELECT count(*) FROM haul.repeatable WHERE digest = 'other'") > 0)
      try await pool.database.withLogin("haul_monitor") { login in
        let stranger = try await pool.haul(
          ["migrate", "--check"], environment: ["HAUL_DATABASE_URL": login.conninfo])
        #expect(stranger.exit == .code(77), "\(stranger)")
      }
      try await pool.command("migrate")
      #expect(try await pool.haul(["migrate", "--check"]).exit == .code(0))
      try await pool.admin.execute("DROP SCHEMA haul CASCADE")
      let none = try await pool.haul(["migrate", "--check"])
      #expect(none.exit == .code(1))
      #expect(none.standardError.last == "haul migrate: there is no schema. Run: haul migrate")
      let wrong = try await pool.haul(["migrate", "--check", "--force"])
      #expect(wrong.exit == .code(64))
    }
  }
}
