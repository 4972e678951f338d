import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Text that would do harm if any function took it for SQL, a format or a pattern.
struct HostileInputTests {
  static let texts = [
    "'; DROP TABLE haul.lease; --", "\"; DROP SCHEMA haul CASCADE; --",
    #"\'; DROP TABLE haul.lease; --"#,
    "$$; DROP TABLE haul.lease; $$", "' OR '1'='1",
    "'||(SELECT string_agg(secret_digest::text, '') FROM haul.worker)||'",
    "%s %I %L %1$s %n %", #"\"#, "'", "\"", "{}", "{\"", "NULL", "", " ", "\n\r\t\u{1}", "*", ".*",
    "(", "[", "é\u{202e}",
    String(repeating: "x'\"\\", count: 50_000),
  ]

  /// Refused input, never a statement that went wrong: data exceptions, broken constraints, Haul's own, and numbers and
  /// texts that are too large.
  private static let mayEnd = ["22", "23", "HA", "54"]

  /// A fingerprint of all that the schema is made of, and of who may do what.
  private func schema(_ connection: Connection) async throws -> String {
    try await connection.query(
      """
      SELECT md5(string_agg(t.x, ' ' ORDER BY t.x)) FROM (
        SELECT format('%s %s %s', c.relname, c.relkind, c.relacl) AS x FROM pg_class c WHERE c.relnamespace = 'haul'::regnamespace
        UNION ALL SELECT format('%s %s %s', a.attrelid::regclass, a.attname, a.atttypid::regtype) FROM pg_attribute a
          JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = 'haul'::regnamespace
        UNION ALL SELECT format('%s %s %s %s', p.proname, p.prosrc, p.proconfig, p.proacl) FROM pg_proc p WHERE p.pronamespace = 'haul'::regnamespace
        UNION ALL SELECT format('%s %s', r.rolname, r.rolsuper) FROM pg_roles r WHERE r.rolname = ANY ($1)) t
      """, [PoolRole.allCases.map { $0.name(RolePrefix.usual) }])[0].decode(0)
  }

  /// The hostile values of a parameter; none where its type takes no text. A JSON value has each text in a third of the
  /// places, by `turn` each time in others; in all of them in a long run.
  private func hostile(
    _ parameter: GrantedFunction.Parameter, _ lease: Lease, turn: Int
  ) throws -> [String] {
    let parts = isLongRun ? 1 : 3
    switch parameter.type {
    case "text": return Self.texts
    case "text[]": return Self.texts.map { [$0].postgresText }
    case "jsonb":
      return try Self.texts.enumerated().flatMap { place, text in
        let quoted = try String(decoding: JSONEncoder().encode(text), as: UTF8.self)
        let keys = ["batch", "queue", "host", "state", "error"]
        let all =
          keys.map { "{\"\($0)\": \(quoted)}" } + [
            "{\"ids\": [\(quoted)]}", quoted, "{\(quoted): 1}", "[{\(quoted): 1}]",
            "[{\"job\": \(lease.job), \"token\": \(lease.token), \"result\": \(quoted)}]",
            "[{\"job\": \(lease.job), \"token\": \(lease.token), \"resume\": \(quoted), \"durable\": \(quoted), \"instance\": 1}]",
            "[{\"job\": \(quoted), \"token\": \(quoted), \"bytes\": \(quoted), \"store\": \(quoted), \"marker\": \(quoted)}]",
          ]
        return all.enumerated().filter { ($0.offset + place + turn) % parts == 0 }.map(\.element)
      } + [#"{"batch": "a\u0000b"}"#]
    default: return []
    }
  }

  @Test(arguments: GrantTests.roles)
  func `text in any parameter of any function is only text`(role: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "batch")
      let before = try await schema(pool.admin)
      try await pool.database.withLogin(role) { login in
        let connection = try await login.connect()
        let registration = try await pool.jobs.register(
          program: "test", machine: "machine", pid: 1, concurrency: 9,
          stores: [JobQueue.StoreMarker(store: Pool.name, marker: pool.marker)])
        let worker = TestWorker(
          caller: JobQueue.Caller(registration), work: pool.admin, life: pool.patient)
        let lease = try await worker.claimOne()
        var known = [
          "p_worker": "\(registration.worker)", "p_secret": registration.secret,
          "p_call": "1000000",
          "p_queues": "{data}", "p_version": "12", "p_on_duplicate": "skip", "p_free_slots": "0",
          "p_ids_ahead": "0",
          "p_options": "{}",
        ]
        if role == "haul_submitter" {
          known["p_submission"] = try await connection.stage(
            [Pool.line(1, "https://a.test/x", "a.test/x")], queue: Pool.name)
        }
        var calls = 0
        for (place, function) in try await GrantedFunction.all(of: role, pool.admin).enumerated() {
          for (index, parameter) in function.parameters.enumerated() {
            for value in try hostile(parameter, lease, turn: place + index) {
              var values = function.parameters.map { $0.ordinary(known) }
              values[index] = value
              // Ids and calls only grow.
              known["p_call"] = "\(1_000_000 + calls)"
              calls += 1
              do {
                _ = try await connection.query(function.call, values)
              } catch let error as PostgresError {
                let state = error.sqlState?.rawValue ?? "\(error)"
                #expect(
                  Self.mayEnd.contains { state.hasPrefix($0) },
                  "\(function.name) \(parameter.name) \(value.prefix(60)): \(error)")
              }
            }
          }
        }
        // A monitor has but the names and selectors that lists are asked by.
        #expect(calls > (role == "haul_monitor" ? 100 : 300))
        await connection.close()
      }
      #expect(try await schema(pool.admin) == before)
    }
  }

  /// What is stored comes out as it went in.
  @Test func `hostile names, paths and messages are kept as they are`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      for (index, text) in Self.texts.enumerated() where (1...200).contains(text.utf8.count) {
        let line = SubmitLine(
          line: 1, url: "https://a.test/\(index)?q=\(text)", host: "a.test",
          path: "\(index)/\(text)")
        _ = try await pool.jobs.submit(Submission(queue: Pool.name, batch: text), [line])
        let lease = try await worker.claimOne()
        #expect(lease.path == line.path && lease.url == line.url)
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: .failed)
        ending.error = ErrorClass(rawValue: text)
        ending.message = text
        try await worker.call([ending])
        let row = try await pool.admin.query(
          "SELECT batch, path, error, message FROM haul.jobs WHERE job = $1", [lease.job])[0]
        for column in 0...3 {
          #expect(try row.decode(column, as: String.self) == (column == 1 ? line.path : text))
        }
      }
    }
  }

  /// What is misspelt, or is no selector, used to mean all jobs of the pool.
  @Test(arguments: ["NULL", "'[]'", "'\"batch\"'", "'1'", "'null'", "'{}'", #"'{"bacth": "b"}'"#])
  func `what is no selector selects nothing`(selector: String) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, batch: "b")[0]
      try await pool.database.withLogin("haul_submitter") { login in
        let connection = try await login.connect()
        for call in ["cancel", "pause", "resume", "retry"].map({ "\($0)(\(selector))" })
          + ["prioritize(\(selector), 1::smallint)", "check_selector(\(selector))"]
        {
          let refused = await #expect(throws: PostgresError.self, "\(call)") {
            try await connection.query("SELECT haul.\(call)")
          }
          #expect(refused?.sqlState?.rawValue == "HA004", "\(call)")
        }
        await connection.close()
      }
      #expect(try await pool.state(job) == "queued")
    }
  }
}
