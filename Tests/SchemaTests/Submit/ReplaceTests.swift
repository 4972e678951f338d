import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Lines that take over the jobs whose paths they name.
struct ReplaceTests {
  private static let line = SubmitLine(
    line: 1, url: "https://b.test/x", host: "b.test", path: "a.test/1")

  /// `line` to the queue that has the job already.
  private static func replace(
    _ lines: [SubmitLine], on session: Connection, options: JobOptions = JobOptions()
  ) async throws -> SubmitReply {
    var submission = Submission(queue: Pool.name, batch: "new", priority: 3, options: options)
    submission.onDuplicate = .replace
    return try await JobQueue(session).submit(submission, lines)
  }

  /// In a transaction that is open already; returns what `haul.replace` gives.
  private static func replace(on session: Connection) async throws -> String {
    let key = try await session.stage([line], queue: Pool.name)
    return try await session.query(
      "SELECT haul.replace($1::uuid, 'data', NULL, 5::smallint, '{}', NULL, 10)::text", [key])[0]
      .decode(0)
  }

  /// What a worker gets after `line` has replaced an interrupted job, whose checkpoint the statement has changed.
  private static func lease(
    of line: SubmitLine, on pool: Pool, _ change: String, _ value: any PostgresEncodable
  ) async throws -> Lease {
    let worker = try await pool.worker()
    try await pool.bring(try await pool.submit(1)[0], to: .interrupted, by: worker)
    try await pool.execute(change, [value])
    #expect(try await replace([line], on: pool.admin).replaced == 1)
    let lease = try await worker.claimOne()
    #expect(lease.url == line.url)
    return lease
  }

