import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Everything at once, at random: claims, settlements, crashes, rescues, operators, promotions.
///
/// 3,000 jobs; HAUL_TEST_LONG=1 makes it 100,000. HAUL_TEST_SEED repeats the choices of a run, though not the
/// order in which the sessions' statements meet.
struct RandomRunTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let hosts = (0..<200).map { "h\($0).test" }
  /// With an interval between starts.
  private static let slow = Array(hosts.suffix(10))

  @Test func `every invariant holds whatever eight sessions do`() async throws {
    let seed =
      Self.environment["HAUL_TEST_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)
    let total = isLongRun ? 100_000 : 3_000
    try await Pool.open { pool in
      try await Self.prepare(pool, total, seed)
      let log = RunLog()
      let begin = ContinuousClock.now
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...8 {
          group.addTask {
            let worker = try await pool.worker()
            var session = RandomSession(
              pool: pool, log: log, worker: worker, hosts: Self.hosts, steady: Set(Self.slow),
              batches: Self.batches(of: total), jobs: Int64(total), seed: seed &+ UInt64(number))
            try await session.run()
          }
        }
        group.addTask { try await Self.lead(pool, log, total) }
        // Not waitForAll(), which would wait for a leader whose workers have failed.
        while try await group.next() != nil {}
      }
      let complaints = log.complaints
      #expect(complaints == [], "HAUL_TEST_SEED=\(seed)")
      let states = try await pool.states()
      #expect(
        Set(states.keys).isSubset(of: ["completed", "failed", "cancelled"]),
        "HAUL_TEST_SEED=\(seed)")
      #expect(states.values.reduce(0, +) == total)
      #expect(try await pool.value("SELECT count(*) FROM haul.host WHERE in_flight <> 0") == 0)
      #expect(try await Self.earlyStarts(pool) == 0, "HAUL_TEST_SEED=\(seed)")
      let deadlocks: Int = try await pool.value(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
      // Whoever loses one repeats its call, and nothing comes of it: most runs have none. One in a thousand jobs means that
      // an order is not kept.
      #expect(deadlocks <= total / 1000, "HAUL_TEST_SEED=\(seed)")
      print(
        "random run of \(total) jobs: \(ContinuousClock.now - begin), \(log.summary),"
          + " \(deadlocks) deadlocks, \(states)")
    }
  }

  /// A thousand jobs each.
  private static func batches(of total: Int) -> [String] { (0..<total / 1000).map { "b\($0)" } }

  /// Starts on a slow host before its interval allowed them: of as many as a burst may have and one more, the last comes
  /// no sooner than the interval after the first.
  private static func earlyStarts(_ pool: Pool) async throws -> Int {
    try await pool.value(
      """
      SELECT count(*) FROM haul.host h CROSS JOIN LATERAL (
        SELECT a.started_at - lag(a.started_at, h.burst) OVER (ORDER BY a.started_at) AS gap
        FROM haul.attempt a JOIN haul.job j ON j.id = a.job WHERE j.host = h.id) g
      WHERE h.name = ANY ($1) AND g.gap < h.min_interval
      """, [slow])
  }

  /// A start above the cap is refused by a trigger: it would show as an error of the claim.
  private static func prepare(_ pool: Pool, _ total: Int, _ seed: UInt64) async throws {
    try await pool.admin.script(
      """
      CREATE FUNCTION public.above_cap() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'host % starts % with a cap of %', new.name, new.in_flight, new.cap; END $$;
      CREATE TRIGGER above_cap BEFORE UPDATE ON haul.host FOR EACH ROW
      WHEN (new.in_flight > old.in_flight AND new.in_flight > new.cap) EXECUTE FUNCTION public.above_cap();
      """)
    var random = SplitMix(state: seed)
    for (number, batch) in batches(of: total).enumerated() {
      let lines = (number * 1000..<(number + 1) * 1000).map { number in
        // Half of the jobs are on a tenth of the hosts.
        let count = Bool.random(using: &random) ? hosts.count : hosts.count / 10
        let path = "\(hosts[Int.random(in: 0..<count, using: &random)])/\(number)"
        return Pool.line(number, "https://\(path)", path)
      }
      _ = try await pool.jobs.submit(
        Submission(
          queue: Bool.random(using: &random) ? "data" : "default", batch: batch,
          priority: Int.random(in: 3...7, using: &random), options: JobOptions(maxAttempts: 3)),
        lines)
    }
    var limit = QueueSettings()
    limit.maxRunning = .some(60)
    try await pool.jobs.setQueue("default", limit)
    for host in slow {
      try await pool.jobs.setHost(
        host, cap: 12, interval: .milliseconds(Int.random(in: 5...20, using: &random)),
        burst: Int.random(in: 1...3, using: &random))
    }
    for host in hosts.dropLast(slow.count) where Bool.random(using: &random) {
      try await pool.jobs.setHost(host, cap: Int.random(in: 1...12, using: &random))
    }
  }

  /// The leader's round again and again, with time moved on, and between rounds a look at the invariants.
  private static func lead(_ pool: Pool, _ log: RunLog, _ total: Int) async throws {
    let leader = try await pool.connect()
    while !log.isDone {
      try await pool.passTime(on: leader)
      _ = try await JobQueue(leader).rescue()
      _ = try await JobQueue(leader).promote(limit: 2000)
      _ = try await JobQueue(leader).rollUp(limit: 2000)
      try await JobQueue(leader).sweepOn(limit: 200)
      log.complain(try await pool.violations())
      let ended: Int = try await pool.value("SELECT count(*) FROM haul.outcome")
      log.count("checks")
      if ended > total * 9 / 10 {
        log.drain()
        for name in ["data", "default"] {
          // One step a round. Until a sweep that its operator has left is through, claims hold the jobs of its batch again:
          // who resumes until nothing is paused waits for sweepOn(), which is this leader's own.
          _ = try await leader.transaction {
            try await $0.query(
              "SELECT FROM haul.resume(jsonb_build_object('queue', $1::text, 'state', 'paused'))",
              [name])
          }
          var settings = QueueSettings()
          settings.paused = false
          try await JobQueue(leader).setQueue(name, settings)
        }
      }
      if log.isDraining {
        let rest: Int = try await pool.value(
          """
          SELECT (SELECT count(*) FROM haul.ready) + (SELECT count(*) FROM haul.lease)
            + (SELECT count(*) FROM haul.scheduled) + (SELECT count(*) FROM haul.held)
          """)
        if rest == 0 { log.finish() }
      }
    }
  }
}

