import JobQueue
import Postgres
import TestSupport
import Testing

/// How often and how many at once a host is asked, and what its refusals and operators change of that.
struct PolitenessTests {
  /// Lets `seconds` pass for the interval and for blocks, and what waits for either be looked at.
  private func pass(_ seconds: Int, _ pool: Pool) async throws {
    try await pool.execute(
      """
      UPDATE haul.host SET next_start = next_start - make_interval(secs => $1),
        blocked_until = blocked_until - make_interval(secs => $1)
      """, [seconds])
    try await pool.execute(
      "UPDATE haul.scheduled SET run_at = run_at - make_interval(secs => $1)", [seconds])
    try await pool.execute(
      "UPDATE haul.lane SET next_at = clock_timestamp() WHERE next_at > clock_timestamp()")
    _ = try await pool.jobs.promote(limit: 1000)
  }

  private func cap(_ pool: Pool) async throws -> Int {
    try await pool.value("SELECT cap FROM haul.host WHERE name = 'a.test'")
  }

  @Test func `after a pause a burst starts at once, then one an interval`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 100, interval: .seconds(60), burst: 3)
      try await pool.submit(30)
      let worker = try await pool.worker()
      #expect(try await worker.claim(9).count == 3)
      let reply = try await worker.call(room: 9)
      #expect(reply.claimed.isEmpty && !reply.contended)
      #expect(try #require(reply.wait) > 50)
      // The test itself takes time too: each step leaves 20 seconds of it.
      for (seconds, count) in [(30, 0), (30, 1), (100, 1), (25, 1), (1000, 3), (60, 1)] {
        try await pass(seconds, pool)
        #expect(try await worker.claim(9).count == count, "after \(seconds) s")
      }
    }
  }

  /// Of both sessions' starts, by the database's clock.
  @Test(arguments: [1, 3])
  func `two sessions' starts keep the interval`(burst: Int) async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 100, interval: .milliseconds(40), burst: burst)
      try await pool.submit(20)
      let workers = [try await pool.worker(), try await pool.worker()]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in workers {
          group.addTask {
            try await eventually("all jobs to run") {
              try await worker.claim(2)
              let count: Int = try await worker.work.query("SELECT count(*) FROM haul.lease")[0]
                .decode(0)
              return count == 20
            }
          }
        }
        try await group.waitForAll()
      }
      let early: Int = try await pool.value(
        """
        SELECT count(*) FROM (
          SELECT l.started_at - lag(l.started_at, $1) OVER (ORDER BY l.started_at) AS gap FROM haul.lease l) g
        WHERE g.gap < interval '40 milliseconds'
        """, [burst])
      #expect(early == 0)
    }
  }

  @Test func `a host that refuses gets half, once for all that it refuses together`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 8)
      try await pool.submit(300)
      let worker = try await pool.worker()
      var leases = try await worker.claim(8)
      for _ in 0..<3 { try await worker.end(leases.removeFirst(), .failed, "rate_limited") }
      #expect(try await cap(pool) == 4)
      #expect(
        try await pool.column("SELECT why_idle || block_reason FROM haul.hosts")
          == ["blockedrate_limited"])
      try await pass(600, pool)
      try await worker.end(leases.removeFirst(), .failed, "rate_limited", retryAfter: 7200)
      #expect(try await cap(pool) == 2)
      #expect(
        try await pool.value(
          "SELECT blocked_until > clock_timestamp() + interval '7100 seconds' FROM haul.host"))
      try await pass(7200, pool)
      for lease in leases { try await worker.end(lease, .completed) }
      #expect(try await pool.jobs.hosts(limit: 1).map(\.policyCap) == [8])

      // One more for every 20 that complete, and never above the policy. Four have completed.
      var completed = leases.count
      for expected in [2, 3, 4, 5, 6, 7, 8, 8, 8] {
        while completed < 20 {
          #expect(try await cap(pool) == expected)
          try await worker.end(worker.claimOne(), .completed)
          completed += 1
        }
        completed = 0
      }
    }
  }

  @Test func `many that complete at once raise no cap above the policy`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 30)
      try await pool.submit(30)
      let worker = try await pool.worker()
      var leases: [Lease] = []
      while leases.count < 30 { leases += try await worker.claim(30) }
      try await worker.call(
        leases.map { LeaseEnding(job: $0.job, token: $0.token, result: .completed) })
      #expect(try await cap(pool) == 30)
    }
  }

  @Test func `a host whose cap was lowered says so, and an unblocked one has it again`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 2)
      try await pool.submit(9)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      try await worker.end(leases[0], .failed, "rate_limited")
      try await pass(600, pool)
      #expect(try await pool.jobs.hosts(limit: 1).map(\.whyIdle) == ["adaptive"])
      try await pool.jobs.unblockHost("a.test")
      #expect(try await cap(pool) == 2)
      #expect(try await worker.claim(9).count == 1)
      #expect(try await pool.jobs.hosts(limit: 1).map(\.whyIdle) == ["full"])
      #expect(try await pool.jobs.hosts(idle: "full", limit: 9).count == 1)
      #expect(try await pool.jobs.hosts(idle: "blocked", limit: 9).isEmpty)
    }
  }

  @Test func `a host that could not be reached gets one to try, until it answers`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9)
      let worker = try await pool.worker()
      for lease in try await worker.claim(9) { try await worker.end(lease, .failed, "connect") }
      #expect(try await pool.value("SELECT failures FROM haul.host") == 1)
      for failures in 2...3 {
        try await pass(600, pool)
        let tries = try await worker.claim(9)
        #expect(tries.count == 1)
        #expect(try await worker.claim(9).isEmpty)
        try await worker.end(tries[0], .failed, "dns")
        #expect(try await pool.value("SELECT failures FROM haul.host") == failures)
      }
      try await pass(600, pool)
      try await worker.end(worker.claimOne(), .completed)
      #expect(try await worker.claim(9).count == 4)
    }
  }

  @Test(arguments: [nil, Duration.seconds(7200)])
  func `nothing starts on a host that an operator has blocked, and nothing fails`(
    time: Duration?
  ) async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      try await pool.submit(1, to: "b.test")
      let worker = try await pool.worker()
      let running = try await worker.claim(1, queues: ["data"])
      try await pool.jobs.blockHost("a.test", for: time)
      #expect(
        try await worker.claim(9).map(\.host) == (running[0].host == "a.test" ? ["b.test"] : []))
      let reply = try await worker.call(room: 9)
      #expect(reply.claimed.isEmpty && !reply.contended)
      let host = try #require(try await pool.jobs.hosts(limit: 9).first { $0.host == "a.test" })
      #expect([host.whyIdle, host.blockReason] == ["blocked", "operator"])
      #expect((host.blockedUntil == "infinity") == (time == nil))
      // What runs there runs on, and its end does not end the block.
      try await worker.end(running[0], .completed)
      #expect(try await worker.claim(9).isEmpty)
      #expect(try await pool.state(jobs[2]) == "queued")
      #expect(try await pool.jobs.unblockHost("a.test").jobs == 0)
      #expect(try await worker.claim(9).count == 2)
    }
  }

  @Test func `whoever unblocks a host is told what waits for a time of its own`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, after: .seconds(600))
      try await pool.submit(1, after: .seconds(6000))
      try await pool.submit(1, to: "b.test", after: .seconds(60))
      try await pool.jobs.blockHost("a.test", for: nil)
      let scheduled = try await pool.jobs.unblockHost("a.test")
      #expect(scheduled.jobs == 2)
      #expect((.seconds(500) ... .seconds(600)).contains(scheduled.next))
      #expect((.seconds(5900) ... .seconds(6000)).contains(scheduled.last))
    }
  }

  @Test func `an operator's block is no shorter than the host's own`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .failed, "rate_limited", retryAfter: 7200)
      try await pool.jobs.blockHost("a.test", for: .seconds(60))
      let left = "extract(epoch FROM blocked_until - clock_timestamp())"
      #expect(try await pool.value("SELECT \(left) > 7100 FROM haul.host"))
      try await pool.jobs.unblockHost("a.test")
      for seconds in [600, 60] {
        try await pool.jobs.blockHost("a.test", for: .seconds(seconds))
        #expect(try await pool.value("SELECT \(left) <= $1 FROM haul.host", [seconds]))
      }
    }
  }

  @Test(arguments: ["*.test", "*", "http://a.test/", ""])
  func `only a host can be blocked`(name: String) async throws {
    try await Pool.open { pool in
      await #expect(throws: JobQueueError.self) {
        try await pool.jobs.blockHost(name, for: nil)
      }
      await #expect(throws: JobQueueError.self) { try await pool.jobs.unblockHost(name) }
    }
  }

  @Test func `a new policy wakes what waited for the old one`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("*.test", interval: .seconds(3600))
      try await pool.submit(9)
      let worker = try await pool.worker()
      #expect(try await worker.claim(9).count == 1)
      #expect(try await worker.claim(9).isEmpty)
      try await pool.jobs.setHost("a.test", interval: .seconds(30))
      let next = "SELECT extract(epoch FROM next_start - clock_timestamp()) <= 30 FROM haul.host"
      #expect(try await pool.value(next))
      #expect(try await worker.claim(9).isEmpty)
      try await pool.jobs.setHost("a.test", interval: .zero)
      #expect(try await worker.claim(9).count == 3)
    }
  }
}
