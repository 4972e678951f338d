import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Paths of completed jobs that were removed.
extension PruneTests {
  @Test(arguments: ["skip", "error", "refresh", "replace"])
  func `a path that is known is treated as that of a completed job`(_ word: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(1, to: "a.test")
      try await end(pool, .completed)
      try await pool.jobs.setQueue("*", settings { $0.completed = .duration(.zero) })
      #expect(try await prune(pool) == 1)
      let way = try #require(Submission.OnDuplicate(rawValue: word))
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate = way
      let line = Pool.line(1, "https://a.test/1", "a.test/1")
      guard way != .error else {
        await #expect(throws: SubmissionError.self) {
          _ = try await pool.jobs.submit(submission, [line])
        }
        return
      }
      let reply = try await pool.jobs.submit(submission, [line])
      let isMade = way != .skip
      #expect(reply.submitted == (isMade ? 1 : 0) && reply.skipped == (isMade ? 0 : 1))
      #expect(try await pool.value("SELECT count(*) FROM haul.known") == 1)
      if isMade {
        let options: String = try await pool.value("SELECT options::text FROM haul.job")
        #expect(options == #"{"if_exists": "replace"}"#)
        // The file is still the pool's after a failure.
        try await end(pool, .failed, "http_404")
        _ = try await pool.jobs.submit(submission, [line])
        let again: String = try await pool.value("SELECT options::text FROM haul.job")
        #expect(again == #"{"if_exists": "replace"}"#)
      } else {
        // Another URL for the same path.
        await #expect(throws: SubmissionError.self) {
          _ = try await pool.jobs.submit(
            submission, [Pool.line(1, "https://a.test/2", "a.test/1")])
        }
      }
    }
  }

  @Test func `of a line with two URLs only the known one is skipped`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, to: "a.test")
      try await end(pool, .completed)
      try await pool.jobs.setQueue("*", settings { $0.completed = .duration(.zero) })
      #expect(try await prune(pool) == 1)
      let lines = ["a.test/1", "a.test/other"].map { Pool.line(7, "https://\($0)", $0) }
      let reply = try await pool.jobs.submit(Submission(queue: Pool.name), lines)
      #expect(reply.submitted == 1 && reply.skipped == 1)
      #expect(try await pool.column("SELECT path FROM haul.job") == ["a.test/other"])
    }
  }

  @Test func `a job that is removed while its line is submitted again is not lost`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1, to: "a.test")
      try await end(pool, .completed)
      let submitter = try await pool.connect()
      let key = try await submitter.stage(
        [Pool.line(1, "https://a.test/1", "a.test/1")], queue: Pool.name)
      // The submission has looked for known paths, and waits for the removal to end.
      let pruner = try await pool.connect()
      try await pruner.script(
        "SELECT haul.set_queue('*', '{\"keep_completed\": 0}'); BEGIN; SELECT haul.prune(10)")
      async let submitted = submitter.execute(
        "SELECT haul.submit($1::uuid, $2, NULL, 5::smallint, '{}', NULL, 'refresh', false, 100000)",
        [key, Pool.name])
      try await pool.untilBlocked(submitter)
      try await pruner.script("COMMIT")
      _ = try await submitted
      let jobs: Int64 = try await pool.value("SELECT count(*) FROM haul.job")
      let known: Int64 = try await pool.value("SELECT count(*) FROM haul.known")
      #expect(jobs == 1 && known == 1)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
    }
  }

  @Test func `known paths have a time of their own, and zero leaves none`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await end(pool, .completed)
      try await age(pool, "1 hour")
      try await pool.jobs.setQueue(
        "*",
        settings {
          $0.completed = .duration(.zero)
          $0.known = .duration(.seconds(7200))
        })
      #expect(try await prune(pool) == 2)
      #expect(try await pool.value("SELECT count(*) FROM haul.known") == 2)
      try await pool.execute("UPDATE haul.known SET forget_at = clock_timestamp()")
      try await pool.execute(
        "UPDATE haul.prune_turn SET next_at = '-infinity', tidied_at = '-infinity'")
      #expect(try await prune(pool) == 0)
      #expect(try await pool.value("SELECT count(*) FROM haul.known") == 0)
      try await pool.submit(1)
      try await end(pool, .completed)
      try await pool.jobs.setQueue(Pool.name, settings { $0.known = .duration(.zero) })
      try await age(pool, "0")
      #expect(try await prune(pool) == 1)
      #expect(try await pool.value("SELECT count(*) FROM haul.known") == 0)
    }
  }
}
