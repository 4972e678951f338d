import JobQueue
import Postgres
import TestSupport
import Testing

/// `haul.vitals`: each measurement alarms when what it measures has come so far.
struct VitalsTests {
  /// The measurement, by who looks, and whether it alarms.
  private func vital(
    _ name: String, of subject: String? = nil, on connection: Connection
  ) async throws -> (value: Double, alarms: Bool) {
    let rows = try await connection.query(
      "SELECT value, alarming FROM haul.vitals WHERE vital = $1 AND ($2::text IS NULL OR subject = $2)",
      [name, subject])
    let row = try #require(rows.first)
    #expect(rows.count == 1)
    return (try row.decode(0), try row.decode(1))
  }

  /// That it is quiet, alarms once `statements` have been run, in a transaction that is taken back then, and is quiet again.
  private func force(_ name: String, _ statements: String, above least: Double) async throws {
    try await Pool.open { pool in
      #expect(try await vital(name, on: pool.admin).alarms == false)
      try await pool.admin.script("BEGIN; \(statements)")
      let forced = try await vital(name, on: pool.admin)
      #expect(forced.alarms && forced.value > least, "\(forced)")
      try await pool.admin.script("ROLLBACK")
      #expect(try await vital(name, on: pool.admin).alarms == false)
    }
  }

  @Test func `old rows that VACUUM has not frozen alarm`() async throws {
    // As if 1.1 thousand million transactions had been since; a transaction's number has 32 bits.
    try await force(
      "frozen_age",
      """
      UPDATE pg_database SET datfrozenxid = ((txid_current() - 1100000000 + 4294967296) % 4294967296)::text::xid
      WHERE datname = current_database()
      """, above: 1_000_000_000)
  }

  @Test func `changes to totals that nobody adds up alarm`() async throws {
    try await force(
      "changes_to_add",
      """
      INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
      SELECT 0, now(), 1, 0, 0, 0, 0 FROM generate_series(1, 100001)
      """, above: 100_000)
  }

  @Test func `a snapshot that is held for long alarms`() async throws {
    // Nobody can say that a transaction began earlier than it did.
    try await force(
      "oldest_snapshot",
      """
      CREATE OR REPLACE FUNCTION haul.held_snapshots() RETURNS TABLE (holder text, age interval)
      LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, haul, pg_temp AS $$
        SELECT 'process 1', interval '6 minutes' UNION ALL SELECT 'process 2', interval '1 second'
      $$
      """, above: 359)
  }

  @Test func `no room for jobs alarms until there is a partition`() async throws {
    try await Pool.open { pool in
      try await pool.submit()
      let room = try await vital("partition_room", on: pool.admin)
      #expect(!room.alarms && room.value >= 500_000)
      try await pool.execute(
        "SELECT setval('haul.job_id', (SELECT last_value FROM haul.job_id) + $1::bigint - 1000)",
        [Int64(room.value)])
      let full = try await vital("partition_room", on: pool.admin)
      #expect(full.alarms && full.value == 1000)
      // Whoever submits makes one.
      try await pool.submit()
      #expect(try await vital("partition_room", on: pool.admin).alarms == false)
    }
  }

  @Test func `dead rows alarm until VACUUM has been there`() async throws {
    try await Pool.open { pool in
      try await pool.admin.script(
        """
        ALTER TABLE haul.held SET (autovacuum_enabled = off);
        INSERT INTO haul.held (job, queue, host, instance, priority, held_at) SELECT -i, 1, 1, 0, 5, now() FROM generate_series(1, 100100) i;
        DELETE FROM haul.held
        """)
      // The server tells of changes once a second, by itself.
      try await eventually("the alarm") {
        try await vital("dead_rows", of: "held", on: pool.admin).alarms
      }
      #expect(try await vital("dead_rows", of: "lease", on: pool.admin).alarms == false)
      try await pool.execute("VACUUM haul.held")
      try await eventually("the end of the alarm") {
        try await vital("dead_rows", of: "held", on: pool.admin).alarms == false
      }
    }
  }

  @Test func `a standby that keeps rows of this server is named`() async throws {
    let server = try await PrivatePostgres()
    let admin = try await server.database.connect()
    _ = try await Migrator.migrate(admin)
    let holder = "SELECT subject FROM haul.vitals WHERE vital = 'standby_snapshot'"
    #expect(try await admin.query(holder)[0].decode(0, as: String?.self) == nil)
    let standby = try await server.standby()
    let reader = try await standby.database.connect()
    for setting in ["hot_standby_feedback = on", "wal_receiver_status_interval = 1"] {
      try await reader.execute("ALTER SYSTEM SET \(setting)")
    }
    try await reader.execute("SELECT pg_reload_conf()")
    try await eventually("the word of the standby") {
      try await admin.query(holder)[0].decode(0, as: String?.self) == "standby walreceiver"
    }
    let facts = try await JobQueue(admin).databaseFacts()
    #expect(facts.standby?.name == "the standby walreceiver")
    // A worker's own sessions hold nothing meanwhile.
    #expect(try await vital("standby_snapshot", on: admin).alarms == false)

    // With a slot, also while the standby is away.
    _ = try await admin.query("SELECT pg_create_physical_replication_slot('s1')")
    try await reader.execute("ALTER SYSTEM SET primary_slot_name = 's1'")
    try await reader.execute("SELECT pg_reload_conf()")
    let slot = "SELECT holder FROM haul.standby_snapshots() WHERE holder = 'replication slot s1'"
    try await eventually("the slot's word") { try await admin.query(slot).count == 1 }
    await reader.close()
    try await standby.crash()
    try await eventually("the end of the connection") {
      try await admin.query("SELECT FROM haul.standby_snapshots()").count == 1
    }
    #expect(try await admin.query(holder)[0].decode(0) == "replication slot s1")
    let kept = try await JobQueue(admin).databaseFacts().standby
    #expect(kept?.name == "the replication slot s1")
    await admin.close()
  }

