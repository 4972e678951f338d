import JobQueue
import Postgres
import TestSupport
import Testing

/// Objects that a login puts in the way of PostgreSQL's own, and what it would see by them.
struct ShadowTests {
  /// Stands in front of what the views and functions use: each hands on what it is given, and says who called it.
  private static let traps = """
    CREATE TABLE trap.seen (who text, what text);
    GRANT ALL ON SCHEMA trap TO PUBLIC;
    GRANT ALL ON trap.seen TO PUBLIC;
    CREATE FUNCTION trap.keep(what text) RETURNS text LANGUAGE plpgsql AS $$
      BEGIN INSERT INTO trap.seen VALUES (current_user, what); RETURN what; END $$;
    CREATE FUNCTION trap.regexp_replace(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT trap.keep($1)';
    CREATE FUNCTION trap.regexp_replace(text, text, text, text) RETURNS text LANGUAGE sql AS 'SELECT trap.keep($1)';
    CREATE FUNCTION trap.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$ SELECT trap.keep('sha256')::bytea $$;
    CREATE FUNCTION trap.convert_to(text, name) RETURNS bytea LANGUAGE sql AS $$ SELECT trap.keep($1)::bytea $$;
    CREATE FUNCTION trap.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT now() FROM trap.keep('clock') $$;
    CREATE FUNCTION trap.same(bytea, bytea) RETURNS boolean LANGUAGE sql AS $$ SELECT trap.keep('bytea') IS NOT NULL $$;
    CREATE OPERATOR trap.= (LEFTARG = bytea, RIGHTARG = bytea, FUNCTION = trap.same);
    CREATE FUNCTION trap.same(bigint, bigint) RETURNS boolean LANGUAGE sql AS $$ SELECT trap.keep('bigint') IS NOT NULL $$;
    CREATE OPERATOR trap.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = trap.same);
    CREATE FUNCTION trap.same(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT trap.keep($1 || $2) IS NOT NULL $$;
    CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.same);
    """

  /// Puts the traps first, and tables of the same names before those of the schema.
  private func lay(_ connection: Connection, _ admin: Connection, for login: TestLogin) async throws
  {
    try await admin.script("CREATE SCHEMA trap AUTHORIZATION \"\(login.name)\"")
    try await connection.script(Self.traps)
    try await connection.script(
      """
      CREATE TEMP TABLE worker (id bigint, secret_digest bytea);
      CREATE TEMP TABLE job (id bigint);
      CREATE TEMP TABLE lease (job bigint, token bigint, worker bigint);
      SET search_path = trap, pg_temp, pg_catalog, haul;
      """)
  }

  @Test(arguments: GrantTests.roles)
  func `views show no URL whole, whatever stands in front`(role: String) async throws {
    try await Pool.open { pool in
      let secret = "s3cr3t"
      let url = "https://user:\(secret)@a.test/x?X-Amz-Signature=\(secret)&token=\(secret)&a=b"
      _ = try await pool.jobs.submit(
        Submission(queue: Pool.name), [Pool.line(1, url, "a.test/x")])
      let names: [String] = try await pool.column(
        "SELECT relname FROM pg_class WHERE relnamespace = 'haul'::regnamespace AND relkind = 'v'")
      #expect(names.count >= 14)
      try await pool.database.withLogin(role) { login in
        let connection = try await login.connect()
        try await lay(connection, pool.admin, for: login)
        for name in names {
          for row in try await connection.query("SELECT v::text FROM haul.\(name) v") {
            let text: String = try row.decode(0)
            #expect(!text.contains(secret), "\(name): \(text)")
          }
        }
        let seen = try await connection.query(
          "SELECT url, pg_catalog.starts_with(url, 'https://a.test/x?X-Amz-Signature=…') FROM haul.jobs"
        )
        #expect(try seen[0].decode(1) == true)
        let kept = try await pool.admin.query("SELECT what FROM trap.seen")
        #expect(try kept.filter { try $0.decode(0, as: String.self).contains(secret) }.isEmpty)
        await connection.close()
      }
    }
  }

  @Test func `a secret is compared as it is, and nothing of a caller's runs as the owner`()
    async throws
  {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await pool.submit(1)
      try await pool.database.withLogin("haul_worker") { login in
        let connection = try await login.connect()
        try await lay(connection, pool.admin, for: login)
        for call in [
          "haul.heartbeat($1, 'wrong', 0, '[]')", "haul.stop_worker($1, 'wrong')",
          "haul.work($1, 'wrong', 1, '[]', NULL, 1)",
        ] {
          let refused = await #expect(throws: PostgresError.self) {
            try await connection.query("SELECT \(call)", [worker.caller.worker])
          }
          #expect(refused?.sqlState?.rawValue == "HA001")
        }
        let registered = try await connection.query(
          """
          SELECT r ->> 'worker', r ->> 'secret' FROM haul.register(haul.schema_version(), 'x', 'x', 1, 1,
            pg_catalog.jsonb_build_array(pg_catalog.jsonb_build_object('store', 'data', 'marker', $1::text))) r
          """, [pool.marker])
        let reply = try await connection.query(
          "SELECT pg_catalog.jsonb_array_length(haul.work($1::bigint, $2, 1, '[]', NULL, 1) -> 'claimed')",
          [
            try registered[0].decode(0, as: String.self),
            try registered[0].decode(1, as: String.self),
          ])
        #expect(try reply[0].decode(0) == 1)
        let owners = try await pool.admin.query(
          "SELECT DISTINCT who FROM trap.seen WHERE who <> $1", [login.name])
        #expect(try owners.map { try $0.decode(0, as: String.self) } == [])
        // Still open: what is claimed by a login that is dropped now.
        try await pool.execute(
          "UPDATE haul.worker SET expires_at = '-infinity', heartbeat_at = '-infinity'")
        await connection.close()
      }
    }
  }

  /// An upgrade looks names up too: what somebody has put into `public` for it is passed over.
  @Test func `views and functions hold on to nothing outside`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      try await connection.script(
        """
        CREATE FUNCTION public.same(haul.job_state, haul.job_state) RETURNS boolean LANGUAGE sql AS 'SELECT true';
        CREATE OPERATOR public.= (LEFTARG = haul.job_state, RIGHTARG = haul.job_state, FUNCTION = public.same);
        CREATE FUNCTION public.regexp_replace(text, varchar, varchar) RETURNS text LANGUAGE sql AS 'SELECT $1';
        UPDATE haul.repeatable SET digest = 'older';
        """)
      _ = try await Migrator.migrate(connection)
      let strays = try await connection.query(
        """
        SELECT pg_describe_object(d.classid, d.objid, d.objsubid) || ': ' || pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid)
        FROM pg_depend d
        LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
        LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
        WHERE coalesce(p.pronamespace, o.oprnamespace) = 'public'::regnamespace
          AND d.classid IN ('pg_rewrite'::regclass, 'pg_proc'::regclass)
        """)
      #expect(try strays.map { try $0.decode(0, as: String.self) } == [])
    }
  }
}
