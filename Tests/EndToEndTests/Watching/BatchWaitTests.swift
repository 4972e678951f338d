import Postgres
import TestSupport
import Testing

/// Several batches waited for at once.
@Suite struct BatchWaitTests {
  private static let site = Site(["/a": Representation(seed: 1, length: 4096)])

  @Test func `what has become of each is told, and one that failed is enough for 1`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer(handler: Self.site.answer)
      let worker = try pool.worker()
      try await pool.command("submit", "--batch", "monday", origin.url("/a"), origin.url("/absent"))
      try await pool.command("submit", "--batch", "tuesday", origin.url("/a"), "--out", "b")
      let wait = try await pool.haul(["batch", "wait", "monday", "tuesday", "monday"])
      #expect(wait.exit == .code(1))
      #expect(
        wait.standardOutput == [
          "monday: completed 1 job, 4.0 KiB", "tuesday: completed 1 job, 4.0 KiB",
        ])
      #expect(
        wait.standardError.last
          == "haul batch wait: 1 job failed (1 http_404). List them with: haul jobs --state failed")
      let good = try await pool.haul(["batch", "wait", "tuesday", "--json"])
      #expect(good.exit == .code(0))
      #expect(
        good.objects == [
          #"{"batch":"tuesday","completed":1,"failed":0,"cancelled":0,"bytes":4096,"errors":{}}"#
        ])
      let unknown = try await pool.haul(["batch", "wait", "tuesday", "wednesday"])
      #expect(unknown.exit == .code(65))
      #expect(
        unknown.standardError.first?.hasPrefix(
          #"haul batch wait: there is no batch "wednesday" in the pool "#) == true)
      try await pool.stop(worker)
    }
  }

  @Test func `it ends when the last of them has, and not before`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await pool.command("submit", file.origin.url("/small/a"), "--batch", "first")
      try await pool.command("submit", file.origin.url("/file"), "--out", "f", "--batch", "last")
      _ = try await file.checkpoint(worker)
      let wait = try pool.start(["batch", "wait", "first", "last"])
      _ = try await wait.child.first("a line of progress") { output in
        output.standardError.first { $0.hasPrefix("haul batch wait: 1 of 2 files, ") }
      }
      #expect(wait.child.output.value.exit == nil)
      file.gate.open()
      let end = try await wait.child.result()
      #expect(end.exit == .code(0))
      #expect(end.standardOutput.last == "last: completed 1 job, 8.0 MiB")
      try await pool.stop(worker)
    }
  }

  /// Only the numbers are left to see that it has ended: the jobs themselves are gone from the table.
  @Test func `the numbers that are kept up are enough`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer(handler: Self.site.answer)
      try await pool.command("submit", "--batch", "monday", origin.url("/a"))
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      try await pool.admin.execute("DELETE FROM haul.job")
      let wait = try await pool.haul(["batch", "wait", "monday"])
      #expect(wait.exit == .code(0))
      #expect(wait.standardOutput == ["completed 1 job, 4.0 KiB"])
    }
  }
}
