import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// A worker that could resume an interrupted job gets a place of the host before others start new jobs there.
@Suite struct ReservedPlaceTests {
  /// A host with one place, a busy worker that uses it, and a job that another worker's directory has a part file of.
  private struct Scene {
    let pool: Pool
    let busy: TestWorker
    let owner: TestWorker
    let running: Lease
    let interrupted: Int64

    /// The busy worker ends its transfer and asks for as many jobs as it can get.
    func next() async throws -> [Lease] {
      try await busy.call(
        [LeaseEnding(job: running.job, token: running.token, result: .completed)], room: 9
      ).claimed
    }
  }

  private func open(priority: Int = 5, _ body: (Scene) async throws -> Void) async throws {
    try await Pool.open { pool in
      let marker = "11111111-2222-3333-4444-555555555555"
      let instance = try await pool.jobs.initStore(
        name: Pool.name, marker: marker, machine: "other", root: "/data")
      let owner = try await pool.steadyWorker(markers: [marker], concurrency: 2)
      let job = try await pool.submit(priority: priority)[0]
      try await pool.execute("UPDATE haul.host SET cap = 1, policy_cap = 1")
      let lease = try await owner.claimOne()
      #expect(try await owner.checkpoint(lease, instance: instance))
      #expect(try await owner.end(lease, .released) == "interrupted")
      // The pool's other worker was faster.
      try await pool.execute("UPDATE haul.ready SET hold_until = '-infinity' WHERE job = $1", [job])
      try await pool.submit(9)
      let busy = try await pool.steadyWorker()
      let running = try await busy.claimOne()
      #expect(running.job != job)
      try await pool.execute(
        "UPDATE haul.ready SET hold_until = clock_timestamp() + haul.hold_time() WHERE job = $1",
        [job])
      try await body(
        Scene(pool: pool, busy: busy, owner: owner, running: running, interrupted: job))
    }
  }

  @Test func `the place that a busy worker frees goes to the worker with the part file`()
    async throws
  {
    try await open { scene in
      let listener = try await scene.pool.connect()
      try await listener.listen("haul")
      #expect(try await scene.next().count == 0)
      try await scene.pool.execute("NOTIFY haul, 'done'")
      var told: [String] = []
      for await notification in listener.notifications {
        if notification.payload == "done" { break }
        told.append(notification.payload)
      }
      #expect(told.contains { $0.hasPrefix("queues:") }, "\(told)")
      // It need not ask again before a second has passed, and others wait for nobody.
      let wait = try await scene.busy.call(room: 9).wait
      #expect(wait != nil)
      #expect(try await scene.owner.claimOne().job == scene.interrupted)
      let leases: Int64 = try await scene.pool.value("SELECT count(*) FROM haul.lease")
      #expect(leases == 1)
    }
  }

  @Test func `when the interrupted job runs, the other places are everybody's`() async throws {
    try await open { scene in
      try await scene.pool.jobs.setHost("a.test", cap: 3)
      #expect(try await scene.next().count == 2)
      #expect(try await scene.owner.claimOne().job == scene.interrupted)
    }
  }

  @Test(arguments: [
    "UPDATE haul.worker SET draining = true WHERE id = $1",
    "UPDATE haul.worker SET stopped_at = clock_timestamp() WHERE id = $1",
    "UPDATE haul.worker SET expires_at = clock_timestamp() WHERE id = $1",
    "UPDATE haul.worker SET heartbeat_at = clock_timestamp() - interval '4 seconds' WHERE id = $1",
    "UPDATE haul.worker SET queues = '{another}' WHERE id = $1",
    "UPDATE haul.worker SET closed_stores = '{\"2\": \"full\"}' WHERE id = $1",
    "UPDATE haul.worker_call SET held = 2 WHERE worker = $1",
    "UPDATE haul.ready SET hold_until = clock_timestamp() WHERE instance <> 0 AND $1 > 0::bigint",
    "UPDATE haul.ready SET priority = 6 WHERE instance <> 0 AND $1 > 0::bigint",
  ])
  func `nothing is reserved for a worker that cannot take the job, or for a job that is not first`(
    _ change: String
  ) async throws {
    try await open { scene in
      try await scene.pool.execute(change, [scene.owner.caller.worker])
      #expect(try await scene.next().count == 1)
      try await scene.pool.execute("UPDATE haul.ready SET priority = 5 WHERE instance <> 0")
    }
  }

  @Test func `a worker of the same directory takes the interrupted job itself, and others next`()
    async throws
  {
    try await Pool.open { pool in
      let owner = try await pool.steadyWorker(concurrency: 2)
      let busy = try await pool.steadyWorker()
      let job = try await pool.submit()[0]
      let lease = try await owner.claimOne()
      #expect(try await owner.checkpoint(lease, instance: pool.instance))
      #expect(try await owner.end(lease, .released) == "interrupted")
      try await pool.submit(9)
      let leases = try await busy.claim(9)
      #expect(leases.count == 4 && leases[0].job == job)
    }
  }
}
