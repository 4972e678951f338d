import JobModel
import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// That the database counts as many lines as it was given, whatever becomes of them.
struct SubmitCountTests {
  private static func lines(_ numbers: ClosedRange<Int>) -> [SubmitLine] {
    numbers.map { Pool.line($0, "https://a.test/\($0)", "a.test/\($0)") }
  }

  /// Has each step lose its last line, after they have been counted.
  private func loseLines(_ pool: Pool) async throws {
    try await pool.admin.execute(
      """
      CREATE OR REPLACE FUNCTION haul.require_options(
        p_options jsonb, p_submission uuid DEFAULT NULL, p_last bigint DEFAULT NULL) RETURNS void
      LANGUAGE plpgsql AS $$ BEGIN
        DELETE FROM haul.staging WHERE submission = p_submission AND line = p_last;
      END $$
      """)
  }

  @Test(arguments: [Submission.OnDuplicate.skip, .refresh, .error])
  func `a line that is lost is no line that is there already`(policy: Submission.OnDuplicate)
    async throws
  {
    try await Pool.open { pool in
      try await loseLines(pool)
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate = policy
      await #expect(throws: SubmissionError.miscounted(4, of: 5)) {
        try await pool.jobs.submit(submission, Self.lines(1...5))
      }
      #expect(try await pool.states() == ["queued": 4])
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
    }
  }

  /// `haul get` submits in this way, all or nothing.
  @Test func `with a line lost, no job is taken over and none made`() async throws {
    try await Pool.open { pool in
      _ = try await pool.jobs.submit(Submission(queue: Pool.name), Self.lines(1...1))
      try await loseLines(pool)
      await #expect(throws: SubmissionError.miscounted(2, of: 3)) {
        try await pool.resubmit(Self.lines(1...3))
      }
      #expect(try await pool.states() == ["queued": 1])
    }
  }

  @Test(arguments: Standing.allCases, [Submission.OnDuplicate.skip, .refresh, .replace])
  func `lines count whatever their job has come to, and repeated ones too`(
    standing: Standing, policy: Submission.OnDuplicate
  ) async throws {
    try await Pool.open { pool in
      let line = Self.lines(1...1)[0]
      _ = try await pool.jobs.submit(Submission(queue: Pool.name), [line])
      let job: Int64 = try await pool.value("SELECT id FROM haul.job")
      try await pool.bring(job, to: standing, by: pool.worker())
      var (again, new) = (line, Self.lines(9...9)[0])
      (again.line, new.line) = (2, 4)
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate = policy
      let reply = try await pool.jobs.submit(
        submission, [line, again, Self.lines(3...3)[0], new])
      #expect(
        reply.submitted + reply.skipped + reply.requeued + reply.refreshed + reply.replaced == 4)
      #expect(reply.submitted == 2)
      let done = try await pool.resubmit([line, again])
      #expect(done.submitted == 0)
    }
  }

  /// With `--extract`, one line of a text may name several URLs.
  @Test func `lines of one number belong to one step, and none is lost`() async throws {
    try await Pool.open { pool in
      let old = Pool.line(1, "https://a.test/old", "a.test/old")
      let worker = try await pool.worker()
      _ = try await pool.jobs.submit(Submission(queue: Pool.name), [old])
      try await worker.end(worker.claimOne(), .failed, "http_4xx")

      let key = try await pool.admin.stage(
        [Pool.line(1, "https://a.test/new", "a.test/new"), old], queue: Pool.name)
      let reply = try await pool.jobs.submitChunk(Submission(queue: Pool.name), key, limit: 1)
      #expect([reply.submitted, reply.requeued, reply.skipped] == [1, 1, 0])
      #expect(!reply.left)
      #expect(try await pool.states() == ["queued": 2])
    }
  }

  @Test func `what is left out with a line that is wrong is counted`() async throws {
    try await Pool.open { pool in
      var submission = Submission(queue: Pool.name)
      submission.skipsConflicts = true
      let reply = try await pool.jobs.submit(
        submission,
        [
          Pool.line(1, "https://a.test/1", "a.test/1"),
          Pool.line(2, "https://b.test/1", "a.test/1"),
          Pool.line(2, "https://b.test/2", "a.test/2"),
        ])
      #expect(reply.submitted == 1)
      #expect(reply.conflicts.count == 1 && reply.conflicts.removed == 2)
    }
  }
}
