import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// The order in which `haul jobs` lists jobs: what runs, then what waits in the order in which it starts, then what has ended.
struct FirstJobsTests {
  /// The order, from the tables alone.
  private static let order = """
    SELECT j.job FROM haul.jobs j
    LEFT JOIN haul.lease l USING (job) LEFT JOIN haul.ready r USING (job)
    LEFT JOIN haul.scheduled s USING (job) LEFT JOIN haul.held h USING (job)
    WHERE ($1::text IS NULL OR j.state::text = $1) AND ($2::text IS NULL OR j.host = $2)
      AND ($3::text IS NULL OR j.batch = $3)
    ORDER BY array_position(
        '{running,interrupted,queued,scheduled,paused,failed,cancelled,completed}', j.state::text),
      CASE WHEN j.state::text IN ('failed', 'cancelled', 'completed') THEN -j.job END,
      coalesce(r.priority, h.priority, 0), coalesce(l.started_at, s.run_at, h.run_at) NULLS FIRST, j.job
    """

  private func check(_ pool: Pool, _ selector: JobSelector, _ host: String?, _ batch: String?)
    async throws
  {
    let all: [Int64] = try await pool.column(Self.order, [selector.state?.rawValue, host, batch])
    for limit in [1, 2, 3, 7, 1000] {
      let listed = try await pool.jobs.firstJobs(selector, limit: limit).map(\.job)
      #expect(listed == Array(all.prefix(limit)), "\(selector), \(limit) jobs")
    }
  }

  @Test func `jobs are found by a text of their path or URL, the newest first`() async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('*', 100, NULL, NULL)")
      let first = try await pool.submit(3, to: "a.test")
      try await pool.submit(1100, to: "b.test")
      let last = try await pool.submit(2, to: "a.test")
      var selector = JobSelector()
      func found(_ text: String, _ limit: Int) async throws -> [Int64] {
        try await pool.jobs.jobs(selector, containing: text, limit: limit).map(\.job)
      }
      // More jobs than one call looks for lie between them.
      #expect(try await found("//A.test/", 1000) == (first + last).sorted(by: >))
      #expect(try await found("//a.test/", 3) == last.sorted(by: >) + [first[2]])
      #expect(try await found("b.test", 2000).count == 1100)
      #expect(try await found("c.test", 10) == [])
      selector.ids = [first[0]]
      #expect(try await found("a.test", 10) == [first[0]])
    }
  }

  private func checkAll(_ pool: Pool, hosts: [String], batch: String) async throws {
    for state in [nil] + JobState.known.map({ $0 }) {
      var selector = JobSelector()
      selector.state = state
      try await check(pool, selector, nil, nil)
      for host in hosts {
        selector.host = host
        try await check(pool, selector, host, nil)
      }
      selector.host = nil
      selector.batch = batch
      try await check(pool, selector, nil, batch)
    }
  }

  @Test func `every state has its place`() async throws {
    try await Pool.open { pool in
      try await LivelyPool.fill(pool)
      try await checkAll(pool, hosts: ["slow.test"], batch: "films")
    }
  }

  @Test func `jobs of many hosts come as they start, whatever has happened to their lanes`()
    async throws
  {
    try await Pool.open { pool in
      var random = SplitMix(state: 7)
      let hosts = (1...30).map { "h\($0).test" }
      for round in 0..<6 {
        for host in hosts.shuffled(using: &random).prefix(12) {
          try await pool.submit(Int.random(in: 1...3, using: &random), to: host, batch: "some")
        }
        // A lane's bound may be lower than what is left in it.
        let ids: [Int64] = try await pool.column("SELECT job FROM haul.ready ORDER BY job")
        var selector = JobSelector()
        selector.ids = Array(ids.shuffled(using: &random).prefix(4))
        _ = try await pool.jobs.prioritize(selector, to: Int.random(in: 1...9, using: &random))
        selector.ids = Array(ids.shuffled(using: &random).prefix(3))
        _ = try await pool.jobs.control(round % 2 == 0 ? .pause : .cancel, selector)
        try await checkAll(pool, hosts: Array(hosts.prefix(2)), batch: "some")
      }
    }
  }

  @Test func `a page does not read all that waits`() async throws {
    try await Pool.open { pool in
      let read = try await pool.waitingRowsRead(by: "SELECT haul.first_jobs('{}', 50)")
      #expect((50...1000).contains(read), "\(read) rows")
    }
  }
}
