import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// Replies of the database that never arrive although what was asked for is done.
@Suite struct LostReplyTests {
  private let length: Int64 = 200_000

  private func site(_ count: Int, gate: Gate? = nil) -> Site {
    let site = Site()
    for number in 1...count {
      var representation = Representation(seed: UInt64(number), length: length)
      representation.gates[100_000] = gate
      site["/\(number)"] = representation
    }
    return site
  }

  private func submit(_ count: Int, _ origin: OriginServer, to pool: HaulPool) async throws {
    for number in 1...count { try await pool.submit(origin.url("/\(number)"), to: "\(number)") }
  }

  /// Each job has one attempt, one request and its file; nothing else is there.
  private func expectOnce(_ count: Int, _ pool: HaulPool, _ origin: OriginServer) async throws {
    let jobs: [Int64] = try await pool.values(
      "SELECT job FROM haul.jobs WHERE state = 'completed' ORDER BY 1")
    #expect(jobs.count == count)
    #expect(try await pool.value("SELECT count(*) FROM haul.attempts") == count)
    #expect(origin.log.value.exchanges.count == count)
    for number in 1...count {
      let file = "\(pool.directory)/\(number)"
      let pattern = Pattern(seed: UInt64(number))
      #expect(try FileTree.firstDifference(of: file, from: pattern, length: length) == nil)
    }
    #expect(try pool.files().count == count)
    #expect(try await pool.violations() == [])
  }

  /// From now on the worker has no session but the one for its work.
  private func loseHeartbeats(_ relay: DatabaseRelay) {
    for call in ["haul.heartbeat(", "haul.attach_session("] {
      relay.lose(.cut, replyTo: call, count: .max)
    }
  }

  /// The connection is cut after the commit, for the first call or for the first six, repetitions included.
  @Test(arguments: [1, 6])
  func `a claim or a settlement whose reply is lost takes effect once`(_ losses: Int) async throws {
    let origin = try OriginServer(handler: site(12).answer)
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      try await submit(12, origin, to: pool)
      relay.lose(.cut, replyTo: "haul.work(", count: losses)
      let worker = try pool.worker(
        "--exit-when-idle", environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await relay.lost(losses)
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      try await expectOnce(12, pool, origin)
    }
  }

