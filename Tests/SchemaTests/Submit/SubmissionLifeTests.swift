import JobModel
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// When a submission's sender counts as dead, and what becomes of it then.
struct SubmissionLifeTests {
  private typealias Pieces = AsyncThrowingStream<[SubmitLine], any Error>

  private static func lines(_ numbers: ClosedRange<Int>) -> [SubmitLine] {
    numbers.map { Pool.line($0, "https://h.test/\($0)", "h.test/\($0)") }
  }

  /// Makes all senders look as if they had been silent for so long.
  private func silence(_ pool: Pool, seconds: Int = 180) async throws {
    try await pool.execute(
      "UPDATE haul.submission SET renewed_at = clock_timestamp() - make_interval(secs => $1)",
      [seconds])
  }

  /// Begins a submission without a session, with lines in it.
  private func begin(_ pool: Pool, _ lines: [SubmitLine]) async throws -> String {
    let key: String = try await pool.value("SELECT haul.begin_submission('data', true)::text")
    try await pool.admin.transaction { try await JobQueue($0).stage(lines, key) }
    return key
  }

  private func isRefused(_ body: () async throws -> Void) async -> Bool {
    do {
      try await body()
      return false
    } catch JobQueueError.busy(let message, _) {
      return message.hasPrefix("the submission has expired")
    } catch {
      Issue.record(error)
      return false
    }
  }

