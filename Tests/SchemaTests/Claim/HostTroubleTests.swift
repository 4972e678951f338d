import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// How long a host has been in trouble, and who stops waiting for it.
struct HostTroubleTests {
  private static let impatient = JobOptions(maxHostWait: 30)

  /// A pool whose host `a.test` has had trouble for `seconds`, with jobs that have waited longer, and whose last block is over
  /// since `ago` seconds.
  private func trouble(_ pool: Pool, for seconds: Int, blockOver ago: Int = 1) async throws {
    try await pool.execute(
      """
      UPDATE haul.host SET trouble_since = clock_timestamp() - make_interval(secs => $1), failures = 1,
        blocked_until = clock_timestamp() - make_interval(secs => $2) WHERE name = 'a.test'
      """, [seconds, ago])
    try await pool.execute("UPDATE haul.job SET submitted_at = submitted_at - interval '3 days'")
  }

  @Test func `nobody has waited for a host longer than its job is there`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await trouble(pool, for: 600)
      let late = try await pool.submit(1, priority: 0, options: Self.impatient)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(lease.job == late)
      #expect(try await worker.end(lease, .failed, "connect") == "scheduled")
    }
  }

  /// One that was never tried before, after that many seconds of trouble that others had.
  @Test(
    arguments: [
      (25, nil, "scheduled"), (31, nil, "failed"), (0, 29, "scheduled"), (0, 31, "failed"),
      (20, 15, "failed"), (20, 5, "scheduled"),
    ] as [(Int, Double?, JobState)])
  func `a job waits no longer for a host than it says`(
    seconds: Int, retryAfter: Double?, state: JobState
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: Self.impatient)[0]
      let worker = try await pool.worker()
      if seconds > 0 { try await trouble(pool, for: seconds) }
      let lease = try await worker.claimOne()
      #expect(try await worker.end(lease, .failed, "connect", retryAfter: retryAfter) == state)
      let error: [String?] = try await pool.column("SELECT error FROM haul.jobs")
      #expect(error == [state == "failed" ? "host_unreachable" : nil])
      #expect(try await pool.state(job) == state.rawValue)
    }
  }

  /// Its URL may be at a port of the host where nobody listens, while another serves.
  @Test
  func `who asks in vain a host that serves others comes back later and later, and the host soon`()
    async throws
  {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await pool.submit(1)
      // The last waits are longer than what a slow machine adds.
      for tries in 0...7 {
        #expect(try await worker.end(worker.claimOne(), .failed, "connect") == "scheduled")
        let waits: [Bool] = try await pool.column(
          """
          WITH failure AS (SELECT max(ended_at) AS at FROM haul.attempts)
          SELECT run_at - at BETWEEN interval '1 second' * 2 ^ $1 / 2 - interval '5 seconds'
            AND interval '1 second' * 2 ^ $1 + interval '5 seconds' FROM haul.scheduled, failure
          UNION ALL SELECT blocked_until < at + interval '30 seconds' FROM haul.host, failure
          """, [tries])
        #expect(waits == [true, true], "after \(tries) earlier ones")
        // Others are served meanwhile.
        try await pool.execute("SELECT haul.unblock_host('a.test')")
        try await pool.execute("UPDATE haul.scheduled SET run_at = '-infinity'")
        try await pool.execute("SELECT haul.promote(10)")
      }
    }
  }

  /// As many as it may have places, and then more: where always the first was tried, no other ever would be. Nor where it was
  /// the first after any id, since most ids are between batches.
  @Test(arguments: [0, 500_000])
  func `those that ask in vain keep nobody else from being tried`(ids: Int) async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await pool.submit(4)
      try await pool.execute("SELECT setval('haul.job_id', nextval('haul.job_id') + $1)", [ids])
      try await pool.submit(4)
      let good = try await pool.submit(1)[0]
      var isServed = false
      for _ in 0..<500 where !isServed {
        for lease in try await worker.claim(10) {
          if lease.job == good {
            isServed = true
            try await worker.end(lease, .completed)
          } else {
            try await worker.end(lease, .failed, "connect")
          }
        }
        try await pool.execute("UPDATE haul.scheduled SET run_at = '-infinity'")
        try await pool.execute("SELECT haul.promote(100)")
        try await pool.execute("UPDATE haul.host SET blocked_until = '-infinity'")
        try await pool.execute(
          "UPDATE haul.lane SET next_at = '-infinity' WHERE next_at IS NOT NULL")
      }
      #expect(isServed)
    }
  }

  /// Operators may block hosts that no job has named yet.
  @Test func `a host that is blocked while its first job comes is one`() async throws {
    try await Pool.open { pool in
      let (blocking, submitting) = (try await pool.connect(), try await pool.connect())
      try await pool.commit(
        blocking, { try await blocking.script("SELECT haul.block_host('a.test', NULL)") },
        while: submitting,
        {
          try await submitting.submit(
            [Pool.line(1, "https://a.test/1", "a.test/1")], to: Pool.name)
        })
      try await pool.jobs.unblockHost("a.test")
      #expect(try await pool.column("SELECT host FROM haul.hosts", as: String.self) == ["a.test"])
    }
  }

  @Test func `one that says nothing waits for a day`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      try await trouble(pool, for: 86_300)
      #expect(try await worker.end(worker.claimOne(), .failed, "dns") == "scheduled")
      try await trouble(pool, for: 86_401)
      #expect(try await worker.end(worker.claimOne(), .failed, "dns") == "failed")
    }
  }

  @Test func `trouble begins with the first failure and is over with a success`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      let worker = try await pool.worker()
      let leases = try await worker.claim(4)
      #expect(try await pool.value("SELECT count(trouble_since) FROM haul.host") == 0)
      try await worker.end(leases[0], .failed, "connect")
      try await trouble(pool, for: 25)
      try await worker.end(leases[1], .failed, "connect")
      #expect(
        try await pool.value(
          "SELECT trouble_since < clock_timestamp() - interval '24 seconds' FROM haul.host"))
      // What a host answers, even if it is no, is no trouble of the host's, and no success.
      try await worker.end(leases[2], .failed, "http_4xx")
      #expect(try await pool.value("SELECT count(trouble_since) FROM haul.host") == 1)
      try await worker.end(leases[3], .completed)
      #expect(try await pool.value("SELECT count(trouble_since) FROM haul.host") == 0)
    }
  }

  @Test func `trouble of long ago, and nobody asked since, does not count`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, options: Self.impatient)
      let worker = try await pool.worker()
      try await trouble(pool, for: 80_000, blockOver: 601)
      #expect(try await worker.end(worker.claimOne(), .failed, "connect") == "scheduled")
      #expect(
        try await pool.value(
          "SELECT trouble_since > clock_timestamp() - interval '1 minute' FROM haul.host"))
    }
  }

  /// The host that answered is in trouble, not the one that sent there.
  @Test func `trouble is that of the host that answered`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.submit(1, to: "b.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      let lease = try #require(leases.first { $0.host == "a.test" })
      try await worker.end(lease, .failed, "connect", host: "b.test")
      #expect(
        try await pool.column("SELECT name FROM haul.host WHERE trouble_since IS NOT NULL")
          == ["b.test"])
    }
  }
}
