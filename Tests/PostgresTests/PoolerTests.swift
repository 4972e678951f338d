import TestSupport
import Testing

@testable import Postgres

/// Connections through PgBouncer.
@Suite struct PoolerTests {
  private static func configuration(_ pooler: Pooler) -> ConnectionConfiguration {
    ConnectionConfiguration(
      conninfo: pooler.conninfo, applicationName: "haul-tests", connectTimeout: .seconds(30))
  }

  @Test func `a direct connection has no mark, and needs none`() async throws {
    let connection = try await TestServer.connect()
    #expect(connection.mark == nil)
    try await connection.requireSession()
    let mark: String? = try await connection.query(
      "SELECT current_setting('haul.session', true)")[0].decode(0)
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
      #expect(connection.mark != nil)
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
      link: connection.link, backendPID: connection.backendPID, isTransaction: false, mark: "mine")
    try await marked.script("SET haul.session = 'mine'")
    try await marked.requireSession()
    try await marked.script("SET haul.session = 'another'")
    await #expect(throws: PostgresError.noSession) { try await marked.requireSession() }
    try await eventually("the end of the connection") { marked.isLost }
    await #expect(throws: PostgresError.noSession) { try await marked.query("SELECT") }
  }
}
