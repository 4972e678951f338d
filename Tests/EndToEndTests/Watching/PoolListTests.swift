import JobQueue
import Postgres
import TestSupport
import Testing

/// What lists say, and what beside their rows.
@Suite struct PoolListTests {
  @Test func `a list that ends at its limit says so`() async throws {
    try await HaulPool.open { pool in
      for name in ["a", "b", "c"] {
        try await pool.command("submit", "http://\(name).test/x", "--batch", name)
      }
      try await pool.admin.execute(
        """
        INSERT INTO haul.outcome (job, state, finished_at, error, message)
        SELECT id, 'failed', clock_timestamp(), 'http_4xx', 'the server answered 404' FROM haul.job
        """)
      try await pool.admin.execute("DELETE FROM haul.ready")
      // Of queues there are two, of stores one, of workers none.
      for name in ["x", "y", "z"] { try await pool.command("host", "set", name, "--cap", "2") }
      try await pool.command("queue", "create", "third", "--store", "data")
      for _ in 1...2 {
        let another = try TemporaryDirectory()
        try await pool.initialise(another.path)
      }
      let worker = try pool.worker()
      try await worker.event("worker.started")
      try await pool.admin.execute(
        """
        INSERT INTO haul.worker OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(w, jsonb_build_object('id', w.id + n))).*
        FROM haul.worker w, generate_series(1, 2) n
        """)
      for list in [
        "jobs", "batches", "hosts", "failures", "queues", "host policies", "store list", "workers",
      ] {
        let words = list.split(separator: " ").map(String.init)
        let cut = try await pool.haul(words + ["--json", "--limit", "2"])
        #expect(cut.standardOutput.count == 2, "\(list)")
        #expect(
          cut.standardError == [
            "haul \(list): the list has more than the 2 rows shown. Use --limit to show more"
          ]
        )
        let whole = try await pool.haul(words + ["--json", "--limit", "3"])
        #expect(whole.standardOutput.count == 3, "\(list)")
        #expect(whole.standardError == [], "\(list)")
      }
      worker.signal(15)
      #expect(try await worker.exit() == .code(0))
    }
  }

  @Test func `a submission that is refused says why in the words of whoever refuses it`()
    async throws
  {
    try await HaulPool.open { pool in
      // Between the check of the lines and the first job: the path is taken, or something else is wrong.
      for (code, sentence) in [
        (
          "HA008",
          "another command submitted the same path just now: no. Nothing was submitted. Try again."
        ), ("HA004", "no."),
      ] {
        try await pool.admin.execute(
          """
          CREATE OR REPLACE FUNCTION haul.require_options(
            p_options jsonb, p_submission uuid DEFAULT NULL, p_last bigint DEFAULT NULL) RETURNS void
          LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '\(code)'; END $$
          """)
        let refused = try await pool.haul(["submit", "http://a.test/x"])
        #expect(refused.exit == .code(65))
        #expect(refused.standardError == ["haul submit: \(sentence)"])
      }
    }
  }

  @Test func `what is named is listed, and no more`() async throws {
    try await HaulPool.open { pool in
      for name in ["a", "b", "c"] {
        try await pool.command("submit", "http://\(name).test/x", "--batch", name)
        try await pool.command("host", "set", "\(name).test", "--cap", "2")
      }
      for list in [
        ["batches", "a", "c"], ["hosts", "a.test", "C.test:80"], ["queues", "data", "default"],
        ["host", "policies", "a.test", "c.test"],
      ] {
        #expect(try await pool.haul(list + ["--json"]).standardOutput.count == 2, "\(list)")
      }
      #expect(try await pool.command("store", "list", "data", "--json").count == 1)
      #expect(try await pool.command("hosts", "a.test", "--why", "blocked", "--json") == [])
      let worker = try pool.worker()
      try await worker.event("worker.started")
      worker.signal(15)
      #expect(try await worker.exit() == .code(0))
      let gone = try await pool.haul(["workers", "1", "--json"])
      #expect(gone.standardOutput.count == 1)
      #expect(gone.standardError == [])
      for (list, sentence) in [
        ("batches a d", "there is no batch \"d\"."),
        ("hosts d.test", "there is no host \"d.test\"."),
        ("queues dta", "there is no queue \"dta\". Did you mean 'data'?"),
        ("store list dta", "there is no store \"dta\". Did you mean 'data'?"),
        ("host policies d.test", "there is no policy for \"d.test\"."),
        ("workers 7", "there is no worker 7."),
      ] {
        let output = try await pool.haul(list.split(separator: " ").map(String.init))
        #expect(output.exit == .code(65), "\(list)")
        #expect(output.standardOutput == [], "\(list)")
        let told = try #require(output.standardError.first)
        #expect(told.contains(" in the pool \(pool.database.name) at "), "\(told)")
        #expect(told.withoutPool.contains(sentence), "\(list): \(told)")
      }
    }
  }

  @Test func `what waits to be tried again shows why, and when that is`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer { _, reply in
        try reply.head("HTTP/1.1 500 Internal Server Error\nContent-Length: 0")
      }
      try await pool.command("submit", "http://h/x", "--not-before", "1h")
      let job = try await pool.submit(origin.url("/a"), to: "a")
      let worker = try pool.worker()
      try await worker.event("job.retry")
      // It shall not be tried again while it is looked at.
      _ = try await pool.admin.query(
        "UPDATE haul.scheduled SET run_at = '2100-01-01 00:00:01+00' WHERE job = $1", [job])
      try await pool.wait(for: job, toBe: "scheduled")
      let table = try await pool.command("jobs", "--state", "scheduled")
      try #require(table.count == 5)
      #expect(table[1].contains("  -           "))
      #expect(table[2].hasPrefix("      not before 2"))
      #expect(table[3].contains("scheduled  "))
      #expect(table[3].contains("  (http_5xx)  "))
      #expect(table[4] == "      not before 2100-01-01 00:00:01")
      let json = try await pool.command("jobs", "--json", "--state", "scheduled")
      #expect(json[1].contains(#""error":null"#) && json[1].contains(#""last_error":"http_5xx""#))
      #expect(json[0].contains(#""last_error":null"#))
      worker.signal(15)
      #expect(try await worker.exit() == .code(0))
      try await pool.command("retry", "\(job)")
      _ = try await JobQueue(pool.admin).promote(limit: 1000)
      let queued = try await pool.command("jobs", "--state", "queued")
      #expect(queued.map { $0.contains("  (http_5xx)  ") } == [false, true])
    }
  }

  @Test func `of a batch that was cancelled no time is left`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "--batch", "first")
      #expect(try await pool.command("batches").last?.hasSuffix(" -") == true)
      try await pool.command("cancel", "--batch", "first")
      #expect(try await pool.command("batches").last?.hasSuffix(" cancelled") == true)
    }
  }

  @Test func `a batch is done where all its jobs have completed`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1).answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.command("submit", origin.url("/a"), "--batch", "first")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.command("batches").last?.hasSuffix(" done") == true)
      try await pool.command("submit", origin.url("/b"), origin.url("/c"), "--batch", "first")
      try await pool.command("cancel", "--batch", "first")
      #expect(try await pool.command("batches").last?.hasSuffix(" ended") == true)
    }
  }

  @Test
  func
    `a batch of which all jobs were there already is listed where it is asked for, and has ended`()
    async throws
  {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "--batch", "first")
      try await pool.command("submit", "http://h/a", "--batch", "second")
      let listed = try await pool.haul(["batches"])
      #expect(listed.standardOutput.map { $0.hasPrefix("first ") } == [false, true])
      #expect(
        listed.standardError == [
          "haul batches: 1 batch has no jobs. Use --all to list this batch too"
        ])
      for more in ["second", "--all"] {
        let output = try await pool.haul(["batches", more])
        let table = output.standardOutput
        #expect(output.standardError == [] && table.count == (more == "--all" ? 4 : 3), "\(table)")
        #expect(table[1].hasPrefix("second ") && table[1].hasSuffix(" -"))
        #expect(table[2].hasSuffix("no jobs of its own"))
      }
      let facts = try await pool.command("batch", "show", "second")
      #expect(facts.contains { $0.hasPrefix("NOTE ") && $0.hasSuffix("  no jobs of its own") })
      #expect(try await pool.command("batch", "show", "second", "--json").count == 1)
      let wait = try await pool.haul(["batch", "wait", "second"])
      #expect(wait.exit == .code(0))
      #expect(
        wait.standardOutput == [
          "no jobs of its own: its URLs may already have jobs in another batch"
        ])
    }
  }

  /// As before `haul migrate` with a newer program, and after it with an older one.
  @Test func `a view of another haul is told of with both ways out`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "--batch", "first")
      try await pool.admin.script("ALTER VIEW haul.batches RENAME COLUMN waiting_parts TO other")
      let output = try await pool.haul(["batches", "--json"])
      #expect(output.exit == .code(78))
      #expect(
        output.standardError == [
          "haul batches: this program does not understand an answer of the database, because the schema is from another Haul version. Run 'haul migrate', or use the Haul version that last migrated the database."
        ])
    }
  }

  @Test func `workers that live are listed, those that are gone are counted`() async throws {
    try await HaulPool.open { pool in
      let worker = try pool.worker()
      try await worker.event("worker.started")
      let alive = try await pool.haul(["workers", "--json"])
      #expect(alive.standardOutput.count == 1)
      #expect(alive.standardError == [])
      let drain = try await pool.command("drain", "1")
      let name: String = try await pool.value(
        "SELECT format('worker 1 (%s, pid %s)', machine, pid) FROM haul.workers")
      #expect(drain == ["\(name) is draining"])
      #expect(try await worker.exit() == .code(0))
      let gone = try await pool.haul(["workers", "--json"])
      #expect(gone.exit == .code(0))
      #expect(gone.standardOutput == [])
      #expect(
        gone.standardError == [
          "haul workers: 1 worker stopped gracefully. Use --all to list stopped and dead workers too"
        ])
      let all = try await pool.haul(["workers", "--json", "--all"])
      #expect(all.standardOutput.count == 1)
      #expect(all.standardError == [])
      let again = try await pool.haul(["drain", "1"])
      #expect(
        again.standardError == ["haul drain: \(name) is not running: see 'haul workers --all'."])
      let next = try pool.worker()
      try await next.event("worker.started")
      // Those that run drain; the others are named.
      let several = try await pool.haul(["drain", "1", "2", "3", "--json"])
      #expect(several.exit == .code(65))
      #expect(several.standardOutput.first?.hasPrefix(#"{"worker":2,"#) == true)
      #expect(
        several.standardError == [
          "haul drain: there is no worker 3; \(name) is not running: see 'haul workers --all'."
        ])
      #expect(try await next.exit() == .code(0))
    }
  }

  @Test func `times are in UTC whatever the server's zone`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a")
      try await pool.admin.script(
        "ALTER DATABASE \"\(pool.database.name)\" SET TimeZone = 'Asia/Tokyo'")
      let job = try await pool.command("job", "1")
      let shown = try #require(job.first { $0.hasPrefix("SUBMITTED") })
      #expect(shown.wholeMatch(of: /SUBMITTED +[0-9-]{10} [0-9:]{8}/) != nil, "\(shown)")
      let json = try await pool.command("job", "1", "--json")
      #expect(json.first?.contains(/"submitted_at":"[0-9-]{10}T[0-9:.]+\+00:00"/) == true)
    }
  }

  @Test func `every list has the columns of its view for programs`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h/a", "--batch", "x")
      try await pool.command("host", "set", "h", "--cap", "2")
      try await pool.admin.execute(
        """
        INSERT INTO haul.outcome (job, state, finished_at, error, message)
        SELECT id, 'failed', clock_timestamp(), 'http_4xx', 'the server answered 404' FROM haul.job
        """)
      let worker = try pool.worker()
      try await worker.event("worker.started")
      let lists = [
        ("failures", "failures"), ("workers", "workers"), ("history", "operations"),
        ("jobs", "jobs"), ("job 1", "jobs"), ("queues", "queues"), ("hosts", "hosts"),
        ("store list", "stores"), ("host policies", "policies"),
        ("batches", "batches"), ("batch show x", "batches"),
      ]
      for (line, view) in lists {
        let output = try await pool.haul(
          line.split(separator: " ").map(String.init) + ["--json"])
        let object = try #require(output.standardOutput.first)
        let columns = try await pool.admin.query("SELECT * FROM haul.\(view) LIMIT 0").columns
        for column in columns { #expect(object.contains("\"\(column)\":"), "\(line): \(column)") }
      }
      worker.signal(15)
      #expect(try await worker.exit() == .code(0))
    }
  }
}