  /// 1. A submission without a session is silent for too long, and the leader removes some of its lines.
  /// 2. The sender comes back, and can do nothing.
  /// 3. The leader removes the rest.
  @Test func `a sender that comes back too late can neither add lines nor make jobs`() async throws
  {
    try await Pool.open { pool in
      let key = try await begin(pool, Self.lines(1...5))
      try await pool.jobs.clearSubmissions(limit: 3)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 5)
      try await silence(pool)
      try await pool.jobs.clearSubmissions(limit: 3)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 2)
      let submission = Submission(queue: Pool.name)
      #expect(await isRefused { try await pool.jobs.renew(key) })
      #expect(
        await isRefused {
          try await pool.admin.transaction {
            try await JobQueue($0).stage(Self.lines(6...9), key)
          }
        })
      #expect(await isRefused { _ = try await pool.jobs.check(submission, key, 5) })
      #expect(await isRefused { _ = try await pool.jobs.submitChunk(submission, key, limit: 9) })
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 2)
      try await pool.jobs.clearSubmissions(limit: 3)
      #expect(try await pool.value("SELECT count(*) FROM haul.submission") == 0)
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
      #expect(await isRefused { try await pool.jobs.renew(key) })
    }
  }

  /// 1. A step begins, and waits for a lock for longer than a sender may be silent.
  /// 2. The leader leaves the submission alone while the step runs, and after it too.
  @Test func `a step that takes long is no silence`() async throws {
    try await Pool.open { pool in
      let key = try await begin(pool, Self.lines(1...5))
      let (blocker, sender) = (try await pool.connect(), try await pool.connect())
      try await blocker.script("BEGIN; LOCK TABLE haul.dedupe IN ACCESS EXCLUSIVE MODE")
      async let chunk = JobQueue(sender).submitChunk(
        Submission(queue: Pool.name), key, limit: 9)
      try await pool.untilBlocked(sender)
      // Its row is as old as the last step to all others.
      try await pool.execute("UPDATE haul.pulse SET watched_since = '-infinity'")
      try await pool.jobs.clearSubmissions(limit: 9)
      let began: String = try await pool.value("SELECT clock_timestamp()::text")
      try await blocker.script("COMMIT")
      #expect(try await chunk.submitted == 5)
      #expect(
        try await pool.value(
          "SELECT renewed_at > $1::timestamptz FROM haul.submission", [began], as: Bool.self))
    }
  }

  /// The step holds the row; without that, the stamp from before the step would have its lines removed.
  @Test func `an open step keeps the leader away, however old the last sign of life is`()
    async throws
  {
    try await Pool.open { pool in
      let key = try await begin(pool, Self.lines(1...5))
      try await silence(pool)
      let sender = try await pool.connect()
      try await sender.script("BEGIN")
      try await JobQueue(sender).renew(key)
      try await pool.jobs.clearSubmissions(limit: 9)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 5)
      try await sender.script("COMMIT")
      try await pool.jobs.clearSubmissions(limit: 9)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 5)
    }
  }

  /// A pipe that gives a line an hour: what has come is staged, and the rest is awaited.
  @Test func `a sender that waits for its list renews its submission`() async throws {
    try await Pool.open { pool in
      let sender = try await pool.connect()
      let (pieces, input) = Pieces.makeStream()
      async let reply = JobQueue(sender).submit(
        Submission(queue: Pool.name), pieces, renewal: .milliseconds(20))
      input.yield(Self.lines(1...5))
      try await eventually("the lines") {
        try await pool.value("SELECT count(*) FROM haul.staging") == 5
      }
      for _ in 1...2 {
        try await silence(pool)
        try await eventually("a sign of life") {
          try await pool.value(
            "SELECT renewed_at > clock_timestamp() - interval '1 minute' FROM haul.submission")
        }
        try await pool.jobs.clearSubmissions(limit: 9)
      }
      input.yield(Self.lines(6...9))
      input.finish()
      #expect(try await reply.submitted == 9)
      #expect(try await pool.value("SELECT count(*) FROM haul.submission") == 0)
    }
  }

  /// A machine that slept in the middle of its list.
  @Test func `a sender that was silent for too long is told, and has no job`() async throws {
    try await Pool.open { pool in
      let sender = try await pool.connect()
      let (pieces, input) = Pieces.makeStream()
      let reply = Task {
        try await JobQueue(sender).submit(
          Submission(queue: Pool.name), pieces, renewal: .seconds(3600))
      }
      input.yield(Self.lines(1...5))
      try await eventually("the lines") {
        try await pool.value("SELECT count(*) FROM haul.staging") == 5
      }
      try await silence(pool)
      try await pool.jobs.clearSubmissions(limit: 3)
      input.yield(Self.lines(6...9))
      input.finish()
      let error = await #expect(throws: JobQueueError.self) { try await reply.value }
      if case .busy? = error {} else { Issue.record("\(String(describing: error))") }
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
    }
  }

  /// Whatever has removed it.
  @Test func `a line that is missing is noticed before there is a job`() async throws {
    try await Pool.open { pool in
      let key = try await begin(pool, Self.lines(1...5))
      try await pool.execute("DELETE FROM haul.staging WHERE line = 3")
      let submission = Submission(queue: Pool.name)
      await #expect(
        throws: JobQueueError.busy(
          "some of the 5 lines that this submission sent are missing",
          hint: "Submit the list again.")
      ) { try await pool.jobs.check(submission, key, 5) }
      #expect(try await pool.jobs.check(submission, key, 4).count == 0)
    }
  }

  /// The database was away, or its clock was set forward: then the senders could not be heard.
  @Test func `silence counts only while the leader has watched`() async throws {
    try await Pool.open { pool in
      _ = try await begin(pool, Self.lines(1...5))
      try await silence(pool, seconds: 3600)
      let watched = "SELECT watched_since > clock_timestamp() - interval '1 minute' FROM haul.pulse"
      for (roundAge, watchedAge, isNew) in [(40, 3600, true), (2, 100, false), (2, 130, false)] {
        try await pool.execute(
          """
          UPDATE haul.pulse SET round_at = clock_timestamp() - make_interval(secs => $1),
            watched_since = clock_timestamp() - make_interval(secs => $2)
          """, [roundAge, watchedAge])
        _ = try await pool.jobs.rescue()
        #expect(try await pool.value(watched) == isNew)
        try await pool.jobs.clearSubmissions(limit: 9)
        let left = watchedAge == 130 ? 0 : 5
        #expect(try await pool.value("SELECT count(*) FROM haul.staging") == left)
      }
    }
  }
}
