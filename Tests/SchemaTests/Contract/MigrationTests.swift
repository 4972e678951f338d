import Foundation
import JobQueue
import Postgres
import Schema
import TestSupport
import Testing

/// Applying the schema, from any state, by any number at once.
struct MigrationTests {
  private func untilBlocked(_ session: Connection, in database: TestDatabase) async throws {
    let watcher = try await database.connect()
    try await eventually("a lock that stops the migration") {
      let blocked = try await watcher.query(
        "SELECT cardinality(pg_blocking_pids($1)) > 0", [session.backendPID])
      return try blocked[0].decode(0, as: Bool.self)
    }
  }

  /// A standby whose system library sorts otherwise would not find what stands in such an index.
  @Test func `no index depends on how the system sorts texts`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let indexes = try await connection.query(
        """
        SELECT i.indexrelid::regclass::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE c.relnamespace = 'haul'::regnamespace AND EXISTS (
          SELECT FROM unnest(i.indcollation) AS u(id)
          JOIN pg_collation l ON l.oid = u.id WHERE l.collname <> 'C')
        ORDER BY 1
        """)
      #expect(try indexes.map { try $0.decode(0, as: String.self) } == [])
    }
  }

  @Test func `a second run finds nothing to do`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      let first = try await Migrator.migrate(connection, roles: .shared)
      #expect(first.applied == Schema.migrations.map(\.version))
      #expect(first.refreshed == Schema.repeatables.map(\.name))
      // Nor does it wait for anybody.
      let reader = try await database.connect()
      try await reader.script("BEGIN; SELECT FROM haul.jobs")
      let second = try await Migrator.migrate(connection, roles: .shared)
      #expect(second.applied == [] && second.refreshed == [])
      #expect(try await Migrator.version(connection) == Schema.version)
      try await JobQueue(connection).requireSchema()
    }
  }

  /// A reader locks a view before those that it reads. reader: workers → migration: received → reader: received, waits →
  /// migration: workers, waits.
  @Test func `views are locked in the order of those who read them`() async throws {
    try await withTestDatabase { database in
      let (connection, reader) = (try await database.connect(), try await database.connect())
      try await connection.execute("UPDATE haul.repeatable SET digest = 'older'")
      try await reader.script("BEGIN; SELECT FROM haul.workers")
      let migration = Task { try await Migrator.migrate(connection, roles: .shared) }
      try await untilBlocked(connection, in: database)
      let locks = try await database.connect().query(
        """
        SELECT relation::regclass::text, granted FROM pg_locks
        WHERE pid = $1 AND mode = 'AccessExclusiveLock' AND relation IN ('haul.workers'::regclass, 'haul.received'::regclass)
        """, [connection.backendPID])
      #expect(try locks.map { try $0.decode(0, as: String.self) } == ["haul.workers"])
      #expect(try locks.map { try $0.decode(1, as: Bool.self) } == [false])
      try await reader.script("COMMIT")
      #expect(try await migration.value.refreshed.count == Schema.repeatables.count)
    }
  }

  @Test func `of twenty runs at once one does the work`() async throws {
    try await withTestDatabase(.empty) { database in
      let reports = try await withThrowingTaskGroup(of: Migrator.Report.self) { group in
        for _ in 0..<20 {
          group.addTask { try await Migrator.migrate(database.connect(), roles: .shared) }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(reports.filter { $0.applied != [] || $0.refreshed != [] }.count == 1)
    }
  }

  @Test func `databases of one cluster are migrated side by side`() async throws {
    try await withTestDatabase(.empty) { _ in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await withTestDatabase(.empty) { database in
              let report = try await Migrator.migrate(database.connect(), roles: .shared)
              #expect(report.applied == Schema.migrations.map(\.version))
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test func `a schema newer than the program is refused and left as it is`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        INSERT INTO haul.migration (version, name) VALUES (\(Schema.version + 1), 'future');
        UPDATE haul.repeatable SET digest = 'of the future';
        """)
      let refusal = JobQueueError.schemaTooNew(
        database: Schema.version + 1, program: Schema.version)
      await #expect(throws: refusal) { try await Migrator.migrate(connection, roles: .shared) }
      await #expect(throws: refusal) { try await Migrator.migrate(connection, force: true) }
      let digests = try await connection.query("SELECT DISTINCT digest FROM haul.repeatable")
      #expect(try digests.map { try $0.decode(0, as: String.self) } == ["of the future"])
    }
  }

  @Test func `a database without the schema is told to migrate`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      await #expect(
        throws: JobQueueError.schemaMissing(database: nil, program: Schema.version)
      ) { try await JobQueue(connection).requireSchema() }
    }
  }

  /// A lively database: its jobs are there after the upgrade, and so is what the migration makes.
  @Test func `a second migration is applied once, and nothing is lost`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      let next = Edition.next("CREATE TABLE haul.made_up AS SELECT id FROM haul.job")
      let (one, other) = (try await pool.connect(), try await pool.connect())
      async let first = Migrator.migrate(one, edition: next)
      async let second = Migrator.migrate(other, edition: next)
      let reports = [try await first, try await second]
      #expect(reports.map(\.applied).filter { !$0.isEmpty } == [[Schema.version + 1]])
      #expect(reports.map(\.version) == [Schema.version + 1, Schema.version + 1])
      #expect(try await pool.value("SELECT count(*) FROM haul.made_up") == Int64(jobs.count))
      #expect(try await Migrator.version(one) == Schema.version + 1)
      // The program of before refuses what it does not know.
      await #expect(
        throws: JobQueueError.schemaTooNew(database: Schema.version + 1, program: Schema.version)
      ) { try await Migrator.migrate(one) }
    }
  }

  @Test func `a migration that fails leaves everything as it was`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let broken = Edition.next("CREATE TABLE haul.made_up (id integer); SELECT 1 / 0")
      await #expect(throws: PostgresError.self) {
        try await Migrator.migrate(connection, edition: broken)
      }
      #expect(try await Migrator.version(connection) == Schema.version)
      let table = try await connection.query("SELECT to_regclass('haul.made_up') IS NULL")
      #expect(try table[0].decode(0, as: Bool.self))
      #expect(try await Migrator.isCurrent(connection))
    }
  }

  /// Numbers below the first migration belong to versions that were never released.
  @Test func `a database of an unreleased version is refused and left as it is`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        DELETE FROM haul.migration WHERE version > 12;
        UPDATE haul.migration SET version = 11;
        UPDATE haul.repeatable SET digest = 'of the past';
        """)
      let refusal = JobQueueError.schemaTooOld(database: 11, first: 12)
      await #expect(throws: refusal) { try await Migrator.migrate(connection, roles: .shared) }
      await #expect(throws: refusal) { try await JobQueue(connection).requireSchema() }
      let digests = try await connection.query("SELECT DISTINCT digest FROM haul.repeatable")
      #expect(try digests.map { try $0.decode(0, as: String.self) } == ["of the past"])
    }
  }

  /// All others wait behind whoever waits for a lock on a table: it lets them go on from time to time.
  @Test func `a migration that has to wait does not keep others waiting`() async throws {
    try await withTestDatabase { database in
      let (connection, holder) = (try await database.connect(), try await database.connect())
      try await connection.script("UPDATE haul.repeatable SET digest = 'older'")
      try await holder.script("BEGIN; SELECT FROM haul.jobs")
      async let report = Migrator.migrate(connection, roles: .shared)
      try await untilBlocked(connection, in: database)
      // Behind the migration, which gives up its place.
      #expect(try await database.connect().query("SELECT FROM haul.jobs").isEmpty)
      try await holder.script("COMMIT")
      #expect(try await report.refreshed.count == 1)
    }
  }

  /// An upgrade that only changes a function file must not leave a new function open to everyone.
  @Test func `a function that comes with an upgrade is closed to PUBLIC`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        UPDATE haul.repeatable SET digest = 'older' WHERE name LIKE 'Functions%';
        SET ROLE haul_admin;
        CREATE FUNCTION haul.newcomer() RETURNS integer LANGUAGE sql AS 'SELECT 1';
        RESET ROLE;
        """)
      _ = try await Migrator.migrate(connection, roles: .shared)
      let open = try await connection.query(
        "SELECT has_function_privilege('public', 'haul.newcomer()', 'EXECUTE')")
      #expect(try open[0].decode(0) == false)
    }
  }

  @Test func `every file beside the program is compiled into it`() throws {
    let root = repositoryRoot.appending(path: "Sources/Schema")
    var onDisk: [String: String] = [:]
    for folder in ["Migrations", "Functions", "Views", "Roles"] {
      let names = try FileManager.default.contentsOfDirectory(
        atPath: root.appending(path: folder).path)
      for name in names where name.hasSuffix(".sql") {
        let path = "\(folder)/\(name)"
        onDisk[path] = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      }
    }
    #expect(onDisk == textFiles)
    #expect(Schema.migrations.map(\.version) == Array(12...Schema.version))
  }
}
