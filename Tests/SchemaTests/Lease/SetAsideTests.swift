import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// Jobs whose data raise errors in the database: the others go on.
struct SetAsideTests {
  /// From now on a row of `table` about `job` raises an error of this SQLSTATE.
  private func poison(
    _ pool: Pool, _ job: Int64, in table: String, _ sqlState: String = "22003"
  ) async throws {
    try await pool.execute(
      """
      CREATE FUNCTION public.poison() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'poison' USING ERRCODE = '\(sqlState)'; END $$
      """)
    try await pool.execute(
      """
      CREATE TRIGGER poison BEFORE INSERT ON haul.\(table) FOR EACH ROW
        WHEN (NEW.job = \(job) AND to_jsonb(NEW) ->> 'error' IS DISTINCT FROM 'internal')
        EXECUTE FUNCTION public.poison()
      """)
  }

  private func result(_ pool: Pool, _ job: Int64) async throws -> [String?] {
    let row = try await pool.admin.query(
      "SELECT state, error, message FROM haul.jobs WHERE job = $1", [job])[0]
    return try (0...2).map { try row.decode($0, as: String?.self) }
  }

  @Test(arguments: ["22003", "22P02", "23514", "23505", "54000"])
  func `a settlement that raises costs its own job alone`(sqlState: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      let worker = try await pool.worker()
      let leases = try await worker.claim(4)
      try await worker.checkpoint(leases[1], instance: pool.instance)
      try await poison(pool, leases[1].job, in: "attempt", sqlState)
      var endings = leases.map {
        LeaseEnding(job: $0.job, token: $0.token, result: .completed)
      }
      endings[3].result = .released
      let reply = try await worker.call(endings)
      #expect(reply.settled.map(\.job).sorted() == leases.map(\.job))
      #expect(reply.settled.first { $0.job == leases[1].job }?.cause == .internal)
      #expect(try await pool.states() == ["completed": 2, "failed": 1, "queued": 1])
      #expect(
        try await result(pool, leases[1].job)
          == [
            "failed", "internal",
            "the database cannot record the end of this job: poison (\(sqlState))",
          ])
      #expect(
        try await pool.value(
          "SELECT alarming FROM haul.vitals WHERE vital = 'set_aside' AND value = 1"))
      // The next call settles as ever.
      #expect(try await worker.claim(9).count == 1)
    }
  }

  @Test func `a dead worker's other jobs are rescued`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3)
      let worker = try await pool.worker()
      let leases = try await worker.claim(3)
      try await poison(pool, leases[0].job, in: "attempt")
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      let rescued = try await pool.jobs.rescue().rescued
      #expect(rescued.count == 3)
      #expect(try await pool.states() == ["failed": 1, "queued": 2])
    }
  }

  /// The options that earlier versions let in.
  @Test(arguments: [
    #"{"max_attempts": 1.0}"#, #"{"max_host_wait": 1e300}"#, #"{"mirrors": [7, null]}"#, "7",
    #"{"headers": {"a": [1]}}"#,
  ])
  func `a job with options that nobody can read is listed like the others`(options: String)
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      try await pool.execute(
        "UPDATE haul.job SET options = $1::jsonb WHERE id = $2", [options, jobs[0]])
      let rows = try await pool.jobs.jobs(JobSelector(), limit: 10)
      #expect(rows.map(\.job).sorted() == jobs)
      try await pool.execute("UPDATE haul.job SET options = '{}'")
    }
  }

  /// It is no job's fault.
  @Test(arguments: ["53100", "40P01", "57014", "25006", "58030"])
  func `a full disk, a deadlock or a time-out is raised, and nothing is lost`(sqlState: String)
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      try await poison(pool, leases[0].job, in: "attempt", sqlState)
      let endings = leases.map { LeaseEnding(job: $0.job, token: $0.token, result: .completed) }
      let error = await #expect(throws: PostgresError.self) { try await worker.call(endings) }
      #expect(error?.sqlState?.rawValue == sqlState)
      #expect(try await pool.states() == ["running": 2])
      try await pool.execute("DROP TRIGGER poison ON haul.attempt")
      #expect(try await worker.repeatCall(endings).settled.count == 2)
    }
  }

  @Test func `a scheduled job that cannot be queued leaves the others their turn`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3, after: .milliseconds(1))
      try await poison(pool, jobs[1], in: "ready")
      #expect(try await pool.jobs.promote(limit: 100).due == 2)
      #expect(try await pool.states() == ["failed": 1, "queued": 2])
      #expect(
        try await result(pool, jobs[1])
          == ["failed", "internal", "the database cannot queue this job: poison (22003)"])
      #expect(try await pool.jobs.promote(limit: 100).due == 0)
    }
  }

  /// As an earlier version took them.
  @Test(arguments: [
    #"{"max_attempts": 1.0}"#, #"{"max_rescues": 1.0}"#, #"{"max_attempts": "x"}"#,
    #"{"max_host_wait": 1e300}"#, #"{"max_rescues": 1e300}"#, "7", #"{"mirrors": 7}"#,
    #"{"mirrors": [7, null]}"#, #"{"max_host_wait": {}}"#,
  ])
  func `options that nothing can read stop neither rescue nor settlement`(options: String)
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(4)
      let dead = try await pool.worker()
      let held = try await dead.claim(2)
      try await pool.execute(
        "UPDATE haul.job SET options = $1::jsonb WHERE id = $2", [options, jobs[0]])
      try await pool.endGrace()
      try await pool.silence(dead, for: 60)
      #expect(try await pool.jobs.rescue().rescued.map(\.job) == held.map(\.job))
      let worker = try await pool.worker()
      let leases = try await worker.claim(4)
      #expect(leases.map(\.job) == Array(jobs[1...]))
      #expect(try await result(pool, jobs[0])[..<2] == ["failed", "internal"])
      for lease in leases {
        try await worker.end(lease, .failed, ErrorClass(rawValue: "interrupted"))
      }
      #expect(try await pool.states().values.reduce(0, +) == 4)
    }
  }

  @Test(arguments: [#"{"max_attempts": 1.0}"#, "7", #"{"mirrors": [7, null]}"#])
  func `a job with options that nobody can read obeys an operator`(options: String) async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      let lease = try await pool.worker().claimOne()
      #expect(lease.job == jobs[0])
      try await pool.execute("UPDATE haul.job SET options = $1::jsonb", [options])
      var selector = JobSelector()
      selector.ids = jobs
      for command in [JobAction.pause, .resume, .cancel] {
        #expect(try await pool.jobs.control(command, selector) > 0, "\(command)")
      }
      #expect(try await pool.state(jobs[1]) == "cancelled")
      #expect(try await pool.jobs.control(.retry, selector) > 0)
      try await pool.execute("UPDATE haul.job SET options = '{}'")
    }
  }

  /// Texts of 256 MiB are more than a reply can hold. Nobody can submit one today.
  @Test func `a job that no reply can hold is not handed out for ever`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      try await pool.execute(
        "UPDATE haul.job SET url = 'https://a.test/' || repeat('a', 268435456) WHERE id = $1",
        [jobs[1]])
      let worker = try await pool.worker()
      #expect(try await worker.claim(3).map(\.job) == [jobs[0], jobs[2]])
      let found = try await pool.admin.query(
        "SELECT state, error FROM haul.outcome WHERE job = $1", [jobs[1]])[0]
      #expect(try found.decode(0, as: String.self) == "failed")
      #expect(try found.decode(1, as: String.self) == "internal")
      // Views would read it, too.
      try await pool.execute("UPDATE haul.job SET url = 'https://a.test/' WHERE id = $1", [jobs[1]])
    }
  }

  /// Each alone is no trouble, and neither are those behind them.
  @Test func `jobs that one reply cannot hold together are handed out one after another`()
    async throws
  {
    try await Pool.open { pool in
      let long = try await pool.submit(20)
      let short = try await pool.submit(2)
      try await pool.execute("SELECT haul.set_host('a.test', 100, NULL, NULL)")
      try await pool.execute(
        "UPDATE haul.job SET url = 'https://a.test/' || repeat('a', 16000000) WHERE id = ANY ($1)",
        [long])
      let worker = try await pool.worker()
      #expect(try await worker.claim(100).map(\.job) == [long[0]])
      #expect(try await pool.value("SELECT count(*) FROM haul.outcome") == 0)
      try await pool.execute("UPDATE haul.job SET url = 'https://a.test/' || id")
      #expect(try await worker.claim(100).map(\.job) == Array(long[1...]) + short)
      #expect(
        try await pool.value("SELECT count(*) FROM haul.attempts WHERE result <> 'released'") == 0)
    }
  }

  /// A worker that claims and releases in a loop.
  @Test func `a job may have any number of attempts`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      try await pool.execute(
        """
        INSERT INTO haul.attempt (job, token, worker, result, charged, started_at, ended_at)
        SELECT $1, -n, 1, 'released', false, now(), now() FROM generate_series(1, 32767) n
        """, [job])
      let lease = try await pool.worker().claimOne()
      #expect(lease.attempt == 32_767)
    }
  }

  /// Eight of 2^60 bytes are more than a bigint holds.
  @Test func `lengths beyond all files add up all the same`() async throws {
    try await Pool.open { pool in
      for host in 1...5 { try await pool.submit(4, to: "\(host).test", batch: "b") }
      let worker = try await pool.worker()
      let leases = try await worker.claim(20)
      try #require(leases.count == 20)
      let points = leases.map {
        CheckpointRow(
          job: $0.job, token: $0.token, instance: pool.instance,
          durable: "{[-9223372036854775808,0),[1,9223372036854775807)}", length: .max, resume: "{}")
      }
      _ = try await JobQueue(worker.work).checkpoint(worker.caller, points)
      _ = try await JobQueue(worker.life).heartbeat(
        worker.caller, seen: worker.number,
        holding: leases.map {
          Progress(job: $0.job, token: $0.token, bytes: .min, total: .max, rate: .max)
        })
      try await pool.readAllViews()
      var endings = leases.map { LeaseEnding(job: $0.job, token: $0.token, result: .completed) }
      for index in endings.indices {
        endings[index].bytes = .max
        endings[index].fetched = index == 0 ? .min : .max
        endings[index].resumedAt = .max
      }
      try await worker.call(endings)
      try await pool.readAllViews()
      #expect(try await pool.jobs.rollUp(limit: 1_000) > 0)
      #expect(try await pool.value("SELECT max(bytes) FROM haul.outcome") == Int64(1) << 60)
      try await pool.readAllViews()
      // The total has come to its end; the invariants of this pool would complain.
      try await pool.execute("UPDATE haul.outcome SET bytes = 1")
      try await pool.execute("DELETE FROM haul.batch_change")
      try await pool.execute("UPDATE haul.batch_total SET bytes = jobs")
    }
  }
}
