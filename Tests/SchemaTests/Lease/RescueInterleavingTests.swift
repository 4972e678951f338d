import JobQueue
import Postgres
import TestSupport
import Testing

/// Rescue, promotion and operators against each other and against workers.
struct RescueInterleavingTests {
  @Test func `of rescue and settlement the first wins: settlement`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      let reply = try await pool.commit(
        worker.work, { try await worker.end(lease, .completed) },
        while: pool.patient, { try await JobQueue(pool.patient).rescue() })
      #expect(reply.rescued.isEmpty)
      #expect(try await pool.state(job) == "completed")
    }
  }

  @Test func `of rescue and settlement the first wins: rescue`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      let state = try await pool.commit(
        pool.patient,
        {
          let count = try await JobQueue(pool.patient).rescue().rescued.count
          #expect(count == 1)
        },
        while: worker.work, { try await worker.end(lease, .completed) })
      #expect(state == nil)
      #expect(try await pool.state(job) == "queued")
    }
  }

  @Test func `a worker whose heartbeat is under way is not rescued`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      try await worker.life.script("BEGIN")
      try await worker.heartbeat([lease])
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      try await worker.life.script("COMMIT")
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      #expect(try await worker.end(lease, .completed) == "completed")
    }
  }

  @Test func `a heartbeat during a rescue waits and hears the truth`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      let reply = try await pool.commit(
        pool.patient, { _ = try await JobQueue(pool.patient).rescue() },
        while: worker.life, { try await worker.heartbeat([lease]) })
      #expect(reply.lost == [lease.token])
      #expect(try await worker.claim().count == 1)
    }
  }

  /// The rescue has condemned the worker, whose claim read its row before: the next round takes that lease too.
  @Test func `a lease claimed while its worker is rescued does not outlive it`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, to: "a.test")
      try await pool.submit(1, to: "b.test")
      let worker = try await pool.worker()
      try await worker.claim()
      try await pool.endGrace()
      try await pool.silence(worker, for: 4)
      try await worker.work.script("BEGIN")
      #expect(try await worker.claim().count == 1)
      #expect(try await pool.jobs.rescue().rescued.isEmpty == false)
      try await worker.work.script("COMMIT")
      #expect(try await worker.claim().isEmpty)
      #expect(try await pool.jobs.rescue().rescued.count == 1)
      #expect(try await pool.states() == ["queued": 2])
    }
  }

  /// The claim is not yet committed: the job is seen neither running nor, after the wait, waiting.
  @Test(arguments: [JobAction.cancel, .pause])
  func `a job that is being claimed does not escape`(action: JobAction) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let changed = try await pool.commit(
        worker.work,
        {
          let count = try await worker.claim().count
          #expect(count == 1)
        },
        while: pool.patient,
        { try await JobQueue(pool.patient).control(action, Pool.ids([job])) })
      #expect(changed == 1)
      #expect(try await worker.heartbeat().commands.map(\.command) == [action.rawValue])
    }
  }

  @Test func `a claim passes a job that is being paused, and takes what is behind it`() async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      let worker = try await pool.impatientWorker()
      try await pool.patient.script("BEGIN")
      #expect(try await JobQueue(pool.patient).control(.pause, Pool.ids([jobs[0]])) == 1)
      #expect(try await worker.claim(2).map(\.job) == [jobs[1]])
      try await pool.patient.script("COMMIT")
      #expect(try await worker.claim(9).map(\.job) == [jobs[2]])
      #expect(try await pool.state(jobs[0]) == "paused")
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a settlement and a pause of the same job: the pause holds`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      _ = try await pool.commit(
        worker.work, { try await worker.end(lease, .released) },
        while: pool.patient,
        { try await JobQueue(pool.patient).control(.pause, Pool.ids([job])) })
      #expect(try await pool.state(job) == "paused")
      _ = try await pool.jobs.control(.resume, Pool.ids([job]))
      let again = try await worker.claimOne()
      let state = try await pool.commit(
        pool.patient,
        { _ = try await JobQueue(pool.patient).control(.pause, Pool.ids([job])) },
        while: worker.work, { try await worker.end(again, .failed, "timeout") })
      #expect(state == "paused")
    }
  }

  @Test func `promotion passes what is being paused, a pause waits for promotion`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, after: .seconds(60))
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      try await pool.patient.script("BEGIN")
      #expect(try await JobQueue(pool.patient).control(.pause, Pool.ids([jobs[0]])) == 1)
      #expect(try await pool.jobs.promote(limit: 10).due == 1)
      try await pool.patient.script("COMMIT")
      #expect(try await pool.state(jobs[0]) == "paused")

      try await pool.submit(1, to: "b.test", after: .seconds(60))
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      let late: Int64 = try await pool.value("SELECT job FROM haul.scheduled")
      let changed = try await pool.commit(
        pool.admin,
        {
          let count = try await pool.jobs.promote(limit: 10).due
          #expect(count == 1)
        },
        while: pool.patient,
        { try await JobQueue(pool.patient).control(.pause, Pool.ids([late])) })
      #expect(changed == 1)
      #expect(try await pool.state(late) == "paused")
    }
  }

  /// A job that was interrupted, and has waited long enough for a worker with its part file.
  private static func heldTooLong(_ pool: Pool) async throws -> Int64 {
    let job = try await pool.submit(1)[0]
    let worker = try await pool.worker()
    let lease = try await worker.claimOne()
    try await worker.checkpoint(lease, instance: pool.instance)
    try await worker.end(lease, .released)
    try await pool.execute("UPDATE haul.ready SET hold_until = clock_timestamp()")
    return job
  }

  /// The rows move from one lane to another under both locks; the pause had read them in the old one.
  @Test func `a pause finds work that is being let go by its instance`() async throws {
    try await Pool.open { pool in
      let job = try await Self.heldTooLong(pool)
      let promoter = try await pool.connect()
      let changed = try await pool.commit(
        promoter,
        {
          let count = try await JobQueue(promoter).promote(limit: 10).unheld
          #expect(count == 1)
        },
        while: pool.patient,
        { try await JobQueue(pool.patient).control(.pause, Pool.ids([job])) })
      #expect(changed == 1)
      #expect(try await pool.state(job) == "paused")
    }
  }

  /// Who withdraws may wait for a lane that the promotion has locked.
  @Test func `a promotion passes held work that is being paused`() async throws {
    try await Pool.open { pool in
      let job = try await Self.heldTooLong(pool)
      let promoter = try await pool.impatient()
      try await pool.patient.script("BEGIN")
      #expect(try await JobQueue(pool.patient).control(.pause, Pool.ids([job])) == 1)
      #expect(try await JobQueue(promoter).promote(limit: 10).unheld == 0)
      try await pool.patient.script("COMMIT")
      #expect(try await pool.state(job) == "paused")
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a claim passes a host whose cap is being set, and sees the new one`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9)
      let worker = try await pool.impatientWorker()
      try await pool.patient.script("BEGIN")
      try await JobQueue(pool.patient).setHost("a.test", cap: 2)
      #expect(try await worker.claim(9).isEmpty)
      try await pool.patient.script("COMMIT")
      #expect(try await worker.claim(9).count == 2)
    }
  }

  /// The claim fills the host to its old cap and parks the lane; the raise waits for neither and arms the lane later.
  @Test func `a raised cap wakes a lane that is being parked`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 1)
      try await pool.submit(9)
      let worker = try await pool.worker()
      try await worker.work.script("BEGIN")
      #expect(try await worker.claim(9).count == 1)
      #expect(try await !JobQueue(pool.patient).setHost("a.test", cap: 3))
      try await worker.work.script("COMMIT")
      _ = try await pool.jobs.promote(limit: 1)
      #expect(try await worker.claim(9).count == 2)
    }
  }

  @Test func `a retry and a resubmission of one failed job queue it once`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      let lines = [Pool.line(1, "https://a.test/1", "a.test/1")]
      let submitter = try await pool.connect()
      let reply = try await pool.commit(
        pool.patient,
        {
          let count = try await JobQueue(pool.patient).control(.retry, Pool.ids([job]))
          #expect(count == 1)
        },
        while: submitter,
        { try await JobQueue(submitter).submit(Submission(queue: Pool.name), lines) })
      #expect([reply.submitted, reply.skipped, reply.requeued] == [0, 1, 0])
    }
  }
}
