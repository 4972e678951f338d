import Glibc
import Postgres
import TestSupport
import Testing

/// Interrupted jobs go on elsewhere: after a kill, after a drain, and from another store instance.
@Suite struct HandOffTests {
  @Test func `the leader is killed: another worker leads, rescues, and goes on at the checkpoint`()
    async throws
  {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let leader = try pool.worker()
      try await leader.event("leader.elected")
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(leader)
      let heir = try pool.worker()
      try await heir.event("worker.started")

      leader.signal(SIGKILL)
      try await heir.event("leader.elected", within: .seconds(15))
      try await heir.event("rescue.done", within: .seconds(15))
      let resumed = try await heir.event("job.resumed", within: .seconds(15))
      #expect(resumed[field: "offset"] == "\(GatedFile.half)")
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")

      #expect(try file.firstDifference(in: pool.directory) == nil)
      #expect(
        try await pool.attempts(of: job)
          == [Attempt("rescued", from: 0), Attempt("completed", from: GatedFile.half)])
      let requests = file.origin.log.value.exchanges.map(\.request)
      #expect(requests.count == 2)
      let last = GatedFile.length - 1
      #expect(requests.last?[field: "Range"] == "bytes=\(GatedFile.half - 4096)-\(last)")
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test(arguments: ["SIGTERM", "SIGHUP", "command"])
  func `a drained worker saves what it has, and another goes on with it`(how: String) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let first = try pool.worker()
      let started = try await first.event("worker.started")
      let job = try await file.submit(to: pool)
      try await file.origin.sent(GatedFile.half, path: "/file")
      let second = try pool.worker()
      try await second.event("worker.started")

      switch how {
      case "SIGTERM": first.signal(SIGTERM)
      case "SIGHUP": first.signal(SIGHUP)
      default: try await pool.command("drain", try #require(started[field: "worker"]))
      }
      let released = try await first.event("job.released")
      #expect(released[field: "state"] == "interrupted")
      #expect(try await first.exit() == .code(0))
      try await second.event("job.resumed")
      file.gate.open()
      try await pool.wait(for: job, toBe: "completed")

      #expect(try file.firstDifference(in: pool.directory) == nil)
      let history = try await pool.attempts(of: job)
      #expect(history.map(\.result) == ["released", "completed"])
      // What was on its way when the signal came may be missing.
      #expect(try #require(history.last).resumedAt > GatedFile.half - 1 << 20)
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a job whose part lies on another disk waits for that, and then starts from zero`()
    async throws
  {
    try await HaulPool.open { pool in
      let other = try TemporaryDirectory()
      try await pool.initialise(other.path)
      let file = try GatedFile()
      let first = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(first)
      let second = try pool.worker(on: other.path)
      try await second.event("worker.started")
      first.signal(SIGKILL)
      try await pool.wait(for: job, toBe: "interrupted")

      // The second worker claims and works, and leaves the job alone.
      try await file.roundTrip(pool, "one")
      try await file.roundTrip(pool, "two")
      #expect(try await pool.state(of: job) == "interrupted")
      #expect(second.events("job.resumed").isEmpty)

      file.gate.open()
      try await pool.admin.execute("UPDATE haul.ready SET hold_until = clock_timestamp()")
      try await pool.wait(for: job, toBe: "completed")
      #expect(try file.firstDifference(in: other.path) == nil)
      #expect(
        try await pool.attempts(of: job)
          == [Attempt("rescued", from: 0), Attempt("completed", from: 0)])

      // What is left on the first disk goes with the next worker there.
      #expect(try pool.parts().count == 1)
      let sweeper = try pool.worker("--exit-when-idle")
      #expect(try await sweeper.exit() == .code(0))
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a part is found again by the same disk's next worker`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let first = try pool.worker()
      let job = try await file.submit(to: pool)
      _ = try await file.checkpoint(first)
      first.signal(SIGKILL)
      #expect(try await first.exit() == .signal(SIGKILL))
      #expect(try pool.parts().count == 1)

      file.gate.open()
      // Where nobody has kept house for 3 s, a whole expiry of grace comes first.
      let second = try pool.worker("--exit-when-idle")
      #expect(try await second.exit(within: .seconds(60)) == .code(0))
      #expect(
        try await pool.attempts(of: job)
          == [Attempt("rescued", from: 0), Attempt("completed", from: GatedFile.half)])
      #expect(try file.firstDifference(in: pool.directory) == nil)
      #expect(try pool.parts() == [])
    }
  }
}
