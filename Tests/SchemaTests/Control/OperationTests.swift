import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What operators did is listed: which command, to what, by whom, and how many jobs it changed.
struct OperationTests {
  private func listed(_ pool: Pool) async throws -> [String] {
    try await pool.jobs.operations(limit: 100).reversed().map {
      "\($0.action): \($0.target): \($0.jobs.map(String.init) ?? "-")"
    }
  }

  @Test func `every command of an operator is listed`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3, batch: "films")
      var batch = JobSelector()
      batch.batch = "films"
      var one = JobSelector()
      one.ids = [jobs[0]]
      _ = try await pool.jobs.control(.pause, batch)
      _ = try await pool.jobs.control(.resume, one)
      _ = try await pool.jobs.prioritize(batch, to: 2)
      batch.state = .paused
      _ = try await pool.jobs.control(.cancel, batch)
      batch.state = .cancelled
      _ = try await pool.jobs.control(.retry, batch)
      // Nothing is left to do.
      _ = try await pool.jobs.control(.retry, batch)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.call([LeaseEnding(job: lease.job, token: lease.token, result: .completed)])
      _ = try await pool.jobs.redo([lease.job])
      #expect(try await pool.jobs.drainWorker(worker.caller.worker))
      _ = try await pool.jobs.rescueWorker(worker.caller.worker)
      var settings = QueueSettings()
      settings.paused = true
      try await pool.jobs.setQueue(Pool.name, settings)
      try await pool.execute("SELECT haul.set_host('*.test', 2, 0.5, NULL)")
      try await pool.execute("SELECT haul.unset_host('*.test')")
      try await pool.jobs.blockHost("a.test", for: .seconds(60))
      try await pool.jobs.unblockHost("a.test")
      try await pool.execute("SELECT haul.create_queue('other', $1)", [Pool.name])
      try await pool.execute("SELECT haul.delete_queue('other')")
      #expect(
        try await listed(pool) == [
          "pause: batch films: 3", "resume: job \(jobs[0]): 1", "prioritize: batch films, to 2: 3",
          "cancel: batch films, state paused: 2", "retry: batch films, state cancelled: 2",
          "verify --requeue: missing and damaged files: 1",
          "drain: worker \(worker.caller.worker): -", "rescue: worker \(worker.caller.worker): -",
          "queue pause: queue \(Pool.name): -",
          "host set: host *.test, cap 2, interval 0.5 s: -", "host unset: host *.test: -",
          "host block: host a.test for 1 min: -", "host unblock: host a.test: -",
          "queue create: queue other, store \(Pool.name): -", "queue delete: queue other: -",
        ])
      let login: String = try await pool.value("SELECT session_user::text")
      #expect(try await pool.jobs.operations(limit: 100).allSatisfy { $0.login == login })
    }
  }

  @Test func `a command keeps the ids of the first jobs that it changed`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(150)
      func first(_ action: String) async throws -> [Int64]? {
        try await pool.jobs.operations(limit: 9).first { $0.action == action }?.firstJobs.sorted()
      }
      var some = JobSelector()
      some.queue = Pool.name
      for _ in 0..<3 {
        _ = try await pool.execute(
          "SELECT haul.pause('{\"queue\": \"\(Pool.name)\"}', p_limit => 60)")
      }
      #expect(try await first("pause")?.count == 100)
      some.ids = [jobs[1], jobs[4]]
      _ = try await pool.jobs.control(.resume, some)
      #expect(try await first("resume") == [jobs[1], jobs[4]])
      _ = try await pool.jobs.prioritize(some, to: 2)
      #expect(try await first("prioritize") == [jobs[1], jobs[4]])
      let cancelled = try #require(try await pool.jobs.operation(1))
      #expect(cancelled.action == "pause" && cancelled.jobs == 150)
      #expect(try await pool.jobs.operation(99) == nil)
    }
  }

  /// Running jobs that are told to pause, and are told to go on before they do.
  @Test func `jobs whose pause is withdrawn are among those of the command`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      try await pool.worker().claim(1)
      var one = JobSelector()
      one.ids = [job]
      for action in [JobAction.pause, .resume, .cancel, .retry] {
        #expect(try await pool.jobs.control(action, one) == 1)
      }
      let rows = try await pool.jobs.operations(limit: 9)
      #expect(rows.map(\.firstJobs) == [[job], [job], [job], [job]])
    }
  }

  @Test func `submissions that change jobs are listed, and the batch that jobs have left`()
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, batch: "films")
      var one = JobSelector()
      one.ids = [jobs[0]]
      _ = try await pool.jobs.control(.cancel, one)
      let lines = try await pool.jobs.jobs(JobSelector(), limit: 9).map {
        Pool.line(Int($0.job), $0.url, $0.path)
      }
      for duplicate in [Submission.OnDuplicate.skip, .refresh, .replace] {
        var submission = Submission(
          queue: Pool.name, batch: "mine", priority: 5, options: JobOptions())
        submission.onDuplicate = duplicate
        _ = try await pool.jobs.submit(submission, lines)
      }
      let place = "batch mine, queue \(Pool.name)"
      #expect(
        Array(try await listed(pool).dropFirst()) == [
          "submit, queue again: \(place): 1",
          "submit, replace: \(place), from batch films: 2",
        ])
      // The whole batch was changed, and its name is enough.
      var batch = JobSelector()
      batch.batch = "mine"
      _ = try await pool.jobs.control(.pause, batch)
      let row = try #require(try await pool.jobs.jobs(one, limit: 1).first)
      let last = try await pool.jobs.lastOperation(on: row)
      #expect(last?.operation.action == "pause" && last?.operation.firstJobs == [])
    }
  }

  /// A later command on the whole batch did not change a job that had ended before. It did change a waiting job.
  @Test func `a command on a batch is not the last one of a job that had ended before`()
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, batch: "films")
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.call([LeaseEnding(job: lease.job, token: lease.token, result: .completed)])
      var batch = JobSelector()
      batch.batch = "films"
      #expect(try await pool.jobs.control(.cancel, batch) == 1)
      for row in try await pool.jobs.jobs(batch, limit: 9) {
        let last = try await pool.jobs.lastOperation(on: row)
        #expect(last?.operation.action == (row.job == lease.job ? nil : "cancel"))
      }
      #expect(jobs.contains(lease.job))
    }
  }

  /// A later command changed 150 jobs. The list has the first 100 of them, so it may also have changed the others.
  @Test func `a command of which not all jobs are kept may be later than the last known one`()
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(150)
      var all = JobSelector()
      all.queue = Pool.name
      func last(_ job: Int64) async throws -> LastOperation? {
        var one = JobSelector()
        one.ids = [job]
        let row = try #require(try await pool.jobs.jobs(one, limit: 1).first)
        return try await pool.jobs.lastOperation(on: row)
      }
      #expect(try await pool.jobs.prioritize(all, to: 2) == 150)
      let first = try #require(try await pool.jobs.operation(1)).firstJobs
      let unlisted = try #require(jobs.first { !first.contains($0) })
      #expect(try await last(first[0])?.isCertain == true)
      #expect(try await last(unlisted) == nil)
      var one = JobSelector()
      one.ids = [unlisted]
      _ = try await pool.jobs.control(.pause, one)
      #expect(try await last(unlisted)?.isCertain == true)
      _ = try await pool.jobs.prioritize(all, to: 3)
      let known = try #require(try await last(unlisted))
      #expect(known.operation.action == "pause" && !known.isCertain)
    }
  }

  @Test func `the commands on one batch are listed`() async throws {
    try await Pool.open { pool in
      for name in ["films", "films2", "music"] { _ = try await pool.submit(1, batch: name) }
      var batch = JobSelector()
      for name in ["films", "films2", "music", "films"] {
        batch.batch = name
        _ = try await pool.jobs.control(.pause, batch)
        _ = try await pool.jobs.prioritize(batch, to: 2)
      }
      let targets = try await pool.jobs.operations(batch: "films", limit: 9).map(\.target)
      #expect(targets == ["batch films, to 2", "batch films"])
      #expect(try await pool.jobs.operations(batch: "film", limit: 9) == [])
    }
  }

  /// The targets of three of these commands begin with the same words, and two of them are equal.
  @Test func `batches with a comma in their names are told apart`() async throws {
    try await Pool.open { pool in
      let names = ["films", "films, old", "films, state queued"]
      for name in names { _ = try await pool.submit(1, batch: name) }
      var batch = JobSelector()
      batch.batch = "films"
      batch.state = .queued
      _ = try await pool.jobs.control(.pause, batch)
      batch.state = nil
      for name in names.dropFirst() {
        batch.batch = name
        _ = try await pool.jobs.control(.pause, batch)
      }
      for (name, target) in zip(names, ["films, state queued", "films, old", names[2]]) {
        let rows = try await pool.jobs.operations(batch: name, limit: 9)
        #expect(rows.map(\.target) == ["batch \(target)"] && rows.map(\.jobs) == [1], "\(name)")
      }
    }
  }

  @Test func `every kind of command on jobs names its batches`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, batch: "films")
      var batch = JobSelector()
      batch.batch = "films"
      for action in [JobAction.pause, .resume, .cancel, .retry] {
        _ = try await pool.jobs.control(action, batch)
      }
      _ = try await pool.jobs.prioritize(batch, to: 2)
      var one = JobSelector()
      one.ids = [jobs[0]]
      _ = try await pool.jobs.control(.cancel, one)
      let lines = try await pool.jobs.jobs(JobSelector(), limit: 9).map {
        Pool.line(Int($0.job), $0.url, $0.path)
      }
      for duplicate in [Submission.OnDuplicate.skip, .replace] {
        var submission = Submission(
          queue: Pool.name, batch: "mine", priority: 5, options: JobOptions())
        submission.onDuplicate = duplicate
        _ = try await pool.jobs.submit(submission, lines)
      }
      #expect(
        try await pool.column(
          "SELECT action || ': ' || array_to_string(batches, ' ') FROM haul.operations ORDER BY id")
          == [
            "pause: films", "resume: films", "cancel: films", "retry: films", "prioritize: films",
            "cancel: ", "submit, queue again: mine", "submit, replace: mine films",
          ])
      for (name, count) in [("films", 6), ("mine", 2)] {
        #expect(try await pool.jobs.operations(batch: name, limit: 9).count == count)
      }
    }
  }

  @Test func `commands that an earlier version recorded are found by their targets`() async throws {
    try await Pool.open { pool in
      try await pool.execute(
        """
        INSERT INTO haul.operation (at, ended_at, login, pid, action, target, jobs)
        SELECT now(), now(), 'x', 0, 'pause', 'batch ' || n, 1
        FROM unnest('{films,films2,"new, from batch films"}'::text[]) n
        """)
      let targets = try await pool.jobs.operations(batch: "films", limit: 9).map(\.target)
      #expect(targets == ["batch new, from batch films", "batch films"])
    }
  }

  @Test(arguments: [
    ("10 minutes", "10 min"), ("2 hours", "2 h"), ("90 s", "90 s"), ("2.5 s", "2.5 s"),
    ("1 day", "24 h"),
  ])
  func `durations have a unit`(time: String, text: String) async throws {
    try await Pool.open { pool in
      let shown: String = try await pool.value(
        "SELECT haul.duration_text($1::text::interval)", [time])
      #expect(shown == text)
    }
  }

  /// A command of many steps, each of which commits, is one line; many ids are cut.
  @Test func `the steps of a command are one operation`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(12)
      let ids = jobs.map(String.init).joined(separator: ",")
      for _ in 0..<4 {
        try await pool.execute("SELECT haul.pause('{\"ids\": [\(ids)]}', p_limit => 5)")
      }
      let shown = jobs.prefix(10).map(String.init).joined(separator: " ")
      #expect(try await listed(pool) == ["pause: jobs \(shown) and 2 more: 12"])
      // Long after it is another command.
      try await pool.execute(
        "UPDATE haul.operation SET ended_at = ended_at - interval '1 minute'")
      try await pool.execute("SELECT haul.resume('{\"ids\": [\(ids)]}')")
      try await pool.execute("SELECT haul.pause('{\"ids\": [\(ids)]}')")
      #expect(try await pool.jobs.operations(limit: 100).map(\.jobs) == [12, 12, 12])
    }
  }

  /// 1. An operator has not committed yet. 2. Another one gives the same command. 3. Neither waits.
  @Test func `no operator waits for the list`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      let (one, other) = (try await pool.connect(), try await pool.connect())
      try await one.script("BEGIN; SELECT haul.pause('{\"ids\": [\(jobs[0])]}')")
      try await other.script(
        """
        SET lock_timeout = '10s';
        SELECT haul.pause('{"ids": [\(jobs[1])]}');
        SELECT haul.block_host('b.test', NULL)
        """)
      try await one.script("COMMIT")
      #expect(try await pool.jobs.operations(limit: 9).count == 3)
    }
  }

  @Test func `the newest 10,000 are kept`() async throws {
    try await Pool.open { pool in
      try await pool.execute(
        """
        INSERT INTO haul.operation (at, ended_at, login, pid, action, target)
        SELECT now(), now(), 'x', 0, 'drain', 'worker ' || n FROM generate_series(1, 10050) n
        """)
      for number in 1...3 { try await pool.jobs.blockHost("h\(number).test", for: nil) }
      #expect(try await pool.value("SELECT count(*) FROM haul.operations") == 10_000)
      let newest = try await pool.jobs.operations(limit: 1)
      #expect(newest.map(\.target) == ["host h3.test"])
    }
  }
}
