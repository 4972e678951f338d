import JobQueue
import Postgres
import TestSupport
import Testing

/// What happens when somebody else holds the row a claim, a settlement or a submission wants.
struct ClaimInterleavingTests {
  @Test(arguments: [("lane", 0), ("host", 0), ("worker", 1)])
  func `a claim takes what is free and never waits`(table: String, count: Int) async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.impatientWorker()
      try await pool.holding("SELECT FROM haul.\(table) FOR UPDATE") {
        let reply = try await worker.call(room: 1)
        #expect(reply.claimed.count == count)
        #expect(reply.contended == (count == 0))
      }
      #expect(try await worker.claim(2).count == 2 - count)
    }
  }

  @Test func `a claim passes a locked host and takes from the next`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, to: "a.test")
      try await pool.submit(2, to: "b.test")
      let worker = try await pool.impatientWorker()
      try await pool.holding("SELECT FROM haul.host WHERE name = 'a.test' FOR UPDATE") {
        let hosts = try await worker.claim(9).map(\.host)
        #expect(hosts == ["b.test", "b.test"])
      }
      #expect(try await worker.claim(9).map(\.host) == ["a.test", "a.test"])
    }
  }

  /// A claim, a settlement, a submission and a rescue at once, each uncommitted.
  @Test func `views and heartbeats wait for nobody`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9)
      let (one, two) = (try await pool.worker(), try await pool.impatientWorker())
      let lease = try await one.claimOne()
      try await two.claim()
      try await pool.endGrace()
      try await pool.holding(
        """
        SELECT FROM haul.lease FOR UPDATE; SELECT FROM haul.host FOR UPDATE; SELECT FROM haul.lane FOR UPDATE;
        SELECT FROM haul.worker_call FOR UPDATE; SELECT FROM haul.ready FOR UPDATE;
        """
      ) {
        try await two.heartbeat([lease])
        let views = try await pool.column(
          "SELECT relname FROM pg_class WHERE relnamespace = 'haul'::regnamespace AND relkind = 'v'",
          as: String.self)
        for view in views { try await two.life.execute("SELECT * FROM haul.\(view)") }
      }
    }
  }

  /// The claim has met the full host and is about to park its lane; the settlement frees the host.
  @Test func `no wake-up is lost when a host is freed while its lane is parked`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 1)
      try await pool.submit(3)
      let (holder, claimer) = (try await pool.worker(), try await pool.worker())
      let lease = try await holder.claimOne()
      let ending = LeaseEnding(job: lease.job, token: lease.token, result: .completed)
      // Unpark the lane, as a submission does, so that the claim has something to park.
      try await pool.submit(1)
      _ = try await pool.commit(
        claimer.work,
        {
          let none = try await claimer.claim(1)
          #expect(none.isEmpty)
        },
        while: holder.work, { try await holder.call([ending]) })
      #expect(try await pool.violations() == [])
      #expect(try await claimer.claim(1).count == 1)
    }
  }

  /// The other order: the settlement holds the host, the claim passes and leaves the lane due.
  @Test func `no wake-up is lost when a claim meets a host that is being freed`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 1)
      try await pool.submit(3)
      let (holder, claimer) = (try await pool.worker(), try await pool.impatientWorker())
      let lease = try await holder.claimOne()
      try await pool.submit(1)
      try await holder.work.script("BEGIN")
      try await holder.end(lease, .completed)
      #expect(try await claimer.claim(1).isEmpty)
      try await holder.work.script("COMMIT")
      #expect(try await pool.violations() == [])
      #expect(try await claimer.claim(1).count == 1)
    }
  }

  /// The claim takes the last job and parks the lane as empty; the submission waits for the lane.
  @Test func `what is submitted into a lane just found empty is found`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lines = [Pool.line(1, "https://a.test/x", "a.test/x")]
      let submitter = try await pool.connect()
      let reply = try await pool.commit(
        worker.work,
        {
          let count = try await worker.claim(5).count
          #expect(count == 1)
        },
        while: submitter,
        { try await JobQueue(submitter).submit(Submission(queue: Pool.name), lines) })
      #expect(reply.submitted == 1)
      #expect(try await pool.violations() == [])
      #expect(try await worker.claim(5).map(\.path) == ["a.test/x"])
    }
  }

  /// The other order: the submission holds the lane, the claim passes it by.
  @Test func `a lane that is being submitted to is left alone`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.impatientWorker()
      let submitter = try await pool.connect()
      try await submitter.script("BEGIN")
      try await submitter.submit([Pool.line(1, "https://a.test/x", "a.test/x")], to: Pool.name)
      #expect(try await worker.claim(5).isEmpty)
      try await submitter.script("COMMIT")
      #expect(try await worker.claim(5).count == 2)
    }
  }

  @Test func `two submissions of the same paths in opposite order`() async throws {
    try await Pool.open { pool in
      let paths = (1...50).map { "h\($0 % 7).test/\($0)" }
      let forwards = paths.enumerated().map {
        Pool.line($0.offset, "https://\($0.element)", $0.element)
      }
      let (one, two) = (try await pool.connect(), try await pool.connect())
      let reply = try await pool.commit(
        one, { try await one.submit(forwards, to: Pool.name) },
        while: two,
        { try await JobQueue(two).submit(Submission(queue: Pool.name), forwards.reversed()) })
      #expect([reply.submitted, reply.skipped] == [0, 50])
      #expect(try await pool.states() == ["queued": 50])
    }
  }

  @Test func `settlements of one host wait for each other and both count`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      let (one, two) = (try await pool.worker(), try await pool.worker())
      let (first, second) = (try await one.claimOne(), try await two.claimOne())
      let state = try await pool.commit(
        one.work, { try await one.end(first, .completed) },
        while: two.work, { try await two.end(second, .failed, "http_4xx") })
      #expect(state == "failed")
      #expect(try await pool.value("SELECT in_flight FROM haul.host") == 0)
    }
  }

  /// The checkpoint holds the lease; the rescue waits and then sees the progress.
  @Test func `a rescue waits for a checkpoint and keeps it`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      let reply = try await pool.commit(
        worker.work, { try await worker.checkpoint(lease, instance: pool.instance) },
        while: pool.patient, { try await JobQueue(pool.patient).rescue() })
      #expect(reply.rescued.map(\.state) == ["interrupted"])
    }
  }
}
