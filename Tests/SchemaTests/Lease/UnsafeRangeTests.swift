import JobModel
import JobQueue
import TestSupport
import Testing

/// Where a range request was answered wrongly no more are sent.
@Suite struct UnsafeRangeTests {
  @Test func `a wrong range counts against its directory, and for an hour`() async throws {
    try await Pool.open { pool in
      let urls = [
        "https://h.test/a/1.bin?token=/x/", "https://h.test/a/2.bin#x/y", "https://h.test/b/1.bin",
        "https://h.test/a", "https://other.test/a/1.bin",
      ]
      let lines = urls.enumerated().map { index, url in
        Pool.line(index + 1, url, "\(url.split(separator: "/")[1])/\(index)")
      }
      _ = try await pool.jobs.submit(Submission(queue: Pool.name), lines)
      try await pool.execute("UPDATE haul.host SET cap = 9, policy_cap = 9")
      let worker = try await pool.worker()

      /// Claims all and gives them back. Returns the URLs for which ranges are not to be used.
      func unsafe(reporting bad: String? = nil) async throws -> [String] {
        let leases = try await worker.claim(9)
        #expect(leases.count == urls.count)
        try await worker.call(
          leases.map { lease in
            var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
            if lease.url == bad { ending.rangeUnsafe = true }
            return ending
          })
        return leases.filter { $0.rangeUnsafe == true }.map(\.url).sorted()
      }
      #expect(try await unsafe(reporting: urls[0]) == [])
      #expect(try await unsafe() == Array(urls[0...1]))
      #expect(
        try await pool.column("SELECT host FROM haul.hosts WHERE range_unsafe", as: String.self)
          == ["h.test"])
      try await pool.execute("UPDATE haul.range_unsafe SET until = clock_timestamp()")
      #expect(try await unsafe(reporting: urls[2]) == [])
      #expect(try await unsafe() == [urls[2]])
      // What has passed is cleared away.
      #expect(try await pool.value("SELECT count(*) FROM haul.range_unsafe") == 1)
    }
  }
}
