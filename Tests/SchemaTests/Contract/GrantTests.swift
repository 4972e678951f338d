import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What the roles may do: functions and views, no tables.
struct GrantTests {
  static let roles = [PoolRole.worker, .submitter, .monitor].map { $0.name(RolePrefix.usual) }

  /// A function that the program calls, and the roles that may.
  static let callable: [String: Set<String>] = {
    let worker = [
      "register", "require_queues", "attach_session", "stop_worker", "lead", "work", "is_idle",
      "heartbeat",
      "checkpoint", "unneeded_parts", "sign_stores", "tell_reach",
      "rescue", "promote", "close_store",
      "roll_up", "fold_usage", "prune", "sweep_on", "clear_submissions",
    ]
    var callable = Dictionary(uniqueKeysWithValues: worker.map { ($0, Set(["haul_worker"])) })
    for name in [
      "submit", "begin_submission", "renew_submission", "check_submission", "end_submission",
      "replace", "export", "manifest",
      "pause", "resume", "cancel", "retry", "redo", "prioritize", "record_verification",
    ] {
      callable[name] = ["haul_submitter"]
    }
    callable["ensure_partitions"] = ["haul_worker", "haul_submitter"]
    let open = [
      "schema_version", "oldest_served_version", "redacted", "shown_options", "url_in_use",
      "range_bytes", "whole", "session_grace",
      "live_workers",
      "serving_workers", "held_of", "is_queue_served", "unserved_queues", "stalled_queues",
      "check_selector", "disposition", "has_class", "first_jobs", "oldest_ready", "keeps_progress",
      "causes", "live_jobs", "names", "obstacle", "pool_id", "places", "next_start", "session_lock",
      "held_snapshots", "standby_snapshots",
      "open_transactions", "sees_all_sessions", "recorded_digests", "known_files", "jobs_of_paths",
      "find_jobs", "live_progress", "progress_of", "last_pulse", "unfolded_usage",
    ]
    for name in open {
      callable[name] = Set(roles)
    }
    return callable
  }()

