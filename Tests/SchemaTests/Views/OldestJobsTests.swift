import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// The oldest waiting job of each queue, as the metrics show it.
struct OldestJobsTests {
  /// The same from all waiting jobs.
  private static let expected = """
    SELECT q.name || ' ' || min(r.job) FROM haul.ready r JOIN haul.queue q ON q.id = r.queue GROUP BY q.name ORDER BY 1
    """

  private func check(_ pool: Pool) async throws {
    let expected: [String] = try await pool.column(Self.expected)
    let found = try await pool.jobs.oldestJobs().map { "\($0.queue) \($0.job)" }
    #expect(found.sorted() == expected)
  }

  @Test func `the age counts from the submission, and ends with the wait`() async throws {
    try await Pool.open { pool in
      #expect(try await pool.jobs.oldestJobs() == [])
      let job = try await pool.submit()[0]
      try await pool.submit()
      try await pool.execute(
        "UPDATE haul.job SET submitted_at = submitted_at - interval '1 hour' WHERE id = $1", [job])
      let oldest = try #require(try await pool.jobs.oldestJobs().first)
      #expect(oldest.job == job && oldest.age >= 3600)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(lease.job == job)
      let next = try #require(try await pool.jobs.oldestJobs().first)
      #expect(next.job > job && next.age < oldest.age)
      try await worker.end(lease, .released)
      try await check(pool)
    }
  }

  @Test func `paused and scheduled jobs do not count`() async throws {
    try await Pool.open { pool in
      var first = JobSelector()
      first.ids = try await pool.submit()
      _ = try await pool.jobs.control(.pause, first)
      try await pool.submit(after: .seconds(3600))
      #expect(try await pool.jobs.oldestJobs() == [])
      let waiting = try await pool.submit()
      #expect(try await pool.jobs.oldestJobs().map(\.job) == waiting)
    }
  }

  @Test func `a job of a low priority is found behind others, whatever has happened to its lane`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.create_queue('other', $1)", [Pool.name])
      let worker = try await pool.worker()
      var random = SplitMix(state: 11)
      let hosts = (1...10).map { "h\($0).test" }
      for round in 0..<8 {
        for host in hosts.shuffled(using: &random).prefix(6) {
          try await pool.submit(
            Int.random(in: 1...3, using: &random), to: host,
            queue: round % 3 == 0 ? "other" : Pool.name,
            priority: Int.random(in: 0...9, using: &random))
        }
        try await check(pool)
        let ids: [Int64] = try await pool.column("SELECT job FROM haul.ready ORDER BY job")
        var selector = JobSelector()
        selector.ids = Array(ids.shuffled(using: &random).prefix(4))
        _ = try await pool.jobs.prioritize(selector, to: Int.random(in: 0...9, using: &random))
        try await check(pool)
        selector.ids = Array(ids.prefix(2))
        _ = try await pool.jobs.control(round % 2 == 0 ? .pause : .cancel, selector)
        try await check(pool)
        for lease in try await worker.claim(3) where round % 2 == 0 {
          try await worker.end(lease, .completed)
        }
        try await check(pool)
      }
    }
  }

  @Test func `a look does not read all that waits`() async throws {
    try await Pool.open { pool in
      let read = try await pool.waitingRowsRead(by: "SELECT * FROM haul.oldest_jobs")
      #expect((3...10).contains(read), "\(read) rows")
    }
  }
}
