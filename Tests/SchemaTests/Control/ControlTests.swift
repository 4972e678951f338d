import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What operators do to jobs and hosts.
struct ControlTests {
  @Test func `a running job is cancelled through its worker's heartbeat`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(try await worker.heartbeat([lease]).commands.isEmpty)
      #expect(try await pool.jobs.control(.cancel, Pool.ids([job])) == 1)
      let command = try #require(try await worker.heartbeat([lease]).commands.first)
      #expect((command.job, command.token, command.command) == (job, lease.token, "cancel"))
      #expect(try await pool.state(job) == "running")
      #expect(try await worker.end(lease, .released) == "cancelled")
      #expect(try await pool.state(job) == "cancelled")
    }
  }

  @Test func `a running job is paused with its progress and resumed where it stood`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      #expect(try await pool.jobs.control(.pause, Pool.ids([job])) == 1)
      #expect(try await worker.heartbeat([lease]).commands.map(\.command) == ["pause"])
      #expect(try await worker.end(lease, .released) == "paused")
      #expect(try await worker.claim().isEmpty)
      #expect(try await pool.jobs.control(.resume, Pool.ids([job])) == 1)
      #expect(try await pool.state(job) == "interrupted")
      #expect(try await worker.claimOne().resumeToken == lease.token)
    }
  }

  @Test func `a command for the leases of a thousand workers is one notification`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.claim()
      try await pool.execute(
        """
        INSERT INTO haul.job SELECT 10 + i, queue, host, batch, priority, submitted_at, url, path || i, options
        FROM haul.job, generate_series(1, 1000) i
        """)
      try await pool.execute(
        """
        INSERT INTO haul.lease SELECT 10 + i, token + i, 1000000000 + i, call, queue, host, instance, priority, attempt,
          resumed_at, command, started_at FROM haul.lease, generate_series(1, 1000) i
        """)
      try await pool.execute("UPDATE haul.host SET in_flight = 1001")
      var selector = JobSelector()
      selector.queue = Pool.name
      #expect(try await pool.jobs.control(.cancel, selector) == 1001)
    }
  }

  /// 1. A retry of a queue has done its first step. 2. Another operator cancels a running job. 3. The retry continues.
  @Test func `a retry of many steps leaves a later cancellation alone`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(5)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      let others = jobs.filter { job in !leases.contains { $0.job == job } }
      #expect(try await pool.jobs.control(.cancel, Pool.ids(others + [leases[0].job])) == 4)
      let other = try await pool.connect()
      func step(_ sweep: Int64?, _ since: String?) async throws -> Row {
        let rows = try await other.query(
          """
          SELECT changed, more, sweep, since::text FROM haul.retry('{"queue": "\(Pool.name)"}', p_limit => 1,
            p_sweep => $1, p_since => $2::timestamptz)
          """, [sweep, since])
        return try #require(rows.first)
      }
      let first = try await step(nil, nil)
      // It withdraws the earlier cancellation and queues one of the three jobs.
      #expect(try first.decode("changed", as: Int.self) == 2)
      #expect(try await pool.jobs.control(.cancel, Pool.ids([leases[1].job])) == 1)
      let (sweep, since): (Int64?, String?) = (
        try first.decode("sweep"), try first.decode("since")
      )
      var isMore = true
      while isMore { isMore = try await step(sweep, since).decode("more") }
      #expect(try await worker.heartbeat(leases).commands.map(\.job) == [leases[1].job])
      #expect(try await worker.end(leases[1], .released) == "cancelled")
      #expect(try await pool.states() == ["queued": 3, "running": 1, "cancelled": 1])
    }
  }

  @Test func `a pause not yet carried out is taken back, a cancel is not weakened`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      _ = try await pool.jobs.control(.pause, Pool.ids([jobs[0]]))
      _ = try await pool.jobs.control(.cancel, Pool.ids([jobs[1]]))
      #expect(try await pool.jobs.control(.pause, Pool.ids([jobs[1]])) == 0)
      #expect(try await pool.jobs.control(.resume, Pool.ids(jobs)) == 1)
      #expect(try await worker.heartbeat(leases).commands.map(\.command) == ["cancel"])
    }
  }

  /// 1. A running job is told to cancel. 2. That is taken back. 3. Its worker has stopped it meanwhile, or has heard nothing.
  @Test func `a cancellation that no worker has carried out is taken back`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, batch: "b")
      let worker = try await pool.worker()
      let leases = try await worker.claim(2).sorted { $0.job < $1.job }
      #expect(try await pool.jobs.control(.cancel, Pool.ids([jobs[0]])) == 1)
      var undone = JobSelector()
      undone.batch = "b"
      undone.state = .cancelled
      #expect(try await pool.jobs.control(.retry, undone) == 1)
      #expect(try await worker.end(leases[0], .released) == "queued")
      #expect(try await worker.end(leases[1], .released) == "queued")
      #expect(try await pool.states() == ["queued": 2])
    }
  }

  /// 1. One job is paused, another has a part file on a machine. 2. Both are cancelled. 3. That is undone.
  @Test func `an undone cancellation queues paused jobs, and keeps parts for their machine`()
    async throws
  {
    try await Pool.open { pool in
      let paused = try await pool.submit(1, batch: "b")
      _ = try await pool.jobs.control(.pause, Pool.ids(paused))
      let begun = try await pool.submit(1, batch: "b")
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      var batch = JobSelector()
      batch.batch = "b"
      #expect(try await pool.jobs.control(.cancel, batch) == 2)
      batch.state = .cancelled
      #expect(try await pool.jobs.control(.retry, batch) == 2)
      #expect(try await pool.states() == ["interrupted": 1, "queued": 1])
      let again = try await worker.claim(9)
      #expect(Set(again.map(\.job)) == Set(paused + begun))
      #expect(again.first { $0.job == begun[0] }?.resume != nil)
    }
  }

  @Test func `waiting jobs of every kind are paused, resumed and cancelled`() async throws {
    try await Pool.open { pool in
      let queued = try await pool.submit(2, batch: "b")
      let scheduled = try await pool.submit(1, after: .seconds(600), batch: "b")
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      let before = ["interrupted": 1, "queued": 1, "scheduled": 1]
      #expect(try await pool.states() == before)
      var batch = JobSelector()
      batch.batch = "b"
      #expect(try await pool.jobs.control(.pause, batch) == 3)
      #expect(try await pool.states() == ["paused": 3])
      #expect(try await worker.claim(9).isEmpty)
      #expect(try await pool.jobs.control(.resume, batch) == 3)
      #expect(try await pool.states() == before)
      #expect(try await pool.jobs.control(.pause, Pool.ids([queued[1]])) == 1)
      #expect(try await pool.jobs.control(.cancel, batch) == 3)
      #expect(try await pool.states() == ["cancelled": 3])
      // For a while a retry may continue it.
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 1)
      #expect(try await pool.jobs.control(.retry, Pool.ids(scheduled)) == 1)
      #expect(try await worker.claim(9).map(\.job) == scheduled)
    }
  }

  @Test func `retry forgives earlier attempts`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: JobOptions(maxAttempts: 2))[0]
      let worker = try await pool.worker()
      func failOnce() async throws -> JobState? {
        try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
        _ = try await pool.jobs.promote(limit: 10)
        return try await worker.end(worker.claimOne(), .failed, "interrupted")
      }
      #expect(try await failOnce() == "scheduled")
      #expect(try await failOnce() == "failed")
      #expect(try await pool.jobs.control(.retry, Pool.ids([job])) == 1)
      #expect(try await failOnce() == "scheduled")
      #expect(try await failOnce() == "failed")
      #expect(try await pool.value("SELECT count(*) FROM haul.attempt") == 4)
    }
  }

  @Test func `a job that is named waits no longer for its next try, others do`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, options: JobOptions(maxAttempts: 5), batch: "b")
      let early = try await pool.submit(1, after: .seconds(600), batch: "b")
      let worker = try await pool.worker()
      for lease in try await worker.claim(2) {
        #expect(try await worker.end(lease, .failed, "interrupted") == "scheduled")
      }
      try await pool.execute(
        "UPDATE haul.scheduled SET run_at = clock_timestamp() + interval '1 hour'")
      #expect(try await pool.jobs.control(.retry, Pool.batch("b")) == 0)
      var wrong = Pool.ids([jobs[0]])
      wrong.error = "dns"
      #expect(try await pool.jobs.control(.retry, wrong) == 0)
      // What has not been tried is not tried again, nor what was tried before it was put off on purpose.
      try await pool.execute("UPDATE haul.attempt SET forgiven = true WHERE job = $1", [jobs[1]])
      #expect(try await pool.jobs.retry(Pool.ids(jobs + early), ifExists: "skip") == 1)
      _ = try await pool.jobs.promote(limit: 10)
      #expect(try await pool.states() == ["queued": 1, "scheduled": 2])
      let leases = try await worker.claim(9)
      #expect(leases.map(\.job) == [jobs[0]])
      #expect(leases.map(\.options) == [JobOptions(ifExists: "skip", maxAttempts: 5)])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `retry can change what a job does with a file in its way`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2, options: JobOptions(maxAttempts: 3))
      let worker = try await pool.worker()
      for lease in try await worker.claim(2) { try await worker.end(lease, .failed, "exists") }
      #expect(try await pool.jobs.retry(Pool.ids([jobs[0]]), ifExists: "skip") == 1)
      #expect(try await pool.jobs.control(.retry, Pool.ids([jobs[1]])) == 1)
      let leases = try await worker.claim(2).sorted { $0.job < $1.job }
      #expect(leases.map(\.options.ifExists) == ["skip", nil])
      #expect(leases.map(\.options.maxAttempts) == [3, 3])
      await #expect(throws: JobQueueError.self) {
        _ = try await pool.jobs.retry(Pool.ids(jobs), ifExists: "burn")
      }
    }
  }

  @Test func `selectors narrow each other, and empty or unknown ones are refused`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, to: "a.test", batch: "x")
      try await pool.submit(2, to: "b.test", batch: "x")
      var selector = JobSelector()
      await #expect(throws: JobQueueError.self) {
        try await pool.jobs.control(.pause, selector)
      }
      (selector.batch, selector.host) = ("x", "b.test")
      #expect(try await pool.jobs.control(.pause, selector) == 2)
      selector.state = "queued"
      #expect(try await pool.jobs.control(.cancel, selector) == 0)
      selector.host = "c.test"
      await #expect(
        throws: JobQueueError.noSuchName("there is no host \"c.test\"", hint: nil)
      ) { try await pool.jobs.control(.cancel, selector) }
    }
  }

  @Test func `a raised cap lets more start at once, a lowered one lets the rest run out`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.jobs.setHost("*.test", cap: 2)
      try await pool.submit(9)
      let worker = try await pool.worker()
      let leases = try await worker.claim(9)
      #expect(leases.count == 2)
      try await pool.jobs.setHost("a.test", cap: 4)
      #expect(try await worker.claim(9).count == 2)
      try await pool.jobs.setHost("a.test", cap: 1)
      try await pool.jobs.setHost("*.test", cap: 9)
      for lease in leases { try await worker.end(lease, .completed) }
      #expect(try await worker.claim(9).isEmpty)
      #expect(try await pool.violations() == [])
    }
  }

  @Test
  func `a policy that is forgotten gives way to the next that fits, and wakes what it parked`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.jobs.setHost("*.test", cap: 3)
      try await pool.jobs.setHost("a.test", cap: 1)
      try await pool.submit(9)
      let worker = try await pool.worker()
      #expect(try await worker.claim(9).count == 1)
      let policies = try await pool.jobs.policies()
      #expect(policies.map(\.pattern) == ["*.test", "a.test"])
      #expect(policies.map(\.cap) == [3, 1])
      #expect(policies.map(\.hosts) == [1, 1])
      try await pool.jobs.unsetHost("a.test")
      #expect(try await worker.claim(9).count == 2)
      try await pool.jobs.unsetHost("*.test")
      #expect(try await worker.claim(9).count == 1)
      await #expect(throws: JobQueueError.self) { try await pool.jobs.unsetHost("*.test") }
    }
  }
}
