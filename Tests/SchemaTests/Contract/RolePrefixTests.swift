import JobModel
import JobQueue
import Postgres
import Schema
import TestSupport
import Testing

/// Two pools on one server: roles belong to the server, and each pool has its own.
struct RolePrefixTests {
  /// A server without any pool, with the databases `first` and `second`.
  private func withServer(
    _ programs: String,
    _ body: (PrivatePostgres, _ first: Connection, _ second: Connection)
      async throws -> Void
  ) async throws {
    let server = try await PrivatePostgres(programs: programs)
    let superuser = try await server.database.connect()
    try await superuser.execute("CREATE DATABASE first")
    try await superuser.execute("CREATE DATABASE second")
    try await superuser.script(
      """
      CREATE ROLE one LOGIN CREATEROLE; CREATE ROLE two LOGIN CREATEROLE;
      ALTER DATABASE first OWNER TO one; ALTER DATABASE second OWNER TO two
      """)
    let connections = [
      try await connect("one", to: "first", server), try await connect("two", to: "second", server),
    ]
    try await body(server, connections[0], connections[1])
  }

  private func connect(
    _ login: String, to database: String, _ server: PrivatePostgres
  ) async throws -> Connection {
    try await Connection.connect(
      ConnectionConfiguration(
        conninfo: "\(server.database(database).conninfo) user=\(login)",
        applicationName: "haul-tests", connectTimeout: .seconds(30)))
  }

  private func roles(_ connection: Connection) async throws -> [String] {
    try await connection.query(
      "SELECT rolname::text FROM pg_roles WHERE rolname LIKE '%\\_admin' ORDER BY 1"
    ).map { try $0.decode(0) }
  }

  @Test func `each pool has its own logins`() async throws {
    try await separate(PrivatePostgres.installed)
  }

