import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Everything that is said to keep jobs from being started, with the number of jobs of each.
struct CausesTests {
  private func of(batch: String) -> JobSelector {
    var selector = JobSelector()
    selector.batch = batch
    return selector
  }

  @Test func `each cause has its jobs, what somebody must mend first`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.createQueue("films", store: Pool.name)
      _ = try await pool.steadyWorker(queues: [Pool.name])
      try await pool.submit(5, to: "127.0.0.1:8080", queue: "films", batch: "f")
      try await pool.submit(2, to: "b.test", batch: "l")
      try await pool.submit(3, to: "c.test", batch: "p")
      try await pool.submit(1, to: "d.test")
      try await pool.jobs.blockHost("b.test", for: nil)
      _ = try await pool.jobs.control(.pause, Pool.batch("p"))
      for selector in [JobSelector(), nil] {
        // Counted, and looked at one by one.
        var ids = JobSelector()
        ids.ids = try await pool.column("SELECT job FROM haul.jobs")
        let causes = try await pool.causes(of: selector ?? ids)
        #expect(causes.words == ["unserved films 5", "held p 3", "blocked b.test 2"])
        #expect(causes.waiting == 8 && causes.free == 1 && causes.more == 0)
        #expect(
          causes.causes.first?.start
            == WorkerStart(
              store: Pool.name, queue: "films", hosts: ["127.0.0.1:8080"], roots: Pool.roots))
      }
      #expect(try await pool.causes(of: of(batch: "l")).words == ["blocked b.test 2"])
      var queue = JobSelector()
      queue.queue = "films"
      #expect(try await pool.causes(of: queue).words == ["unserved films 5"])
      var host = JobSelector()
      host.host = "c.test"
      #expect(try await pool.causes(of: host).words == ["held p 3"])
    }
  }

  @Test func `a worker for all queues of a store is told what they need together`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.createQueue("films", store: Pool.name)
      try await pool.submit(1, to: "10.0.0.1", queue: "films")
      try await pool.submit(1, to: "localhost:81")
      try await pool.submit(1, to: "a.test")
      let causes = try await pool.causes()
      #expect(causes.words == ["unserved data 2", "unserved films 1"])
      let start = WorkerStart(
        store: Pool.name, queue: nil, hosts: ["10.0.0.1", "localhost:81"], roots: Pool.roots)
      #expect(causes.causes.map(\.start) == [start, start])
    }
  }

  @Test func `a full host and a queue's limit are both told, with how much runs`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4, batch: "b")
      let worker = try await pool.steadyWorker(concurrency: 8)
      try await pool.jobs.setHost("a.test", cap: 1)
      var settings = QueueSettings()
      settings.maxRunning = .some(1)
      try await pool.jobs.setQueue(Pool.name, settings)
      let lease = try await worker.claimOne()
      let causes = try await pool.causes(of: of(batch: "b"))
      #expect(causes.words == ["full a.test 3", "limited data 3"])
      #expect(causes.causes.map(\.running) == [1, 1] && causes.causes.map(\.places) == [1, 1])
      let running = try await pool.jobs.runningByPlace(of(batch: "b"))
      #expect(running.map(\.host) == ["a.test"] && running.map(\.jobs) == [1])
      #expect(try await pool.jobs.runningByPlace(Pool.batch("other")).isEmpty)
      try await worker.end(lease, .completed)
    }
  }

  @Test func `what is tried again has its error, its time and its attempt`() async throws {
    try await Pool.open { pool in
      var options = JobOptions()
      options.maxAttempts = 3
      try await pool.submit(2, options: options, batch: "b")
      try await pool.submit(1, to: "b.test", after: .seconds(7200), batch: "b")
      let worker = try await pool.steadyWorker()
      for lease in try await worker.claim(2) {
        try await worker.end(lease, .failed, "disk_full", retryAfter: 3600)
      }
      let causes = try await pool.causes()
      #expect(causes.words == ["early  2", "early  1"])
      let full = try #require(causes.causes.first)
      #expect(full.reason == "disk_full" && full.attempt == 2 && full.maxAttempts == 3)
      #expect(full.maxWait == 86400)
      #expect((3000...3600).contains(full.seconds ?? 0))
      #expect(causes.causes.last?.reason == nil)
      #expect((7000...7200).contains(causes.causes.last?.seconds ?? 0))
      #expect(causes.free == 0)
    }
  }

  @Test func `trouble with another store keeps nobody, and a shut one has its queues told`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1, batch: "b")
      let worker = try await pool.steadyWorker()
      try await pool.execute(
        "UPDATE haul.worker SET closed_stores = '{}' WHERE id = $1", [worker.caller.worker])
      #expect(try await pool.jobs.closedQueues().isEmpty)
      try await JobQueue(worker.work).closeStore(worker.caller, Pool.name, because: "read-only")
      #expect(try await pool.causes().words.first?.hasPrefix("trouble worker ") == true)
      let closed = try await pool.jobs.closedQueues()
      #expect(closed[Pool.name]?.hasSuffix("data: read-only") == true)
      _ = try await pool.steadyWorker()
      #expect(try await pool.causes().causes.isEmpty)
      #expect(try await pool.jobs.closedQueues().isEmpty)
    }
  }

  @Test func `no more than a thousand jobs are looked at, a few of each kind`() async throws {
    try await Pool.open { pool in
      _ = try await pool.steadyWorker()
      try await pool.submit(1500, batch: "b")
      try await pool.submit(1, to: "b.test", batch: "b")
      try await pool.jobs.blockHost("a.test", for: nil)
      var host = JobSelector()
      host.host = "b.test"
      _ = try await pool.jobs.control(.pause, host)
      let counts = try await pool.jobs.liveJobs(of: of(batch: "b"))
      let (looked, isWhole) = try await pool.jobs.causes(of: of(batch: "b"), counts: counts)
      #expect(!isWhole && (looked).words == ["blocked a.test 999", "held b 1"])
      let everything = try await pool.jobs.liveJobs(of: JobSelector())
      #expect(everything.map(\.count) == [1500, 1])
      let (all, isAll) = try await pool.jobs.causes(of: JobSelector(), counts: everything)
      #expect(isAll && (all).words == ["blocked a.test 1500", "held b 1"])
    }
  }
}
