import Foundation
import Postgres
import TestSupport
import Testing

/// What others build on stays as it is and is explained.
struct ContractTests {
  private func script(_ arguments: String...) async throws -> [String] {
    let bin = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"])
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let output = try await ChildProcess.run(
      repositoryRoot.appending(path: "scripts/sql-reference").path, arguments,
      environment: ["PATH": "\(bin):\(path)"])
    try #require(output.exit == .code(0), "\(output.standardError)")
    return output.standardOutput
  }

  private func lines(of path: String) throws -> [String] {
    try String(contentsOf: repositoryRoot.appending(path: path), encoding: .utf8)
      .components(separatedBy: "\n").dropLast()
  }

  /// A column that goes or changes breaks what operators have written; one that is new is written down here.
  @Test func `views have the columns and types that they had`() async throws {
    try await withTestDatabase { database in
      let columns = try await script("--columns", database.conninfo)
      let golden = try lines(of: "Tests/SchemaTests/Golden/views.txt")
      #expect(
        columns == golden,
        "if columns were added: scripts/with-postgres scripts/sql-reference --write")
    }
  }

  @Test func `the SQL reference is what the database says of itself`() async throws {
    try await withTestDatabase { database in
      let page = try await script(database.conninfo)
      let written = try lines(of: "docs/sql.md")
      #expect(
        page == written,
        "run: scripts/with-postgres scripts/sql-reference --write")
    }
  }

  /// A proof that the judge of scripts/chaos finds what is broken would fail where nobody looks for an hour.
  @Test func `what breaks Haul on purpose still fits`() async throws {
    try await withTestDatabase { database in
      let output = try await ChildProcess.run(
        "/usr/bin/python3",
        [repositoryRoot.appending(path: "Tests/Chaos/broken.py").path, database.conninfo])
      #expect(output.standardOutput == [])
      #expect(output.exit == .code(0), "\(output.standardError)")
    }
  }

  /// Nor does it matter then how long a query takes: all that such a lock keeps waiting is a change of the schema.
  @Test func `a look at any view takes no lock that a claim waits for`() async throws {
    try await Pool.open { pool in
      try await LivelyPool.fill(pool)
      let views: [String] = try await pool.column(
        "SELECT relname FROM pg_class WHERE relnamespace = 'haul'::regnamespace AND relkind = 'v'")
      #expect(views.count >= 14)
      try await pool.database.withLogin("haul_monitor") { login in
        let connection = try await login.connect()
        try await connection.script("BEGIN")
        for view in views { _ = try await connection.query("SELECT * FROM haul.\(view)") }
        let locks = try await pool.admin.query(
          """
          SELECT DISTINCT l.locktype || ' ' || l.mode FROM pg_locks l
          WHERE l.pid = $1 AND l.mode <> 'AccessShareLock' AND l.locktype <> 'virtualxid'
          """, [connection.backendPID])
        #expect(try locks.map { try $0.decode(0, as: String.self) } == [])
        await connection.close()
      }
    }
  }

  @Test func `the schema, its views, their columns and all functions have comments`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let silent = try await connection.query(
        """
        SELECT 'schema' WHERE obj_description('haul'::regnamespace, 'pg_namespace') IS NULL
        UNION ALL
        SELECT 'view ' || c.relname FROM pg_class c
        WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind = 'v' AND obj_description(c.oid, 'pg_class') IS NULL
        UNION ALL
        SELECT 'column ' || c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind = 'v' AND col_description(c.oid, a.attnum) IS NULL
        UNION ALL
        SELECT 'function ' || p.proname FROM pg_proc p
        WHERE p.pronamespace = 'haul'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL
        ORDER BY 1
        """)
      #expect(try silent.map { try $0.decode(0, as: String.self) } == [])
    }
  }
}
