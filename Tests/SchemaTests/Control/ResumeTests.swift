import JobQueue
import Postgres
import TestSupport
import Testing

/// A resume of several steps, and a pause that another operator gives between two of them.
struct ResumeTests {
  private func step(
    _ session: Connection, _ sweep: Int64?, _ since: String?
  ) async throws -> Row {
    let rows = try await session.query(
      """
      SELECT changed, more, sweep, since::text FROM haul.resume('{"queue": "\(Pool.name)"}', p_limit => 1,
        p_sweep => $1, p_since => $2::timestamptz)
      """, [sweep, since])
    return try #require(rows.first)
  }

  @Test func `a resume of many steps leaves later pauses alone`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(5)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      let others = jobs.filter { job in !leases.contains { $0.job == job } }
      #expect(try await pool.jobs.control(.pause, Pool.ids(others + [leases[0].job])) == 4)
      let session = try await pool.connect()
      let first = try await step(session, nil, nil)
      // It withdraws the earlier pause of the running job and lets one of the three jobs wait.
      #expect(try first.decode("changed", as: Int.self) == 2)
      #expect(try await pool.states() == ["queued": 1, "paused": 2, "running": 2])
      let queued: Int64 = try await pool.value("SELECT job FROM haul.ready")
      #expect(try await pool.jobs.control(.pause, Pool.ids([queued, leases[1].job])) == 2)
      let (sweep, since): (Int64?, String?) = (
        try first.decode("sweep"), try first.decode("since")
      )
      var isMore = true
      while isMore { isMore = try await step(session, sweep, since).decode("more") }
      #expect(try await worker.heartbeat(leases).commands.map(\.job) == [leases[1].job])
      #expect(try await worker.end(leases[1], .released) == "paused")
      #expect(try await pool.states() == ["queued": 2, "paused": 2, "running": 1])
      // The next resume is later than all of them.
      #expect(try await pool.jobs.control(.resume, Pool.ids(jobs)) == 2)
      #expect(try await pool.states() == ["queued": 4, "running": 1])
    }
  }
}
