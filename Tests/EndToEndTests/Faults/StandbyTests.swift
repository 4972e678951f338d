import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// Servers that only read for a while: a standby behind the pool's address, or a primary that is set so.
@Suite struct StandbyTests {
  private let length: Int64 = 200_000
  private let half: Int64 = 100_000

  private func origin(_ gate: Gate) throws -> OriginServer {
    try OriginServer { request, reply in
      var representation = Representation(seed: 1, length: length)
      representation.gates[half] = gate
      try representation.answer(request, reply)
    }
  }

  /// Waits until the worker has found that the server only reads. It has then been without a session for its heartbeats for so
  /// long that it has tried to connect for its work too.
  private func cutOff(_ worker: HaulProcess) async throws {
    try await worker.child.first("a server that only reads", within: .seconds(30)) {
      $0.standardError.contains { $0.contains("read-only") } ? () : nil
    }
    try await worker.event("worker.suspended")
  }

  /// Not by one request: a coordinator that is back before the worker may have taken it for dead.
  private func expectWhole(_ pool: HaulPool) throws {
    #expect(try pool.files() == ["1"])
    #expect(
      try FileTree.firstDifference(
        of: pool.directory + "/1", from: Pattern(seed: 1), length: length) == nil)
  }

  private static let endSessions =
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'haul-worker%'"

  /// 1. A worker has half of a file, and its address then leads to a standby: its sessions are made anew there.
  /// 2. The address leads to the primary again. The worker settles its job, and drains when it is told to.
  @Test func `an address that leads to a standby for a while keeps no worker`() async throws {
    let gate = Gate("half")
    let origin = try origin(gate)
    let server = try await PrivatePostgres()
    let pool = try await HaulPool(migrating: server.database)
    let standby = try await server.standby()
    let relay = try DatabaseRelay(to: server.database)
    let place = ["HAUL_DATABASE_URL": relay.conninfo]
    try await pool.submit(origin.url("/1"), to: "1")
    let worker = try pool.worker(environment: place)
    try await origin.sent(half)
    try relay.lead(to: standby.database)
    _ = try await pool.admin.query(Self.endSessions)
    try await cutOff(worker)
    // Commands that write nothing work there, without the progress of running transfers.
    for command in [
      ["store", "list"], ["host", "policies"], ["export"], ["jobs"],
      ["jobs", "--state", "running"], ["job", "1"], ["batches"], ["why"], ["failures"], ["history"],
      ["hosts"], ["queues"], ["workers"], ["metrics"],
    ] {
      let output = try await pool.haul(command, environment: place)
      #expect(output.exit == .code(0), "\(command): \(output)")
      let saysSo = output.standardError.contains { $0.contains("is a standby") }
      #expect(saysSo, "\(command): \(output)")
    }
    let why = try await pool.haul(["why"], environment: place)
    #expect(!why.standardOutput.contains { $0.contains("coordinator") }, "\(why)")
    for command in [["submit", "http://h.test/x"], ["queue", "pause", "data"], ["migrate"]] {
      let output = try await pool.haul(command, environment: place)
      #expect(output.exit == .code(75), "\(command): \(output)")
      #expect(
        output.standardError.last?.contains("onnect to the primary") == true,
        "\(command): \(output)")
    }
    try relay.lead(to: server.database)
    gate.open()
    try await eventually("the job to be completed") {
      try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 1
    }
    try await worker.drain()
    try expectWhole(pool)
    #expect(try await pool.violations() == [])
  }

  /// 1. A standby is cut off, and a worker claims a job and has half of its file. Then the standby is promoted.
  /// 2. Another worker takes the same job from the standby, with the same directory.
  /// 3. The first worker's address leads to the standby too, which does not know it: it ends, to be started anew.
  @Test func `a standby that lacks the last commits hands out no token twice`() async throws {
    let gate = Gate("half")
    let origin = try origin(gate)
    let server = try await PrivatePostgres()
    let pool = try await HaulPool(migrating: server.database)
    try await pool.submit(origin.url("/1"), to: "1")
    let standby = try await server.standby()
    let second = try await standby.database.connect()
    try await second.execute("ALTER SYSTEM SET primary_conninfo = ''")
    _ = try await second.query("SELECT pg_reload_conf()")
    try await eventually("the standby to be cut off") {
      try await second.query("SELECT FROM pg_stat_wal_receiver").isEmpty
    }
    let relay = try DatabaseRelay(to: server.database)
    let first = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
    try await origin.sent(half)
    #expect(try await pool.value("SELECT token FROM haul.running") == 1)
    _ = try await second.query("SELECT pg_promote()")
    let other = try pool.worker(environment: ["HAUL_DATABASE_URL": standby.database.conninfo])
    try await eventually("the job to run a second time") {
      try await second.query("SELECT FROM haul.running WHERE token > 4294967296").count == 1
    }
    try relay.lead(to: standby.database)
    _ = try await pool.admin.query(Self.endSessions)
    #expect(try await first.exit(within: .seconds(60)) == .code(75))
    gate.open()
    try await eventually("the job to be completed") {
      try await second.query("SELECT FROM haul.jobs WHERE state = 'completed'").count == 1
    }
    let representation = Representation(seed: 1, length: length)
    #expect(
      FileManager.default.contents(atPath: pool.directory + "/1").map(Array.init)
        == representation.bytes(in: 0..<length))
    try await other.drain()
    #expect(
      try await second.query("SELECT FROM haul.health WHERE violations > 0").isEmpty)
    await second.close()
  }

  /// As providers do it while a disk is nearly full: for new sessions, until it is taken back.
  @Test func `a database that is set to read only keeps no worker when that ends`() async throws {
    let gate = Gate("half")
    let origin = try origin(gate)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      try await pool.submit(origin.url("/1"), to: "1")
      let worker = try pool.worker()
      try await origin.sent(half)
      let name = pool.database.name
      _ = try await pool.admin.execute(
        "ALTER DATABASE \"\(name)\" SET default_transaction_read_only = on")
      _ = try await pool.admin.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'haul-%' AND datname = $1 AND pid <> pg_backend_pid()",
        [name])
      try await cutOff(worker)
      try await coordinator.child.first("a server that only reads", within: .seconds(30)) {
        $0.standardError.contains { $0.contains("read-only") } ? () : nil
      }
      _ = try await pool.admin.execute(
        "ALTER DATABASE \"\(name)\" RESET default_transaction_read_only")
      gate.open()
      try await pool.wait(for: 1, toBe: "completed")
      try await worker.drain()
      try await coordinator.drain()
      try expectWhole(pool)
    }
  }

  /// A setting of the whole server reaches sessions that there are.
  @Test func `a server that is set to read only under its sessions keeps no worker`() async throws {
    let gate = Gate("half")
    let origin = try origin(gate)
    let server = try await PrivatePostgres()
    let pool = try await HaulPool(migrating: server.database)
    try await pool.submit(origin.url("/1"), to: "1")
    let worker = try pool.worker()
    try await origin.sent(half)
    try await pool.admin.execute("ALTER SYSTEM SET default_transaction_read_only = on")
    _ = try await pool.admin.query("SELECT pg_reload_conf()")
    try await cutOff(worker)
    try await pool.admin.execute("ALTER SYSTEM RESET default_transaction_read_only")
    _ = try await pool.admin.query("SELECT pg_reload_conf()")
    gate.open()
    try await eventually("the job to be completed") {
      try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 1
    }
    try await worker.drain()
  }

  /// 1. The worker's login may have one session; the one for its work is ended, and that for its heartbeats stays.
  /// 2. It stops sending heartbeats, so that another goes on with its job.
  /// 3. Told to drain, it ends.
  @Test func `a worker that cannot settle gives its jobs to others and ends`() async throws {
    let gate = Gate("half")
    let origin = try origin(gate)
    try await HaulPool.open { pool in
      try await pool.database.withLogin("haul_worker") { login in
        try await pool.submit(origin.url("/1"), to: "1")
        let one = try pool.worker(environment: ["HAUL_DATABASE_URL": login.conninfo])
        try await origin.sent(half)
        _ = try await pool.admin.execute("ALTER ROLE \"\(login.name)\" CONNECTION LIMIT 1")
        _ = try await pool.admin.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'haul-worker' AND usename = $1",
          [login.name])
        try await one.event("worker.fenced", within: .seconds(60))
        let two = try pool.worker("--exit-when-idle")
        gate.open()
        #expect(try await two.exit(within: .seconds(60)) == .code(0))
        one.signal(SIGTERM)
        #expect(try await one.exit(within: .seconds(60)) == .code(75))
        #expect(
          try await pool.values("SELECT result::text FROM haul.attempts ORDER BY token")
            == ["rescued", "completed"])
        #expect(try pool.files() == ["1"])
        #expect(try await pool.violations() == [])
      }
    }
  }
}
