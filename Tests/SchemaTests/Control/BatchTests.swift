import JobQueue
import Postgres
import TestSupport
import Testing

extension Pool {
  /// The selector of a whole batch.
  static func batch(_ name: String) -> JobSelector {
    var selector = JobSelector()
    selector.batch = name
    return selector
  }

  static func ids(_ ids: [Int64]) -> JobSelector {
    var selector = JobSelector()
    selector.ids = ids
    return selector
  }

  /// One step of an operator's word on the batch `b`: moves at most `limit` jobs.
  @discardableResult
  func step(_ action: String, limit: Int, by session: Connection? = nil) async throws -> Int {
    try await (session ?? admin).query(
      "SELECT changed FROM haul.\(action)('{\"batch\": \"b\"}', $1::int)", [limit])[0].decode(0)
  }
}

/// Batches in numbers, and steered as a whole.
struct BatchTests {
  /// `jobs completed failed cancelled unfinished bytes` of the batch `b`.
  private func totals(_ pool: Pool) async throws -> [Int64] {
    let row = try #require(try await pool.jobs.batches(["b"], limit: 1).first)
    return [row.jobs, row.completed, row.failed, row.cancelled, row.unfinished, row.bytes]
  }

  @Test func `totals are right at once, whether added up or not`() async throws {
    try await Pool.open { pool in
      func expect(_ expected: [Int64], _ location: SourceLocation = #_sourceLocation) async throws {
        #expect(try await totals(pool) == expected, sourceLocation: location)
        #expect(try await pool.jobs.rollUp(limit: 1000) > 0, sourceLocation: location)
        #expect(try await totals(pool) == expected, sourceLocation: location)
        #expect(try await pool.violations() == [], sourceLocation: location)
      }
      let jobs = try await pool.submit(4, batch: "b")
      try await expect([4, 0, 0, 0, 4, 0])
      let worker = try await pool.worker()
      try await worker.complete(worker.claimOne(), bytes: 10)
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      try await expect([4, 1, 1, 0, 2, 10])
      #expect(try await pool.jobs.batches(limit: 9).map(\.running) == [0])
      var one = JobSelector()
      one.ids = [jobs[3]]
      _ = try await pool.jobs.control(.cancel, one)
      try await expect([4, 1, 1, 1, 1, 10])
      one.ids = [jobs[1]]
      _ = try await pool.jobs.control(.retry, one)
      try await expect([4, 1, 0, 1, 2, 10])
      #expect(try await pool.jobs.redo([jobs[0]]) == 1)
      try await expect([4, 0, 0, 1, 3, 0])
      // What had been cancelled is submitted again, and one job more.
      let lines = [jobs[3], jobs[3] + 1].map {
        Pool.line(1, "https://a.test/\($0)", "a.test/\($0)")
      }
      _ = try await pool.jobs.submit(Submission(queue: Pool.name, batch: "b"), lines)
      try await expect([5, 0, 0, 0, 5, 0])
      // Somebody else wants one of the files: the job leaves the batch.
      _ = try await pool.resubmit([lines[0]], batch: "other")
      try await expect([4, 0, 0, 0, 4, 0])
      #expect(try await pool.jobs.batches(limit: 9).map(\.jobs) == [1, 4])
      for lease in try await worker.claim(9) { try await worker.complete(lease, bytes: 2) }
      let minutes = try await pool.admin.query(
        "SELECT sum(completed)::int, sum(failed)::int, sum(bytes)::int FROM haul.throughput")[0]
      #expect(try minutes.decode(0, as: Int.self) == 5)
      #expect(try minutes.decode(1, as: Int.self) == 1)
    }
  }

