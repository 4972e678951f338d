import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// Several pools in one database, each in a schema of its own.
struct SeveralPoolsTests {
  /// A name that no other test on this server uses, because roles belong to the server.
  private static func newName() throws -> SchemaName {
    try #require(SchemaName("p_" + UUID().uuidString.lowercased().prefix(8)))
  }

  @Test func `a pool needs no schema with the usual name`() async throws {
    let schema = try Self.newName()
    try await Pool.open(in: schema) { pool in
      #expect(
        try await pool.value("SELECT count(*) FROM pg_namespace WHERE nspname = 'ha' || 'ul'") == 0)
      let left = try await pool.column(
        """
        SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace
          AND (pg_get_functiondef(p.oid) ~ ('\\mha' || 'ul\\.') OR array_to_string(p.proconfig, ' ') ~ ('\\mha' || 'ul\\M'))
        """, as: String.self)
      #expect(left == [])
      try await pool.jobs.setHost("*", cap: 9)
      try await pool.submit(20)
      let worker = try await pool.steadyWorker()
      let leases = try await worker.claim(5)
      #expect(leases.count == 5)
      try await worker.heartbeat(leases)
      try await worker.end(leases[0], .completed)
      _ = try await pool.jobs.rescue()
      _ = try await pool.jobs.promote(limit: 10)
      _ = try await pool.jobs.rollUp(limit: 10)
      _ = try await pool.jobs.foldUsage(limit: 10)
      _ = try await pool.jobs.prune(limit: 10)
      try await pool.jobs.ensurePartitions(room: 1_000_000)
      try await pool.readAllViews()
      #expect(try await pool.states()["completed"] == 1)
      #expect(try await RolePrefix.present(pool.admin) == schema.name)
      let again = try await Migrator.migrate(pool.admin)
      #expect(again.applied == [] && again.refreshed == [])
      #expect(try await Migrator.check(pool.admin) == true)
    }
  }

  @Test func `two pools of a database know nothing of each other`() async throws {
    let schema = try Self.newName()
    try await Pool.open { pool in
      var database = pool.database
      database.schema = schema
      let other = try await database.connect()
      await #expect(throws: JobQueueError.self) { try await JobQueue(other).requireSchema() }
      _ = try await Migrator.migrate(other)
      let jobs = JobQueue(other)
      _ = try await jobs.initStore(
        name: Pool.name, marker: UUID().uuidString, machine: "machine", root: "/other")
      try await pool.submit(3)
      let counts = try await other.query(
        "SELECT (SELECT count(*) FROM haul.job), (SELECT count(*) FROM haul.queue)")
      #expect(try counts[0].decode(0, as: Int.self) == 0)
      // Each pool has a leader.
      for session in [other, try await pool.connect()] {
        #expect(try await session.query("SELECT haul.lead()")[0].decode(0, as: Bool.self))
        #expect(
          try await session.query("SELECT pg_try_advisory_lock(haul.session_lock(0))")[0].decode(
            0, as: Bool.self))
      }
      // A notification of one pool does not wake workers of the other.
      let listener = try await database.connect()
      try await listener.listen(listener.schema.name)
      try await pool.submit(1)
      _ = try await jobs.submit(
        Submission(queue: Pool.name), [Pool.line(1, "https://a.test/1", "1")])
      var notes = listener.notifications.makeAsyncIterator()
      let first = await notes.next()
      #expect(first?.channel == schema.name)
    }
  }

  /// Someone's role with that name would own the pool.
  @Test func `roles that exist are not taken without being named`() async throws {
    let schema = try Self.newName()
    try await withTestDatabase(.empty) { database in
      var database = database
      database.schema = schema
      let connection = try await database.connect()
      await #expect(throws: JobQueueError.self) {
        try await Migrator.migrate(connection, roles: .init(mayBeShared: true))
      }
      try await connection.script(
        """
        CREATE ROLE \(schema.name)_worker; CREATE ROLE \(schema.name)_somebody IN ROLE \(schema.name)_worker
        """)
      await #expect(throws: JobQueueError.rolesExist(prefix: schema.name)) {
        try await Migrator.migrate(connection)
      }
      let rows = try await connection.query("SELECT FROM pg_namespace WHERE nspname = 'haul'")
      #expect(rows.count == 0)
      // What a run leaves that has failed after it made the roles is no obstacle.
      try await connection.script("DROP ROLE \(schema.name)_somebody")
      _ = try await Migrator.migrate(connection)
    }
  }

  @Test func `a schema that is restored in its place uses no token twice`() async throws {
    let schema = try Self.newName()
    try await Pool.open(in: schema) { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let token = try await worker.claimOne().token
      // As after pg_dump --schema, DROP SCHEMA and pg_restore.
      try await pool.execute("UPDATE haul.pool SET namespace = 1")
      #expect(try await worker.claimOne().token > token + 4_000_000_000)
    }
  }

  @Test func `the roles of one pool give no right to the other`() async throws {
    let schema = try Self.newName()
    try await Pool.open { pool in
      var database = pool.database
      database.schema = schema
      _ = try await Migrator.migrate(try await database.connect())
      try await pool.database.withLogin("haul_admin") { login in
        let admin = try await login.connect()
        await #expect(throws: PostgresError.self) {
          try await admin.query("SELECT * FROM \(schema.name).jobs")
        }
        _ = try await admin.query("SELECT * FROM haul.jobs")
      }
    }
  }
}
