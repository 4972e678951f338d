import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Where a job stands when somebody else wants its file.
enum Standing: String, Sendable, CaseIterable {
  case queued, scheduled, paused, interrupted, pausedHalfWay, completed, failed, cancelled

  var hasEnded: Bool { [.completed, .failed, .cancelled].contains(self) }
  var hasCheckpoint: Bool { [.interrupted, .pausedHalfWay].contains(self) }
}

extension Pool {
  /// The queue that takes jobs over from the queue `data`; both are on one store.
  static let heir = "default"

  /// Brings the only job of `data`, which waits, to where `standing` says.
  func bring(_ job: Int64, to standing: Standing, by worker: TestWorker) async throws {
    var selector = JobSelector()
    selector.ids = [job]
    switch standing {
    case .queued: break
    case .scheduled: try await worker.end(worker.claimOne(), .failed, "timeout")
    case .paused: _ = try await jobs.control(.pause, selector)
    case .interrupted, .pausedHalfWay:
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: instance)
      if standing == .pausedHalfWay { _ = try await jobs.control(.pause, selector) }
      try await worker.end(lease, .released)
    case .completed: try await worker.complete(worker.claimOne(), bytes: 10)
    case .failed: try await worker.end(worker.claimOne(), .failed, "http_4xx")
    case .cancelled: _ = try await jobs.control(.cancel, selector)
    }
  }

  /// Asks for `lines` in the queue ``heir``.
  func resubmit(
    _ lines: [SubmitLine], batch: String? = nil, options: JobOptions = JobOptions(),
    isDone: @escaping @Sendable (FinishedLine) -> Bool = { _ in false }
  ) async throws -> ResubmitReply {
    try await jobs.resubmit(
      Submission(queue: Self.heir, batch: batch, options: options), lines, isDone: isDone)
  }
}

extension TestWorker {
  /// Completes a job whose file, at the job's own path, has `bytes` bytes.
  func complete(_ lease: Lease, bytes: Int64) async throws {
    var ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
    ending.bytes = bytes
    try await call([ending])
  }
}

/// Jobs taken over by whoever wants their files now.
struct ResubmitTests {
  private static let line = Pool.line(1, "https://a.test/1", "a.test/1")

  @Test(arguments: Standing.allCases)
  func `a job is taken over from wherever it waits or has ended`(
    _ standing: Standing
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: JobOptions(maxAttempts: 2), batch: "old")[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: standing, by: worker)
      let reply = try await pool.resubmit(
        [Self.line], batch: "new", options: JobOptions(ifExists: "skip"))
      let unfinished = standing.hasEnded ? 0 : 1
      #expect([reply.submitted, reply.takenOver, reply.unfinished] == [0, 1, unfinished])
      #expect(try await pool.violations() == [])
      // A part waits for a worker that has it.
      let state = standing.hasCheckpoint ? "interrupted" : "queued"
      #expect(try await pool.state(job) == state)
      #expect(try await pool.value("SELECT batch FROM haul.jobs") == "new")
      #expect(try await pool.value("SELECT count(*) FROM haul.attempt WHERE NOT forgiven") == 0)