  @Test(ManagedServerTests.newest)
  func `each pool has its own logins on the newest server`() async throws {
    try await separate(#require(PrivatePostgres.newest))
  }

  private func separate(_ programs: String) async throws {
    try await withServer(programs) { server, first, second in
      _ = try await Migrator.migrate(first)
      await #expect(throws: JobQueueError.rolesTaken(prefix: "haul", by: "the database first")) {
        try await Migrator.migrate(second)
      }
      let schema = try await second.query("SELECT to_regnamespace('haul') IS NULL")
      #expect(try schema[0].decode(0, as: Bool.self))
      #expect(try await roles(second) == ["haul_admin"])

      let films = Migrator.Roles(prefix: "films")
      let report = try await Migrator.migrate(second, roles: films)
      #expect(report.applied == Schema.migrations.map(\.version))
      #expect(try await roles(second) == ["films_admin", "haul_admin"])
      for roles in [Migrator.Roles(), films] {
        #expect(try await Migrator.migrate(second, roles: roles).refreshed == [])
      }
      #expect(try await Migrator.isCurrent(second))
      #expect(try await Migrator.isCurrent(first))
      #expect(try await RolePrefix.present(second) == "films")

      try await first.execute("CREATE ROLE sender LOGIN IN ROLE haul_submitter")
      try await second.execute("CREATE ROLE viewer LOGIN IN ROLE films_submitter")
      for (login, own, other) in [("sender", "first", "second"), ("viewer", "second", "first")] {
        let mine = JobQueue(try await connect(login, to: own, server))
        #expect(try await mine.databaseFacts().may.submit)
        #expect(try await mine.databaseFacts().roles.count == 4)
        let prefix = own == "first" ? "haul" : "films"
        #expect(try await mine.databaseFacts().may.prefix == prefix)
        let session = try await connect(login, to: other, server)
        let stranger = JobQueue(session)
        #expect(try await stranger.databaseFacts().may.submit == false)
        for call in ["haul.export('{}', true, 0, 1)", "haul.cancel('{}', 1, 0)"] {
          let refusal = await #expect(throws: PostgresError.self) {
            try await session.query("SELECT \(call)")
          }
          #expect(refusal?.sqlState == .insufficientPrivilege)
        }
      }
    }
  }

  @Test func `a pool keeps its roles`() async throws {
    try await withServer(PrivatePostgres.installed) { server, first, second in
      _ = try await Migrator.migrate(first, roles: .init(prefix: "films"))
      await #expect(throws: JobQueueError.otherPrefix("films")) {
        try await Migrator.migrate(first, roles: .init(prefix: "haul"))
      }
      let superuser = try await server.database("first").connect()
      try await superuser.execute("UPDATE haul.repeatable SET digest = 'older'")
      #expect(try await Migrator.migrate(first).refreshed.count == 1)
      await #expect(throws: JobQueueError.rolesTaken(prefix: "films", by: "the database first")) {
        try await Migrator.migrate(second, roles: .init(prefix: "films"))
      }
      // Nobody has taken the usual ones.
      #expect(try await Migrator.migrate(second).applied.count == Schema.migrations.count)
      // All that is written of roles names the pool's own.
      let owners = try await superuser.query(
        """
        SELECT DISTINCT pg_get_userbyid(relowner)::text FROM pg_class WHERE relnamespace = 'haul'::regnamespace
        UNION SELECT pg_get_userbyid(proowner)::text FROM pg_proc WHERE pronamespace = 'haul'::regnamespace
        """)
      #expect(try owners.map { try $0.decode(0, as: String.self) } == ["films_admin"])
      let comments = try await superuser.query(
        "SELECT description FROM pg_description WHERE description ~ '\\mhaul_(admin|worker|submitter|monitor)\\M'"
      )
      #expect(comments.isEmpty)
    }
  }

  /// Schemas that were made before the first migration, and one whose owner only looks like that of a pool.
  @Test func `a schema that stands there already must belong to the pool's owner`() async throws {
    try await withServer(PrivatePostgres.installed) { server, _, second in
      let superuser = try await server.database("second").connect()
      let films = Migrator.Roles(prefix: "films")
      try await superuser.script(
        "CREATE ROLE films_admin; GRANT films_admin TO two; CREATE ROLE \"Odd_admin\"")
      for owner in ["films_admin", "Odd_admin", "one"] {
        try await superuser.script(
          "DROP SCHEMA IF EXISTS haul; CREATE SCHEMA haul AUTHORIZATION \"\(owner)\"")
        await #expect(
          throws: JobQueueError.foreignSchema(.usual, owner: owner, admin: "haul_admin")
        ) {
          try await Migrator.migrate(second)
        }
        #expect(try await roles(second) == ["Odd_admin", "films_admin"])
      }
      try await superuser.execute("ALTER SCHEMA haul OWNER TO films_admin")
      #expect(
        try await Migrator.migrate(second, roles: films).applied == Schema.migrations.map(\.version)
      )
      #expect(try await Migrator.migrate(second).refreshed == [])
    }
  }

  @Test func `a pool in a renamed schema keeps its roles to itself`() async throws {
    try await withServer(PrivatePostgres.installed) { server, first, _ in
      _ = try await Migrator.migrate(first)
      let superuser = try await server.database("first").connect()
      try await superuser.execute("ALTER SCHEMA haul RENAME TO old")
      await #expect(throws: JobQueueError.rolesTaken(prefix: "haul", by: "the schema old")) {
        try await Migrator.migrate(first)
      }
      #expect(
        try await Migrator.migrate(first, roles: .init(prefix: "films")).applied
          == Schema.migrations.map(\.version))
    }
  }

  /// As after `dropdb` and `createdb`.
  @Test func `roles that no pool has any more are used again`() async throws {
    try await withServer(PrivatePostgres.installed) { server, first, _ in
      _ = try await Migrator.migrate(first)
      await first.close()
      let superuser = try await server.database.connect()
      try await superuser.execute("DROP DATABASE first WITH (FORCE)")
      try await superuser.execute("CREATE DATABASE third OWNER one")
      let third = try await connect("one", to: "third", server)
      #expect(try await Migrator.migrate(third).applied.count == Schema.migrations.count)
    }
  }
}
