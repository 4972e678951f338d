import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What a login of `haul_worker` can do with the SQL functions alone, without the program's good manners.
struct WorkerBoundsTests {
  /// A worker whose sessions are those of a login with `haul_worker` alone.
  private func stranger(
    _ pool: Pool, _ login: TestLogin, concurrency: Int = 2, queues: [String]? = nil
  ) async throws -> TestWorker {
    let work = try await login.connect()
    let registration = try await JobQueue(work).register(
      program: "test", machine: "machine", pid: 1, concurrency: concurrency,
      stores: [JobQueue.StoreMarker(store: Pool.name, marker: pool.marker)], queues: queues)
    let worker = TestWorker(
      caller: JobQueue.Caller(registration), work: work, life: try await login.connect())
    try await pool.hear(worker)
    return worker
  }

  private func withStranger(
    concurrency: Int = 2, queues: [String]? = nil,
    _ body: (Pool, TestWorker) async throws -> Void
  ) async throws {
    try await Pool.open { pool in
      try await pool.database.withLogin("haul_worker") { login in
        let worker = try await stranger(pool, login, concurrency: concurrency, queues: queues)
        try await body(pool, worker)
        await worker.work.close()
        await worker.life.close()
      }
    }
  }

  @Test func `it holds no more jobs than its concurrency allows`() async throws {
    try await withStranger(concurrency: 2) { pool, worker in
      try await pool.execute("SELECT haul.set_host('*', 100, NULL, NULL)")
      try await pool.submit(40)
      var leases = try await worker.claim(1000)
      for _ in 0..<3 { leases += try await worker.claim(1000) }
      #expect(leases.count == 8)
      // Places come back with jobs that end, by its own word or by another's.
      try await worker.end(leases[0], .completed)
      try await pool.execute(
        """
        SELECT haul.end_leases(NULL, jsonb_build_array(jsonb_build_object('job', $1::bigint, 'token', $2::bigint,
          'result', 'rescued')))
        """, [leases[1].job, leases[1].token])
      #expect(try await worker.claim(1000).count == 2)
      #expect(try await worker.claim(1000).isEmpty)
    }
  }

  @Test func `it claims from no queue that it has not registered for`() async throws {
    try await withStranger(queues: [Pool.name]) { pool, worker in
      try await pool.jobs.createQueue("other", store: Pool.name)
      let mine = try await pool.submit(1)
      try await pool.submit(1, to: "b.test", queue: "other")
      #expect(try await worker.claim(8, queues: ["other"]).isEmpty)
      #expect(try await worker.claim(8).map(\.job) == mine)
      #expect(try await worker.claim(8, queues: ["other", Pool.name]).isEmpty)
    }
  }

  @Test(arguments: ["connect", "dns", "rate_limited"] as [ErrorClass])
  func `it stops no host of which it holds no job`(error: ErrorClass) async throws {
    try await withStranger { pool, worker in
      try await pool.submit(2)
      try await pool.submit(2, to: "b.test", queue: Pool.name, after: .seconds(3600))
      for host in ["b.test", "c.test"] {
        let lease = try await worker.claimOne()
        try await worker.end(lease, .failed, error, retryAfter: 86_400, host: host)
      }
      #expect(
        try await pool.column(
          "SELECT name FROM haul.host WHERE blocked_until IS NOT NULL OR failures > 0 OR cap < policy_cap",
          as: String.self) == [])
      #expect(try await pool.value("SELECT count(*) FROM haul.host") == 2)
    }
  }

  /// It holds the lock of the leader and rescues, so that nobody thinks that the leader stands still, and does nothing else.
  @Test func `it keeps nobody from starting scheduled jobs`() async throws {
    try await withStranger { pool, worker in
      #expect(try await JobQueue(worker.work).lead())
      _ = try await JobQueue(worker.work).rescue()
      let job = try await pool.submit(1, after: .seconds(3600))[0]
      #expect(try await !pool.jobs.lead())
      try await pool.execute(
        "UPDATE haul.scheduled SET run_at = clock_timestamp() - interval '1 minute'")
      _ = try await JobQueue(worker.work).rescue()
      #expect(try await pool.jobs.lead())
      _ = try await pool.jobs.promote(limit: 10)
      #expect(try await pool.state(job) == "queued")
      _ = try await JobQueue(worker.work).rescue()
      #expect(try await !pool.jobs.lead())
    }
  }

  /// Whatever hosts it names when it settles, a host's places are those of its own jobs.
  @Test func `no ending gives back the places of another host`() async throws {
    try await withStranger(concurrency: 16) { pool, worker in
      try await pool.execute("SELECT haul.set_host('a.test', 1, NULL, NULL)")
      try await pool.submit(8)
      try await pool.submit(8, to: "b.test")
      for round in 0..<8 {
        let leases = try await worker.claim(16)
        for lease in leases where lease.host == "b.test" {
          let result = [LeaseEnding.Result.completed, .released, .failed][round % 3]
          try await worker.end(lease, result, result == .failed ? "timeout" : nil, host: "a.test")
        }
        #expect(
          try await pool.value(
            "SELECT count(*) FROM haul.lease l JOIN haul.host h ON h.id = l.host WHERE h.name = 'a.test'"
          ) == 1)
      }
    }
  }

  /// The right to one job is none to another.
  @Test func `it saves no progress of a job that it does not hold`() async throws {
    try await withStranger { pool, worker in
      let other = try await pool.worker()
      try await pool.submit(1)
      let lease = try await other.claimOne()
      #expect(try await other.checkpoint(lease, instance: pool.instance))
      try await pool.submit(2, to: "b.test")
      let own = try await worker.claimOne()
      let waiting = try #require(
        try await pool.column("SELECT job FROM haul.ready", as: Int64.self).first)
      _ = try await JobQueue(worker.work).checkpoint(
        worker.caller,
        [own.job, lease.job, waiting].map {
          CheckpointRow(
            job: $0, token: own.token, instance: 999, durable: "{[0,7)}", length: 7,
            resume: #"{"part":"x"}"#)
        })
      let rows = try await pool.admin.query(
        "SELECT job, token, instance FROM haul.checkpoint ORDER BY job")
      #expect(
        try rows.map { try $0.decode(0, as: Int64.self) } == [lease.job, own.job])
      #expect(
        try rows.map { try $0.decode(1, as: Int64.self) } == [lease.token, own.token])
      // Where the part is: in its own directory, whatever it says.
      #expect(try rows.map { try $0.decode(2, as: Int.self) } == [pool.instance, pool.instance])
    }
  }
}
