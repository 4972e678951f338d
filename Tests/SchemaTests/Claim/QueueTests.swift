import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What can be set for a queue.
struct QueueTests {
  private func set(
    _ pool: Pool, _ queue: String = Pool.name, _ change: (inout QueueSettings) -> Void
  ) async throws {
    var settings = QueueSettings()
    change(&settings)
    try await pool.jobs.setQueue(queue, settings)
  }

  /// The first claim has not committed: whoever comes then cannot know how many run.
  @Test func `a limit is exact whoever claims`() async throws {
    try await Pool.open { pool in
      try await set(pool) { $0.maxRunning = .some(3) }
      try await pool.submit(2, to: "a.test")
      try await pool.submit(9, to: "b.test")
      try await pool.submit(9, to: "d.test")  // whose lane and host the first claim does not hold
      try await pool.submit(2, to: "c.test", queue: "default")
      let (one, two) = (try await pool.worker(), try await pool.impatientWorker())
      try await one.work.script("BEGIN")
      let leases = try await one.claim(2, queues: ["data"])
      #expect(leases.count == 2)
      let reply = try await two.call(room: 9, queues: ["data"])
      #expect(reply.claimed.isEmpty && reply.contended)
      // Another queue has its own gate, or none.
      #expect(try await two.claim(9, queues: ["default"]).count == 2)
      try await one.work.script("COMMIT")
      #expect(try await two.claim(9, queues: ["data"]).count == 1)
      #expect(try await one.claim(9, queues: ["data"]).isEmpty)
      try await one.end(leases[0], .completed)
      #expect(try await two.claim(9, queues: ["data"]).count == 1)
      #expect(try await pool.jobs.queues().map(\.maxRunning) == [3, nil])
    }
  }

