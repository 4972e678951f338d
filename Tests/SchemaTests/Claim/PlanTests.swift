import Foundation
import JobModel
import Postgres
import TestSupport
import Testing

/// What `haul.work`, a step of a cancellation and a page of a list of jobs read: a few rows, by index, however much waits.
///
/// Read from the plans of its statements as they ran, nested ones too, which auto_explain sends to the client. The session makes
/// its plans while the tables are empty and keeps them, as that of a worker that came before the jobs.
struct PlanTests {
  /// No node of a plan may see more rows than this. A batch of 64 is compared with itself here and there: 4,096.
  private static let mostRows = 5000.0
  /// Nor may a statement touch more pages, as one that searches an index by its last column does, once a job.
  private static let mostPages = 10_000
  /// Those that grow with what waits, runs or has ended. Of partitions, what stands before the number.
  private static let bigTables: Set = [
    "job", "ready", "scheduled", "held", "lease", "checkpoint", "host", "lane", "outcome",
    "attempt",
  ]

  @Test func `a call reads a few rows by index`() async throws {
    try await Pool.open { pool in
      let plans = try await Self.plans(
        pool,
        """
        \(Self.call(2))
        \(Self.fill)
        \(Self.silentCall(3))
        \(Self.call(4))
        \(Self.call(5))
        \(Self.twice(Self.cancelStep + Self.pages))
        ANALYZE;
        \(Self.silentCall(6))
        \(Self.call(7))
        \(Self.call(8))
        \(Self.twice(Self.cancelStep + Self.pages))
        """)
      let texts = plans.map(\.text).joined(separator: "\n")
      for table in ["haul.lane", "haul.ready", "haul.lease", "haul.outcome", "haul.job"] {
        #expect(texts.contains(table), "no plan of a statement with \(table) has come")
      }
      for plan in plans {
        for complaint in plan.root.complaints(Self.bigTables, Self.mostRows) {
          Issue.record("\(complaint) in: \(plan.text)")
        }
        #expect(plan.root.hit + plan.root.read < Self.mostPages, "pages in: \(plan.text)")
      }
    }
  }

  @Test func `a snapshot that somebody keeps does not make a busy host dearer`() async throws {
    try await Pool.open { pool in
      _ = try await pool.submit(12)
      let holder = try await pool.connect()
      try await holder.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM haul.host")
      let change = """
        UPDATE haul.host SET last_start = clock_timestamp(); UPDATE haul.worker_call SET claims = claims;
        UPDATE haul.lane SET next_at = clock_timestamp();

        """
      let plans = try await Self.plans(
        pool,
        """
        \(String(repeating: change, count: 2000))
        \(Self.call(2))
        \(Self.call(3))
        """)
      // A new version is not compared with those before it.
      let changes = plans.filter { $0.root.type == "ModifyTable" && $0.root.table == "lane" }
      #expect(changes.count > 0)
      for plan in changes { #expect(plan.root.hit + plan.root.read < 200, "\(plan.text)") }
      for index in ["host_id", "worker_call_pkey"] {
        let scans = plans.flatMap { $0.root.scans(of: index) }
        #expect(scans.count > 0, "nobody looks into \(index)")
        for scan in scans {
          let pages = Double(scan.hit + scan.read) / max(scan.loops, 1)
          #expect(pages < 10, "\(scan.type) of \(index)")
        }
      }
    }
  }

  @Test func `a snapshot that somebody keeps does not make heartbeats dearer`() async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('*', 1000, NULL, NULL)")
      try await pool.submit(8000)
      let holder = try await pool.connect()
      try await holder.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM haul.lease")
      func heartbeat(_ number: Int) -> String {
        """
        SELECT coalesce(jsonb_agg(jsonb_build_object('job', e.job, 'token', e.token, 'bytes', 1, 'rate', 1)), '[]') AS holding
        FROM jsonb_to_recordset(:'reply'::jsonb -> 'claimed') AS e(job bigint, token bigint) \\gset
        SELECT haul.heartbeat(:worker, :'secret', \(number), :'holding', '[]') \\g /dev/null

        """
      }
      // The first heartbeat looks at the leases of all calls, and the second one at those since.
      let plans = try await Self.plans(
        pool,
        """
        \((2...120).map(Self.silentCall).joined())
        \(heartbeat(120))
        \(Self.silentCall(121))
        SET auto_explain.log_min_duration = 0;
        \(heartbeat(121))
        """)
      let scans = plans.flatMap { $0.root.scans(of: "lease_worker") }
      #expect(scans.count == 1)
      for scan in scans { #expect(scan.hit + scan.read < 20, "\(scan.type)") }
      #expect(plans.contains { !$0.root.scans(of: "lease_command").isEmpty })
      #expect(plans.contains { !$0.root.scans(of: "lease_pkey").isEmpty })
    }
  }

