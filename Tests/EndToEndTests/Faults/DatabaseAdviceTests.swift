import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// What commands say of databases that refuse: how it ends, and the advice.
@Suite struct DatabaseAdviceTests {
  private func expect(
    _ command: String..., on conninfo: String, code: Int32, says words: String
  ) async throws {
    let output = try await ChildProcess.run(
      HaulProcess.path, command, environment: ["HAUL_DATABASE_URL": conninfo])
    #expect(output.exit == .code(code), "\(output)")
    #expect(output.standardError.last?.contains(words) == true, "\(output.standardError)")
  }

  @Test func `a login whose connections are all in use is told so`() async throws {
    try await withTestDatabase { database in
      try await database.withLogin("haul_monitor") { login in
        let admin = try await database.connect()
        try await admin.execute("ALTER ROLE \"\(login.name)\" CONNECTION LIMIT 0")
        try await expect(
          "jobs", on: login.conninfo, code: 69,
          says: "Try again when one has ended, or raise max_connections")
        await admin.close()
      }
    }
  }

  /// The superuser who migrates acts as haul_admin there.
  @Test func `a schema of somebody else's is left alone, and its owner is named`() async throws {
    // Of which the server has the roles.
    try await withTestDatabase { _ in
      try await withTestDatabase(.empty) { database in
        let admin = try await database.connect()
        try await admin.execute("CREATE SCHEMA haul")
        try await expect(
          "migrate", on: database.conninfo, code: 78,
          says: "the schema haul belongs to postgres, and Haul's belongs to haul_admin")
        try await admin.execute("ALTER SCHEMA haul OWNER TO haul_admin")
        let output = try await ChildProcess.run(
          HaulProcess.path, ["migrate"], environment: ["HAUL_DATABASE_URL": database.conninfo])
        #expect(output.exit == .code(0), "\(output)")
        await admin.close()
      }
    }
  }

  @Test func `a server without TLS is told of`() async throws {
    try await withTestDatabase { database in
      let relay = try DatabaseRelay(to: database)
      try await expect(
        "jobs", on: "\(relay.conninfo) sslmode=require", code: 78, says: "Set 'ssl = on'")
    }
  }

  /// Where another function is missing than 'haul migrate' would make, nobody is told to migrate for another reason.
  @Test func `who cancels a command is not said to lack a schema`() async throws {
    try await HaulPool.open { pool in
      try await pool.admin.script("BEGIN; LOCK TABLE haul.queue IN ACCESS EXCLUSIVE MODE")
      let command = try pool.start(["queues"])
      let observer = try await pool.database.connect()
      try await eventually("the command to be cancelled") {
        let cancelled = try await observer.query(
          """
          SELECT pg_cancel_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'haul' AND wait_event_type = 'Lock'
          """)
        return !cancelled.isEmpty
      }
      #expect(try await command.exit() == .code(75))
      #expect(
        command.child.output.value.standardError.last?.hasSuffix(
          "Connect to PostgreSQL itself and not to a pooler, and try again.") == true)
      try await pool.admin.script("ROLLBACK")
      await observer.close()
    }
  }

  /// As in a container that runs under any number.
  @Test(.enabled("becoming another user takes root") { getuid() == 0 })
  func `a user without a name is told to name one`() async throws {
    try await withTestDatabase { database in
      let relay = try DatabaseRelay(to: database)
      let place = relay.conninfo.replacing(/user=[^ ]+/, with: "")
      let output = try await ChildProcess.run(
        "setpriv",
        ["--reuid", "4711", "--regid", "4711", "--clear-groups", HaulProcess.path, "jobs"],
        environment: ["HAUL_DATABASE_URL": place])
      #expect(output.exit == .code(78), "\(output)")
      #expect(
        output.standardError.last?.contains("Name the database's user with user=") == true,
        "\(output.standardError)")
    }
  }
}
