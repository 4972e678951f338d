import Foundation
import JobModel
import JobQueue
import Postgres
import Schema
import TestSupport
import Testing

/// Removal of jobs next to everything else, at random: claims, settlements, crashes, operators, submissions of the same
/// list again and again, changing times, removals that die before their commit, dumps and upgrades.
///
/// 2,000 paths; HAUL_TEST_LONG=1 makes it 20,000. HAUL_TEST_SEED repeats the choices of a run.
struct PruneRunTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let hosts = (0..<40).map { "h\($0).test" }

  @Test func `only what has ended is removed, and no path is lost`() async throws {
    let seed =
      Self.environment["HAUL_TEST_SEED"].flatMap(UInt64.init) ?? .random(in: 0...UInt64.max)
    let total = isLongRun ? 20_000 : 2000
    try await Pool.open { pool in
      try await Self.watch(pool)
      let log = RunLog()
      let lines = (1...total).map { number in
        let path = "\(Self.hosts[number % Self.hosts.count])/\(number)"
        return Pool.line(number, "https://\(path)", path)
      }
      _ = try await pool.jobs.submit(Submission(queue: Pool.name, batch: "b"), lines)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...4 {
          group.addTask {
            let worker = try await pool.worker()
            var session = RandomSession(
              pool: pool, log: log, worker: worker, hosts: Self.hosts, steady: [],
              batches: ["b"], jobs: Int64(total), seed: seed &+ UInt64(number))
            try await session.run()
          }
        }
        group.addTask { try await Self.submit(pool, log, lines, seed) }
        group.addTask { try await Self.prune(pool, log, total, seed) }
        group.addTask { try await Self.dumpAndMigrate(pool, log) }
        while try await group.next() != nil {}
      }
      #expect(log.complaints == [], "HAUL_TEST_SEED=\(seed)")
      // Each path has a job or is known, unless all its jobs failed or were cancelled before they went.
      let lost: Int64 = try await pool.value(
        """
        SELECT count(*) FROM public.gone g WHERE g.state = 'completed' AND g.job = (
            SELECT max(n.job) FROM public.gone n WHERE n.path = g.path)
          AND NOT EXISTS (SELECT FROM haul.known k WHERE k.key = haul.known_key(1, g.path))
          AND NOT EXISTS (SELECT FROM haul.job j WHERE j.path = g.path)
        """)
      #expect(lost == 0, "HAUL_TEST_SEED=\(seed)")
      let deadlocks: Int = try await pool.value(
        "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
      #expect(deadlocks <= total / 1000, "HAUL_TEST_SEED=\(seed)")
      let gone: Int64 = try await pool.value("SELECT count(*) FROM public.gone")
      let all: Int64 = try await pool.value("SELECT jobs FROM haul.totals")
      let left: Int64 = try await pool.value("SELECT count(*) FROM haul.job")
      #expect(all == gone + left, "HAUL_TEST_SEED=\(seed)")
      print(
        "random run with removal: \(log.summary), \(gone) jobs removed, \(left) left, \(deadlocks) deadlocks"
      )
    }
  }

  /// Records each removed job. Raises an error for one that has not ended.
  private static func watch(_ pool: Pool) async throws {
    try await pool.admin.script(
      """
      CREATE TABLE public.gone (job bigint, path text, state text);
      CREATE FUNCTION public.ends() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET enable_seqscan = off AS $$
      BEGIN
        IF EXISTS (SELECT FROM haul.ready WHERE job = old.id) OR EXISTS (SELECT FROM haul.lease WHERE job = old.id)
          OR EXISTS (SELECT FROM haul.scheduled WHERE job = old.id) OR EXISTS (SELECT FROM haul.held WHERE job = old.id) THEN
          RAISE EXCEPTION 'job % has not ended', old.id;
        END IF;
        INSERT INTO public.gone SELECT old.id, old.path, CASE WHEN EXISTS (
          SELECT FROM haul.known k WHERE k.key = haul.known_key(1, old.path)) THEN 'completed' ELSE 'other' END;
        RETURN old;
      END $$;
      CREATE TRIGGER ends BEFORE DELETE ON haul.job FOR EACH ROW EXECUTE FUNCTION public.ends();
      """)
  }

  /// Submits a part of the list again, in each way.
  private static func submit(
    _ pool: Pool, _ log: RunLog, _ lines: [SubmitLine], _ seed: UInt64
  ) async throws {
    var random = SplitMix(state: seed &+ 100)
    let queue = JobQueue(try await pool.connect())
    while !log.isDraining {
      let first = Int.random(in: 0..<lines.count - 200, using: &random)
      var submission = Submission(queue: Pool.name)
      submission.onDuplicate =
        [Submission.OnDuplicate.skip, .refresh, .replace][Int.random(in: 0..<3, using: &random)]
      let part = lines[first..<first + 200].enumerated().map {
        Pool.line($0.offset + 1, $0.element.url, $0.element.path)
      }
      do {
        let reply = try await queue.submit(submission, part)
        log.count("submitted", reply.submitted)
        log.count("skipped", reply.skipped)
      } catch JobQueueError.busy {
        log.count("busy")
      }
    }
  }

  /// Dumps the database and upgrades it to a made-up next version, again and again.
  private static func dumpAndMigrate(_ pool: Pool, _ log: RunLog) async throws {
    let bin = try #require(environment["HAUL_TEST_PGBIN"])
    let migrator = try await pool.connect()
    var rounds = 0
    while !log.isDraining {
      rounds += 1
      let dump = try await ChildProcess.run(
        bin + "/pg_dump", ["--file", "/dev/null", pool.database.conninfo], within: .seconds(120))
      if dump.exit == .code(0) {
        log.count("dumps")
      } else {
        // A partition that is dropped while pg_dump looks at it.
        log.count("dumps refused")
      }
      let edition = Edition.next(
        "ALTER TABLE haul.outcome ADD COLUMN IF NOT EXISTS made_up integer",
        functions: """
          CREATE OR REPLACE FUNCTION haul.made_up() RETURNS integer LANGUAGE sql AS 'SELECT \(rounds)';
          REVOKE ALL ON FUNCTION haul.made_up() FROM PUBLIC;
          """)
      do {
        _ = try await Migrator.migrate(migrator, edition: edition, force: true)
        log.count("migrations")
      } catch JobQueueError.busy {
        log.count("migrations refused")
      }
    }
  }

  /// The leader's rounds, with removals that now and then do not come to an end.
  private static func prune(
    _ pool: Pool, _ log: RunLog, _ total: Int, _ seed: UInt64
  ) async throws {
    var random = SplitMix(state: seed &+ 200)
    var leader = try await pool.connect()
    var rounds = 0
    while !log.isDone {
      rounds += 1
      let queue = JobQueue(leader)
      try await pool.passTime(on: leader)
      _ = try await queue.rescue()
      _ = try await queue.promote(limit: 1000)
      _ = try await queue.rollUp(limit: 1000)
      try await queue.sweepOn(limit: 10_000)
      var settings = QueueSettings()
      settings.retention.completed = .duration(
        .milliseconds(Int64.random(in: 0...500, using: &random)))
      settings.retention.failed = Bool.random(using: &random) ? .duration(.zero) : .forever
      settings.retention.cancelled = .duration(.zero)
      settings.paused = false
      try await queue.setQueue(Pool.name, settings)
      if Bool.random(using: &random) {
        try await leader.script("BEGIN; SELECT haul.prune(100)")
        await leader.close()
        leader = try await pool.connect()
      } else {
        log.count(
          "removed", try await queue.prune(limit: Int.random(in: 1...100, using: &random)).removed)
      }
      if rounds % 5 == 0 { log.complain(try await pool.violations()) }
      if rounds > 50 { log.drain() }
      if log.isDraining {
        _ = try await leader.query(
          "SELECT FROM haul.resume(jsonb_build_object('queue', $1::text, 'state', 'paused'))",
          [Pool.name])
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
