import JobModel
import JobQueue
import Postgres
import Schema
import TestSupport
import Testing

/// Servers that other people run, as clouds do: nobody is superuser, and the owner of a database may create roles.
///
/// On the oldest and the newest PostgreSQL that are here. Since version 16, who creates a role may not act as it.
struct ManagedServerTests {
  static let newest: ConditionTrait = .enabled(
    if: PrivatePostgres.newest != nil, "no newer PostgreSQL: scripts/needs could not install one")

  /// A server with the database `pool` of the login `owner`, who may create roles and databases.
  private struct Managed {
    let server: PrivatePostgres
    let database: TestDatabase

    init(programs: String) async throws {
      server = try await PrivatePostgres(programs: programs)
      database = server.database("pool")
      let superuser = try await server.database.connect()
      try await superuser.script("CREATE ROLE owner LOGIN CREATEROLE CREATEDB")
      await superuser.close()
      let owner = try await connect("owner", to: server.database)
      try await owner.execute("CREATE DATABASE pool")
      await owner.close()
    }

    func connect(_ login: String, to database: TestDatabase? = nil) async throws -> Connection {
      try await Connection.connect(
        ConnectionConfiguration(
          conninfo: "\((database ?? self.database).conninfo) user=\(login)",
          applicationName: "haul-tests", connectTimeout: .seconds(30)))
    }

    func queue(_ login: String) async throws -> JobQueue { JobQueue(try await connect(login)) }

    /// Runs `sql` as a superuser on the pool's database.
    func execute(_ sql: String) async throws {
      let superuser = try await database.connect()
      try await superuser.script(sql)
      await superuser.close()
    }
  }

  @Test func `an owner who is no superuser makes a pool`() async throws {
    try await makePool(PrivatePostgres.installed)
  }

  @Test(newest) func `an owner who is no superuser makes a pool on the newest server`() async throws
  {
    try await makePool(#require(PrivatePostgres.newest))
  }

  private func makePool(_ programs: String) async throws {
    let managed = try await Managed(programs: programs)
    let owner = try await managed.connect("owner")
    #expect(try await Migrator.migrate(owner).applied == Schema.migrations.map(\.version))
    #expect(try await Migrator.migrate(owner).refreshed == [])
    try await owner.script(
      """
      CREATE ROLE alice LOGIN IN ROLE haul_admin; CREATE ROLE sender LOGIN IN ROLE haul_submitter;
      CREATE ROLE machine LOGIN IN ROLE haul_worker; CREATE ROLE viewer LOGIN IN ROLE haul_monitor;
      """)
    let marker = "00000000-0000-4000-8000-000000000001"
    let admin = try await managed.queue("alice")
    let instance = try await admin.initStore(
      name: "data", marker: marker, machine: "machine", root: "/data")
    let lines = (1...3).map {
      SubmitLine(line: $0, url: "https://a.test/\($0)", host: "a.test", path: "a.test/\($0)")
    }
    let sender = try await managed.queue("sender")
    #expect(try await sender.submit(Submission(queue: "data", batch: "b"), lines).submitted == 3)
    try await work(managed, marker: marker, instance: instance)
    let viewer = try await managed.queue("viewer")
    try await viewer.requireSchema()
    #expect(try await viewer.batches(limit: 9).map(\.completed) == [1])
    #expect(try await viewer.health().filter { $0.violations != 0 } == [])
    #expect(try await viewer.workers(includingGone: true).count == 1)
    #expect(try await viewer.vitals().count > 5)
    for (login, queue) in [("viewer", viewer), ("alice", admin)] {
      let facts = try await queue.databaseFacts()
      #expect(facts.may.administer == (login == "alice") && facts.may.watch, "\(login)")
    }
    let refused = await #expect(throws: PostgresError.self) {
      try await viewer.submit(Submission(queue: "data"), lines)
    }
    #expect(refused?.sqlState == .insufficientPrivilege)
  }

  /// Claims, saves a checkpoint, completes one job and hands the others back.
  private func work(_ managed: Managed, marker: String, instance: Int) async throws {
    let machine = try await managed.queue("machine")
    let registration = try await machine.register(
      program: "test", machine: "machine", pid: 1, concurrency: 4,
      stores: [JobQueue.StoreMarker(store: "data", marker: marker)], queues: nil)
    let worker = TestWorker(
      caller: JobQueue.Caller(registration), work: try await managed.connect("machine"),
      life: try await managed.connect("machine"))
    try await JobQueue(worker.life).attachSession(worker.caller)
    let leases = try await worker.claim(3)
    let first = try #require(leases.first)
    try await worker.heartbeat(leases)
    #expect(try await worker.checkpoint(first, instance: instance))
    #expect(try await worker.end(first, .completed) == "completed")
    for lease in leases.dropFirst() { try await worker.end(lease, .released) }
    _ = try await machine.rescue()
  }

  @Test func `an operator upgrades a pool`() async throws {
    try await upgrade(PrivatePostgres.installed)
  }

  @Test(newest) func `an operator upgrades a pool on the newest server`() async throws {
    try await upgrade(#require(PrivatePostgres.newest))
  }

  /// Whoever is granted haul_admin, with all its rights or only that to act as it, may create neither roles nor schemas.
  private func upgrade(_ programs: String) async throws {
    let managed = try await Managed(programs: programs)
    let owner = try await managed.connect("owner")
    _ = try await Migrator.migrate(owner)
    try await owner.script(
      """
      CREATE ROLE alice LOGIN IN ROLE haul_admin;
      CREATE ROLE bob LOGIN NOINHERIT IN ROLE haul_admin;
      """)
    for login in ["alice", "bob", "owner"] {
      try await managed.execute("UPDATE haul.repeatable SET digest = 'older'")
      let connection = try await managed.connect(login)
      #expect(try await Migrator.migrate(connection).refreshed.count == 1, "\(login)")
      #expect(try await Migrator.migrate(connection).refreshed == [], "\(login)")
    }
  }

  /// What a role gets of the roles that it creates: a setting since PostgreSQL 16.
  @Test(newest, arguments: ["", "set", "inherit", "set, inherit"])
  func `whatever a creator gets of his roles, he makes a pool`(given: String) async throws {
    let managed = try await Managed(programs: #require(PrivatePostgres.newest))
    try await managed.execute("ALTER ROLE owner SET createrole_self_grant = '\(given)'")
    let owner = try await managed.connect("owner")
    #expect(try await Migrator.migrate(owner).applied == Schema.migrations.map(\.version))
    try await managed.execute("UPDATE haul.repeatable SET digest = 'older'")
    #expect(try await Migrator.migrate(owner).refreshed.count == 1)
  }
}
