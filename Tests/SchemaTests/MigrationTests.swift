import Foundation
import JobQueue
import Postgres
import Schema
import TestSupport
import Testing

/// Applying the schema, from any state, by any number at once.
struct MigrationTests {
  @Test func `a second run finds nothing to do`() async throws {
    try await withTestDatabase(.empty) { database in
      let connection = try await database.connect()
      let first = try await Migrator.migrate(connection)
      #expect(first.applied == Schema.migrations.map(\.version))
      #expect(first.refreshed == Schema.repeatables.map(\.name))
      let second = try await Migrator.migrate(connection)
      #expect(second.applied == [] && second.refreshed == [])
      #expect(try await Migrator.version(connection) == Schema.version)
      try await JobQueue(connection).requireSchema()
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
    let root = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "../../Sources/Schema").standardizedFileURL
    var onDisk: [String: String] = [:]
    for folder in ["Migrations", "Functions", "Views", "Roles"] {
      let names = try FileManager.default.contentsOfDirectory(
        atPath: root.appending(path: folder).path)
      for name in names where name.hasSuffix(".sql") {
        let path = "\(folder)/\(name)"
        onDisk[path] = try String(contentsOf: root.appending(path: path), encoding: .utf8)
      }
    }
    #expect(onDisk == sqlFiles)
    #expect(Schema.migrations.map(\.version) == Array(1...Schema.version))
  }
}
