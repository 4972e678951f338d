import JobModel
import TestSupport
import Testing

@testable import JobQueue

/// Leases taken back from workers that the caller knows to be gone.
struct RescueWorkersTests {
  /// A round of rescue is in its grace: that one waits for heartbeats, this one needs none.
  @Test func `the leases of the named alone, at once, whatever they last said`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      let (dead, alive) = (try await pool.worker(), try await pool.worker())
      let leases = try await dead.claim(2)
      let other = try await alive.claimOne()
      try await dead.heartbeat(leases)
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      #expect(try await pool.jobs.rescue(workers: [dead.caller.worker]) == 2)
      #expect(try await pool.states() == ["queued": 2, "running": 1])
      #expect(try await pool.violations() == [])
      #expect(try await pool.jobs.rescue(workers: [dead.caller.worker]) == 0)
      #expect(try await alive.heartbeat([other]).lost.isEmpty)
      #expect(try await alive.claim(9).map(\.job) == Array(jobs[..<2]))
    }
  }

  @Test func `what a worker that was not gone says afterwards changes nothing`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(try await pool.jobs.rescue(workers: [worker.caller.worker]) == 1)
      #expect(try await worker.checkpoint(lease, instance: pool.instance) == false)
      #expect(try await worker.heartbeat([lease]).lost == [lease.token])
      #expect(try await worker.end(lease, .completed) == nil)
      #expect(try await pool.state(job) == "queued")
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 0)
    }
  }

  @Test func `a job with durable progress is interrupted, and charged with nothing`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await worker.checkpoint(worker.claimOne(), instance: pool.instance)
      #expect(try await pool.jobs.rescue(workers: [worker.caller.worker]) == 1)
      #expect(try await pool.state(job) == "interrupted")
      #expect(try await pool.column("SELECT charged FROM haul.attempt") == [false])
    }
  }

  @Test func `nobody is rescued when nobody, or somebody unknown, is named`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.worker().claim()
      #expect(try await pool.jobs.rescue(workers: []) == 0)
      #expect(try await pool.jobs.rescue(workers: [4711]) == 0)
      #expect(try await pool.states() == ["running": 1])
    }
  }

  @Test func `an operator's rescue ends the worker too`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3)
      let (hung, other) = (try await pool.worker(), try await pool.worker())
      let leases = try await hung.claim(2)
      // After a crash the leader waits for its grace to end; an operator need not.
      try await pool.execute("TRUNCATE haul.pulse")
      #expect(try await pool.jobs.rescue().grace)
      let rescued = try await pool.jobs.rescueWorker(hung.caller.worker)
      #expect(rescued == JobQueue.RescuedWorker(jobs: 2, hadEnded: false, kept: 0))
      #expect(try await other.claim(9).count == 3)
      let reply = try await hung.heartbeat(leases)
      #expect(reply.draining && Set(reply.lost) == Set(leases.map(\.token)))
      for lease in leases { #expect(try await hung.end(lease, .completed) == nil) }
      #expect(try await hung.claim(9).isEmpty)
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a worker that has ended is rescued again without harm, and an unknown one is none`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.claim()
      try await pool.jobs.stopWorker(worker.caller)
      for jobs in [1, 0] {
        #expect(
          try await pool.jobs.rescueWorker(worker.caller.worker)
            == JobQueue.RescuedWorker(jobs: jobs, hadEnded: true, kept: 0))
      }
      #expect(try await pool.jobs.workers(includingGone: true).map(\.state) == [.stopped])
      #expect(try await pool.jobs.rescueWorker(4711) == nil)
      #expect(try await pool.states() == ["queued": 1])
    }
  }

  @Test func `those who hold leases are listed with their processes`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let holder = try await pool.worker()
      _ = try await pool.worker()
      try await holder.claim()
      #expect(try await pool.jobs.leaseHolders() == [holder.caller.worker: 1])
    }
  }
}