  /// 1. The job is running; the settlement is committed, its reply lost.
  /// 2. The same call is made again and answered from what it did.
  @Test func `a settlement whose reply is lost completes the job once`() async throws {
    let gate = Gate("half")
    let origin = try OriginServer(handler: site(1, gate: gate).answer)
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      try await submit(1, origin, to: pool)
      let worker = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await origin.sent(100_000)
      relay.lose(.cut, replyTo: "\"result\":\"completed\"", count: 3)
      gate.open()
      try await worker.event("job.completed")
      #expect(relay.state.value.lost == 3)
      try await worker.drain()
      try await expectOnce(1, pool, origin)
    }
  }

  @Test(arguments: ["haul.checkpoint(", "haul.heartbeat("])
  func `a transfer goes on when replies to its reports are lost`(_ call: String) async throws {
    let gate = Gate("half")
    let origin = try OriginServer(handler: site(2, gate: gate).answer)
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      try await submit(2, origin, to: pool)
      let worker = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await origin.sent(200_000)
      relay.lose(.cut, replyTo: call, count: 2)
      try await relay.lost(2)
      try await worker.event("job.checkpoint")
      gate.open()
      try await eventually("both jobs to be completed") {
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 2
      }
      try await worker.drain()
      #expect(worker.events("lease.lost").isEmpty)
      try await expectOnce(2, pool, origin)
    }
  }

  /// 1. The connections go silent without an end, and new ones are closed.
  /// 2. The worker gives them up and holds its transfers.
  /// 3. It connects anew before its leases end, and is confirmed.
  @Test func `a worker without heartbeats suspends its transfers and goes on`() async throws {
    let gate = Gate("half")
    let origin = try OriginServer(handler: site(2, gate: gate).answer)
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      try await submit(2, origin, to: pool)
      let worker = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await origin.sent(200_000)
      relay.partition()
      let suspended = try await worker.event("worker.suspended")
      relay.restore()
      try await worker.event("worker.confirmed", after: suspended)
      gate.open()
      try await eventually("both jobs to be completed") {
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 2
      }
      try await worker.drain()
      try await expectOnce(2, pool, origin)
    }
  }

  /// 1. A's claim is committed, its reply lost, again and again; then A's heartbeats too, until it is suspended.
  /// 2. The claim is answered. A's session is gone, so B takes the job, and the origin lets it have half.
  /// 3. A's heartbeats come back: the job is lost, and A has asked the origin for nothing.
  @Test func `what a suspended worker is given it does not begin`() async throws {
    let gate = Gate("half")
    let origin = try OriginServer(handler: site(1, gate: gate).answer)
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      try await submit(1, origin, to: pool)
      // Its first call claims.
      relay.lose(.cut, replyTo: "haul.work(", count: .max)
      let one = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await relay.lost(1)
      loseHeartbeats(relay)
      try await one.event("worker.suspended")
      try await relay.pass(replyTo: "haul.work(")
      // Nobody else has kept house so far.
      let two = try pool.worker()
      try await origin.sent(100_000)
      #expect(one.events("job.started").isEmpty)
      relay.restore()
      try await one.gaveUp()
      gate.open()
      try await two.event("job.completed")
      try await two.drain()
      try await one.drain()
      #expect(origin.log.value.exchanges.count == 1)
      #expect(try pool.files() == ["1"])
      #expect(try await pool.violations() == [])
    }
  }

  /// 1. A is cut off from the database altogether, stops by its own clock and keeps its process.
  /// 2. Its leases expire; B takes the jobs and is stopped by the origin.
  /// 3. A comes back: what it has to say is stale, and it takes part again.
  @Test func `a worker cut off from the database fences itself and comes back`() async throws {
    let (gate, late) = (Gate("half"), Gate("late"))
    let site = site(2, gate: gate)
    for number in 1...2 { site["/\(number)"]?.gates[150_000] = late }
    let origin = try OriginServer(handler: site.answer)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let relay = try DatabaseRelay(to: pool.database)
      try await submit(2, origin, to: pool)
      let one = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await origin.sent(200_000)
      relay.partition()
      try await one.event("worker.fenced", within: .seconds(60))
      let two = try pool.worker()
      gate.open()
      try await eventually("the second worker to have both jobs") {
        try await pool.value(
          "SELECT count(*) FROM haul.lease WHERE worker = $1", [try await two.workerNumber()]) == 2
      }
      relay.restore()
      try await one.gaveUp(within: .seconds(60))
      late.open()
      try await eventually("both jobs to be completed") {
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 2
      }
      try await two.drain()
      try await pool.submit(origin.url("/1"), to: "again")
      try await eventually("a job more") {
        try await pool.value("SELECT state::text FROM haul.jobs WHERE path = 'again'")
          == "completed"
      }
      try await one.drain()
      try await coordinator.drain()
      let results: [String] = try await pool.values(
        "SELECT result::text FROM haul.attempts ORDER BY token")
      #expect(results == ["rescued", "rescued", "completed", "completed", "completed"])
      #expect(try pool.files() == ["1", "2", "again"])
      #expect(try await pool.violations() == [])
    }
  }

  /// As after a return to an older state of the database: the session is not attached any more, and nothing is in hand.
  @Test func `a suspended worker that the database does not know any more ends`() async throws {
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      let one = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await one.event("worker.started")
      loseHeartbeats(relay)
      try await one.event("worker.suspended")
      _ = try await pool.admin.query("UPDATE haul.worker SET secret_digest = sha256('another')", [])
      #expect(try await one.exit(within: .seconds(60)) == .code(75))
    }
  }

  /// 1. The worker is cut off until it has fenced itself, with a job at half or with none.
  /// 2. It is told to drain, and ends; another goes on with the job. That it cannot look for part files that nobody needs is
  ///    nothing to be told of.
  @Test(arguments: [0, 1])
  func `a drain does not wait for a database longer than leases live`(_ jobs: Int) async throws {
    let gate = Gate("half")
    let origin = try OriginServer(handler: site(1, gate: gate).answer)
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      let id: String = try await pool.value("SELECT haul.pool_id()")
      let one = try pool.worker(environment: ["HAUL_DATABASE_URL": relay.conninfo])
      try await one.event("worker.started")
      if jobs > 0 {
        try await submit(1, origin, to: pool)
        try await origin.sent(100_000)
      }
      relay.partition()
      if jobs == 0 {
        try await one.event("worker.fenced", within: .seconds(60))
        let parts = "\(pool.directory)/.haul/parts/\(id)/00"
        try FileManager.default.createDirectory(
          atPath: parts, withIntermediateDirectories: true)
        #expect(FileManager.default.createFile(atPath: parts + "/999.1", contents: nil))
      }
      one.signal(SIGTERM)
      let exit = try await one.exit(within: .seconds(90))
      #expect(exit == .code(jobs == 0 ? 0 : 75))
      #expect(one.events("janitor.failed").isEmpty)
      gate.open()
      let two = try pool.worker("--exit-when-idle")
      #expect(try await two.exit(within: .seconds(60)) == .code(0))
      #expect(try pool.files().count == jobs)
      #expect(try await pool.violations() == [])
    }
  }
}
