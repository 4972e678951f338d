import JobModel
import JobQueue
import TestSupport
import Testing

/// A host that answers some requests and refuses others with 503 has too much to do; one that refuses all has trouble.
@Suite struct BusyHostTests {
  private func refused(_ lease: Lease, retryAfter: Double? = nil) -> LeaseEnding {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
    (ending.error, ending.status, ending.retryAfter) = ("http_5xx", 503, retryAfter)
    ending.message = "the server answered 503"
    return ending
  }

  private func caps(_ pool: Pool) async throws -> [Int64] {
    try await pool.column("SELECT cap::bigint FROM haul.host")
  }

  private func charged(_ pool: Pool) async throws -> Int64 {
    try await pool.value("SELECT count(*) FROM haul.attempt WHERE charged")
  }

  @Test func `two of four are served, so two at a time are asked for, and no job is to blame`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(6)
      try await pool.execute("UPDATE haul.host SET cap = 4, policy_cap = 4")
      let worker = try await pool.worker()
      let leases = try await worker.claim(9)
      #expect(leases.count == 4)
      try await worker.call(leases[2...].map { refused($0) })
      #expect(try await caps(pool) == [2])
      #expect(try await charged(pool) == 0)
      #expect(
        try await pool.value("SELECT count(*) FROM haul.hosts WHERE why_idle = 'blocked'") == 0)
      #expect(try await worker.claim(9).count == 0)
      #expect(try await worker.end(leases[0], .completed) == "completed")
      #expect(try await worker.claim(9).count == 1)
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a job that is always refused lowers the cap once, and is charged when it is alone`()
    async throws
  {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: JobOptions(maxAttempts: 2))[0]
      try await pool.submit(3)
      try await pool.execute("UPDATE haul.host SET cap = 4, policy_cap = 4")
      let worker = try await pool.worker()
      var leases = try await worker.claim(9)
      var others = leases.filter { $0.job != job }
      for round in 1...3 {
        let bad = try #require(leases.first { $0.job == job })
        #expect(try await worker.call([refused(bad)]).settled.map(\.state) == ["scheduled"])
        #expect(try await caps(pool) == [3])
        #expect(try await charged(pool) == 0, "round \(round)")
        let other = others.removeLast()
        try await worker.end(other, .completed)
        try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
        _ = try await pool.jobs.promote(limit: 9)
        leases = try await worker.claim(9)
      }
      // Nobody else is there any more.
      let bad = try #require(leases.first)
      #expect(try await worker.call([refused(bad)]).settled.map(\.state) == ["scheduled"])
      #expect(try await charged(pool) == 1)
    }
  }

  @Test func `a whole round of refusals is not charged, and ends at one at a time`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      try await pool.execute("UPDATE haul.host SET cap = 4, policy_cap = 4")
      let worker = try await pool.worker()
      try await worker.call(try await worker.claim(9).map { refused($0) })
      #expect(try await caps(pool) == [1])
      #expect(try await charged(pool) == 0)
    }
  }

  /// 413 and 423 with Retry-After speak of one file.
  @Test(arguments: [413, 423])
  func `a file that has to wait keeps nobody from its host`(status: Int) async throws {
    try await Pool.open { pool in
      try await pool.submit(3)
      try await pool.execute("UPDATE haul.host SET cap = 2, policy_cap = 2")
      let worker = try await pool.worker()
      let leases = try await worker.claim(9)
      var ending = refused(leases[0], retryAfter: 600)
      ending.status = status
      #expect(try await worker.call([ending]).settled.map(\.state) == ["scheduled"])
      #expect(
        try await pool.value(
          "SELECT run_at > clock_timestamp() + interval '590 s' FROM haul.scheduled"))
      #expect(try await caps(pool) == [2])
      #expect(
        try await pool.value("SELECT count(*) FROM haul.hosts WHERE why_idle = 'blocked'") == 0)
      #expect(try await worker.claim(9).count == 1)
    }
  }

  @Test func `a job that gives up says how long the host has been in trouble`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: JobOptions(maxHostWait: 60))[0]
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .failed, "connect") == "scheduled")
      try await pool.execute(
        """
        UPDATE haul.scheduled SET run_at = clock_timestamp();
        """)
      try await pool.execute("UPDATE haul.attempt SET ended_at = ended_at - interval '90 s'")
      try await pool.execute("UPDATE haul.host SET blocked_until = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 9)
      #expect(
        try await worker.end(worker.claimOne(), .failed, "connect", retryAfter: 7) == "failed")
      let message: String = try await pool.value(
        "SELECT message FROM haul.outcome WHERE job = $1", [job])
      #expect(
        message.firstMatch(
          of:
            /^trouble: connect; the host has been in trouble for 9\d s; the host asks for a wait of 7 s$/
        ) != nil,
        "\(message)")
    }
  }
}