      #expect(try await worker.claim(queues: [Pool.name]).isEmpty)
      let leases = try await worker.claim(9, queues: [Pool.heir])
      #expect(leases.map(\.job) == [job])
      #expect(leases.first?.options == JobOptions(ifExists: "skip"))
      #expect((leases.first?.resume != nil) == standing.hasCheckpoint)
      #expect((leases.first?.resumeInstance == pool.instance) == standing.hasCheckpoint)
    }
  }

  /// Its time of submission lies in the future: it is not one of this submission's own jobs.
  @Test func `a job is taken over that was submitted before the database's clock was set back`()
    async throws
  {
    try await Pool.open { pool in
      let job = try await pool.submit(1, batch: "old")[0]
      try await pool.execute("UPDATE haul.job SET submitted_at = submitted_at + interval '2 hours'")
      #expect(try await pool.resubmit([Self.line], batch: "new").takenOver == 1)
      #expect(try await pool.value("SELECT batch FROM haul.jobs WHERE job = \(job)") == "new")
    }
  }

  @Test(arguments: Standing.allCases)
  func `another URL for the path starts from nothing, at its own host`(
    _ standing: Standing
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await pool.bring(job, to: standing, by: worker)
      let line = SubmitLine(line: 1, url: "https://b.test/x", host: "b.test", path: "a.test/1")
      let reply = try await pool.resubmit([line]) { _ in
        Issue.record("a file of another URL is none of this line's")
        return true
      }
      #expect([reply.takenOver, reply.unfinished] == [1, 0])
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 0)
      let lease = try #require(try await worker.claim(queues: [Pool.heir]).first)
      #expect((lease.job, lease.url, lease.host) == (job, "https://b.test/x", "b.test"))
      #expect(lease.resume == nil)
    }
  }

  /// Otherwise three changes of a file that has nothing to do with the new one would keep the new one from resuming.
  @Test(arguments: ["https://a.test/1", "https://b.test/x"], [Standing.completed, .failed])
  func `changes of the source do not count for whoever takes the job over`(
    url: String, standing: Standing
  ) async throws {
    try await Pool.open { pool in
      _ = try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(try await worker.checkpoint(lease, instance: pool.instance))
      try await pool.execute("UPDATE haul.checkpoint SET resume = resume || '{\"changes\": 3}'")
      var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
      (ending.error, ending.changes) = ("interrupted", 3)
      try await worker.call([ending])
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 10)
      let second = try await worker.claimOne()
      #expect(second.changes == 3)
      if standing == .completed {
        try await worker.complete(second, bytes: 10)
      } else {
        try await worker.end(second, .failed, "http_4xx")
      }

      let host = url == Self.line.url ? "a.test" : "b.test"
      let line = SubmitLine(line: 1, url: url, host: host, path: "a.test/1")
      let reply = try await pool.resubmit([line], options: JobOptions(ifExists: "replace"))
      #expect(reply.takenOver == 1)
      #expect(
        try await pool.value(
          "SELECT count(*) FROM haul.checkpoint WHERE resume -> 'changes' <> '0'") == 0)
      let first = try #require(try await worker.claim(queues: [Pool.heir]).first)
      #expect(first.changes ?? 0 == 0)
      // Nor for its next attempt.
      #expect(try await worker.checkpoint(first, instance: pool.instance))
      try await worker.end(first, .failed, "interrupted")
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 10)
      let next = try #require(try await worker.claim(queues: [Pool.heir]).first)
      #expect(next.url == url && next.resume != nil && next.changes ?? 0 == 0)
    }
  }

  @Test func `while a job runs nothing is changed, and who has it is named`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(2)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(lease.job == job)
      let lines = (1...3).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      await #expect(
        throws: JobQueueError.busy(
          "worker \(worker.caller.worker) (machine, pid 1) is downloading \"a.test/1\" now",
          hint: "Wait until this worker has finished, or stop it.")
      ) { try await pool.resubmit(lines, batch: "new") }
      #expect(try await pool.states() == ["queued": 1, "running": 1])
      #expect(try await pool.value("SELECT count(*) FROM haul.batch") == 0)
      #expect(try await worker.claim(9, queues: [Pool.heir]).isEmpty)
      #expect(try await worker.end(lease, .completed) == "completed")
    }
  }

  @Test func `lines whose files are there are left out`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3)
      let worker = try await pool.worker()
      for bytes in [10, 20] { try await worker.complete(worker.claimOne(), bytes: Int64(bytes)) }
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      let lines = (1...4).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      let asked = Watched([FinishedLine]())
      let reply = try await pool.resubmit(lines) { line in
        asked.update { $0.append(line) }
        return line.bytes == 20
      }
      #expect(asked.value.map(\.line).sorted() == [1, 2])
      #expect(asked.value.map(\.path).sorted() == ["a.test/1", "a.test/2"])
      #expect(reply.finished.map(\.line) == [2])
      #expect([reply.submitted, reply.takenOver, reply.unfinished] == [1, 2, 0])
      #expect(
        try await worker.claim(9, queues: [Pool.heir]).map(\.path)
          == ["a.test/1", "a.test/3", "a.test/4"])
      #expect(try await pool.states() == ["completed": 1, "running": 3])
    }
  }

  @Test func `a line that is repeated is one job`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let new = Pool.line(2, "https://a.test/x", "a.test/x")
      var again = [Self.line, new]
      for index in again.indices { again[index].line += 10 }
      let reply = try await pool.resubmit([Self.line, new] + again)
      #expect([reply.submitted, reply.takenOver] == [1, 1])
      #expect(try await pool.states() == ["queued": 2])
    }
  }

  @Test func `one path for two URLs is refused with both lines`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      await #expect(
        throws: SubmissionError.conflicts(
          Pool.conflict(2, "a.test/1", otherLine: 1))
      ) {
        try await pool.resubmit([Self.line, Pool.line(2, "https://b.test/1", "a.test/1")])
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
      #expect(try await pool.worker().claimOne().queue == Pool.name)
    }
  }

  /// The first and the best of a lane leave it; what is left must still be found, also where a claim had parked it.
  @Test func `the lane that jobs are taken from stays right`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 1)
      let jobs = try await pool.submit(4)
      let worker = try await pool.worker()
      let first = try await worker.claimOne()
      #expect(try await worker.claim().isEmpty)
      let lines = (2...3).map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
      #expect(try await pool.resubmit(lines).takenOver == 2)
      #expect(try await pool.violations() == [])
      try await worker.end(first, .completed)
      #expect(try await pool.violations() == [])
      let last = try await worker.claim(9, queues: [Pool.name])
      #expect(last.map(\.job) == [jobs[3]])
      try await worker.end(last[0], .completed)
      #expect(try await worker.claim(9, queues: [Pool.heir]).map(\.job) == [jobs[1]])
    }
  }

  @Test func `an unknown queue is refused`() async throws {
    try await Pool.open { pool in
      let refusal = await #expect(throws: JobQueueError.self) {
        try await pool.jobs.resubmit(Submission(queue: "nowhere"), [Self.line]) { _ in true }
      }
      #expect(
        refusal == .noSuchName("there is no queue \"nowhere\"", hint: "Queues: data, default"))
    }
  }

  /// `isDone` reads files of any size meanwhile. Other calls limit how long their transactions may stand idle.
  @Test func `its transaction may stand idle while files are compared`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await pool.bring(pool.submit(1)[0], to: .completed, by: worker)
      // What the limit is after the comparison, in the same transaction.
      try await pool.admin.script(
        """
        CREATE TABLE public.seen (idle interval);
        CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO public.seen SELECT current_setting('idle_in_transaction_session_timeout')::interval;
          RETURN NULL;
        END
        $$;
        GRANT INSERT ON public.seen TO haul_admin;
        CREATE TRIGGER note AFTER DELETE ON haul.staging EXECUTE FUNCTION public.note();
        """)
      let reply = try await pool.resubmit([Self.line], isDone: { _ in true })
      #expect(reply.finished.count == 1)
      #expect(try await pool.value("SELECT count(*) > 0 FROM public.seen"))
      #expect(try await pool.value("SELECT min(idle) > interval '1 day' FROM public.seen"))
      #expect(
        try await pool.value("SELECT current_setting('idle_in_transaction_session_timeout')") == "0"
      )
    }
  }
}
