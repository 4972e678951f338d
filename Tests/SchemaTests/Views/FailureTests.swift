import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// The list of failures, by selector.
struct FailureTests {
  @Test func `failures are counted by class, host and hour`() async throws {
    try await Pool.open { pool in
      func selector(batch: String? = nil, host: String? = nil, error: ErrorClass? = nil)
        -> JobSelector
      {
        var selector = JobSelector()
        (selector.batch, selector.host, selector.error) = (batch, host, error)
        return selector
      }
      try await pool.submit(2, to: "a.test")
      try await pool.submit(1, to: "b.test", batch: "b")
      try await pool.submit(1, to: "c.test", after: .seconds(60), batch: "b")
      let worker = try await pool.worker()
      for lease in try await worker.claim(3) { try await worker.end(lease, .failed, "http_4xx") }
      // Of those that failed alike the first is told of, not what comes first in the alphabet.
      try await pool.execute("UPDATE haul.outcome SET message = 'a trouble' WHERE job = 2")
      let rows = try await pool.jobs.failures(limit: 9)
      #expect(rows.map(\.host) == ["a.test", "b.test"])
      #expect(rows.map(\.jobs) == [2, 1])
      #expect(rows.map(\.firstJob) == [1, 3])
      #expect(rows.map(\.message) == ["trouble: http_4xx", "trouble: http_4xx"])
      #expect(try await pool.jobs.failures(limit: 1).count == 1)
      #expect(
        try await pool.jobs.failures(of: selector(host: "b.test"), limit: 9).map(\.jobs) == [1])
      #expect(try await pool.jobs.failures(of: selector(error: "http_4xx"), limit: 9).count == 2)
      #expect(
        try await pool.jobs.failures(of: selector(host: "a.test", error: "tls"), limit: 9).isEmpty)
      let ofBatch = try await pool.jobs.failures(of: selector(batch: "b"), limit: 9)
      #expect(ofBatch == rows.filter { $0.host == "b.test" })
      #expect(
        try await pool.jobs.failures(of: selector(batch: "b", error: "tls"), limit: 9).isEmpty)
    }
  }
}