  /// On a server of its own: others could not connect.
  @Test func `connections alarm when nine of ten are in use`() async throws {
    let server = try await PrivatePostgres(
      port: OriginProgram.freePort(), settings: "max_connections = 12", access: "", files: [])
    let admin = try await server.database.connect()
    _ = try await Migrator.migrate(admin)
    #expect(try await vital("connections", on: admin).alarms == false)
    var others: [Connection] = []
    for _ in 0..<10 { others.append(try await server.database.connect()) }
    let full = try await vital("connections", on: admin)
    #expect(full.alarms && full.value > 0.9 && full.value < 1)
    for connection in others { await connection.close() }
    try await eventually("the end of the alarm") {
      try await vital("connections", on: admin).alarms == false
    }
    await admin.close()
  }

  /// On a server of its own: all databases of a server share the queue.
  @Test func `a session that keeps the queue of notifications from emptying is named`() async throws
  {
    let server = try await PrivatePostgres()
    let admin = try await server.database.connect()
    _ = try await Migrator.migrate(admin)
    try await admin.execute("CREATE ROLE alice LOGIN")
    try await admin.execute("CREATE DATABASE other OWNER alice")
    #expect(try await holders(of: admin) == nil)
    let listener = try await Connection.connect(
      ConnectionConfiguration(
        conninfo: server.database("other").conninfo + " user=alice", applicationName: "other",
        connectTimeout: .seconds(30)))
    try await listener.execute("LISTEN news")
    try await listener.script("BEGIN; SELECT 1")
    let younger = try await server.database.connect()
    try await younger.script("BEGIN; SELECT 1")
    try await notify(admin, pages: 20)
    let queue = try await vital("notify_queue", on: admin)
    #expect(queue.value > 0 && !queue.alarms)
    let oldest = try await holders(of: admin)
    #expect(oldest == "process \(listener.backendPID) of alice")
    // Without the right to see how old transactions are, it is one of the few that are named.
    try await admin.execute("REVOKE pg_read_all_stats FROM haul_admin")
    let named = try #require(try await holders(of: admin)).split(separator: ", ")
    #expect(
      Set(named) == [
        "process \(listener.backendPID) of alice", "process \(younger.backendPID) of postgres",
      ])
    // A transaction that has failed and is still open is one too, although it has no start any more.
    try await younger.script("ROLLBACK")
    try await admin.execute("GRANT pg_read_all_stats TO haul_admin")
    await #expect(throws: PostgresError.self) { try await listener.execute("SELECT 1 / 0") }
    #expect(try await holders(of: admin) == "process \(listener.backendPID) of alice")
    try await listener.script("ROLLBACK")
    try await eventually("the queue to empty") { try await holders(of: admin) == nil }
    for connection in [listener, younger, admin] { await connection.close() }
  }

  @Test(ManagedServerTests.newest) func `a queue of notifications that is half full alarms`()
    async throws
  {
    let server = try await PrivatePostgres(programs: #require(PrivatePostgres.newest))
    let before = try await server.database.connect()
    // Without this setting, which older servers do not have, the queue takes 8 GiB.
    try await before.execute("ALTER SYSTEM SET max_notify_queue_pages = 64")
    await before.close()
    try await server.crash()
    try await server.start()
    let admin = try await server.database.connect()
    _ = try await Migrator.migrate(admin)
    let listener = try await server.database.connect()
    try await listener.execute("LISTEN news")
    try await listener.script("BEGIN; SELECT 1")
    try await notify(admin, pages: 40)
    let queue = try await vital("notify_queue", on: admin)
    #expect(queue.alarms && queue.value > 0.5)
    #expect(try await holders(of: admin) == "process \(listener.backendPID) of postgres")
    await listener.close()
    try await eventually("the end of the alarm") {
      try await vital("notify_queue", on: admin).alarms == false
    }
    await admin.close()
  }

  /// Sends about as many pages of notifications, of 8 KiB each.
  private func notify(_ connection: Connection, pages: Int) async throws {
    try await connection.execute(
      "SELECT count(pg_notify('news', repeat('a', 7900) || i)) FROM generate_series(1, $1::int) i",
      [pages])
  }

  /// Who keeps the queue of notifications from emptying, as `haul.vitals` has it.
  private func holders(of connection: Connection) async throws -> String? {
    try await connection.query("SELECT subject FROM haul.vitals WHERE vital = 'notify_queue'")[0]
      .decode(0)
  }
}