  @Test func `two who add up at once count nothing twice`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      let other = try await pool.connect()
      let count = try await pool.commit(
        other,
        {
          #expect(try await JobQueue(other).rollUp(limit: 1000) == 1)
          try await pool.submit(2, batch: "b")
          #expect(try await totals(pool)[0] == 5)
        },
        while: pool.patient, { try await JobQueue(pool.patient).rollUp(limit: 1000) })
      #expect(count == 1)
      #expect(try await totals(pool)[0] == 5)
      #expect(try await pool.value("SELECT count(*) FROM haul.batch_change") == 0)
    }
  }

  @Test func `whoever waits for a batch is told of its end`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      let worker = try await pool.worker()
      let listener = try await pool.connect()
      try await listener.script("LISTEN haul")
      for lease in try await worker.claim(3) {
        try await worker.end(lease, .completed)
        _ = try await pool.jobs.rollUp(limit: 1000)
      }
      try await pool.execute("NOTIFY haul, 'done'")
      var told: [String] = []
      for await notification in listener.notifications {
        if notification.payload == "done" { break }
        if notification.payload.hasPrefix("batch:") { told.append(notification.payload) }
      }
      #expect(told == ["batch:b"])
      #expect(AwaitedJobs(batches: ["a", "b"]).mayHaveEnded(by: told[0]))
      #expect(AwaitedJobs(batches: [], others: [1]).mayHaveEnded(by: told[0]))
      #expect(!AwaitedJobs(batches: ["a"]).mayHaveEnded(by: told[0]))
      #expect(!AwaitedJobs(batches: ["b"]).mayHaveEnded(by: "queues:1"))
    }
  }

  @Test(arguments: [("cancel", "cancelled"), ("pause", "paused")])
  func `an operator's word holds for all of a batch before it has reached each`(
    action: String, state: String
  ) async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 99)
      try await pool.submit(1, to: "c.test")
      let worker = try await pool.worker()
      let running = try await pool.submit(1, batch: "b")
      let leases = try await worker.claim(9)
      try await pool.submit(9, batch: "b")
      #expect(try await pool.step(action, limit: 3) == 3)
      #expect(try await pool.jobs.batches(limit: 1).map(\.steering) == [action])
      let later = try await pool.submit(2, batch: "b")
      #expect(try await worker.claim(9).map(\.job) == later)
      #expect(try await worker.heartbeat(leases).commands.map(\.job) == running)
      var steps = 0
      while try await pool.value("SELECT sweep IS NOT NULL FROM haul.batch") {
        try await pool.step(action, limit: 3)
        steps += 1
        try #require(steps < 10)
      }
      for lease in leases { try await worker.end(lease, .released) }
      #expect(try await pool.states()[state] == 10)
      #expect(try await pool.states() == [state: 10, "running": 2, "queued": 1])
    }
  }

  /// The claim has taken two and has not committed when the word comes: that waits for the claim, and its next step tells them.
  @Test(arguments: ["cancel", "pause"])
  func `what a claim has taken before an operator's word is told to stop`(
    action: String
  ) async throws {
    try await Pool.open { pool in
      try await pool.submit(4, batch: "b")
      let worker = try await pool.worker()
      let changed = try await pool.commit(
        worker.work,
        {
          let count = try await worker.claim(2).count
          #expect(count == 2)
        },
        while: pool.patient, { try await pool.step(action, limit: 9, by: pool.patient) })
      #expect(changed == 2)
      #expect(try await pool.step(action, limit: 9) == 2)
      #expect(try await pool.column("SELECT DISTINCT command FROM haul.lease") == [action])
      #expect(try await worker.claim(9).isEmpty)
    }
  }

  /// The word is given and has not committed: a claim may still take what it has not locked.
  @Test func `a claim that does not know of the word yet takes what it can`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, to: "a.test", batch: "b")
      try await pool.submit(2, to: "b.test", batch: "b")
      let worker = try await pool.impatientWorker()
      let operatorSession = try await pool.connect()
      try await operatorSession.script("BEGIN")
      #expect(try await pool.step("cancel", limit: 2, by: operatorSession) == 2)
      let leases = try await worker.claim(9)
      #expect(leases.map(\.host) == ["b.test", "b.test"])
      try await operatorSession.script("COMMIT")
      #expect(try await pool.step("cancel", limit: 9) == 2)
      #expect(try await worker.heartbeat(leases).commands.map(\.command) == ["cancel", "cancel"])
    }
  }

  /// A step of a sweep is going on: a claim that meets the same jobs waits for none of them and takes none.
  @Test(arguments: ["cancel", "pause"])
  func `a claim passes jobs that a step is moving`(action: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(3, to: "a.test", batch: "b")
      try await pool.submit(2, to: "b.test", batch: "b")
      try await pool.submit(1, to: "a.test")
      try await pool.step(action, limit: 1)
      let worker = try await pool.impatientWorker()
      let operatorSession = try await pool.connect()
      try await operatorSession.script("BEGIN")
      #expect(try await pool.step(action, limit: 1, by: operatorSession) == 1)
      #expect(try await worker.claim(9).allSatisfy { $0.batch == nil })
      try await operatorSession.script("COMMIT")
      #expect(try await pool.violations() == [])
      while try await pool.value("SELECT sweep IS NOT NULL FROM haul.batch") {
        try await pool.step(action, limit: 9)
      }
      try await worker.claim(9)
      let state = action == "cancel" ? "cancelled" : "paused"
      #expect(try await pool.states() == [state: 5, "running": 1])
    }
  }

  @Test func `the leader goes on with a word whose operator is gone`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9, batch: "b")
      try await pool.step("cancel", limit: 3)
      try await pool.jobs.sweepOn(limit: 3)
      #expect(try await pool.states() == ["cancelled": 3, "queued": 6])
      for _ in 0..<4 {
        try await pool.execute("UPDATE haul.batch SET swept_at = swept_at - interval '6 seconds'")
        try await pool.jobs.sweepOn(limit: 3)
      }
      #expect(try await pool.states() == ["cancelled": 9])
      #expect(try await pool.value("SELECT count(*) FROM haul.batch WHERE sweep IS NOT NULL") == 0)
    }
  }

  @Test func `a retry during a cancellation ends it, and no job is taken away again`() async throws
  {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 99)
      try await pool.submit(9, batch: "b")
      try await pool.step("cancel", limit: 3)
      #expect(try await pool.jobs.control(.retry, Pool.batch("b")) == 3)
      #expect(try await pool.states() == ["queued": 9])
      try await pool.jobs.sweepOn(limit: 9)
      #expect(try await pool.worker().claim(9).count == 9)
    }
  }

  /// Who retries names only what has failed; the cancellation would take that away again.
  @Test func `a retry of a part of a batch ends what is being done to the whole`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 99)
      try await pool.submit(9, batch: "b")
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      try await pool.step("cancel", limit: 3)
      var selector = Pool.batch("b")
      selector.state = "failed"
      #expect(try await pool.jobs.control(.retry, selector) == 1)
      #expect(try await pool.states() == ["queued": 7, "cancelled": 2])
      #expect(try await worker.claim(9).count == 7)
    }
  }

  /// The order: a step of the cancellation, another client's retry of all of it, the next step.
  @Test func `a cancellation that a retry has ended is not begun again by its next step`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(9, batch: "b")
      let first = try await pool.admin.query(
        "SELECT changed, sweep FROM haul.cancel('{\"batch\": \"b\"}', 3)")[0]
      #expect(try first.decode("changed") == 3)
      #expect(try await pool.jobs.control(.retry, Pool.batch("b")) == 3)
      let next = try await pool.admin.query(
        "SELECT changed, more FROM haul.cancel('{\"batch\": \"b\"}', 3, $1)",
        [try first.decode("sweep", as: Int64.self)])[0]
      #expect(try next.decode("changed") == 0 && next.decode("more") == false)
      #expect(try await pool.states() == ["queued": 9])
      // Whoever says it anew is heard.
      #expect(try await pool.jobs.control(.cancel, Pool.batch("b")) == 9)
    }
  }

  /// The same the other way round: the later word counts.
  @Test func `a retry goes no further once its batch is being cancelled again`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9, batch: "b")
      #expect(try await pool.jobs.control(.cancel, Pool.batch("b")) == 9)
      let first = try await pool.admin.query(
        "SELECT changed, sweep FROM haul.retry('{\"batch\": \"b\"}', 3)")[0]
      #expect(try first.decode("changed") == 3)
      try await pool.step("cancel", limit: 1)
      let next = try await pool.admin.query(
        "SELECT changed, more FROM haul.retry('{\"batch\": \"b\"}', 3, $1)",
        [try first.decode("sweep", as: Int64.self)])[0]
      #expect(try next.decode("changed") == 0 && next.decode("more") == false)
      _ = try await pool.jobs.control(.cancel, Pool.batch("b"))
      #expect(try await pool.states() == ["cancelled": 9])
    }
  }

  @Test func `what fails again while a retry goes on is not queued twice`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      let worker = try await pool.worker()
      for lease in try await worker.claim(3) { try await worker.end(lease, .failed, "http_4xx") }
      let first = try await pool.admin.query(
        "SELECT changed, more, sweep, since::text FROM haul.retry('{\"batch\": \"b\"}', 2)")[0]
      #expect(try first.decode("changed") == 2 && first.decode("more") == true)
      for lease in try await worker.claim(2) { try await worker.end(lease, .failed, "http_4xx") }
      let next = try await pool.admin.query(
        "SELECT changed, more FROM haul.retry('{\"batch\": \"b\"}', 2, $1, p_since => $2::timestamptz)",
        [try first.decode("sweep", as: Int64.self), try first.decode("since", as: String.self)])[0]
      #expect(try next.decode("changed") == 1 && next.decode("more") == false)
      #expect(try await pool.states() == ["failed": 2, "queued": 1])
    }
  }
}