extension Pool {
  /// Lets what waits for a time be due now, taking only rows that nobody holds; ends the grace of rescue.
  func passTime(on session: Connection) async throws {
    for statement in [
      "UPDATE haul.pulse SET grace_until = '-infinity', round_at = clock_timestamp()",
      """
      UPDATE haul.scheduled SET run_at = clock_timestamp() WHERE job IN (
        SELECT job FROM haul.scheduled WHERE run_at > clock_timestamp() FOR UPDATE SKIP LOCKED)
      """,
      """
      UPDATE haul.host SET blocked_until = NULL WHERE id IN (
        SELECT id FROM haul.host WHERE blocked_until IS NOT NULL FOR UPDATE SKIP LOCKED)
      """,
      """
      UPDATE haul.lane SET next_at = clock_timestamp() WHERE (host, queue, instance) IN (
        SELECT host, queue, instance FROM haul.lane WHERE next_at > clock_timestamp() FOR UPDATE SKIP LOCKED)
      """,
      """
      UPDATE haul.ready SET hold_until = clock_timestamp() WHERE job IN (
        SELECT job FROM haul.ready WHERE hold_until > clock_timestamp() AND job % 3 = 0 FOR UPDATE SKIP LOCKED)
      """,
    ] {
      try await session.execute(statement)
    }
  }
}
