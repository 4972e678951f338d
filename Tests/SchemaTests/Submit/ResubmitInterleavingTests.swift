import JobQueue
import Postgres
import TestSupport
import Testing

/// A resubmission and whoever else wants the same jobs at the same time.
struct ResubmitInterleavingTests {
  private static let line = Pool.line(1, "https://a.test/1", "a.test/1")

  /// As `JobQueue.resubmit` of that line, in a transaction that is open already.
  private static func resubmit(_ line: SubmitLine = line, on session: Connection) async throws {
    let key = try await session.stage([line], queue: "default")
    try await session.execute(
      "SELECT haul.resubmit($1::uuid, 'default', NULL, '{}', '{}')", [key])
    try await session.submit(key, "default")
  }

  /// The same of a second one, into the queue `third`.
  private static func resubmit(
    again session: Connection, _ line: SubmitLine = line
  ) async throws -> ResubmitReply {
    try await JobQueue(session).resubmit(Submission(queue: "third"), [line]) { _ in false }
  }

  @Test func `of a claim and a resubmission the first wins: claim`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await pool.jobs.createQueue("third", store: Pool.name)
      await #expect(
        throws: JobQueueError.busy(
          "worker \(worker.caller.worker) (machine, pid 1) is downloading \"a.test/1\" now",
          hint: "Wait until this worker has finished, or stop it.")
      ) {
        try await pool.commit(
          worker.work,
          {
            let count = try await worker.claim().count
            #expect(count == 1)
          },
          while: pool.patient, { try await Self.resubmit(again: pool.patient) })
      }
      #expect(try await pool.states() == ["running": 1])
    }
  }

  @Test func `of a claim and a resubmission the first wins: resubmission`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.impatientWorker()
      try await pool.patient.script("BEGIN")
      try await Self.resubmit(on: pool.patient)
      #expect(try await worker.claim(9).isEmpty)
      try await pool.patient.script("COMMIT")
      #expect(try await pool.violations() == [])
      #expect(try await worker.claim(9, queues: [Pool.name]).isEmpty)
      #expect(try await worker.claim(9, queues: [Pool.heir]).map(\.job) == [job])
    }
  }

  /// A rescue that is not committed leaves the job running: nobody waits, and the next try finds it.
  @Test func `a job that is being rescued counts as running until it is`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await pool.patient.script("BEGIN")
      let rescued = try await JobQueue(pool.patient).rescue(workers: [worker.caller.worker])
      #expect(rescued == 1)
      let impatient = try await pool.impatient()
      try await pool.jobs.createQueue("third", store: Pool.name)
      await #expect(throws: JobQueueError.self) { try await Self.resubmit(again: impatient) }
      try await pool.patient.script("COMMIT")
      #expect(try await pool.state(job) == "interrupted")
      #expect(try await Self.resubmit(again: impatient).unfinished == 1)
      #expect(try await worker.end(lease, .completed) == nil)
      #expect(try await pool.state(job) == "queued")
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 1)
    }
  }

  /// The rescue gives its job back to the lane that another leaves.
  @Test func `a rescue into a lane that a job is taken from does not wait, and both are found`()
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      let worker = try await pool.worker()
      #expect(try await worker.claimOne().job == jobs[0])
      try await pool.patient.script("BEGIN")
      try await Self.resubmit(Pool.line(2, "https://a.test/2", "a.test/2"), on: pool.patient)
      let rescuer = JobQueue(try await pool.impatient())
      #expect(try await rescuer.rescue(workers: [worker.caller.worker]) == 1)
      try await pool.patient.script("COMMIT")
      #expect(try await pool.violations() == [])
      let other = try await pool.worker()
      #expect(try await other.claim(9, queues: [Pool.name]).map(\.job) == [jobs[0]])
      #expect(try await other.claim(9, queues: [Pool.heir]).map(\.job) == [jobs[1]])
    }
  }

  /// Whoever comes second waits for the first to be through, and takes the job from there.
  @Test(arguments: Standing.allCases)
  func `of two resubmissions the second has the job`(_ standing: Standing) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: standing, by: worker)
      try await pool.jobs.createQueue("third", store: Pool.name)
      let second = try await pool.connect()
      let reply = try await pool.commit(
        pool.patient, { try await Self.resubmit(on: pool.patient) },
        while: second, { try await Self.resubmit(again: second) })
      #expect([reply.submitted, reply.takenOver, reply.unfinished] == [0, 1, 1])
      #expect(try await pool.violations() == [])
      #expect(try await worker.claim(9, queues: [Pool.heir]).isEmpty)
      let leases = try await worker.claim(9, queues: ["third"])
      #expect(leases.map(\.job) == [job])
      #expect((leases.first?.resume != nil) == standing.hasCheckpoint)
    }
  }

  /// A path that neither of two resubmissions has seen before must not be skipped by the second as somebody else's.
  @Test func `of two resubmissions of a new path the second has the job`() async throws {
    try await Pool.open { pool in
      let line = Pool.line(1, "https://a.test/x", "a.test/x")
      try await pool.jobs.createQueue("third", store: Pool.name)
      let second = try await pool.connect()
      let reply = try await pool.commit(
        pool.patient, { try await Self.resubmit(line, on: pool.patient) },
        while: second, { try await Self.resubmit(again: second, line) })
      #expect([reply.submitted, reply.takenOver] == [0, 1])
      #expect(try await pool.worker().claim(9, queues: ["third"]).count == 1)
    }
  }
}
