import Foundation
import JobModel
import JobQueue
import Postgres
import Synchronization
import TestSupport
import Testing

/// A migrated database of one test's own with a store, two queues on it and a superuser's eye on all tables.
final class Pool: Sendable {
  /// The name of the store and of the queue that tests use unless they say otherwise.
  static let name = "data"

  let database: TestDatabase
  /// A superuser's session: reads any table, moves times, holds no locks between statements.
  let admin: Connection
  /// Another, for statements that others stop.
  let patient: Connection
  /// The functions, called by `admin`.
  let jobs: JobQueue
  let marker: String
  let instance: Int
  private let submitted = Atomic(0)

  private init(_ database: TestDatabase, hostsAnswer: Bool) async throws {
    self.database = database
    admin = try await database.connect()
    patient = try await database.connect()
    jobs = JobQueue(admin)
    if hostsAnswer {
      try await admin.script(
        """
        CREATE FUNCTION public.answer() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          NEW.failures := 0;
          RETURN NEW;
        END
        $$;
        CREATE TRIGGER answer BEFORE INSERT ON haul.host FOR EACH ROW EXECUTE FUNCTION public.answer();
        """)
    }
    marker = UUID().uuidString
    instance = try await jobs.initStore(
      name: Self.name, marker: marker, machine: "machine", root: "/data")
  }

  /// Gives `body` a pool; afterwards every invariant of `haul.health` must hold. `hostsAnswer`: every host counts as one that has
  /// answered before its first job.
  static func open(
    hostsAnswer: Bool = true, _ body: (Pool) async throws -> Void
  ) async throws {
    try await withTestDatabase { database in
      let pool = try await Pool(database, hostsAnswer: hostsAnswer)
      try await body(pool)
      let violations = try await pool.violations()
      #expect(violations == [])
    }
  }

  /// Gives `body` a pool with a schema of another name, in a database without the schema `haul`.
  static func open(in schema: SchemaName, _ body: (Pool) async throws -> Void) async throws {
    try await withTestDatabase(.empty) { database in
      var database = database
      database.schema = schema
      let connection = try await database.connect()
      _ = try await Migrator.migrate(connection)
      await connection.close()
      let pool = try await Pool(database, hostsAnswer: true)
      try await body(pool)
      let violations = try await pool.violations()
      #expect(violations == [])
    }
  }

  func connect() async throws -> Connection {
    try await database.connect()
  }

  /// Registers a worker with two sessions of its own. `markers` are of the store `data`, the pool's own unless given; `queues` as to register().
  func worker(
    markers: [String]? = nil, concurrency: Int = 1024, queues: [String]? = nil
  ) async throws -> TestWorker {
    let work = try await connect()
    let stores = (markers ?? [marker]).map { JobQueue.StoreMarker(store: Self.name, marker: $0) }
    let registration = try await JobQueue(work).register(
      program: "test", machine: "machine", pid: 1, concurrency: concurrency, stores: stores,
      queues: queues)
    let caller = JobQueue.Caller(registration)
    // It sends no heartbeats by itself, and a slow machine may take long.
    try await execute(
      "UPDATE haul.worker SET expires_at = clock_timestamp() + interval '1 hour' WHERE id = $1",
      [caller.worker])
    return TestWorker(caller: caller, work: work, life: try await connect())
  }

  /// Where the pool's store is.
  static let roots = [WorkerStart.Root(machine: "machine", root: "/data")]

  /// As ``worker(markers:concurrency:queues:)``, and it never counts as silent.
  func steadyWorker(
    markers: [String]? = nil, concurrency: Int = 1024, queues: [String]? = nil
  ) async throws -> TestWorker {
    let worker = try await worker(markers: markers, concurrency: concurrency, queues: queues)
    try await beat(worker, secondsAgo: -3600)
    return worker
  }

  /// As if its last heartbeat had come so long ago.
  func beat(_ worker: TestWorker, secondsAgo: Double) async throws {
    try await execute(
      "UPDATE haul.worker SET heartbeat_at = clock_timestamp() - make_interval(secs => $2) WHERE id = $1",
      [worker.caller.worker, secondsAgo])
  }

  /// Submits `count` new jobs for `host` and returns their ids, which grow.
  @discardableResult
  func submit(
    _ count: Int = 1, to host: String = "a.test", queue: String = Pool.name, priority: Int = 5,
    options: JobOptions = JobOptions(), after: Duration? = nil, batch: String? = nil
  ) async throws -> [Int64] {
    let first = submitted.add(count, ordering: .relaxed).oldValue + 1
    let paths = (first..<first + count).map { "\(host)/\($0)" }
    _ = try await jobs.submit(
      Submission(queue: queue, batch: batch, priority: priority, options: options, after: after),
      paths.enumerated().map { Self.line($0.offset + 1, "https://\($0.element)", $0.element) })
    return try await column("SELECT id FROM haul.job WHERE path = ANY ($1) ORDER BY id", [paths])
  }

