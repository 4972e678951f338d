import JobModel
import JobQueue
import Postgres
import Schema
import TestSupport
import Testing

/// Two programs on one database: the one that has migrated it last, and one of before.
struct UpgradeTests {
  /// A function that tells whose functions are there.
  private static func marker(_ text: String) -> String {
    """
    CREATE OR REPLACE FUNCTION haul.made_up() RETURNS text LANGUAGE sql AS $$ SELECT '\(text)' $$;
    REVOKE ALL ON FUNCTION haul.made_up() FROM PUBLIC;
    """
  }

  /// Today's migrations with functions of a made-up program.
  private func edition(_ text: String, program: String = Schema.program) -> Edition {
    var edition = Edition.next(functions: Self.marker(text))
    edition.migrations.removeLast()
    edition.program = program
    return edition
  }

  private func marker(_ connection: Connection) async throws -> String {
    try await connection.query("SELECT haul.made_up()")[0].decode(0)
  }

  @Test func `programs of before go on after the next migration`() async throws {
    try await Pool.open { pool in
      let early = try await pool.worker()
      _ = try await Migrator.migrate(
        pool.connect(),
        edition: .next("ALTER TABLE haul.batch ADD COLUMN made_up integer", functions: ""))
      try await pool.jobs.requireSchema()
      let jobs = try await pool.submit(2, batch: "b")
      let late = try await pool.worker()
      for (worker, job) in zip([early, late], jobs) {
        let lease = try await worker.claimOne()
        #expect(lease.job == job)
        #expect(try await worker.end(lease, .completed) == "completed")
      }
      #expect(try await pool.jobs.batches(limit: 2).map(\.completed) == [2])
      for role in GrantTests.roles {
        try await pool.database.withLogin(role) { login in
          let connection = try await login.connect()
          try await JobQueue(connection).requireSchema()
          await connection.close()
        }
      }
      // Nor does a program that would prepare a database of its own put its functions back.
      #expect(try await Migrator.isCurrent(pool.admin))
    }
  }

  @Test func `a database that serves newer programs alone refuses`() async throws {
    try await Pool.open { pool in
      let next = Schema.version + 1
      _ = try await Migrator.migrate(
        pool.connect(),
        edition: .next(
          functions: """
            CREATE OR REPLACE FUNCTION haul.oldest_served_version() RETURNS integer
            LANGUAGE sql IMMUTABLE AS $$ SELECT \(next) $$;
            """))
      await #expect(
        throws: JobQueueError.schemaTooNew(database: next, program: Schema.version)
      ) { try await pool.jobs.requireSchema() }
      let refusal = await #expect(throws: JobQueueError.self) { try await pool.worker() }
      #expect(
        refusal
          == .versionNotServed(
            "this program knows schema version \(Schema.version), but the database supports only schema versions \(next) to \(next)"
          ))
    }
  }

  @Test func `no version is none that is served`() async throws {
    try await Pool.open { pool in
      let refusal = await #expect(throws: PostgresError.self) {
        try await pool.admin.query("SELECT haul.register(NULL, 'x', 'x', 1, 1, '[]', NULL)")
      }
      #expect(refusal?.sqlState?.rawValue == "HA002")
    }
  }

  /// newer: migrates → older, of the same migrations: refused → newer: nothing to do.
  @Test func `functions that were replaced do not come back unasked`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let (older, newer) = (edition("older"), edition("newer"))
      for edition in [older, newer] {
        #expect(try await Migrator.migrate(connection, edition: edition).refreshed.count == 1)
      }
      for edition in [older, Schema.edition] {
        await #expect(throws: JobQueueError.functionsTooNew) {
          try await Migrator.migrate(connection, edition: edition)
        }
      }
      #expect(try await Migrator.isCurrent(connection))
      #expect(try await marker(connection) == "newer")
      #expect(try await Migrator.migrate(connection, edition: newer).refreshed == [])
    }
  }

  @Test func `who goes back by force may go on again`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let (older, newer) = (edition("older"), edition("newer"))
      _ = try await Migrator.migrate(connection, edition: older)
      _ = try await Migrator.migrate(connection, edition: newer)
      let back = try await Migrator.migrate(connection, edition: older, force: true)
      #expect(back.refreshed.count == 1)
      #expect(try await marker(connection) == "older")
      #expect(try await Migrator.migrate(connection, edition: older).refreshed == [])
      #expect(try await Migrator.migrate(connection, edition: newer).refreshed.count == 1)
      #expect(try await marker(connection) == "newer")
      await #expect(throws: JobQueueError.functionsTooNew) {
        try await Migrator.migrate(connection, edition: older)
      }
    }
  }

  /// An older program may never have been at a database.
  @Test(arguments: [("0.9.0", "0.10.0"), ("0.1.0", "0.1.1"), ("0.1", "0.1.1"), ("1.9.9", "2.0.0")])
  func `the program's version counts too`(older: String, newer: String) async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      _ = try await Migrator.migrate(
        connection, edition: edition("newer", program: newer), roles: .shared)
      await #expect(throws: JobQueueError.functionsTooNew) {
        try await Migrator.migrate(connection, edition: edition("older", program: older))
      }
      #expect(try await marker(connection) == "newer")
      let patch = edition("patch", program: newer)
      #expect(try await Migrator.migrate(connection, edition: patch).refreshed.count == 1)
    }
  }

  /// The table that says what was applied had fewer columns.
  @Test func `a database of version 12 is upgraded`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      var twelve = Schema.edition
      twelve.migrations.removeAll { $0.version > 12 }
      twelve.repeatables = []
      #expect(
        try await Migrator.migrate(connection, edition: twelve, roles: .shared).applied == [12])
      try await connection.execute(
        "ALTER TABLE haul.repeatable DROP COLUMN program, DROP COLUMN superseded")
      try await connection.execute(
        "INSERT INTO haul.repeatable (name, digest) VALUES ($1, 'of version 12')",
        [Schema.repeatables[0].name])
      #expect(try await Migrator.isCurrent(connection) == false)
      let report = try await Migrator.migrate(connection, roles: .shared)
      #expect(report.applied == Array(13...Schema.version) && report.refreshed.count == 1)
    }
  }

  @Test func `corrections that have begun go on after an upgrade from version 22`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      var earlier = Schema.edition
      earlier.migrations.removeAll { $0.version > 22 }
      earlier.repeatables = []
      _ = try await Migrator.migrate(connection, edition: earlier, roles: .shared)
      try await connection.script(
        """
        INSERT INTO haul.host (id, name, cap, policy_cap, min_interval, blocked_until)
          VALUES (7, 'a.test', 4, 4, '0', 'tomorrow'), (8, 'b.test', 4, 4, '0', NULL);
        INSERT INTO haul.pulse (server_start, round_at, grace_until, stepped_at, step, mended_to, hosts_left)
          VALUES (now(), now(), now(), now(), '2 hours', 5, '{7,8,9}');
        """)
      _ = try await Migrator.migrate(connection, roles: .shared)
      let migration = try #require(Schema.migrations.first { $0.version == 23 })
      try await connection.script(migration.sql)
      let left = try await connection.query(
        """
        SELECT format('%s %s %s', s.mended_to, s.step, string_agg(format('%s %s %s', h.host,
          h.blocked_until = 'tomorrow', h.step), ', ' ORDER BY h.host))
        FROM haul.clock_step s, haul.clock_host h GROUP BY s.mended_to, s.step
        """)
      #expect(
        try left.map { try $0.decode(0, as: String.self) }
          == ["5 02:00:00 7 t 02:00:00, 8  02:00:00"])
    }
  }
}
