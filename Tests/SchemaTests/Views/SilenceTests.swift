import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What is said of jobs whose workers are silent or dead, and of the leader's absence.
struct SilenceTests {
  /// As if the leader had run its last round so long ago.
  private func round(_ pool: Pool, secondsAgo: Double) async throws {
    try await pool.execute(
      """
      INSERT INTO haul.pulse AS p (server_start, round_at, grace_until)
      VALUES (pg_postmaster_start_time(), clock_timestamp() - make_interval(secs => $1), '-infinity')
      ON CONFLICT (id) DO UPDATE SET round_at = EXCLUDED.round_at
      """, [secondsAgo])
  }

  @Test func `a silent worker that holds jobs is told first, however they are selected`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(8, batch: "b")
      try await pool.jobs.setHost("a.test", cap: 3)
      let worker = try await pool.steadyWorker()
      let leases = try await worker.claim(3)
      #expect(try await pool.causes().words == ["full a.test 5"])
      try await pool.beat(worker, secondsAgo: 8)
      let name = "worker \(worker.caller.worker) (machine, pid 1)"
      var ids = JobSelector()
      ids.ids = try await pool.column("SELECT job FROM haul.jobs")
      for selector in [JobSelector(), Pool.batch("b"), ids] {
        let causes = try await pool.causes(of: selector)
        #expect(causes.words == ["silent \(name) 3", "unheard data 5"])
        #expect(causes.free == 0)
        let silent = try #require(causes.causes.first)
        #expect(silent.reason == "alone" && (7...3600).contains(silent.seconds ?? 0))
        #expect(silent.start == WorkerStart(store: Pool.name, queue: nil, roots: Pool.roots))
      }
      // Only jobs that were selected count.
      var one = JobSelector()
      one.ids = [leases[0].job]
      #expect(try await pool.causes(of: one).words == ["silent \(name) 1"])
      let obstacle = try await pool.jobs.obstacle(to: AwaitedJobs(batches: ["b"]))
      #expect(obstacle?.kind == .unheard || obstacle?.kind == .silent)
      // Another worker will take them over.
      _ = try await pool.steadyWorker()
      let causes = try await pool.causes()
      #expect(causes.words == ["silent \(name) 3", "full a.test 5"])
      #expect(causes.causes.first?.reason == nil)
      // Programs of earlier versions do not know it.
      let old: String = try await pool.value(
        "SELECT haul.causes('{b}', '{}') #>> '{causes,0,kind}'")
      #expect(old == "full")
      for lease in leases { try await worker.end(lease, .completed) }
    }
  }

  @Test func `jobs of dead workers run nowhere, and nobody takes them over without a leader`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2, batch: "b")
      let worker = try await pool.steadyWorker()
      _ = try await worker.claim(2)
      try await pool.submit(1, to: "10.0.0.1")
      try await pool.execute(
        """
        UPDATE haul.worker SET heartbeat_at = clock_timestamp() - interval '1 minute',
          expires_at = clock_timestamp() - interval '45 seconds'
        """)
      for (age, leaderless) in [(-60.0, false), (60, true)] {
        try await round(pool, secondsAgo: age)
        let causes = try await pool.causes()
        #expect(causes.words == ["lost data 2", "unserved data 1"])
        let lost = try #require(causes.causes.first)
        #expect(lost.leaderless == leaderless)
        #expect(
          lost.start
            == WorkerStart(store: Pool.name, queue: nil, hosts: ["10.0.0.1"], roots: Pool.roots))
      }
      // No worker needs to reach a host that an operator has blocked.
      try await pool.jobs.blockHost("10.0.0.1", for: nil)
      #expect(try await pool.causes().causes.first?.start?.hosts == [])
    }
  }

  @Test func `a start that is due says whether somebody makes it`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, after: .seconds(7200), batch: "b")
      _ = try await pool.steadyWorker()
      try await pool.execute(
        "UPDATE haul.scheduled SET run_at = clock_timestamp() - interval '1 minute'")
      for (age, leaderless) in [(-60.0, false), (60, true)] {
        try await round(pool, secondsAgo: age)
        let early = try #require(try await pool.causes().causes.first)
        #expect(early.kind == .early && early.leaderless == leaderless)
        #expect((early.seconds ?? 0) < 0)
      }
    }
  }

  @Test func `part files elsewhere are told beside jobs that may start, as for one job`()
    async throws
  {
    try await Pool.open { pool in
      let elsewhere = UUID().uuidString
      _ = try await pool.jobs.initStore(
        name: Pool.name, marker: elsewhere, machine: "nas", root: "/srv")
      try await pool.submit(1, batch: "b")
      let worker = try await pool.steadyWorker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      _ = try await pool.steadyWorker(markers: [elsewhere])
      try await pool.execute(
        "UPDATE haul.worker SET stopped_at = clock_timestamp() WHERE id = $1",
        [worker.caller.worker])
      // For the same host and queue.
      try await pool.submit(1, batch: "b")
      var one = JobSelector()
      one.ids = [lease.job]
      for (selector, free) in [(JobSelector(), 1), (Pool.batch("b"), 1), (one, 0)] {
        let causes = try await pool.causes(of: selector)
        #expect(causes.words == ["away data 1"])
        #expect(causes.free == free)
        #expect(causes.causes.first?.reason == "/data on machine")
      }
      try await pool.jobs.setHost("a.test", interval: .seconds(0.5))
      try await pool.submit(3, batch: "b")
      #expect(try await pool.causes().words == ["interval a.test 4", "away data 1"])
    }
  }

  @Test func `what would keep paused jobs is told beside that they are paused`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, batch: "b")
      _ = try await pool.jobs.control(.pause, Pool.batch("b"))
      #expect(try await pool.causes().words == ["unserved data 2", "held b 2"])
      let obstacle = try await pool.jobs.obstacle(to: AwaitedJobs(batches: ["b"]))
      #expect(obstacle?.kind == .held)
      _ = try await pool.steadyWorker()
      var settings = QueueSettings()
      settings.paused = true
      try await pool.jobs.setQueue(Pool.name, settings)
      let causes = try await pool.causes()
      #expect(causes.words == ["paused data 2", "held b 2"])
      #expect(causes.causes.map(\.held) == [2, 2])
    }
  }
}
