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

  @Test func `a second run finds nothing to do`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      let first = try await Migrator.migrate(connection)
      #expect(first.applied == Schema.migrations.map(\.version))
      #expect(first.refreshed == Schema.repeatables.map(\.name))
      // Nor does it wait for anybody.
      let reader = try await database.connect()
      try await reader.script("BEGIN; SELECT FROM haul.jobs")
      let second = try await Migrator.migrate(connection)
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
      let migration = Task { try await Migrator.migrate(connection) }
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
          group.addTask { try await Migrator.migrate(database.connect()) }
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
              let report = try await Migrator.migrate(database.connect())
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
      await #expect(throws: refusal) { try await Migrator.migrate(connection) }
      await #expect(throws: refusal) { try await JobQueue(connection).requireSchema() }
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

  /// The tables of version 1 as that version left them, without its functions: those are made anew by any upgrade.
  @Test func `a database of the first version keeps its jobs, and they go on`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      try await connection.script("BEGIN; \(Schema.roles); \(Schema.base); COMMIT")
      try await connection.script(
        """
        SET ROLE haul_admin;
        \(Schema.migrations[0].sql);
        INSERT INTO haul.migration (version, name) VALUES (1, 'initial');
        CREATE TABLE haul.job_0 PARTITION OF haul.job FOR VALUES FROM (0) TO (1048576);
        CREATE TABLE haul.outcome_0 PARTITION OF haul.outcome FOR VALUES FROM (0) TO (1048576);
        CREATE TABLE haul.attempt_0 PARTITION OF haul.attempt FOR VALUES FROM (0) TO (1048576);
        INSERT INTO haul.store (name) VALUES ('data');
        INSERT INTO haul.store_instance (store, marker, machine, root)
          VALUES (1, '00000000-0000-0000-0000-000000000001', 'm', '/data');
        INSERT INTO haul.queue (name, store) VALUES ('data', 1);
        INSERT INTO haul.host (name, cap, min_interval, failures, blocked_until)
          VALUES ('a.test', 4, '0', 3, clock_timestamp());
        INSERT INTO haul.job (id, queue, host, priority, submitted_at, url, path, options)
          SELECT nextval('haul.job_id'), 1, 1, 5, clock_timestamp(), 'https://a.test/' || n, 'a.test/' || n, '{}'
          FROM generate_series(1, 3) n;
        INSERT INTO haul.dedupe (store, path_digest, job)
          SELECT 1, encode(substr(sha256(convert_to(j.path, 'UTF8')), 1, 16), 'hex')::uuid, j.id FROM haul.job j;
        INSERT INTO haul.ready (queue, host, instance, priority, job) VALUES (1, 1, 0, 5, 1), (1, 1, 0, 5, 2);
        INSERT INTO haul.lane (host, queue, instance, priority, head, next_at) VALUES (1, 1, 0, 5, 1, clock_timestamp());
        INSERT INTO haul.outcome (job, state, finished_at, bytes, path)
          VALUES (3, 'completed', clock_timestamp(), 10, 'a.test/3');
        RESET ROLE;
        """)
      #expect(try await !Migrator.isCurrent(connection))
      let report = try await Migrator.migrate(connection)
      #expect(report.applied == Array(2...Schema.version))
      #expect(try await Migrator.isCurrent(connection))

      let queue = JobQueue(connection)
      let marker = JobQueue.StoreMarker(
        store: "data", marker: "00000000-0000-0000-0000-000000000001")
      let registration = try await queue.register(
        program: "test", machine: "m", pid: 1, concurrency: 4, stores: [marker])
      let worker = TestWorker(
        caller: JobQueue.Caller(registration), work: connection, life: connection)
      // A host that could not be reached is tried with one of its jobs.
      let first = try await worker.claim(9)
      #expect(first.count == 1)
      #expect(try await worker.end(first[0], .completed) == "completed")
      let second = try await worker.claim(9)
      #expect(Set((first + second).map(\.job)) == [1, 2])
      #expect(try await worker.end(second[0], .failed, "connect") == "scheduled")
      let reply = try await queue.submit(
        Submission(queue: "data"),
        (3...4).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") })
      #expect(reply.submitted == 1 && reply.skipped == 1)
      let broken = try await connection.query("SELECT FROM haul.health WHERE violations <> 0")
      #expect(broken.isEmpty)
    }
  }

  /// It must be among those that the keys are made of.
  @Test func `what another adds to hosts and lanes while the keys are made is not lost`()
    async throws
  {
    try await withTestDatabase(.empty) { database in
      let (connection, other) = (try await database.connect(), try await database.connect())
      try await connection.script("BEGIN; \(Schema.roles); \(Schema.base); COMMIT")
      for migration in Schema.migrations.prefix(7) {
        try await connection.script(
          """
          BEGIN; SET LOCAL ROLE haul_admin; \(migration.sql);
          INSERT INTO haul.migration (version, name) VALUES (\(migration.version), '\(migration.name)'); COMMIT
          """)
      }
      try await other.script(
        """
        BEGIN; INSERT INTO haul.host (name, cap, policy_cap, min_interval) VALUES ('a.test', 4, 4, '0');
        INSERT INTO haul.lane (host, queue, instance, priority) VALUES (1, 1, 0, 5)
        """)
      async let report = Migrator.migrate(connection)
      try await untilBlocked(connection, in: database)
      try await other.script("COMMIT")
      #expect(try await report.applied == Array(8...Schema.version))
      let keys = try await other.query(
        "SELECT n.id, k.host FROM haul.host_name n JOIN haul.lane_key k ON k.host = n.id WHERE n.name = 'a.test'"
      )
      #expect(keys.count == 1)
      #expect(try await other.query("SELECT FROM haul.health WHERE violations <> 0").isEmpty)
    }
  }

  /// All others wait behind whoever waits for a lock on a table: it lets them go on from time to time.
  @Test func `a migration that has to wait does not keep others waiting`() async throws {
    try await withTestDatabase { database in
      let (connection, holder) = (try await database.connect(), try await database.connect())
      try await connection.script("UPDATE haul.repeatable SET digest = 'older'")
      try await holder.script("BEGIN; SELECT FROM haul.jobs")
      async let report = Migrator.migrate(connection)
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
      _ = try await Migrator.migrate(connection)
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
    #expect(Schema.migrations.map(\.version) == Array(1...Schema.version))
  }
}
