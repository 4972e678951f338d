import JobQueue
import TestSupport
import Testing

/// The search for jobs to remove goes through a partition in steps, each of which reads a few thousand jobs.
struct PruneStepTests {
  @Test func `the search reads jobs by their ids on tables that were never analysed`() async throws
  {
    try await Pool.open { pool in
      try await pool.insertCompleted(20_000)
      try await pool.execute("SET statement_timeout = '5s'")
      #expect(
        try await pool.value(
          "SELECT cardinality(jobs) FROM haul.jobs_to_remove(0, 0, '{\"older\": 0}', 20000)")
          == 20000)
      try await pool.execute("RESET statement_timeout")
      // A step reads the outcomes that it looks at, and no others, whatever the planner knows.
      for analysed in [false, true] {
        if analysed { try await pool.execute("ANALYZE haul.outcome, haul.job, haul.queue") }
        let read = try await pool.rowsRead(
          of: "outcome", by: "SELECT haul.jobs_to_remove(0, 0, '{}', 2000)")
        #expect(2000...2100 ~= read)
      }
      try await pool.removeInserted()
    }
  }

  @Test(arguments: [true, false])
  func `a batch behind many other jobs is found`(isDryRun: Bool) async throws {
    try await Pool.open { pool in
      // More jobs than a step of either kind looks at.
      try await pool.insertCompleted(11_000)
      try await pool.execute("SELECT setval('haul.job_id', 11000)")
      try await pool.submit(3, batch: "b")
      let worker = try await pool.worker()
      for lease in try await worker.claim(3) { try await worker.end(lease, .completed) }
      var selector = PruneSelector()
      (selector.older, selector.batch) = (0, "b")
      let found = try await pool.jobs.prune(selector, isDryRun: isDryRun, export: nil) { _ in }
      #expect(found == 3)
      let left = isDryRun ? 11_003 : 11_000
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == left)
      // Not truncated, so that the sums of the batch stay right.
      try await pool.execute("DELETE FROM haul.outcome WHERE job <= 11000")
      try await pool.execute("DELETE FROM haul.job WHERE id <= 11000")
    }
  }

  /// A repair by hand may leave such rows.
  @Test func `outcomes without their jobs stop no search`() async throws {
    try await Pool.open { pool in
      try await pool.insertCompleted(5000)
      try await pool.execute("DELETE FROM haul.job WHERE id <= 4000")
      try await pool.execute("UPDATE haul.outcome SET finished_at = now() - interval '40 days'")
      var settings = QueueSettings()
      settings.retention.completed = .duration(.seconds(30 * 86_400))
      try await pool.jobs.setQueue("*", settings)
      var removed = 0
      for _ in 0..<20 { removed += try await pool.jobs.prune(limit: 1000).removed }
      #expect(removed == 1000)
      try await pool.removeInserted()
    }
  }
}