  @Test func `a limit counts what began without one, and goes`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 99)
      try await pool.submit(20)
      let worker = try await pool.worker()
      let leases = try await worker.claim(5)
      try await set(pool) { $0.maxRunning = .some(6) }
      #expect(try await worker.claim(9).count == 1)
      try await set(pool) { $0.maxRunning = .some(7) }
      #expect(try await worker.claim(9).count == 1)
      for lease in leases.prefix(2) { try await worker.end(lease, .released) }
      #expect(try await worker.claim(9).count == 2)
      try await set(pool) { $0.maxRunning = .some(nil) }
      #expect(try await worker.claim(9).count == 9)
    }
  }

  /// A worker without --queue: an idle claim of a thousand queues took a third of a second.
  @Test func `queues without work cost a claim nothing`() async throws {
    try await Pool.open { pool in
      try await pool.execute(
        "SELECT haul.create_queue('q' || n, '\(Pool.name)') FROM generate_series(1, 300) n")
      let worker = try await pool.worker()
      func looked() async throws -> [String] {
        try await pool.column(
          """
          SELECT q.name FROM haul.worker_call c CROSS JOIN haul.queues_to_look_at(NULL, c.seen) n
          JOIN haul.queue q ON q.id = n.queue ORDER BY 1
          """)
      }
      #expect(try await looked() == [])
      #expect(try await worker.claim(9).isEmpty)
      try await pool.submit(1, to: "a.test", queue: "q7")
      try await pool.submit(1, to: "b.test", queue: "q250", after: .seconds(3600))
      try await pool.submit(1, to: "c.test", queue: "q99")
      #expect(try await looked() == ["q7", "q99"])
      let leases = try await worker.claim(9)
      #expect(leases.map(\.queue).sorted() == ["q7", "q99"])
      for lease in leases { try await worker.end(lease, .completed) }
      // A queue that has given work is looked at for an hour, and one that is deleted no more.
      try await worker.claim(9)
      #expect(try await looked() == ["q7", "q99"])
      try await pool.execute("SELECT haul.delete_queue('q99')")
      try await pool.execute(
        """
        UPDATE haul.worker_call c SET seen = jsonb_set(c.seen, ARRAY[q.id::text, 'used'],
          to_jsonb(clock_timestamp() - interval '2 hours')) FROM haul.queue q WHERE q.name = 'q7'
        """)
      try await worker.claim(9)
      #expect(try await pool.value("SELECT seen::text FROM haul.worker_call") == "{}")
    }
  }

  /// Each has a part of its own there.
  @Test func `a worker with two directories of a store takes jobs for both`() async throws {
    try await Pool.open { pool in
      let other = "00000000-0000-4000-8000-000000000001"
      _ = try await pool.jobs.initStore(
        name: Pool.name, marker: other, machine: "machine", root: "/other")
      try await pool.submit(4)
      let worker = try await pool.worker(markers: [pool.marker, other])
      let leases = try await worker.claim(4)
      #expect(leases.count == 4)
      for lease in leases {
        try await worker.checkpoint(lease, instance: lease.instance)
        try await worker.end(lease, .released)
      }
      #expect(try await Set(worker.claim(4).map(\.job)) == Set(leases.map(\.job)))
    }
  }

  @Test func `queues are first as often as their weights say`() async throws {
    try await Pool.open { pool in
      try await set(pool) { $0.weight = 3 }
      try await pool.submit(400, to: "a.test")
      try await pool.submit(400, to: "b.test", queue: "default")
      let worker = try await pool.worker()
      var endings: [LeaseEnding] = []
      var first = 0
      for _ in 0..<400 {
        let lease = try #require(try await worker.call(endings, room: 1).claimed.first)
        endings = [LeaseEnding(job: lease.job, token: lease.token, result: .completed)]
        if lease.queue == "data" { first += 1 }
      }
      // 300 are expected; a hundred from there is ten standard deviations.
      #expect(220...380 ~= first)
    }
  }

  @Test func `a paused queue starts nothing, of later jobs neither, and lets run what runs`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await set(pool) { $0.paused = true }
      try await pool.submit(1)
      #expect(try await worker.claim(9).isEmpty)
      #expect(try await worker.heartbeat([lease]).commands.isEmpty)
      #expect(try await worker.end(lease, .completed) == "completed")
      #expect(try await pool.states() == ["completed": 1, "queued": 2])
      #expect(try await pool.jobs.hosts(limit: 1).map(\.whyIdle) == ["paused"])
      try await set(pool) { $0.paused = false }
      #expect(try await worker.claim(9).count == 2)
    }
  }

  @Test(arguments: ["queued", "scheduled", "paused", "running"])
  func `a queue is not deleted while one of its jobs is still to end`(state: String) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, after: state == "scheduled" ? .seconds(600) : nil)[0]
      let worker = try await pool.worker()
      var selector = JobSelector()
      selector.ids = [job]
      if state == "paused" { _ = try await pool.jobs.control(.pause, selector) }
      let leases = state == "running" ? try await worker.claim(1) : []
      #expect(try await pool.state(job) == state)
      await #expect(throws: JobQueueError.self) { try await pool.jobs.deleteQueue(Pool.name) }
      #expect(try await pool.jobs.queues().map(\.queue) == ["data", "default"])
      _ = try await pool.jobs.control(.cancel, selector)
      for lease in leases { try await worker.end(lease, .released) }
      try await pool.jobs.deleteQueue(Pool.name)
      #expect(try await pool.jobs.queues().map(\.queue) == ["default"])
      // Its finished job is there, cannot be queued again by itself, and the name is free.
      #expect(try await pool.state(job) == "cancelled")
      #expect(try await pool.value("SELECT waiting FROM haul.hosts") == false)
      await #expect(throws: JobQueueError.self) { try await pool.jobs.control(.retry, selector) }
      await #expect(throws: JobQueueError.self) { try await pool.submit(1) }
      try await pool.jobs.createQueue(Pool.name, store: Pool.name)
      try await pool.submit(1)
      #expect(try await worker.claim(9).count == 1)
    }
  }

  @Test(arguments: ["failed", "completed"])
  func `a job of a deleted queue goes to the one that it is submitted to again`(state: String)
    async throws
  {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let isFailed = state == "failed"
      try await worker.end(
        worker.claimOne(), isFailed ? .failed : .completed, isFailed ? "http_4xx" : nil)
      try await pool.jobs.deleteQueue(Pool.name)
      try await pool.jobs.createQueue("new", store: Pool.name)
      let url = try await pool.value("SELECT url FROM haul.job") as String
      let line = Pool.line(1, url, try await pool.value("SELECT path FROM haul.job") as String)
      var submission = Submission(queue: "new")
      submission.onDuplicate = isFailed ? .skip : .refresh
      let reply = try await pool.jobs.submit(submission, [line])
      #expect([reply.submitted, reply.requeued + reply.refreshed] == [0, 1])
      #expect(try await pool.value("SELECT queue FROM haul.jobs") == "new")
      #expect(try await worker.claim(9, queues: ["new"]).map(\.job) == [job])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a queue is not deleted while one of its jobs is queued again`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .failed, "http_4xx")
      let session = try await pool.connect()
      await #expect(throws: JobQueueError.self) {
        try await pool.commit(
          session,
          {
            try await session.script(
              #"SELECT haul.retry('{"ids": [\#(job)]}')"#)
          },
          while: pool.patient, { try await JobQueue(pool.patient).deleteQueue("data") })
      }
      #expect(try await pool.states() == ["queued": 1])
      #expect(try await pool.jobs.queues().map(\.queue) == ["data", "default"])
    }
  }

  @Test func `a host waits no more once its jobs are gone from where nobody claims`() async throws {
    try await Pool.open { pool in
      func waiting() async throws -> [String] {
        try await pool.column(
          "SELECT host || ' ' || coalesce(why_idle, '') FROM haul.hosts WHERE waiting")
      }
      let jobs = try await pool.submit(2)
      // No worker mounts the store: what waits is looked for.
      #expect(try await waiting() == ["a.test unserved"])
      var selector = JobSelector()
      selector.ids = [jobs[0]]
      _ = try await pool.jobs.control(.cancel, selector)
      #expect(try await waiting() == ["a.test unserved"])
      try await set(pool) { $0.paused = true }
      let worker = try await pool.worker()
      #expect(try await waiting() == ["a.test paused"])
      selector.ids = [jobs[1]]
      _ = try await pool.jobs.control(.cancel, selector)
      #expect(try await waiting() == [])
      #expect(try await worker.claim(9).isEmpty)
      let last = try await pool.submit(1, to: "b.test")
      #expect(try await waiting() == ["b.test paused"])
      try await set(pool) { $0.paused = false }
      try await pool.jobs.blockHost("b.test", for: nil)
      // A claim finds out that nothing is left of the other.
      #expect(try await worker.claim(9).isEmpty)
      #expect(try await waiting() == ["b.test blocked"])
      selector.ids = last
      _ = try await pool.jobs.control(.cancel, selector)
      #expect(try await waiting() == [])
    }
  }

  @Test func `a queue is not deleted under a submission`() async throws {
    try await Pool.open { pool in
      let submitter = try await pool.connect()
      let lines = [Pool.line(1, "https://a.test/y", "a.test/y")]
      await #expect(throws: JobQueueError.self) {
        try await pool.commit(
          submitter,
          {
            try await submitter.script(
              """
              SELECT haul.begin_submission('data');
              INSERT INTO haul.staging (submission, line, url, host, path)
              SELECT s.id, 1, 'https://a.test/x', 'a.test', 'a.test/x' FROM haul.submission s;
              SELECT haul.submit(s.id, 'data', NULL, 5::smallint, '{}', NULL, 'skip', false, 100) FROM haul.submission s
              """)
          },
          while: pool.patient, { try await JobQueue(pool.patient).deleteQueue("data") })
      }
      #expect(try await pool.states() == ["queued": 1])
      // The other order: the submission finds it deleted.
      let other = try await pool.connect()
      await #expect(throws: JobQueueError.self) {
        try await pool.commit(
          other, { try await JobQueue(other).deleteQueue("default") },
          while: submitter,
          { try await JobQueue(submitter).submit(Submission(queue: "default"), lines) })
      }
    }
  }

  @Test func `a job has the queue's options below those of its submission and its line`()
    async throws
  {
    try await Pool.open { pool in
      try await set(pool) {
        $0.defaults = [
          "max_attempts": .number(2), "if_exists": .text("replace"), "record_digest": .flag(true),
          "max_bytes": .number(7),
        ]
      }
      try await set(pool) { $0.defaults.updateValue(nil, forKey: "max_bytes") }
      #expect(
        try await pool.jobs.queues()[0].defaults == [
          "max_attempts": .number(2), "if_exists": .text("replace"), "record_digest": .flag(true),
        ])
      var line = Pool.line(1, "https://a.test/x", "a.test/x")
      line.options = JobOptions(ifExists: "rename")
      let submission = Submission(
        queue: Pool.name, options: JobOptions(ifExists: "skip", maxAttempts: 4))
      _ = try await pool.jobs.submit(submission, [line])
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      var expected = JobOptions(ifExists: "rename", maxAttempts: 4)
      expected.recordDigest = true
      #expect(lease.options == expected)
      // One that is submitted again has them too.
      try await worker.end(lease, .failed, "http_4xx")
      line.options = nil
      _ = try await pool.jobs.submit(Submission(queue: Pool.name), [line])
      expected = JobOptions(ifExists: "replace", maxAttempts: 2)
      expected.recordDigest = true
      #expect(try await worker.claimOne().options == expected)
    }
  }

  @Test(arguments: [0, 1001])
  func `a weight that is none is refused`(weight: Int) async throws {
    try await Pool.open { pool in
      await #expect(throws: (any Error).self) { try await set(pool) { $0.weight = weight } }
      let weights = try await pool.jobs.queues().map(\.weight)
      #expect(weights == [1, 1])
    }
  }
}
