import JobQueue
import Postgres
import TestSupport
import Testing

/// What a login that is a member of one role only tries in vain.
struct RoleTests {
  /// Nobody may: no privilege, or a view that nothing can be written to.
  private static let refusals = ["42501", "55000"]

  /// How a statement ends: nil where it succeeds.
  private func refusal(_ statement: String, _ connection: Connection) async throws -> String? {
    do {
      _ = try await connection.query(statement)
      return nil
    } catch let error as PostgresError {
      return try #require(error.sqlState, "\(error)").rawValue
    }
  }

  @Test(arguments: GrantTests.roles)
  func `no relation can be touched, but views read and lines staged`(role: String) async throws {
    try await withTestDatabase { database in
      try await database.withLogin(role) { login in
        let connection = try await login.connect()
        let relations = try await connection.query(
          """
          SELECT c.relname, c.relkind::text, (
            SELECT a.attname FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
            ORDER BY a.attidentity, a.attnum DESC LIMIT 1)
          FROM pg_class c WHERE c.relnamespace = 'haul'::regnamespace AND c.relkind IN ('r', 'p', 'S', 'v', 'm', 'f')
          """)
        #expect(relations.count > 40)
        for row in relations {
          let name: String = try row.decode(0)
          let kind: String = try row.decode(1)
          let column: String = try row.decode(2)
          var tries = ["SELECT * FROM haul.\(name)"]
          if kind == "S" {
            tries += ["SELECT nextval('haul.\(name)')", "SELECT setval('haul.\(name)', 1)"]
          } else {
            tries += [
              "INSERT INTO haul.\(name) DEFAULT VALUES",
              "UPDATE haul.\(name) SET \"\(column)\" = \"\(column)\"", "DELETE FROM haul.\(name)",
              "TRUNCATE haul.\(name)", "ALTER TABLE haul.\(name) ADD COLUMN x integer",
              "DROP TABLE haul.\(name)",
              "CREATE TRIGGER x AFTER INSERT ON haul.\(name) EXECUTE FUNCTION pg_catalog.suppress_redundant_updates_trigger()",
            ]
          }
          for (index, statement) in tries.enumerated() {
            let refused = try await refusal(statement, connection)
            // That of some columns is below.
            if name == "staging" && index == 1 && role == "haul_submitter" { continue }
            if kind == "v" && index == 0 {
              #expect(refused == nil, "\(statement)")
            } else {
              // A view is no table, and not all its columns are some table's.
              #expect(
                refused.map {
                  (Self.refusals + (kind == "v" ? ["42809", "0A000"] : [])).contains($0)
                }
                  == true,
                "\(statement): \(refused ?? "done")")
            }
          }
        }
        let line =
          "INSERT INTO haul.staging (submission, line, url, host, path) VALUES (gen_random_uuid(), 1, '', '', '')"
        #expect(
          try await refusal(line, connection) == (role == "haul_submitter" ? nil : "42501"))
        for statement in [
          line + " RETURNING line", "INSERT INTO haul.staging (job) VALUES (1)",
          "CREATE TABLE haul.mine ()", "CREATE FUNCTION haul.mine() RETURNS integer RETURN 1",
          "SET ROLE haul_admin", "GRANT haul_admin TO CURRENT_USER", "DROP SCHEMA haul CASCADE",
        ] {
          #expect(try await refusal(statement, connection) == "42501", "\(statement)")
        }
      }
    }
  }

  @Test(arguments: GrantTests.roles + ["stranger"])
  func `no function can be called that is not granted`(role: String) async throws {
    try await withTestDatabase { database in
      try await database.withLogin(role == "stranger" ? nil : role) { login in
        let connection = try await login.connect()
        let functions = try await database.connect().query(
          """
          SELECT p.proname, format('SELECT haul.%I(%s)', p.proname, (
            SELECT string_agg(format('(SELECT NULL::%s)', format_type(t.type, NULL)), ', ' ORDER BY t.place)
            FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t(type, place)))
          FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace
          """)
        #expect(functions.count > 80)
        for row in functions {
          let name: String = try row.decode(0)
          if GrantTests.callable[name]?.contains(role) == true { continue }
          let call: String = try row.decode(1)
          #expect(try await refusal(call, connection) == "42501", "\(call)")
        }
      }
    }
  }

  @Test func `a worker cannot speak for another`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let owner = try await pool.worker()
      let lease = try await owner.claimOne()
      try await pool.database.withLogin("haul_worker") { login in
        let connection = try await login.connect()
        let queue = JobQueue(connection)
        let registration = try await queue.register(
          program: "test", machine: "machine", pid: 1, concurrency: 1,
          stores: [JobQueue.StoreMarker(store: Pool.name, marker: pool.marker)])
        let other = JobQueue.Caller(registration)
        // Every function that wants a secret, found in the catalogue, with another worker's.
        let calls: [String] = try await pool.column(
          """
          SELECT format('SELECT haul.%I(%s)', p.proname, (
            SELECT string_agg(CASE t.place WHEN 1 THEN '$1::bigint' WHEN 2 THEN '$2::text'
              ELSE CASE format_type(t.type, NULL) WHEN 'bigint' THEN '9' WHEN 'integer' THEN '9' WHEN 'jsonb' THEN '''[]'''
                WHEN 'text' THEN '''x''' ELSE 'NULL' END || '::' || format_type(t.type, NULL) END, ', ' ORDER BY t.place)
            FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t(type, place)))
          FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace AND p.proargnames[2] = 'p_secret'
            AND has_function_privilege('haul_worker', p.oid, 'EXECUTE')
          """)
        #expect(calls.count >= 7)
        for call in calls {
          for secret in [registration.secret, "", "x"] {
            let refused = await #expect(throws: PostgresError.self, "\(call)") {
              try await connection.query(call, [owner.caller.worker, secret])
            }
            #expect(
              refused?.sqlState?.rawValue == "HA001", "\(call): \(String(describing: refused))")
          }
        }
        // Its own secret, and the other's token, forged or right.
        for token in [lease.token, lease.token + 1, 0, -1, .max] {
          let ending = LeaseEnding(job: lease.job, token: token, result: .completed)
          let reply = try await queue.work(
            other, number: token == lease.token ? 1 : 2, endings: [ending], queues: nil, room: 0)
          #expect(reply.settled == [])
          let point = CheckpointRow(
            job: lease.job, token: token, instance: pool.instance, durable: "{[0,9)}", length: 9,
            resume: "{}")
          #expect(try await queue.checkpoint(other, [point]) == [])
          _ = try await queue.heartbeat(
            other, seen: 0,
            holding: [Progress(job: lease.job, token: token, bytes: 77, total: nil, rate: 1)])
        }
        await connection.close()
      }
      #expect(try await pool.state(lease.job) == "running")
      #expect(try await pool.value("SELECT bytes FROM haul.running", as: Int.self) == 0)
      #expect(try await owner.end(lease, .completed) == "completed")
    }
  }

  /// A role that is given something by hand, or by a version that granted more, has it no longer after an upgrade.
  @Test func `what was granted besides goes with an upgrade`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        GRANT EXECUTE ON FUNCTION haul.end_leases(bigint, jsonb) TO haul_worker, PUBLIC;
        UPDATE haul.repeatable SET digest = 'older';
        """)
      _ = try await Migrator.migrate(connection)
      let may = try await connection.query(
        "SELECT has_function_privilege('haul_worker', 'haul.end_leases(bigint, jsonb)', 'EXECUTE')")
      #expect(try may[0].decode(0) == false)
    }
  }
}