  @Test func `a round of the leader reads what is due, however much waits`() async throws {
    try await Pool.open { pool in
      let round = """
        SET auto_explain.log_min_duration = 0;
        SELECT haul.rescue(), haul.promote(100) \\g /dev/null
        SELECT haul.promote_by_host(100), haul.take_due(100, 1) \\g /dev/null
        INSERT INTO haul.batch_change (batch, at, jobs, completed, failed, cancelled, bytes)
          VALUES (0, now(), 0, 0, 0, 0, 0);
        SELECT haul.roll_up(100) \\g /dev/null
        SET auto_explain.log_min_duration = -1;

        """
      let plans = try await Self.plans(
        pool,
        """
        \(round)
        INSERT INTO haul.ready (queue, host, instance, priority, job, hold_until)
          SELECT 1, 1, 1, 5, n, clock_timestamp() + interval '4 minutes' FROM generate_series(1, 20000) n;
        INSERT INTO haul.scheduled (job, queue, host, instance, priority, run_at)
          SELECT n, 1, 1, 0, 5, clock_timestamp() + interval '1 hour' FROM generate_series(20001, 40000) n;
        INSERT INTO haul.minute (at, completed, failed, cancelled, bytes)
          SELECT clock_timestamp() - n * interval '1 minute', 0, 0, 0, 0 FROM generate_series(1, 10000) n;
        \(round)
        ANALYZE;
        \(round)
        DELETE FROM haul.ready;
        DELETE FROM haul.scheduled;
        """)
      for index in ["ready_hold", "scheduled_due"] {
        #expect(plans.contains { !$0.root.scans(of: index).isEmpty }, "nobody looks into \(index)")
      }
      for plan in plans {
        for complaint in plan.root.complaints(["ready", "scheduled", "minute"], Self.mostRows) {
          Issue.record("\(complaint) in: \(plan.text)")
        }
      }
    }
  }

  /// Settings that the plans above do not need at that size, and at others do: the planner's where a function reads big tables
  /// by itself, that no plan is made anew at each call, and that none is compiled.
  private static let pins = [
    "work": ["plan_cache_mode=force_generic_plan", "jit=off"],
    "claim_queue": ["enable_seqscan=off", "enable_bitmapscan=off", "enable_sort=off"],
    "claim_band": [
      "enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off", "enable_bitmapscan=off",
    ],
    "leases_of": ["enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off"],
    "end_together": ["enable_seqscan=off", "enable_hashjoin=off", "enable_mergejoin=off"],
    "batch_jobs": ["enable_seqscan=off", "enable_bitmapscan=off", "enable_sort=off", "jit=off"],
    "next_due": ["enable_seqscan=off", "enable_bitmapscan=off"],
    "add_jobs": ["enable_nestloop=off", "jit=off"],
    "oldest_ready": ["enable_seqscan=off", "enable_bitmapscan=off", "enable_sort=off", "jit=off"],
  ]

  @Test func `plans are pinned`() async throws {
    try await Pool.open { pool in
      for (function, settings) in Self.pins {
        let pinned: [String] = try await pool.column(
          "SELECT unnest(proconfig) FROM pg_proc WHERE oid = ('haul.' || $1)::regproc", [function])
        #expect(Set(settings).subtracting(pinned) == [], "\(function)")
      }
    }
  }