  @Test(arguments: Standing.allCases)
  func `a line takes a job over from wherever it waits or has ended`(
    _ standing: Standing
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, batch: "old")[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: standing, by: worker)
      let other = Pool.line(2, "https://c.test/new", "c.test/new")
      let reply = try await Self.replace([Self.line, other], on: pool.admin)
      #expect([reply.submitted, reply.replaced, reply.skipped] == [1, 1, 0])
      #expect(try await pool.violations() == [])
      let leases = try await worker.claim(9).sorted { $0.job < $1.job }
      #expect(leases.map(\.url) == ["https://b.test/x", "https://c.test/new"])
      #expect(leases.first?.job == job && leases.first?.resume == nil)
      #expect(leases.first?.host == "b.test")
      #expect(leases.first?.options.ifExists == (standing == .completed ? "replace" : nil))
      #expect(try await pool.value("SELECT count(*) FROM haul.jobs WHERE batch = 'new'") == 2)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
    }
  }

  @Test func `what leaves another batch is counted by its name, and ids are told`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(1, batch: "old")
      let new = Pool.line(2, "https://c.test/new", "c.test/new")
      let reply = try await Self.replace([Self.line, new], on: pool.admin)
      #expect(reply.moved.map(\.batch) == ["old"] && reply.moved.map(\.jobs) == [1])
      #expect(reply.ids?.lowerBound == jobs[0])
      #expect(
        try await pool.value("SELECT max(id) FROM haul.job", as: Int64.self)
          == reply.ids?.upperBound)
      #expect(try await Self.replace([Self.line], on: pool.admin).moved == [])
    }
  }

  @Test func `jobs that have completed meanwhile can be left as they are`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      let lines = [
        Self.line,
        SubmitLine(line: 2, url: "https://b.test/y", host: "b.test", path: "a.test/2"),
      ]
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate = .replace
      submission.keepsEnded = true
      // The first has completed by then. The second is asked to pause, and completes nevertheless.
      try await worker.end(leases[0], .completed)
      let other = try await pool.connect()
      async let reply = JobQueue(other).submit(submission, lines)
      try await eventually("the command to pause") {
        try await pool.value(
          "SELECT count(*) FROM haul.lease WHERE command = 'pause'", as: Int.self) == 1
      }
      try await worker.end(leases[1], .completed)
      let (replaced, skipped) = (try await reply.replaced, try await reply.skipped)
      #expect((replaced, skipped) == (0, 2))
      for job in jobs { #expect(try await pool.state(job) == "completed") }
      #expect(
        try await pool.column("SELECT url FROM haul.job ORDER BY id")
          == ["https://a.test/1", "https://a.test/2"])
    }
  }

  /// Where each machine has a directory of its own, another one would begin at 0.
  @Test(arguments: [true, false])
  func `a job with a part waits for a worker that has it`(isReplaced: Bool) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: .failed, by: worker)
      try await pool.execute(
        """
        INSERT INTO haul.checkpoint (job, token, instance, durable, length, resume, saved_at)
        VALUES ($1, 0, $2::int, '{[0,5)}', 9, '{}', clock_timestamp())
        """, [job, pool.instance])
      if isReplaced {
        _ = try await Self.replace([Pool.line(1, "https://a.test/1", "a.test/1")], on: pool.admin)
      } else {
        _ = try await pool.admin.query(
          "SELECT * FROM haul.retry(jsonb_build_object('ids', jsonb_build_array($1::bigint)))",
          [job])
      }
      #expect(try await pool.state(job) == "interrupted")
      #expect(try await pool.value("SELECT instance FROM haul.ready") == pool.instance)
      #expect(try await pool.value("SELECT hold_until > clock_timestamp() FROM haul.ready"))
      #expect(try await worker.claimOne().resume != nil)
    }
  }

  @Test func `what is durable of the same URL is gone on with`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: .interrupted, by: worker)
      let same = Pool.line(1, "https://a.test/1", "a.test/1")
      let reply = try await Self.replace([same], on: pool.admin, options: JobOptions(maxBytes: 9))
      #expect(reply.replaced == 1)
      let lease = try await worker.claimOne()
      #expect(lease.resume != nil && lease.options.maxBytes == 9)
    }
  }

  /// As of a signed URL that has expired. The transfer compares the bytes, so there must be some to come.
  @Test(arguments: [(9, true), (10, false)] as [(Int64, Bool)])
  func `what is durable of a URL with another query is gone on with`(
    durable: Int64, isKept: Bool
  ) async throws {
    try await Pool.open { pool in
      let lease = try await Self.lease(
        of: Pool.line(1, "https://a.test/1?sig=2", "a.test/1"), on: pool,
        "UPDATE haul.checkpoint SET durable = int8multirange(int8range(0, $1)), length = 10",
        durable)
      #expect((lease.resume != nil) == isKept)
      #expect(lease.resume?.contains("\"moved\": true") ?? !isKept)
    }
  }

  /// The transfer goes on only under the same tag. All else that a server says of a file is no measure for another URL.
  @Test(arguments: [
    (#""1-2""#, true), (#"W/"1" Sun, 06 Nov 1994 08:49:37 GMT"#, false), ("=1", false),
    ("Sun, 06 Nov 1994 08:49:37 GMT", false), ("digest", false),
  ])
  func `what is durable under a strong tag is kept for another URL`(
    validator: String, isKept: Bool
  ) async throws {
    try await Pool.open { pool in
      let lease = try await Self.lease(
        of: Self.line, on: pool,
        "UPDATE haul.checkpoint SET resume = resume || jsonb_build_object('validator', $1::text)",
        validator)
      #expect((lease.resume != nil) == isKept)
      #expect(lease.resume?.contains("\"elsewhere\": true") ?? !isKept)
      #expect(lease.resume?.contains("\"moved\": true") ?? !isKept)
    }
  }

  @Test func `a list that repeats a line replaces its job once`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let lines = [1, 2].map { Pool.line($0, "https://b.test/x", "a.test/1") }
      let again = [3, 4].map { Pool.line($0, "https://c.test/y", "c.test/y") }
      let reply = try await Self.replace(lines + again, on: pool.admin)
      #expect([reply.submitted, reply.replaced, reply.skipped] == [1, 1, 2])
      #expect(try await pool.states() == ["queued": 2])
    }
  }

  /// How the lease of a job ends that is to be replaced.
  enum End: String, Sendable, CaseIterable {
    case released, completed, failed, rescued
  }

  /// The order: lease, replacement asks it to stop and waits, lease ends, replacement goes on. In between nothing can be claimed.
  @Test(arguments: End.allCases)
  func `of a running job the line waits for the lease's end`(_ end: End) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let (worker, other) = (try await pool.worker(), try await pool.worker())
      let old = try await worker.claimOne()
      try await worker.checkpoint(old, instance: pool.instance)
      let submitter = try await pool.connect()
      let submission = Task { try await Self.replace([Self.line], on: submitter) }
      try await eventually("the running job is asked to stop") {
        try await pool.value(
          "SELECT EXISTS (SELECT FROM haul.lease WHERE command = 'pause')", as: Bool.self)
      }
      #expect(try await other.claim(9).isEmpty)
      #expect(try await worker.heartbeat([old]).commands.map(\.command) == ["pause"])
      switch end {
      case .released: try await worker.end(old, .released)
      case .completed: try await worker.complete(old, bytes: 10)
      case .failed: try await worker.end(old, .failed, "http_4xx")
      case .rescued: _ = try await pool.jobs.rescue(workers: [worker.caller.worker])
      }
      let reply = try await submission.value
      #expect([reply.submitted, reply.replaced, reply.skipped] == [0, 1, 0])
      #expect(try await pool.violations() == [])
      let new = try await other.claimOne()
      #expect(new.job == job && new.url == "https://b.test/x" && new.resume == nil)
      #expect(new.token > old.token)
      // Whatever the old worker says now is stale.
      #expect(try await worker.end(old, .completed) == nil)
      #expect(try await worker.checkpoint(old, instance: pool.instance) == false)
      #expect(try await pool.state(job) == "running")
      #expect(try await other.end(new, .completed) == "completed")
    }
  }

  /// Somebody lets the job run again between two looks: it is asked to stop again.
  @Test func `a job that runs again meanwhile is stopped again`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let old = try await worker.claimOne()
      try await pool.execute("BEGIN")
      #expect(try await Self.replace(on: pool.admin).contains(#""waiting": 1"#))
      try await pool.execute("COMMIT")
      #expect(try await worker.end(old, .released) == "paused")
      var selector = JobSelector()
      selector.ids = [job]
      #expect(try await pool.jobs.control(.resume, selector) == 1)
      let again = try await worker.claimOne()
      let reply = try await Self.replace(on: pool.admin)
      #expect(reply.contains(#""waiting": 1"#) && reply.contains(#""replaced": 0"#))
      #expect(try await worker.end(again, .released) == "paused")
      #expect(try await Self.replace(on: pool.admin).contains(#""replaced": 1"#))
      #expect(try await worker.claimOne().url == "https://b.test/x")
    }
  }

  @Test func `of a claim and a replacement the first wins: claim`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let reply = try await pool.commit(
        worker.work,
        {
          let count = try await worker.claim().count
          #expect(count == 1)
        },
        while: pool.patient, { try await Self.replace(on: pool.patient) })
      #expect(reply.contains(#""waiting": 1"#) && reply.contains(#""replaced": 0"#))
      #expect(try await pool.states() == ["running": 1])
      #expect(try await pool.value("SELECT url FROM haul.job") == "https://a.test/1")
    }
  }

  @Test func `of a claim and a replacement the first wins: replacement`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.impatientWorker()
      try await pool.patient.script("BEGIN")
      #expect(try await Self.replace(on: pool.patient).contains(#""replaced": 1"#))
      #expect(try await worker.claim(9).isEmpty)
      try await pool.patient.script("COMMIT")
      #expect(try await pool.violations() == [])
      let lease = try await worker.claimOne()
      #expect(lease.job == job && lease.url == "https://b.test/x")
    }
  }

  /// The end of the lease holds it; the replacement, which wants to ask it to stop, waits, and finds nothing to stop.
  @Test func `of a settlement and a replacement the first wins: settlement`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      let reply = try await pool.commit(
        worker.work, { try await worker.complete(lease, bytes: 10) },
        while: pool.patient, { try await Self.replace(on: pool.patient) })
      #expect(reply.contains(#""replaced": 1"#))
      #expect(try await pool.violations() == [])
      #expect(try await pool.state(job) == "queued")
    }
  }

  /// The replacement has both lanes and waits for a checkpoint; who moves the second job to another priority must not have its
  /// row by then, since the replacement comes to that next.
  @Test func `a replacement and a new priority wait for each other in order`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      let retries = Watched(0)
      let (holder, other) = (try await pool.connect(), try await pool.connect())
      try await holder.script("BEGIN; SELECT FROM haul.checkpoint FOR UPDATE")
      let replacement = Task {
        var submission = Submission(queue: Pool.name)
        submission.onDuplicate = .replace
        return try await JobQueue(pool.patient) { _ in retries.update { $0 += 1 } }.submit(
          submission, [Self.line, Pool.line(2, "https://b.test/y", "a.test/2")])
      }
      try await pool.untilBlocked(pool.patient)
      let priority = Task {
        var selector = JobSelector()
        selector.ids = [jobs[1]]
        return try await JobQueue(other) { _ in retries.update { $0 += 1 } }.prioritize(
          selector, to: 0)
      }
      try await pool.untilBlocked(other)
      try await holder.script("COMMIT")
      #expect(try await replacement.value.replaced == 2)
      #expect(try await priority.value == 1)
      #expect(retries.value == 0)
      #expect(try await pool.states() == ["queued": 2])
      #expect(try await worker.claimOne().job == jobs[1])
    }
  }

  @Test func `of two replacements the second has the job`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let second = try await pool.connect()
      let other = Pool.line(1, "https://c.test/z", "a.test/1")
      let reply = try await pool.commit(
        pool.patient, { _ = try await Self.replace(on: pool.patient) },
        while: second, { try await Self.replace([other], on: second) })
      #expect([reply.submitted, reply.replaced] == [0, 1])
      #expect(try await pool.violations() == [])
      let lease = try await pool.worker().claimOne()
      #expect(lease.job == job && lease.url == "https://c.test/z")
    }
  }
}
