import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Completed jobs whose sources are asked again.
struct RefreshTests {
  static let line = Pool.line(1, "https://a.test/1", "a.test/1")
  static let source = ["etag": "\"v\"", "type": "application/zip"]

  static func refresh(
    _ lines: [SubmitLine] = [line], on session: Connection, options: JobOptions = JobOptions()
  ) async throws -> SubmitReply {
    var submission = Submission(queue: Pool.name, options: options)
    submission.onDuplicate = .refresh
    return try await JobQueue(session).submit(submission, lines)
  }

  /// In a transaction that is open already; returns what `haul.submit` gives.
  private static func refresh(in session: Connection) async throws -> String {
    let key = try await session.stage([line], queue: Pool.name)
    return try await session.query(
      """
      SELECT haul.submit($1::uuid, 'data', NULL, 5::smallint, '{}', NULL, 'refresh', false, 10)::text
      """, [key])[0].decode(0)
  }

  /// Ends a lease with a file that the source has spoken of.
  @discardableResult
  static func complete(
    _ lease: Lease, by worker: TestWorker, bytes: Int64 = 10, path: String? = nil
  ) async throws -> JobState? {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    ending.bytes = bytes
    ending.path = path
    ending.digest = "sha-256=00"
    ending.source = source
    return try await worker.call([ending]).settled.first?.state
  }