  /// The plans of what `body` shows, which goes on in a worker's session that has claimed one job in a pool with nothing else.
  private static func plans(_ pool: Pool, _ body: String) async throws -> [Plan] {
    _ = try await pool.submit()
    let directory = try TemporaryDirectory()
    let script = try directory.write(
      """
      LOAD 'auto_explain';
      SET auto_explain.log_nested_statements = on; SET auto_explain.log_analyze = on; SET auto_explain.log_buffers = on;
      SET auto_explain.log_timing = off; SET auto_explain.log_format = json; SET client_min_messages = log;
      SELECT r ->> 'worker' AS worker, r ->> 'secret' AS secret FROM haul.register(haul.schema_version(), 'test', 'machine', 1, 64,
        '[{"store": "\(Pool.name)", "marker": "\(pool.marker)"}]') r \\gset
      UPDATE haul.worker SET expires_at = 'infinity';
      SELECT haul.work(:worker, :'secret', 1, '[]', NULL, 64) AS reply \\gset
      \(body)
      """, to: "script.sql")
    let bin = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"])
    let output = try await ChildProcess.run(
      "\(bin)/psql",
      ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", pool.database.conninfo, "-f", script],
      within: .seconds(300))
    #expect(output.exit == .code(0), "\(output.standardError.suffix(5))")
    return try output.standardError.split(omittingEmptySubsequences: false) {
      $0.hasSuffix("plan:")
    }
    .dropFirst().map { lines in
      let json = lines.prefix { $0 != "}" }.joined(separator: "\n") + "}"
      return try JSONDecoder().decode(Plan.self, from: Data(json.utf8))
    }
  }

  /// Settles what the call before has claimed, and claims again.
  private static func silentCall(_ number: Int) -> String {
    """
    SELECT coalesce(jsonb_agg(c || '{"result": "completed"}'), '[]') AS endings
    FROM jsonb_to_recordset(:'reply'::jsonb -> 'claimed') AS e(job bigint, token bigint),
      jsonb_build_object('job', e.job, 'token', e.token) AS c \\gset
    SELECT haul.work(:worker, :'secret', \(number), :'endings', NULL, 64) AS reply \\gset

    """
  }

  /// As ``silentCall(_:)``, and explained.
  private static func call(_ number: Int) -> String { explained(silentCall(number)) }

  private static func explained(_ script: String) -> String {
    "SET auto_explain.log_min_duration = 0;\n\(script)SET auto_explain.log_min_duration = -1;\n"
  }

  /// A script, and the same again, explained. During a long statement, changes of tables in any database of the server may make
  /// a session forget all it knows of tables. What it then reads of the catalogs counts as pages of the next call.
  private static func twice(_ script: String) -> String { script + explained(script) }

  /// A step of the cancellation of all there is, which then is called off.
  private static let cancelStep = """
    SELECT haul.cancel('{"batch": "all"}', 300) \\g /dev/null
    SELECT haul.end_sweep(b.id) FROM haul.batch b \\g /dev/null

    """

  /// Pages of lists that each look at up to 300 jobs: all, by text, by batch, host and queue, and by state.
  private static let pages =
    ["{}", "{\"batch\": \"all\"}", "{\"host\": \"h9.test\"}", "{\"queue\": \"\(Pool.name)\"}"]
    .map(page)
    .joined(separator: "\n")
    + JobState.known.flatMap { state in
      [
        page("{\"state\": \"\(state)\"}"),
        page("{\"state\": \"\(state)\", \"batch\": \"all\", \"host\": \"h9.test\"}"),
      ]
    }.joined(separator: "\n")

  private static func page(_ selector: String) -> String {
    """
    SELECT haul.find_jobs('\(selector)', NULL, 9223372036854775807, 100, 300) \\g /dev/null
    SELECT haul.find_jobs('\(selector)', 'nowhere', 9223372036854775807, 100, 300) \\g /dev/null

    """
  }