  /// A line whose URL is written as `https://host/…`.
  static func line(_ number: Int, _ url: String, _ path: String) -> SubmitLine {
    let authority = url.split(separator: "/", omittingEmptySubsequences: false)[2]
    let host = String(authority.split(separator: "@").last ?? "")
    return SubmitLine(line: number, url: url, host: host, path: path)
  }

  /// The only line of a submission that cannot become a job.
  static func conflict(
    _ line: Int, _ path: String, otherLine: Int? = nil, job: Int64? = nil
  ) -> SubmitConflicts {
    SubmitConflicts(
      count: 1, first: [SubmitConflict(line: line, path: path, otherLine: otherLine, job: job)])
  }

  /// What `haul.health` complains of.
  func violations() async throws -> [String] {
    try await column(
      "SELECT \"check\" || ': ' || violations FROM haul.health WHERE violations <> 0")
  }

  /// A job's state in the view `haul.jobs`.
  func state(_ job: Int64) async throws -> String {
    try await value("SELECT state FROM haul.jobs WHERE job = $1", [job])
  }

  /// How many jobs are in each state.
  func states() async throws -> [String: Int] {
    let rows = try await admin.query("SELECT state, count(*) FROM haul.jobs GROUP BY state")
    return Dictionary(
      uniqueKeysWithValues: try rows.map {
        (try $0.decode(0, as: String.self), try $0.decode(1, as: Int.self))
      })
  }

  func value<T: PostgresDecodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = [], as type: T.Type = T.self
  ) async throws -> T {
    let rows = try await admin.query(sql, parameters)
    return try #require(rows.first).decode(0)
  }

  func column<T: PostgresDecodable>(
    _ sql: String, _ parameters: [(any PostgresEncodable)?] = [], as type: T.Type = T.self
  ) async throws -> [T] {
    try await admin.query(sql, parameters).map { try $0.decode(0) }
  }

  func execute(_ sql: String, _ parameters: [(any PostgresEncodable)?] = []) async throws {
    try await admin.execute(sql, parameters)
  }

  /// Lets a second between rounds of rescue pass: no grace, and the round's stamp is fresh.
  func endGrace() async throws {
    _ = try await jobs.rescue()
    try await execute(
      "UPDATE haul.pulse SET grace_until = '-infinity', round_at = clock_timestamp()")
  }

  /// Makes a worker look silent for `seconds`; its leases end 15 s after its last heartbeat.
  func silence(_ worker: TestWorker, for seconds: Int) async throws {
    try await execute(
      """
      UPDATE haul.worker SET heartbeat_at = clock_timestamp() - make_interval(secs => $2),
        expires_at = clock_timestamp() - make_interval(secs => $2) + haul.lease_expiry() WHERE id = $1
      """, [worker.caller.worker, seconds])
  }

  /// However long what follows takes, this worker does not look silent.
  func hear(_ worker: TestWorker) async throws {
    try await silence(worker, for: -3600)
  }

  /// Reads every row of every view, in which a value may raise an error.
  func readAllViews() async throws {
    let views: [String] = try await column(
      "SELECT viewname FROM pg_views WHERE schemaname = 'haul' ORDER BY 1")
    #expect(views.count > 10)
    for view in views {
      do {
        try await execute("SELECT count(v::text) FROM haul.\(view) v")
      } catch {
        Issue.record("haul.\(view): \(error)")
      }
    }
  }

  /// Waits until the statement that `session` runs is stopped by a lock another session holds.
  func untilBlocked(_ session: Connection) async throws {
    try await eventually("a lock that stops process \(session.backendPID)") {
      try await value(
        "SELECT cardinality(pg_blocking_pids($1)) > 0", [session.backendPID], as: Bool.self)
    }
  }
}

extension JobQueue {
  /// Submits lines that are all there.
  func submit(_ submission: Submission, _ lines: [SubmitLine]) async throws -> SubmitReply {
    let (pieces, input) = AsyncStream.makeStream(of: [SubmitLine].self)
    input.yield(lines)
    input.finish()
    return try await submit(submission, pieces)
  }
}

extension Connection {
  /// Begins a submission, stages lines in it, and returns its key.
  func stage(_ lines: [SubmitLine], queue: String) async throws -> String {
    let key: String = try await query("SELECT haul.begin_submission($1)", [queue])[0].decode(0)
    for line in lines {
      try await execute(
        "INSERT INTO haul.staging (submission, line, url, host, path) VALUES ($1::uuid, $2, $3, $4, $5)",
        [key, line.line, line.url, line.host, line.path])
    }
    return key
  }

  /// As `JobQueue.submit`, in a transaction that is open already.
  func submit(_ lines: [SubmitLine], to queue: String) async throws {
    let key = try await stage(lines, queue: queue)
    try await submit(key, queue)
  }

  func submit(_ key: String, _ queue: String) async throws {
    try await execute(
      "SELECT haul.submit($1::uuid, $2, NULL, 5::smallint, '{}', NULL, 'skip', false, 100000)",
      [key, queue])
  }
}
