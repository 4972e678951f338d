import Glibc
import Postgres
import TestSupport
import Testing

/// Who leads, what is cleared away, when a worker may go, and where it must not start.
@Suite struct HousekeepingTests {
  @Test func `a coordinator that stands by takes over from one that is killed`() async throws {
    try await HaulPool.open { pool in
      let first = try pool.start(["coordinator"])
      try await first.event("leader.elected")
      let second = try pool.start(["coordinator", "--log-level", "debug"])
      try await second.event("leader.standby")
      #expect(second.events("leader.elected").isEmpty)

      first.signal(SIGKILL)
      try await second.event("leader.elected", within: .seconds(15))
      second.signal(SIGTERM)
      try await second.event("coordinator.stopped")
      #expect(try await second.exit() == .code(0))
    }
  }

  @Test func `a coordinator takes over from a worker that leads and stops`() async throws {
    try await HaulPool.open { pool in
      let worker = try pool.worker()
      try await worker.event("leader.elected")
      let coordinator = try pool.start(["coordinator", "--log-level", "debug"])
      try await coordinator.event("leader.standby")
      try await pool.stop(worker)
      try await coordinator.event("leader.elected", within: .seconds(15))
    }
  }

  /// A step of promotion, or of adding up, that always leaves more to do.
  @Test(arguments: [
    (
      "promote(p_limit integer, OUT due integer, OUT unheld integer)",
      "due := p_limit; unheld := 0;"
    ),
    ("roll_up(p_limit integer) RETURNS integer", "RETURN p_limit;"),
  ])
  func `a leader looks for dead workers however much there is to do`(
    function: String, body: String
  ) async throws {
    try await HaulPool.open { pool in
      try await pool.admin.script(
        """
        CREATE OR REPLACE FUNCTION haul.\(function) LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          \(body)
        END
        $$
        """)
      let coordinator = try pool.start(["coordinator"])
      try await coordinator.event("leader.elected")
      let round = "SELECT coalesce(max(round_at)::text, '') FROM haul.pulse"
      for _ in 1...3 {
        let before: String = try await pool.value(round)
        try await eventually("another round") { try await pool.value(round) != before }
      }
      coordinator.signal(SIGTERM)
      #expect(try await coordinator.exit() == .code(0))
    }
  }

