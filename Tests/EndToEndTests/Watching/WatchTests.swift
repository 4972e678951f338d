import TestSupport
import Testing

/// `haul watch`, as far as it differs from `haul batch wait`.
struct WatchTests {
  private static let site = Site(["/a": Representation(seed: 1, length: 4096)])

  @Test func `what has become of a batch is told, and failed jobs are no failure of it`()
    async throws
  {
    try await HaulPool.open { pool in
      let origin = try OriginServer(handler: Self.site.answer)
      let worker = try pool.worker()
      try await pool.command("submit", "--batch", "monday", origin.url("/a"), origin.url("/absent"))
      let watch = try await pool.haul(["watch", "monday", "monday"])
      #expect(watch.exit == .code(0))
      #expect(watch.standardOutput == ["completed 1 job, 4.0 KiB"])
      #expect(
        watch.standardError.last
          == "haul watch: 1 job failed (1 http_404). List them with: haul jobs --batch monday --state failed"
      )
      let unknown = try await pool.haul(["watch", "tuesday"])
      #expect(unknown.exit == .code(65))
      #expect(
        unknown.standardError.first?.hasPrefix(
          #"haul watch: there is no batch "tuesday" in the pool "#) == true)
      try await pool.stop(worker)
    }
  }

  @Test func `jobs that are paused, or whose queue is, are said to be where one looks`()
    async throws
  {
    try await HaulPool.open { pool in
      let worker = try pool.worker()
      try await pool.command("submit", "--batch", "monday", "http://h.test/b", "--not-before", "2h")
      for (command, note, facts, reason) in [
        ("prioritize --batch monday --priority 1", nil, ["PAUSED           0"], nil),
        (
          "pause --batch monday", "1 job paused", ["PAUSED           1"],
          "all remaining jobs are paused. Resume them with: haul resume --batch monday"
        ),
        ("resume --batch monday", nil, ["PAUSED           0"], nil),
        (
          "queue pause default", "the queue default is paused",
          ["PAUSED           0", "PAUSED QUEUE     default"],
          "nothing is running: the queue default is paused. Resume it with: haul queue resume default"
        ),
      ] as [(String, String?, [String], String?)] {
        let done = try await pool.haul(command.split(separator: " ").map(String.init))
        #expect(done.exit == .code(0), "\(command)")
        let rows = try await pool.command("batches")
        #expect(rows[1].hasSuffix(note == nil ? " -" : " paused"), "\(command)")
        #expect(rows.dropFirst(2) == (note.map { ["      \($0)"] } ?? []), "\(command)")
        let shown = try await pool.command("batch", "show", "monday")
        #expect(shown.filter { $0.hasPrefix("PAUSED") } == facts, "\(command)")
        guard let reason else { continue }
        let waits = reason.trimmingPrefix("nothing is running: ")
        #expect(shown.contains { $0.hasPrefix("DOES NOT START") && $0.hasSuffix(" \(waits)") })
        let watch = try pool.start(["watch", "monday"])
        _ = try await watch.child.first("why nothing happens") { output in
          output.standardError.first { $0 == "haul watch: \(reason)" }
        }
        watch.signal(2)
        _ = try await watch.child.result()
      }
      try await pool.stop(worker)
    }
  }

  @Test func `interrupted it says how to look again`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await pool.command("submit", file.origin.url("/file"), "--out", "f", "--batch", "monday")
      _ = try await file.checkpoint(worker)
      let watch = try pool.start(["watch", "monday"])
      _ = try await watch.child.first("a line of progress") { output in
        output.standardError.first { $0.hasPrefix("haul watch: 0 of 1 file, 1 running") }
      }
      watch.signal(2)
      let end = try await watch.child.result()
      #expect(end.exit == .signal(2))
      #expect(
        end.standardError.last
          == "haul watch: stopped watching. The jobs continue. Watch again with: haul watch monday")
      file.gate.open()
      try await pool.stop(worker)
    }
  }
}
