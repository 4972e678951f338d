import TestSupport
import Testing

@testable import Postgres

/// Connections through PgBouncer.
@Suite struct PoolerTests {
  private static func configuration(
    _ pooler: Pooler, needsSession: Bool = true
  ) -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: pooler.conninfo, applicationName: "haul-tests", connectTimeout: .seconds(30),
      needsSession: needsSession)
  }

  @Test func `a direct connection has no mark, and needs none`() async throws {
    let connection = try await TestServer.connect()
    #expect(connection.route == .direct)
    try await connection.requireSession()
    let mark: String? = try await connection.query(
      "SELECT current_setting('haul_session.mark', true)")[0].decode(0)
    #expect(mark == nil)
    await connection.close()
  }

  /// With one process in the pool, and nobody else there, every transaction meets the same one.
  @Test(arguments: [1, 2, 8])
  func `transaction pooling is refused however many processes there are`(size: Int) async throws {
    try await withTestDatabase(.empty) { database in
      for settings in [[], ["server_round_robin = 1"], ["min_pool_size = \(size)"]] {
        let pooler = try await Pooler(to: database, .transaction, size: size, settings: settings)
        for _ in 1...3 {
          await #expect(throws: PostgresError.noSession, "\(settings)") {
            try await Connection.connect(Self.configuration(pooler))
          }
        }
      }
    }
  }

  /// 1. Another client holds one of two processes in a transaction.
  /// 2. The connection and the one that proves it must share the other.
  @Test func `transaction pooling is refused beside a client that holds a process`() async throws {
    try await withTestDatabase(.empty) { database in
      let pooler = try await Pooler(to: database, .transaction, size: 2)
      let (link, pid) = try await Connection.reach(Self.configuration(pooler))
      let holder = Connection(link: link, backendPID: pid, isTransaction: false)
      try await holder.script("BEGIN")
      await #expect(throws: PostgresError.noSession) {
        try await Connection.connect(Self.configuration(pooler))
      }
      await holder.close()
    }
  }

  @Test func `a refused connection leaves no settings behind`() async throws {
    try await withTestDatabase(.empty) { database in
      let pooler = try await Pooler(to: database, .transaction, size: 1)
      await #expect(throws: PostgresError.noSession) {
        try await Connection.connect(Self.configuration(pooler))
      }
      let (link, pid) = try await Connection.reach(Self.configuration(pooler))
      let other = Connection(link: link, backendPID: pid, isTransaction: false)
      let changed: Int = try await other.query(
        "SELECT count(*) FROM pg_settings WHERE source = 'session' AND name LIKE '%\\_timeout'")[0]
        .decode(0)
      #expect(changed == 0)
      await other.close()
    }
  }

  @Test(arguments: [1, 3])
  func `in session mode a connection has its own settings and a mark`(size: Int) async throws {
    try await withTestDatabase(.empty) { database in
      let pooler = try await Pooler(to: database, .session, size: size)
      let connection = try await Connection.connect(Self.configuration(pooler))
      #expect(connection.route != .direct && !connection.isShared)
      try await connection.requireSession()
      let rows = try await connection.query(
        "SELECT pg_backend_pid(), current_setting('default_transaction_isolation')")
      #expect(try rows[0].decode(0, as: Int32.self) == connection.backendPID)
      #expect(try rows[0].decode(1, as: String.self) == "read committed")
      await connection.close()
    }
  }

  /// The pooler is set to another mode under a connection, or chance has hidden it before.
  @Test func `a session that another client has got ends the connection`() async throws {
    let connection = try await TestServer.connect()
    let marked = Connection(
      link: connection.link, backendPID: connection.backendPID, isTransaction: false,
      route: .marked("mine"))
    try await marked.script("SET haul_session.mark = 'mine'")
    try await marked.requireSession()
    try await marked.script("SET haul_session.mark = 'another'")
    await #expect(throws: PostgresError.noSession) { try await marked.requireSession() }
    try await eventually("the end of the connection") { marked.isLost }
    await #expect(throws: PostgresError.noSession) { try await marked.query("SELECT") }
  }

  /// Two processes, and neither keeps a setting or an open transaction.
  @Test func `without a session each call has its settings, whatever process serves it`()
    async throws
  {
    try await withTestDatabase(.empty) { database in
      let admin = try await database.connect()
      try await admin.execute(
        """
        ALTER DATABASE "\(database.name)" SET default_transaction_isolation = 'repeatable read'
        """)
      try await admin.execute("ALTER DATABASE \"\(database.name)\" SET statement_timeout = '11s'")
      try await admin.execute("CREATE TABLE t (n int)")
      let pooler = try await Pooler(
        to: database, .transaction, size: 2, settings: ["server_round_robin = 1"])
      let configuration = Self.configuration(pooler, needsSession: false)
      let connections = [
        try await Connection.connect(configuration), try await Connection.connect(configuration),
        try await Connection.connect(configuration),
      ]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for connection in connections {
          group.addTask {
            #expect(connection.isShared)
            for number in 1...20 {
              let rows = try await connection.query(
                "SELECT current_setting('transaction_isolation'), current_setting('statement_timeout')"
              )
              #expect(try rows[0].decode(0, as: String.self) == "read committed")
              #expect(try rows[0].decode(1, as: String.self) == "0")
              try await connection.execute("INSERT INTO t VALUES ($1)", [number])
              try await connection.script("INSERT INTO t VALUES (0); INSERT INTO t VALUES (0)")
              try await connection.transaction { transaction in
                let first: Int32 = try await transaction.query("SELECT pg_backend_pid()")[0].decode(
                  0)
                let second: Int32 = try await transaction.query("SELECT pg_backend_pid()")[0]
                  .decode(0)
                #expect(first == second)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try await admin.query("SELECT count(*) FROM t")[0].decode(0) == 180)
      await #expect(throws: PostgresError.self) { try await connections[0].listen("haul") }
      await #expect(throws: PostgresError.self) { try await connections[0].query("SELECT 1/0") }
      #expect(try await connections[0].query("SELECT 1")[0].decode(0) == 1)
      for connection in connections + [admin] { await connection.close() }
    }
  }
}