  /// A million jobs on 10,000 hosts, 6,000 of them running and half of the others in trouble.
  private static let fill = """
    SELECT haul.ensure_partitions(1100000) \\g /dev/null
    INSERT INTO haul.batch (name) VALUES ('all');
    SELECT haul.ensure_hosts(array_agg('h' || n || '.test')) FROM generate_series(1, 10000) n \\g /dev/null
    UPDATE haul.host SET in_flight = 1 WHERE name = ANY (SELECT 'h' || n || '.test' FROM generate_series(1, 6000) n);
    UPDATE haul.host SET failures = 1 WHERE name = ANY (SELECT 'h' || n || '.test' FROM generate_series(6001, 8000) n);
    INSERT INTO haul.job (id, queue, host, batch, priority, submitted_at, url, path, options)
    SELECT nextval('haul.job_id'), q.id, h.id, 1, 5, clock_timestamp(), 'https://' || h.name || '/' || n, h.name || '/' || n, '{}'
    FROM haul.queue q, haul.host h, generate_series(1, 100) n WHERE q.name = '\(Pool.name)';
    INSERT INTO haul.lease (job, token, worker, call, queue, host, instance, priority, attempt, resumed_at, started_at)
    SELECT DISTINCT ON (j.host) j.id, nextval('haul.token'), 0, 1, j.queue, j.host, 1, 5, 1, 0, clock_timestamp()
    FROM haul.job j JOIN haul.host h ON h.id = j.host AND h.in_flight = 1 ORDER BY j.host, j.id;
    INSERT INTO haul.checkpoint (job, token, instance, durable, resume, saved_at)
    SELECT l.job, l.token, 1, '{[0,4096)}', '{}', clock_timestamp() FROM haul.lease l;
    INSERT INTO haul.ready (queue, host, instance, priority, job)
    SELECT j.queue, j.host, 0, 5, j.id FROM haul.job j
    WHERE NOT EXISTS (SELECT FROM haul.lease l WHERE l.job = j.id) AND NOT EXISTS (SELECT FROM haul.outcome o WHERE o.job = j.id);
    SELECT haul.arm(array_agg(r.host), array_agg(r.queue), array_agg(0), array_agg(5::smallint), array_agg(r.head))
    FROM (SELECT r.host, r.queue, min(r.job) AS head FROM haul.ready r GROUP BY r.host, r.queue) r \\g /dev/null
    """
}

/// A statement and its plan, as auto_explain writes them.
private struct Plan: Decodable {
  let text: String
  let root: Node

  enum CodingKeys: String, CodingKey {
    case text = "Query Text"
    case root = "Plan"
  }

  /// Rows are the mean of the loops, pages the sum, with those of the nodes below.
  struct Node: Decodable {
    let type: String
    let table: String?
    let index: String?
    let rows: Double
    let loops: Double
    let removed: Double?
    let hit: Int
    let read: Int
    let inner: [Node]?

    enum CodingKeys: String, CodingKey {
      case type = "Node Type"
      case table = "Relation Name"
      case index = "Index Name"
      case rows = "Actual Rows"
      case loops = "Actual Loops"
      case removed = "Rows Removed by Filter"
      case hit = "Shared Hit Blocks"
      case read = "Shared Read Blocks"
      case inner = "Plans"
    }

    /// It and those below it that read an index.
    func scans(of index: String) -> [Node] {
      (self.index == index ? [self] : []) + (inner ?? []).flatMap { $0.scans(of: index) }
    }

    /// What is wrong with it and what is below it.
    func complaints(_ bigTables: Set<String>, _ mostRows: Double) -> [String] {
      var complaints = (inner ?? []).flatMap { $0.complaints(bigTables, mostRows) }
      let name = "\(type) \(index ?? table ?? "")"
      if type == "Seq Scan", let table, let stem = table.split(separator: "_").first,
        bigTables.contains(String(stem))
      {
        complaints.append(name)
      }
      let seen = (rows + (removed ?? 0)) * loops
      if seen > mostRows { complaints.append("\(name): \(seen) rows") }
      return complaints
    }
  }
}
