import JobModel
import JobQueue
import TestSupport
import Testing

/// Selectors by error class: `http_4xx` means every refusal of an HTTP server.
struct ErrorClassTests {
  private static let refusals: [ErrorClass] = ["http_403", "http_404", "http_410", "http_4xx"]
  private static let classes = refusals + ["exists"]

  /// Gives `body` a pool in which a job has failed of each of ``classes``, in their order.
  private func open(_ body: @Sendable (Pool) async throws -> Void) async throws {
    try await Pool.open { pool in
      try await pool.submit(Self.classes.count)
      let worker = try await pool.worker()
      for error in Self.classes { try await worker.end(worker.claimOne(), .failed, error) }
      try await body(pool)
    }
  }

  @Test(
    arguments: [
      ("http_404", ["http_404"]), ("http_4xx", refusals), ("exists", ["exists"]),
    ] as [(ErrorClass, [ErrorClass])])
  func `lists, exports and control commands select the same jobs`(
    _ error: ErrorClass, _ expected: [ErrorClass]
  ) async throws {
    try await open { pool in
      var selector = JobSelector()
      selector.error = error
      let listed = try await pool.jobs.jobs(selector, limit: 9)
      #expect(listed.compactMap(\.error).sorted() == expected)
      let failures = try await pool.jobs.failures(of: selector, limit: 9)
      #expect(failures.compactMap(\.error).sorted() == expected)
      #expect(
        try await pool.jobs.affected(selector, in: [.failed]).map(\.count) == [expected.count])
      let exported = try await pool.column(
        "SELECT count(*) FROM haul.export($1::jsonb, false, 0, 9)",
        [#"{"error": "\#(error)"}"#], as: Int.self)
      #expect(exported == [expected.count])
      #expect(try await pool.jobs.control(.retry, selector) == expected.count)
      let left = try await pool.jobs.jobs(JobSelector(), limit: 9).compactMap(\.error)
      #expect(Set(left) == Set(Self.classes).subtracting(expected))
    }
  }

  @Test func `what is durable stays after each of them`() async throws {
    try await Pool.open { pool in
      let kept = try await pool.column(
        "SELECT c FROM unnest($1::text[]) c WHERE haul.keeps_progress(c) ORDER BY c",
        [Self.classes.map(\.rawValue)], as: String.self)
      #expect(kept == Self.refusals.map(\.rawValue))
    }
  }
}
