import Foundation
import JobQueue
import TestSupport
import Testing

/// That what the view tells of a host is what the program, the metrics and the documents know.
struct IdleReasonTests {
  private static let known = IdleReason.allCases.map(\.rawValue)

  @Test func `the view tells these, and its column names them`() async throws {
    try await Pool.open { pool in
      let view: String = try await pool.value("SELECT pg_get_viewdef('haul.hosts'::regclass)")
      let reasons = try #require(view.firstMatch(of: /'blocked'::text(?s:.*?) AS why_idle/))
      let told = reasons.output.matches(of: /'([a-z]+)'::text/).map { String($0.output.1) }
      #expect(told.sorted() == Self.known.sorted())
      let comment: String = try await pool.value(
        """
        SELECT col_description(attrelid, attnum) FROM pg_attribute
        WHERE attrelid = 'haul.hosts'::regclass AND attname = 'why_idle'
        """)
      for reason in Self.known { #expect(comment.contains(reason)) }
    }
  }

  @Test func `a host whose jobs are paused says so, and how many`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      let worker = try await pool.worker()
      var batch = JobSelector()
      batch.batch = "b"
      func host() async throws -> HostRow {
        try #require(try await pool.jobs.hosts(limit: 2).first)
      }
      #expect(try await host().whyIdle == nil)
      _ = try await pool.jobs.control(.pause, batch)
      // A claim finds out that nothing waits.
      #expect(try await worker.claim(1).isEmpty)
      let held = try await host()
      #expect(held.whyIdle == "held" && held.held == 3)
      #expect(try await pool.jobs.hosts(idle: "held", limit: 2).count == 1)
      // What waits beside them counts.
      try await pool.submit(1)
      let mixed = try await host()
      #expect(mixed.whyIdle == nil && mixed.held == 3)
      _ = try await pool.jobs.control(.cancel, batch)
      #expect(try await host().held == 0)
    }
  }

  @Test func `the page on hosts explains each, the page on metrics lists them`() throws {
    let docs = repositoryRoot.appending(path: "docs")
    let hosts = try String(contentsOf: docs.appending(path: "hosts.md"), encoding: .utf8)
    let table = try #require(hosts.firstMatch(of: /\| `why_idle` \|(?s:.*?)\n\n/)).output
    let explained = table.matches(of: /\n\| `([a-z]+)` \|/).map { String($0.output.1) }
    #expect(explained.sorted() == Self.known.sorted())
    let metrics = try String(contentsOf: docs.appending(path: "monitoring.md"), encoding: .utf8)
    #expect(metrics.contains("or why it is idle: \(Self.known.joined(separator: ", ")) |"))
  }
}