  @Test(arguments: roles)
  func `no table can be read or written`(role: String) async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let tables = try await connection.query(
        """
        SELECT c.oid::regclass::text FROM pg_class c
        WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind IN ('r', 'p', 'S')
          AND (CASE WHEN c.relkind = 'S' THEN has_sequence_privilege($1, c.oid, 'USAGE,SELECT,UPDATE')
            ELSE has_table_privilege($1, c.oid, 'SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER') END)
        """, [role])
      #expect(try tables.map { try $0.decode(0, as: String.self) } == [])
      let columns = try await connection.query(
        """
        SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0
          AND has_column_privilege($1, a.attrelid, a.attnum, 'SELECT,INSERT,UPDATE,REFERENCES')
        ORDER BY 1
        """, [role])
      let allowed = ["host", "line", "options", "path", "priority", "submission", "url"]
        .map { "haul.staging.\($0)" }
      #expect(
        try columns.map { try $0.decode(0, as: String.self) }
          == (role == "haul_submitter" ? allowed : []))
      try await connection.script("SET ROLE \(role)")
      for statement in ["SELECT FROM haul.job", "DELETE FROM haul.staging", "TRUNCATE haul.lease"] {
        let refused = await #expect(throws: PostgresError.self) {
          try await connection.execute(statement)
        }
        #expect(refused?.sqlState == .insufficientPrivilege)
      }
    }
  }

  @Test(arguments: roles)
  func `only its own functions can be called`(role: String) async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let rows = try await connection.query(
        """
        SELECT DISTINCT p.proname FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace
          AND has_function_privilege($1, p.oid, 'EXECUTE')
        """, [role])
      let open = Set(try rows.map { try $0.decode(0, as: String.self) })
      #expect(open == Set(Self.callable.filter { $0.value.contains(role) }.keys))
      try await connection.script("SET ROLE \(role)")
      let refused = await #expect(throws: PostgresError.self) {
        try await connection.execute("SELECT haul.end_leases(NULL, '[]')")
      }
      #expect(refused?.sqlState == .insufficientPrivilege)
    }
  }

  /// Whatever its caller's search path is: either it is pinned and runs as the owner, or names were looked up when it was
  /// made. What is given two numbers of a host that its caller sees anyway may be written out as text, which the planner
  /// puts into a claim's statements.
  @Test func `what roles call cannot be led to other functions and operators`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let rows = try await connection.query(
        """
        SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace
          AND EXISTS (SELECT FROM unnest($1::text[]) r(role) WHERE has_function_privilege(role, p.oid, 'EXECUTE'))
          AND NOT (p.prosqlbody IS NOT NULL AND NOT p.prosecdef)
          AND NOT (p.prosecdef AND 'search_path=pg_catalog, haul, pg_temp' = ANY (p.proconfig))
        ORDER BY 1
        """, [Self.roles])
      #expect(try rows.map { try $0.decode(0, as: String.self) } == ["next_start", "places"])
    }
  }

  @Test func `whatever runs as its owner has its search path pinned`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let rows = try await connection.query(
        """
        SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace AND p.prosecdef
          AND 'search_path=pg_catalog, haul, pg_temp' <> ALL (coalesce(p.proconfig, '{}'))
        """)
      #expect(try rows.map { try $0.decode(0, as: String.self) } == [])
    }
  }

  @Test func `all belongs to haul_admin, and PUBLIC has nothing`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      // Without a list of rights the default holds, which opens functions and types.
      let things = """
        SELECT 'schema' AS kind, n.nspname::text AS name, n.nspowner AS owner, coalesce(n.nspacl, acldefault('n', n.nspowner)) AS acl
        FROM pg_namespace n WHERE n.nspname = 'haul'
        UNION ALL
        SELECT 'relation', c.relname, c.relowner, coalesce(c.relacl, acldefault(CASE c.relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", c.relowner))
        FROM pg_class c WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind <> 'i' AND c.relkind <> 'I'
        UNION ALL
        SELECT 'column', a.attrelid::regclass || '.' || a.attname, c.relowner, a.attacl
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE c.relnamespace = 'haul'::regnamespace AND a.attacl IS NOT NULL
        UNION ALL
        SELECT 'function', p.proname, p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
        FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace
        UNION ALL
        SELECT 'type', t.typname, t.typowner, coalesce(t.typacl, acldefault('T', t.typowner))
        FROM pg_type t WHERE t.typnamespace = 'haul'::regnamespace AND t.typtype = 'e'
        """
      let counted = try await connection.query("SELECT count(*) FROM (\(things)) t")
      #expect(try counted[0].decode(0, as: Int.self) > 150)
      let strangers = try await connection.query(
        """
        SELECT t.kind || ' ' || t.name FROM (\(things)) t
        WHERE t.owner <> 'haul_admin'::regrole OR EXISTS (SELECT FROM aclexplode(t.acl) x WHERE x.grantee = 0)
        """)
      #expect(try strangers.map { try $0.decode(0, as: String.self) } == [])
    }
  }

  @Test func `every view is readable, and every view and column is explained`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let rows = try await connection.query(
        """
        SELECT c.relname, a.attname FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
        WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind = 'v'
          AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL
            OR NOT has_table_privilege('haul_monitor', c.oid, 'SELECT'))
        """)
      #expect(try rows.map { try $0.decode(1, as: String?.self) } == [])
      let views = try await connection.query(
        "SELECT relname FROM pg_class WHERE relnamespace = 'haul'::regnamespace AND relkind = 'v'")
      try await connection.script("SET ROLE haul_monitor")
      for view in views {
        let name = try view.decode(0, as: String.self)
        try await connection.execute("SELECT * FROM haul.\(name)")
      }
    }
  }
}