  @Test func `a worker that may go when idle waits for jobs that are not due yet`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      try await pool.command(
        "submit", file.origin.url("/small/later"), "--out", "later", "--not-before", "3s")
      let job: Int64 = try await pool.value("SELECT id FROM haul.job")
      let worker = try pool.worker("--exit-when-idle")
      try await worker.event("worker.started")
      #expect(try await pool.state(of: job) == "scheduled")
      #expect(try await worker.exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
    }
  }

  @Test func `a worker that may go when idle waits for jobs that others must go on with`()
    async throws
  {
    try await HaulPool.open { pool in
      let other = try TemporaryDirectory()
      try await pool.initialise(other.path)
      let file = try GatedFile()
      let job = try await file.submit(to: pool)
      let first = try pool.worker()
      try await file.origin.sent(GatedFile.half, path: "/file")
      try await pool.stop(first)
      #expect(try await pool.state(of: job) == "interrupted")

      let idle = try pool.worker("--exit-when-idle", on: other.path)
      try await file.roundTrip(pool, "one")
      file.gate.open()
      let last = try pool.worker("--exit-when-idle")
      let done = try await last.event("job.completed") { $0[field: "job"] == "\(job)" }
      #expect(try await idle.exit() == .code(0))
      #expect(try await last.exit() == .code(0))
      let left = try await idle.event("worker.idle")
      #expect(try left.milliseconds >= done.milliseconds)
    }
  }

  @Test func `the part of a cancelled job is cleared away, that of a running one is not`()
    async throws
  {
    try await HaulPool.open { pool in
      let cancelled = try GatedFile()
      let job = try await cancelled.submit(to: pool)
      let first = try pool.worker()
      try await cancelled.origin.sent(GatedFile.half, path: "/file")
      try await pool.stop(first)
      #expect(try pool.parts().count == 1)

      let running = try GatedFile()
      let live = try await pool.submit(running.origin.url("/file"), to: "live")
      try await pool.command("pause", "\(job)")
      let second = try pool.worker()
      try await running.origin.sent(GatedFile.half, path: "/file")
      try await eventually("the second part file") { try pool.parts().count == 2 }
      try await pool.command("cancel", "\(job)")
      #expect(try await pool.state(of: job) == "cancelled")
      _ = try await pool.admin.execute(
        "UPDATE haul.outcome SET finished_at = finished_at - interval '61 minutes'")

      try await pool.command("queue", "create", "empty", "--store", HaulPool.store)
      let sweeper = try pool.worker("--exit-when-idle", "--queue", "empty")
      #expect(try await sweeper.exit() == .code(0))
      #expect(sweeper.events("janitor.removed").count == 1)
      let left = try pool.parts()
      #expect(left.count == 1)
      #expect(left.first?.contains("/\(live).") == true)

      running.gate.open()
      try await pool.wait(for: live, toBe: "completed")
      try await pool.stop(second)
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `two pools on one directory leave each other's parts alone`() async throws {
    try await HaulPool.open { pool in
      try await HaulPool.open(.empty) { neighbour in
        try await neighbour.command("store", "init", "--adopt", HaulPool.store, pool.directory)
        let file = try GatedFile()
        let job = try await file.submit(to: pool)
        let worker = try pool.worker()
        try await file.origin.sent(GatedFile.half, path: "/file")
        try await pool.stop(worker)
        let parts = try pool.parts()
        #expect(parts.count == 1)

        // The neighbour's first job has the same id.
        let other = try await neighbour.submit(file.origin.url("/small/one"), to: "one")
        #expect(other == job)
        let visitor = try neighbour.worker("--exit-when-idle", on: pool.directory)
        #expect(try await visitor.exit() == .code(0))
        #expect(try await neighbour.state(of: other) == "completed")
        let left = try pool.parts()
        #expect(left == parts)

        file.gate.open()
        let heir = try pool.worker("--exit-when-idle")
        #expect(try await heir.exit() == .code(0))
        #expect(try await pool.attempts(of: job).map(\.result) == ["released", "completed"])
        #expect(try file.firstDifference(in: pool.directory) == nil)
      }
    }
  }

  @Test
  func `a worker does not start without the store's marker, or for a queue that is not there`()
    async throws
  {
    try await HaulPool.open { pool in
      let unmounted = try TemporaryDirectory()
      let stranger = try pool.worker(on: unmounted.path)
      #expect(try await stranger.exit() == .code(78))
      #expect(
        try await stranger.child.result().standardError.last?.contains("haul store init") == true)
      #expect(try FileTree.files(below: unmounted.path) == [])

      let aimless = try pool.worker("--queue", "nope")
      #expect(try await aimless.exit() == .code(78))
      #expect(
        try await aimless.child.result().standardError.last?.contains("there is no queue \"nope\"")
          == true)
    }
  }

  @Test func `a worker for a queue of a pool without queues is told what makes one`() async throws {
    try await HaulPool.open { pool in
      for queue in ["data", "default"] { try await pool.command("queue", "delete", queue) }
      let aimless = try pool.worker("--queue", "films")
      #expect(try await aimless.exit() == .code(78))
      let said = try await aimless.child.result().standardError.last
      #expect(
        said?.contains(#"there is no queue "films". Run 'haul store init' first."#) == true,
        "\(said ?? "")")
    }
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `a worker does not start where it cannot write`() async throws {
    try await HaulPool.open { pool in
      let system = try await TestFileSystem(tmpfs: 1 << 20)
      try await pool.initialise(system.path)
      let frozen = try await ChildProcess.run("mount", ["-o", "remount,ro", system.path])
      #expect(frozen.exit == .code(0))
      #expect(try await pool.worker(on: system.path).exit() == .code(74))
    }
  }
}
