import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What is counted and remembered from one attempt to the next.
extension RefreshTests {
  /// A response that looked like an error page is remembered beside the file's record, for the next attempt to compare.
  @Test func `what came instead of a new file is kept until the job completes`() async throws {
    try await Pool.open { pool in
      _ = try await pool.submit(1)
      let worker = try await pool.worker()
      try await Self.complete(worker.claimOne(), by: worker)
      _ = try await Self.refresh(on: pool.admin)
      let lease = try await worker.claimOne()
      var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
      ending.error = "suspect_page"
      ending.source = Self.source.merging(["suspect": "{}"]) { $1 }
      #expect(try await worker.call([ending]).settled.first?.state == "scheduled")
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 10)
      let again = try await worker.claimOne()
      #expect(
        again.earlier?.source?["suspect"] == "{}" && again.earlier?.source?["etag"] == "\"v\"")
      #expect(try await Self.complete(again, by: worker) == "completed")
      #expect(try await pool.value("SELECT source ? 'suspect' FROM haul.outcome") == false)
    }
  }

  /// A file that changes every night was never gone on with after the third.
  @Test func `changes of the source count from when the job was last queued`() async throws {
    try await Pool.open { pool in
      _ = try await pool.submit(1)
      let worker = try await pool.worker()
      for night in 1...4 {
        let lease = try await worker.claimOne()
        #expect(lease.changes ?? 0 == 0, "night \(night)")
        #expect(try await worker.checkpoint(lease, instance: pool.instance))
        try await pool.execute(
          "UPDATE haul.checkpoint SET resume = resume || '{\"changes\": 1}'")
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
        ending.error = "interrupted"
        ending.changes = 1
        _ = try await worker.call([ending])
        try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
        _ = try await pool.jobs.promote(limit: 10)
        let second = try await worker.claimOne()
        #expect(second.changes == 1)
        try await Self.complete(second, by: worker)
        _ = try await Self.refresh(on: pool.admin)
      }
    }
  }

  @Test func `a retry forgets the changes that its checkpoint has counted`() async throws {
    try await Pool.open { pool in
      _ = try await pool.submit(1, options: JobOptions(maxAttempts: 1))
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(try await worker.checkpoint(lease, instance: pool.instance))
      try await pool.execute("UPDATE haul.checkpoint SET resume = resume || '{\"changes\": 3}'")
      #expect(try await worker.end(lease, .failed, "interrupted") == "failed")
      var selector = JobSelector()
      selector.ids = [lease.job]
      _ = try await pool.jobs.retry(selector)
      #expect(try await pool.value("SELECT resume ->> 'changes' FROM haul.checkpoint") == "0")
    }
  }
}
