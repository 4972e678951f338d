import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Options of jobs: whoever may submit may not bring in what would stop the workers that read it.
struct JobOptionTests {
  @Test(
    arguments: [
      ("{}", nil), (#"{"max_attempts": 3, "headers": ["A: b"], "remote_time": true}"#, nil),
      (#"{"digest": null, "mine": "x", "length": 9007199254740993}"#, nil),
      (#"{"max_attempts": "3"}"#, "max_attempts"), (#"{"max_attempts": 1.0}"#, "max_attempts"),
      (#"{"max_rescues": 1.5}"#, "max_rescues"),
      (#"{"max_host_wait": 1e300}"#, "max_host_wait"), (#"{"length": -1}"#, "length"),
      (#"{"headers": "A: b"}"#, "headers"), (#"{"headers": [1]}"#, "headers"),
      (#"{"credential": 7}"#, "credential"), (#"{"expect_type": true}"#, "expect_type"),
      (#"{"record_digest": "yes"}"#, "record_digest"),
      (#"{"mirrors": ["https://b.test/1"]}"#, nil), (#"{"mirrors": []}"#, "mirrors"),
      (#"{"mirrors": "https://b.test/1"}"#, "mirrors"), (#"{"mirrors": [7]}"#, "mirrors"),
      (#"{"mirrors": ["https://b.test/1", "b.test"]}"#, "mirrors"),
      (#"{"mine": {}}"#, "mine"), ("[]", "options"), ("7", "options"),
    ] as [(String, String?)])
  func `an option that no worker could read is found`(options: String, wrong: String?) async throws
  {
    try await Pool.open { pool in
      let found: String = try await pool.value(
        "SELECT coalesce(haul.wrong_option($1::jsonb), '')", [options])
      #expect(found == wrong ?? "")
    }
  }

  @Test(arguments: [
    "SELECT haul.submit(s.id, 'main', NULL, 5::smallint, $1, NULL, 'skip', false, 10) FROM haul.submission s",
    "SELECT haul.replace(s.id, 'main', NULL, 5::smallint, $1, NULL, 10) FROM haul.submission s",
    "SELECT haul.set_queue('main', jsonb_build_object('defaults', $1::jsonb))",
  ])
  func `it is refused, of all lines and of one`(call: String) async throws {
    try await Pool.open { pool in
      let call = call.replacing("'main'", with: "'\(Pool.name)'")
      let wrong = #"{"max_rescues": "x"}"#
      try await pool.execute("SELECT haul.begin_submission('\(Pool.name)')")
      try await pool.execute(
        """
        INSERT INTO haul.staging (submission, line, url, host, path, options)
        SELECT s.id, 7, 'http://a.test/1', 'a.test', 'a.test/1', CASE WHEN $1 THEN $2::jsonb END FROM haul.submission s
        """, [false, wrong])
      try await refused(
        pool, call.replacing("$1", with: "'\(wrong)'"), #"the option "max_rescues""#)
      if call.contains("set_queue") { return }
      try await pool.execute("UPDATE haul.staging SET options = $1::jsonb", [wrong])
      try await refused(
        pool, call.replacing("$1", with: "'{}'"), #"line 7: the option "max_rescues""#)
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
    }
  }

  /// PostgreSQL compresses a long value of a row: three million bytes take 35 thousand.
  @Test func `options are measured whole, however well they compress`() async throws {
    try await Pool.open { pool in
      let key: String = try await pool.value("SELECT haul.begin_submission('\(Pool.name)')::text")
      // Several short ones first: later calls of a function in a session may have another plan.
      try await pool.execute(
        """
        INSERT INTO haul.staging (submission, line, url, host, path, options)
        SELECT $1::uuid, n, 'http://a.test/' || n, 'a.test', 'a.test/' || n,
          jsonb_build_object('headers', ARRAY['A: ' || repeat('b', CASE WHEN n = 20 THEN 3000000 ELSE 1 END)])
        FROM generate_series(1, 20) n
        """, [key])
      try await refused(
        pool,
        "SELECT haul.submit('\(key)', '\(Pool.name)', NULL, 5::smallint, '{}', NULL, 'skip', false, 100)",
        #"line 20: the option "options""#)
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
    }
  }

  /// Each part of the options is as long as it may be.
  @Test(arguments: [
    "jsonb_build_object('mirrors', (SELECT jsonb_agg('https://b.test/' || n || repeat('b', 7900)) FROM generate_series(1, 16) n))",
    "jsonb_build_object('mine', repeat('b', 60000))",
  ])
  func `a job whose options were accepted is handed out and completes`(options: String) async throws
  {
    try await Pool.open { pool in
      try await pool.execute(
        """
        SELECT haul.set_queue('\(Pool.name)', jsonb_build_object('defaults',
          jsonb_build_object('headers', ARRAY['A: ' || repeat('b', 60000)])))
        """)
      let key: String = try await pool.value("SELECT haul.begin_submission('\(Pool.name)')::text")
      try await pool.execute(
        """
        INSERT INTO haul.staging (submission, line, url, host, path, options)
        SELECT $1::uuid, 1, 'http://a.test/1', 'a.test', 'a.test/1', \(options)
        """, [key])
      try await pool.admin.submit(key, Pool.name)
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .completed) == .completed)
    }
  }

  /// Earlier versions measured no options.
  @Test func `a job whose options would be too long today keeps its progress`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      try await pool.execute(
        "UPDATE haul.job SET options = jsonb_build_object('headers', ARRAY['A: ' || repeat('b', 70000)])"
      )
      let again = try await worker.claimOne()
      #expect(again.job == job && again.resume != nil)
      #expect(try await worker.end(again, .completed) == .completed)
    }
  }

  @Test func `mirrors are for a line, not for all`() async throws {
    try await Pool.open { pool in
      let key: String = try await pool.value("SELECT haul.begin_submission('\(Pool.name)')::text")
      try await refused(
        pool,
        "SELECT haul.submit('\(key)', '\(Pool.name)', NULL, 5::smallint, '{\"mirrors\": [\"http://b.test/\"]}', NULL, 'skip', false, 10)",
        "mirrors belong to one file")
    }
  }

  private func refused(_ pool: Pool, _ call: String, _ start: String) async throws {
    let refusal = await #expect(throws: PostgresError.self) { try await pool.execute(call) }
    #expect(refusal?.sqlState?.rawValue == "HA004")
    #expect(refusal.map { "\($0)".contains(start) } == true, "\(String(describing: refusal))")
  }
}
