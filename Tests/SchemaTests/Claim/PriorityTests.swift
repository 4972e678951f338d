import JobQueue
import Postgres
import TestSupport
import Testing

/// Who is first, and that nobody waits for ever.
struct PriorityTests {
  @Test func `seven calls of eight take the best, the others all else in turn`() async throws {
    try await Pool.open { pool in
      var floors: [Int: Int] = [:]
      for call in 1...144 {
        let rows = try await pool.admin.query(
          "SELECT priorities::text, floor::int FROM haul.claim_order($1::bigint)", [call])
        let floor: Int? = try rows[0].decode("floor")
        let order: String = try rows[0].decode("priorities")
        if let floor { floors[floor, default: 0] += 1 }
        #expect((floor != nil) == (call % 8 == 0))
        #expect(order.filter(\.isNumber).sorted() == Array("0123456789"))
        let first = call % 16 == 8 ? floor ?? 0 : 0
        #expect(order.hasPrefix("{\(first),"))
      }
      #expect(floors == Dictionary(uniqueKeysWithValues: (1...9).map { ($0, 2) }))
    }
  }

  /// One job at the last priority among many at the first: in its lane, and in a lane of its own.
  @Test(arguments: ["a.test", "b.test"])
  func `one that is last gets its turn`(host: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(200, to: "a.test", priority: 0)
      let last = try await pool.submit(1, to: host, priority: 9)[0]
      let worker = try await pool.worker()
      var claims = 0
      var lease = try await worker.claimOne()
      while lease.job != last, claims < 150 {
        let ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
        lease = try #require(try await worker.call([ending], room: 1).claimed.first)
        claims += 1
      }
      #expect(lease.job == last)
      #expect(claims > 3)
    }
  }

  @Test(arguments: [UInt64(1), 2])
  func `nothing starves beside a stream of what is first`(seed: UInt64) async throws {
    try await Pool.open { pool in
      var random = SplitMix(state: seed)
      let hosts = (0..<5).map { "h\($0).test" }
      var low: Set<Int64> = []
      for _ in 0..<40 {
        let host = hosts[Int.random(in: 0..<5, using: &random)]
        low.formUnion(
          try await pool.submit(1, to: host, priority: Int.random(in: 1...9, using: &random)))
      }
      let worker = try await pool.worker()
      var running: [Lease] = []
      var claims = 0
      while !low.isEmpty, claims < 1500 {
        if claims % 50 == 0 {
          for host in hosts { try await pool.submit(60, to: host, priority: 0) }
        }
        let endings = running.map { LeaseEnding(job: $0.job, token: $0.token, result: .completed) }
        running = try await worker.call(
          endings, room: Int.random(in: 1...4, using: &random)
        ).claimed
        low.subtract(running.map(\.job))
        claims += 1
      }
      #expect(low.isEmpty)
      #expect(claims > 80)
    }
  }

  @Test func `jobs of every state are moved to another priority`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      let interrupted = try await pool.submit(1, batch: "b")
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      let running = try await pool.submit(1, priority: 3, batch: "b")
      let held = try await worker.claimOne()
      #expect(held.job == running[0])
      let others = try await pool.submit(2, batch: "b")
      let scheduled = try await pool.submit(1, after: .seconds(600), batch: "b")
      var one = JobSelector()
      one.ids = [others[1]]
      _ = try await pool.jobs.control(.pause, one)
      let first = try await pool.submit(1, priority: 1)
      var batch = JobSelector()
      batch.batch = "b"
      let states = try await pool.states()
      #expect(try await pool.jobs.prioritize(batch, to: 0) == 5)
      #expect(try await pool.jobs.prioritize(batch, to: 0) == 0)
      #expect(try await pool.states() == states)
      let jobs = interrupted + running + others + scheduled
      #expect(
        try await pool.column(
          "SELECT DISTINCT priority::int FROM haul.jobs WHERE job = ANY ($1)", [jobs]) == [0])
      // The one that waits with progress, then the one that waits without, then what was first before.
      #expect(try await worker.claim(9).map(\.job) == [interrupted[0], others[0], first[0]])
      try await worker.end(held, .released)
      #expect(try await pool.value("SELECT priority::int FROM haul.ready") == 0)
      _ = try await pool.jobs.control(.resume, one)
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 9)
      #expect(try await pool.column("SELECT DISTINCT priority::int FROM haul.ready") == [0])
      #expect(try await pool.value("SELECT count(*) FROM haul.ready") == 3)
    }
  }

  @Test func `a priority that is none is refused`() async throws {
    try await Pool.open { pool in
      var batch = JobSelector()
      batch.ids = try await pool.submit(1)
      for priority in [-1, 10] {
        await #expect(throws: JobQueueError.self) {
          try await pool.jobs.prioritize(batch, to: priority)
        }
      }
    }
  }
}