  @Test func `a completed job waits again and knows what it had brought`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, batch: "b")[0]
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker, path: "a.test/1.1")
      let new = Pool.line(2, "https://b.test/2", "b.test/2")
      let reply = try await Self.refresh(
        [Self.line, new], on: pool.admin, options: JobOptions(maxBytes: 9))
      #expect([reply.submitted, reply.refreshed, reply.requeued, reply.skipped] == [1, 1, 0, 0])
      #expect(try await pool.violations() == [])
      #expect(try await pool.states() == ["queued": 2])
      let leases = try await worker.claim(9).sorted { $0.job < $1.job }
      let earlier = try #require(leases.first?.earlier)
      #expect(leases.map(\.job).first == job)
      #expect(earlier.path == "a.test/1.1" && earlier.bytes == 10)
      #expect(earlier.digest == "sha-256=00" && earlier.source == Self.source)
      #expect(leases[0].options.maxBytes == 9 && leases[0].path == "a.test/1")
      #expect(leases[1].earlier == nil)
      #expect(try await Self.complete(leases[0], by: worker) == "completed")
      #expect(try await pool.value("SELECT count(*) FROM haul.refresh") == 0)
      #expect(try await pool.value("SELECT source ->> 'etag' FROM haul.outcome") == "\"v\"")
    }
  }

  @Test func `what is not said anew of a refreshed job stays, but for what was said of its file`()
    async throws
  {
    try await Pool.open { pool in
      var options = JobOptions(digest: "sha-256=00", maxAttempts: 7, maxBytes: 100)
      options.length = 10
      options.recordDigest = true
      try await pool.submit(1, options: options)
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      #expect(
        try await Self.refresh(on: pool.admin, options: JobOptions(maxAttempts: 8)).refreshed == 1)
      var wanted = JobOptions(maxAttempts: 8, maxBytes: 100)
      wanted.recordDigest = true
      #expect(try await worker.claimOne().options == wanted)
    }
  }

  @Test(arguments: Standing.allCases)
  func `what waits is left, what failed is queued again, what completed is asked for again`(
    _ standing: Standing
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: standing, by: worker)
      let state = try await pool.state(job)
      let reply = try await Self.refresh(on: pool.admin)
      #expect(reply.refreshed == (standing == .completed ? 1 : 0))
      #expect(reply.requeued == ([.failed, .cancelled].contains(standing) ? 1 : 0))
      #expect(reply.skipped == (standing.hasEnded ? 0 : 1))
      #expect(try await pool.state(job) == (standing.hasEnded ? "queued" : state))
      #expect(
        try await pool.value("SELECT count(*) FROM haul.refresh")
          == (standing == .completed ? 1 : 0)
      )
    }
  }

  @Test func `a running job is left to its lease`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      let reply = try await Self.refresh(on: pool.admin)
      #expect([reply.refreshed, reply.skipped] == [0, 1])
      #expect(try await worker.heartbeat([lease]).commands.isEmpty)
      #expect(try await Self.complete(lease, by: worker) == "completed")
      #expect(try await pool.state(job) == "completed")
    }
  }

  /// Its failure keeps what it had brought: whoever tries again asks on the same condition.
  @Test(arguments: ["http_5xx", "http_4xx", nil] as [ErrorClass?])
  func `a refresh that fails or is cancelled is one when it is tried again`(
    error: ErrorClass?
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      let options = JobOptions(maxAttempts: 1)
      #expect(try await Self.refresh(on: pool.admin, options: options).refreshed == 1)
      var selector = JobSelector()
      selector.ids = [job]
      if let error {
        #expect(try await worker.end(worker.claimOne(), .failed, error) == "failed")
      } else {
        #expect(try await pool.jobs.control(.cancel, selector) == 1)
      }
      #expect(try await pool.jobs.control(.retry, selector) == 1)
      let again = try await worker.claimOne()
      #expect(again.earlier?.source == Self.source)
      #expect(try await Self.complete(again, by: worker) == "completed")
      // A damaged file is fetched whatever the source says.
      #expect(try await pool.jobs.redo([job]) == 1)
      let anew = try await worker.claimOne()
      #expect(anew.job == job && anew.earlier == nil)
    }
  }

  @Test func `a file that stood there before its job is not the job's to replace`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, options: JobOptions(ifExists: "skip"))
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      try await worker.complete(leases[0], bytes: 3)
      try await Self.complete(leases[1], by: worker)
      let lines = (1...2).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      let reply = try await Self.refresh(lines, on: pool.admin)
      #expect([reply.refreshed, reply.skipped] == [1, 1])
      #expect(try await pool.state(leases[0].job) == "completed")
    }
  }

  @Test func `another URL for the path is refused, and a repeated line is one`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      await #expect(
        throws: SubmissionError.conflicts(Pool.conflict(1, "a.test/1", job: job))
      ) { try await Self.refresh([Pool.line(1, "https://b.test/", "a.test/1")], on: pool.admin) }
      let again = [1, 2].map { Pool.line($0, "https://a.test/1", "a.test/1") }
      let reply = try await Self.refresh(again, on: pool.admin)
      #expect([reply.refreshed, reply.skipped] == [1, 1])
    }
  }

  /// A list longer than one step: its second step meets a job that its first step has asked for again and a worker completed.
  @Test func `one that has completed since the submission began is as new as can be`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      let session = try await pool.connect()
      let lines = [1, 2].map { Pool.line($0, "https://a.test/1", "a.test/1") }
      let key = try await session.stage(lines, queue: Pool.name)
      for refreshed in [1, 0] {
        let reply: String = try await session.query(
          """
          SELECT haul.submit($1::uuid, 'data', NULL, 5::smallint, '{}', NULL, 'refresh', false, 1)::text
          """, [key])[0].decode(0)
        #expect(reply.contains("\"refreshed\": \(refreshed)"), "\(reply)")
        for lease in try await worker.claim(9) { try await Self.complete(lease, by: worker) }
      }
    }
  }

  @Test func `who takes over a job that is being refreshed finds its file`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      #expect(try await Self.refresh(on: pool.admin).refreshed == 1)
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate = .replace
      #expect(try await pool.jobs.submit(submission, [Self.line]).replaced == 1)
      let lease = try await worker.claimOne()
      #expect(lease.earlier == nil && lease.options.ifExists == "replace")
      #expect(try await pool.value("SELECT count(*) FROM haul.refresh") == 0)
    }
  }

  // MARK: - Interleavings

  @Test func `of two refreshes the second finds the job waiting`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      let second = try await pool.connect()
      let reply = try await pool.commit(
        pool.patient,
        {
          let reply = try await Self.refresh(in: pool.patient)
          #expect(reply.contains(#""refreshed": 1"#))
        }, while: second, { try await Self.refresh(on: second) })
      #expect([reply.refreshed, reply.skipped] == [0, 1])
      #expect(try await pool.states() == ["queued": 1])
    }
  }

  /// The settlement holds the lease; nobody waits for it, and the job is none that has completed.
  @Test func `a job that is just being settled is left as it is`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.work.script("BEGIN")
      try await Self.complete(lease, by: worker)
      let impatient = try await pool.impatient()
      #expect(try await Self.refresh(on: impatient).skipped == 1)
      try await worker.work.script("COMMIT")
      #expect(try await pool.state(job) == "completed")
    }
  }

  @Test func `until a refresh has committed nothing of it can be claimed`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.impatientWorker()
      let old = try await worker.claimOne()
      try await Self.complete(old, by: worker)
      try await pool.patient.script("BEGIN")
      _ = try await Self.refresh(in: pool.patient)
      #expect(try await worker.claim(9).isEmpty)
      try await pool.patient.script("COMMIT")
      #expect(try await pool.violations() == [])
      let new = try await worker.claimOne()
      #expect(new.job == job && new.token > old.token)
      #expect(try await worker.end(old, .completed) == nil)
      #expect(try await pool.state(job) == "running")
    }
  }

  /// One job has failed, one with a smaller id has completed: both lock their outcomes in one order, and neither ends the other.
  @Test func `a refresh and a replacement of the same jobs wait for each other in order`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2).sorted { $0.job < $1.job }
      try await Self.complete(leases[0], by: worker)
      try await worker.end(leases[1], .failed, "http_4xx")
      let lines = (1...2).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      let retries = Watched(0)
      let second = try await pool.connect()
      let third = try await pool.connect()
      // Holds the first outcome until both others wait.
      let holder = try await pool.connect()
      try await holder.script("BEGIN")
      try await holder.execute(
        "SELECT FROM haul.outcome WHERE job = $1 FOR UPDATE", [leases[0].job])
      let replacement = Task {
        var submission = Submission(queue: Pool.name)
        submission.onDuplicate = .replace
        return try await JobQueue(third) { _ in retries.update { $0 += 1 } }.submit(
          submission, lines)
      }
      try await pool.untilBlocked(third)
      let refresh = Task {
        var submission = Submission(queue: Pool.name)
        submission.onDuplicate = .refresh
        return try await JobQueue(second) { _ in retries.update { $0 += 1 } }.submit(
          submission, lines)
      }
      try await pool.untilBlocked(second)
      try await holder.script("COMMIT")
      #expect(try await replacement.value.replaced == 2)
      let reply = try await refresh.value
      #expect([reply.refreshed, reply.requeued, reply.skipped] == [0, 0, 2])
      #expect(retries.value == 0)
      #expect(try await pool.states() == ["queued": 2])
    }
  }
}
