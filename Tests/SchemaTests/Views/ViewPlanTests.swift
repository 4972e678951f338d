import Postgres
import TestSupport
import Testing

/// How views look things up in a pool of many jobs: by index, whatever is asked for. Nothing is timed; the plans are read.
struct ViewPlanTests {
  /// Of 100,000 jobs four of ten have completed, one of twenty has failed, and most others wait, for 10,000 hosts.
  private static let fill = """
    INSERT INTO haul.store (name) VALUES ('data');
    INSERT INTO haul.queue (name, store) SELECT 'q' || i, 1 FROM generate_series(1, 10) i;
    INSERT INTO haul.batch (name) SELECT 'b' || i FROM generate_series(1, 50) i;
    SELECT haul.ensure_hosts(array_agg('h' || i)) FROM generate_series(1, 10000) i;
    SELECT haul.ensure_partitions(100000);
    INSERT INTO haul.job (id, queue, host, batch, priority, submitted_at, url, path, options)
      SELECT i, 1 + i % 10, 1 + i % 10000, 1 + (i / 2000) % 50, 5, now(), 'https://h/' || i, 'h/' || i, '{}'
      FROM generate_series(1, 100000) i;
    INSERT INTO haul.outcome (job, state, finished_at, bytes, path, error)
      SELECT id, CASE WHEN id % 20 < 8 THEN 'completed' ELSE 'failed' END::haul.job_state, now(), 1, 'x',
        CASE WHEN id % 20 = 8 THEN 'timeout' END FROM haul.job WHERE id % 20 < 9;
    INSERT INTO haul.lease (job, token, worker, call, queue, host, instance, priority, attempt, resumed_at, started_at)
      SELECT id, id, 1 + id % 9, 1, queue, host, 0, 5, 1, 0, now() FROM haul.job WHERE id % 1000 = 999;
    INSERT INTO haul.scheduled SELECT id, queue, host, 0, 5, now() FROM haul.job WHERE id % 1000 = 998;
    INSERT INTO haul.ready SELECT queue, host, 0, 5, id FROM haul.job WHERE id % 20 >= 9 AND id % 1000 < 998;
    INSERT INTO haul.lane SELECT host, queue, instance, 5, min(job), now() FROM haul.ready GROUP BY host, queue, instance;
    INSERT INTO haul.lane_key SELECT host, queue, instance FROM haul.lane;
    INSERT INTO haul.attempt (job, token, worker, result, charged, started_at, ended_at)
      SELECT id, 1000000 + id, 1, 'failed', true, now(), now() FROM haul.job;
    ANALYZE;
    """

  /// What is asked, and which large tables are read for it until there are enough, or whole where no index leads into them.
  private static let questions: [(sql: String, whole: Set<String>)] = [
    ("SELECT * FROM haul.jobs WHERE job = 50000", []),
    ("SELECT * FROM haul.jobs WHERE job = ANY ('{1,50000,99999}')", []),
    ("SELECT * FROM haul.jobs ORDER BY job DESC LIMIT 50", []),
    ("SELECT * FROM haul.jobs WHERE queue = 'q3' ORDER BY job DESC LIMIT 50", []),
    ("SELECT * FROM haul.jobs WHERE batch = 'b7' LIMIT 50", ["job"]),
    ("SELECT * FROM haul.jobs WHERE error = 'tls' LIMIT 50", []),
    ("SELECT * FROM haul.jobs WHERE worker = 3", []),
    ("SELECT * FROM haul.jobs WHERE queue = 'q3' AND durable > 0", []),
    ("SELECT * FROM haul.jobs WHERE batch = 'b7' AND error IS NOT NULL AND error > 'u'", []),
    (
      """
      SELECT v.*, f.older FROM haul.find_jobs('{}', NULL, 100, 50, 50) f LEFT JOIN LATERAL (
        SELECT * FROM haul.jobs j WHERE j.job = ANY (f.jobs || '{7}'::bigint[]) OFFSET 0) v ON true
      """, []
    ),
    ("SELECT * FROM haul.running WHERE job = 999", []),
    ("SELECT queued, interrupted FROM haul.queues WHERE queue = 'q3'", []),
    ("SELECT queue, running FROM haul.queues", []),
    ("SELECT * FROM haul.hosts WHERE host = 'h77'", []),
    ("SELECT * FROM haul.batches WHERE batch = 'b7'", []),
    ("SELECT * FROM haul.attempts WHERE job = 50000", []),
    ("SELECT * FROM haul.attempts WHERE worker = 7 LIMIT 50", ["attempt"]),
    ("SELECT * FROM haul.handoffs WHERE job = 50000", []),
    ("SELECT * FROM haul.handoffs WHERE taken_at > now() - interval '7 days'", ["attempt"]),
    ("SELECT * FROM haul.failures WHERE error = 'tls'", []),
  ]

  /// Compiling takes seconds, and these queries take milliseconds. Without statistics tables count as larger than they are.
  @Test func `in a new pool no view is worth compiling to the planner`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script("SET jit = on; SELECT haul.ensure_partitions(100000)")
      let views = try await connection.query(
        "SELECT viewname::text FROM pg_views WHERE schemaname = 'haul' ORDER BY 1"
      ).map { try $0.decode(0, as: String.self) }
      #expect(views.contains("hosts"))
      for view in views {
        let plan = try await connection.query("EXPLAIN SELECT * FROM haul.\(view)")
          .map { try $0.decode(0, as: String.self) }
        #expect(!plan.contains { $0.hasPrefix("JIT:") }, "\(view): \(plan)")
      }
    }
  }

  @Test func `views find what is asked for by index`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(Self.fill)
      for (sql, whole) in Self.questions {
        let plan = try await connection.query("EXPLAIN (COSTS OFF) \(sql)")
          .map { try $0.decode(0, as: String.self) }
        let read = plan.compactMap { line in
          line.firstMatch(of: #/Seq Scan on (job|outcome|attempt|ready|lane|host)(_\d+)? /#)
            .map { String($0.1) }
        }
        #expect(Set(read).subtracting(whole) == [], "\(sql)\n\(plan.joined(separator: "\n"))")
      }
    }
  }

  @Test func `a host's paused jobs are counted without a look at those of other hosts`()
    async throws
  {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        \(Self.fill)
        ALTER TABLE haul.held SET (autovacuum_enabled = off);
        INSERT INTO haul.held (job, queue, host, instance, priority, held_at)
          SELECT id, queue, host, 0, 5, now() FROM haul.job WHERE id % 20 < 9;
        ANALYZE;
        BEGIN
        """)
      let held = try await connection.query("SELECT held FROM haul.hosts WHERE host = 'h7'")[0]
        .decode(0, as: Int64.self)
      let read = try await connection.query(
        """
        SELECT (seq_tup_read + coalesce(idx_tup_fetch, 0))::bigint
        FROM pg_stat_xact_user_tables WHERE relname = 'held'
        """
      )[0].decode(0, as: Int64.self)
      #expect(held > 0 && read <= 2 * held, "\(read) rows for \(held)")
    }
  }
}
