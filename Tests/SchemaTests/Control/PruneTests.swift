import JobModel
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

/// Jobs that ended long ago are removed, and nothing else.
@Suite struct PruneTests {
  /// Removes what is due, as the leader does in many rounds.
  func prune(_ pool: Pool, limit: Int = 1000) async throws -> Int {
    var removed = 0
    while true {
      let step = try await pool.jobs.prune(limit: limit)
      removed += step.removed
      if !step.more { return removed }
    }
  }

  func settings(_ change: (inout RetentionSettings) -> Void) -> QueueSettings {
    var settings = QueueSettings()
    change(&settings.retention)
    return settings
  }

  /// Ends all waiting jobs of the pool in a state.
  func end(_ pool: Pool, _ result: LeaseEnding.Result, _ error: ErrorClass? = nil)
    async throws
  {
    let worker = try await pool.worker()
    while case let leases = try await worker.claim(1000), !leases.isEmpty {
      for lease in leases {
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: result)
        (ending.error, ending.bytes) = (error, result == .completed ? 7 : nil)
        ending.digest = "sha-256=" + String(repeating: "ab", count: 32)
        try await worker.call([ending])
      }
    }
  }

  func age(_ pool: Pool, _ time: String) async throws {
    try await pool.execute(
      "UPDATE haul.outcome SET finished_at = finished_at - $1::interval", [time])
    try await pool.execute("UPDATE haul.prune_turn SET next_at = '-infinity'")
    try await pool.execute("UPDATE haul.prune_pass SET next_at = '-infinity'")
  }

  private func left(_ pool: Pool) async throws -> [String] {
    try await pool.column(
      "SELECT state || ' ' || count(*) FROM haul.jobs GROUP BY state ORDER BY state::text")
  }

  @Test func `each state has its time, and without one nothing goes`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      try await end(pool, .completed)
      try await pool.submit(2, options: JobOptions(maxAttempts: 1))
      try await end(pool, .failed, "http_404")
      var cancelled = JobSelector()
      cancelled.ids = try await pool.submit(1)
      _ = try await pool.jobs.control(.cancel, cancelled)
      try await pool.submit(4)
      try await age(pool, "40 days")
      #expect(try await prune(pool) == 0)
      try await pool.jobs.setQueue(
        "*", settings { $0.completed = .duration(.seconds(41 * 86_400)) })
      #expect(try await prune(pool) == 0)
      try await pool.jobs.setQueue(
        "*", settings { $0.completed = .duration(.seconds(30 * 86_400)) })
      #expect(try await prune(pool, limit: 2) == 3)
      #expect(try await left(pool) == ["cancelled 1", "failed 2", "queued 4"])
      // A queue's own time comes first.
      try await pool.jobs.setQueue(Pool.name, settings { $0.cancelled = .forever })
      try await pool.jobs.setQueue(
        "*",
        settings {
          $0.failed = .duration(.zero)
          $0.cancelled = .duration(.zero)
        })
      #expect(try await prune(pool) == 2)
      #expect(try await left(pool) == ["cancelled 1", "queued 4"])
      // What is gone still counts.
      let batch = try #require(try await pool.jobs.batches(limit: 9).first)
      #expect(batch.jobs == 3 && batch.completed == 3 && batch.completedBytes == 21)
      #expect(try await pool.value("SELECT jobs FROM haul.totals") == 10)
      while try await pool.jobs.rollUp(limit: 1000) > 0 {}
      #expect(try await pool.value("SELECT completed FROM haul.totals") == 3)
      for table in ["attempt", "outcome", "dedupe", "checkpoint", "known"] {
        let count: Int64 = try await pool.value("SELECT count(*) FROM haul.\(table)")
        #expect(
          count == ["attempt": 0, "outcome": 1, "dedupe": 5, "known": 3][table] ?? 0, "\(table)")
      }
      try await pool.readAllViews()
    }
  }

  @Test func `a partition that cannot be locked or read keeps nobody, and is tried again soon`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await end(pool, .completed)
      try await pool.execute("SELECT setval('haul.job_id', 1048576 * 2)")
      _ = try await pool.jobs.ensurePartitions(room: 1_000_000)
      let session = try await pool.connect()
      try await session.script("BEGIN; LOCK TABLE haul.attempt_0 IN SHARE UPDATE EXCLUSIVE MODE")
      try await pool.jobs.setQueue("*", settings { $0.completed = .duration(.seconds(86_400)) })
      try await age(pool, "2 days")
      #expect(try await prune(pool) == 2)
      let soon: Bool = try await pool.value(
        "SELECT next_at < clock_timestamp() + interval '2 minutes' FROM haul.prune_pass WHERE partition = 0"
      )
      #expect(soon)
      try await session.script("ROLLBACK")
      try await age(pool, "0")
      #expect(try await prune(pool) == 0)
      #expect(try await pool.value("SELECT to_regclass('haul.job_0') IS NULL"))
    }
  }

  @Test func `a partition without jobs is dropped, and new jobs find theirs`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await end(pool, .completed)
      try await pool.execute("SELECT setval('haul.job_id', 1048576 * 2)")
      _ = try await pool.jobs.ensurePartitions(room: 1_000_000)
      let waiting = try await pool.submit(1)
      try await pool.jobs.setQueue("*", settings { $0.completed = .duration(.zero) })
      #expect(try await prune(pool) == 2)
      let names: [String] = try await pool.column(
        "SELECT relname::text FROM pg_class WHERE relname IN ('job_0', 'outcome_0', 'attempt_0', 'job_1')"
      )
      #expect(names == [])
      #expect(try await pool.state(waiting[0]) == "queued")
      try await pool.submit(1)
      try await end(pool, .completed)
      try await age(pool, "0")
      #expect(try await prune(pool) == 2)
    }
  }

  @Test func `by hand it removes what is asked for, and tells what it was`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      try await pool.submit(2)
      try await end(pool, .completed)
      try await pool.submit(2, batch: "b")
      var selector = PruneSelector()
      selector.older = 0
      selector.batch = "b"
      #expect(try await pool.jobs.prune(selector, isDryRun: true, export: nil) { _ in } == 3)
      let lines = Lines()
      #expect(
        try await pool.jobs.prune(selector, isDryRun: false, export: { lines.add($0) }) { _ in }
          == 3)
      #expect(lines.all.count == 3)
      #expect(lines.all[0].contains(#""url": "https://a.test/1""#))
      selector.batch = nil
      // Whoever exports and fails keeps the jobs.
      await #expect(throws: CancellationError.self) {
        _ = try await pool.jobs.prune(
          selector, isDryRun: false, export: { _ in throw CancellationError() }
        ) { _ in }
      }
      let kept = try await left(pool)
      #expect(kept == ["completed 2", "queued 2"])
      selector.state = .completed
      #expect(try await pool.jobs.prune(selector, isDryRun: false, export: nil) { _ in } == 2)
    }
  }

  @Test(arguments: [
    #"{"older": -1}"#, #"{"older": "NaN"}"#, #"{"older": 0, "state": "queued"}"#,
    #"{"older": 0, "queue": "nowhere"}"#, #"{"older": 0, "batch": "nowhere"}"#, "{}",
  ])
  func `a wrong wish changes nothing`(_ selector: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await end(pool, .completed)
      await #expect(throws: PostgresError.self) {
        try await pool.execute("SELECT haul.prune_jobs($1::jsonb, 0, false, false)", [selector])
      }
      #expect(try await left(pool) == ["completed 1"])
    }
  }

  @Test(arguments: [
    #"{"keep_completed": -1}"#, #"{"keep_completed": "soon"}"#, #"{"keep_completed": 1e300}"#,
    #"{"weight": 3}"#,
  ])
  func `a wrong time is refused`(_ settings: String) async throws {
    try await Pool.open { pool in
      await #expect(throws: PostgresError.self) {
        try await pool.execute("SELECT haul.set_queue('*', $1::jsonb)", [settings])
      }
    }
  }

  @Test func `dead workers, empty batches and lost lines go after a while`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      let alive = try await pool.worker()
      try await pool.submit(1, batch: "full")
      try await pool.execute(
        """
        UPDATE haul.worker SET stopped_at = clock_timestamp() - interval '31 days',
          heartbeat_at = clock_timestamp() - interval '31 days' WHERE id = $1
        """, [worker.caller.worker])
      try await pool.execute(
        "INSERT INTO haul.batch (name, submitted_at) VALUES ('new', clock_timestamp()), ('old', clock_timestamp() - interval '2 days')"
      )
      try await pool.execute(
        "UPDATE haul.batch SET submitted_at = '2020-01-01' WHERE name = 'full'")
      try await pool.execute(
        "INSERT INTO haul.staging (submission, line, url, host, path) VALUES (gen_random_uuid(), 1, 'u', 'h', 'p')"
      )
      #expect(try await prune(pool) == 0)
      #expect(try await pool.column("SELECT name FROM haul.batch ORDER BY 1") == ["full", "new"])
      #expect(try await pool.column("SELECT id FROM haul.worker") == [alive.caller.worker])
      #expect(try await pool.value("SELECT count(*) FROM haul.worker_call") == 1)
      #expect(try await pool.value("SELECT count(*) FROM haul.staging") == 0)
    }
  }
}

/// Lines that another task adds.
private final class Lines: Sendable {
  private let lines = Mutex<[String]>([])
  var all: [String] { lines.withLock { $0 } }
  func add(_ more: [String]) { lines.withLock { $0 += more } }
}
