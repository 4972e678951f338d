import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What becomes of a job whose lease ends.
struct SettleTests {
  @Test func `a stale token changes nothing`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let (old, new) = (try await pool.worker(), try await pool.worker())
      let stale = try await old.claimOne()
      try await old.end(stale, .released)
      let live = try await new.claimOne()
      #expect(live.job == job && live.token > stale.token && live.attempt == 2)
      for result in [LeaseEnding.Result.completed, .failed, .released] {
        #expect(try await old.end(stale, result) == nil)
      }
      #expect(try await !old.checkpoint(stale, instance: pool.instance))
      // A live token in the wrong hands is as good as stale.
      #expect(try await old.end(live, .completed) == nil)
      #expect(try await !old.checkpoint(live, instance: pool.instance))
      #expect(try await pool.state(job) == "running")
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 0)
      #expect(try await new.end(live, .completed) == "completed")
      #expect(try await new.end(live, .completed) == nil)
    }
  }

  @Test func `a repeated call returns the states, causes and delays of the first`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      try await pool.jobs.setHost("*", cap: 10)
      let worker = try await pool.worker()
      let leases = try await worker.claim(4)
      try await pool.execute(
        "UPDATE haul.lease SET command = 'pause' WHERE job = $1", [leases[3].job])
      let results: [(LeaseEnding.Result, ErrorClass?)] = [
        (.completed, nil), (.failed, ErrorClass(rawValue: "http_404")), (.released, nil),
        (.released, nil),
      ]
      let endings = zip(leases, results).map { lease, result in
        var ending = LeaseEnding(job: lease.job, token: lease.token, result: result.0)
        ending.error = result.1
        return ending
      }
      let first = try await worker.call(endings).settled.sorted { $0.job < $1.job }
      let again = try await worker.repeatCall(endings).settled.sorted { $0.job < $1.job }
      #expect(first.map(\.state) == ["completed", "failed", "queued", "paused"])
      #expect(again.map(\.state) == first.map(\.state))
      #expect(again.map(\.cause) == first.map(\.cause))
      #expect(again.map { $0.delay == nil } == first.map { $0.delay == nil })
    }
  }

  /// A worker that lists a lease twice would otherwise repeat the failing call for ever.
  @Test func `an ending listed twice counts once`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      let ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
      #expect(try await worker.call([ending, ending]).settled.count == 1)
    }
  }

  /// Both tokens are live, and neither belongs to its job.
  @Test func `crossed tokens change nothing, and do not keep others from ending`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await pool.submit(1, to: "b.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(3).sorted { $0.job < $1.job }
      try #require(leases.map(\.host) == ["a.test", "a.test", "b.test"])
      let crossed = [(leases[0], leases[1]), (leases[1], leases[0])].map {
        LeaseEnding(job: $0.job, token: $1.token, result: .completed)
      }
      #expect(try await worker.call(crossed).settled.isEmpty)
      #expect(try await pool.states() == ["running": 3])
      // Where hosts are held up, each host's jobs end alone.
      let keys =
        crossed + [LeaseEnding(job: leases[2].job, token: leases[2].token, result: .failed)]
      let ended: [Int64] = try await pool.column(
        """
        SELECT (e ->> 'job')::bigint FROM jsonb_array_elements(haul.end_by_host($1, (
          SELECT jsonb_agg(jsonb_build_object('job', k.job, 'token', k.token, 'result', 'completed'))
          FROM unnest($2::bigint[], $3::bigint[]) AS k(job, token)))) e
        """, [worker.caller.worker, keys.map(\.job), keys.map(\.token)])
      #expect(ended == [leases[2].job])
      #expect(try await pool.states() == ["running": 2, "completed": 1])
      let others = leases.dropLast().map {
        LeaseEnding(job: $0.job, token: $0.token, result: .completed)
      }
      #expect(try await worker.call(others).settled.count == 2)
    }
  }

  @Test func `a job's own failure is scheduled, promoted and counted`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: JobOptions(maxAttempts: 2))[0]
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .failed, "http_5xx") == "scheduled")
      #expect(try await pool.state(job) == "scheduled")
      #expect(try await worker.claim().isEmpty)
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      #expect(try await pool.jobs.promote(limit: 10).due == 1)
      #expect(try await pool.state(job) == "queued")
      #expect(try await worker.end(worker.claimOne(), .failed, "http_5xx") == "failed")
      #expect(try await pool.value("SELECT error FROM haul.outcome") == "http_5xx")
    }
  }

  @Test func `a permanent error fails the job at once`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      #expect(try await worker.end(worker.claimOne(), .failed, "http_4xx") == "failed")
      #expect(try await pool.value("SELECT message FROM haul.outcome") == "trouble: http_4xx")
    }
  }

  @Test func `trouble of a host blocks the host and is not charged`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(try await worker.end(lease, .failed, "rate_limited", retryAfter: 600) == "scheduled")
      #expect(try await pool.value("SELECT charged FROM haul.attempt") == false)
      let reply = try await worker.call(room: 5)
      #expect(reply.claimed.isEmpty)
      #expect(try #require(reply.wait) > 500)
      #expect(try await pool.value("SELECT why_idle FROM haul.hosts") == "blocked")
      try await pool.execute("UPDATE haul.host SET blocked_until = clock_timestamp()")
      try await pool.execute("UPDATE haul.lane SET next_at = clock_timestamp()")
      #expect(try await worker.claim(5).count == 1)
    }
  }

  @Test func `the host that answered is blocked, not the one that redirected`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await pool.submit(1, to: "mirror.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      let lease = try #require(leases.first { $0.host == "a.test" })
      #expect(leases.contains { $0.host == "mirror.test" })
      try await worker.end(lease, .failed, "connect", retryAfter: 60, host: "mirror.test")
      #expect(
        try await pool.column("SELECT name FROM haul.host WHERE blocked_until IS NOT NULL")
          == ["mirror.test"])
      #expect(try await worker.claim(5).count == 1)
    }
  }

  /// A header from the network: neither an error that repeats for ever nor a host blocked for years.
  @Test(arguments: [1e300, 1e9, -1e300])
  func `an absurd Retry-After is bounded by a day`(seconds: Double) async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      #expect(
        try await worker.end(lease, .failed, "rate_limited", retryAfter: seconds) == "scheduled")
      #expect(
        try await pool.value(
          "SELECT run_at <= clock_timestamp() + interval '1 day' FROM haul.scheduled"))
    }
  }

  @Test func `a host in trouble for a day fails the job, and retry begins anew`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      func failOnce() async throws -> JobState? {
        try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
        try await pool.execute("UPDATE haul.host SET blocked_until = NULL")
        _ = try await pool.jobs.promote(limit: 10)
        try await pool.execute("UPDATE haul.lane SET next_at = clock_timestamp()")
        return try await worker.end(worker.claimOne(), .failed, "dns")
      }
      #expect(try await failOnce() == "scheduled")
      try await pool.execute("UPDATE haul.attempt SET ended_at = ended_at - interval '23 hours'")
      #expect(try await failOnce() == "scheduled")
      try await pool.execute("UPDATE haul.attempt SET ended_at = ended_at - interval '2 hours'")
      #expect(try await failOnce() == "failed")
      #expect(try await pool.value("SELECT error FROM haul.outcome") == "host_unreachable")
      var selector = JobSelector()
      selector.error = "host_unreachable"
      #expect(try await pool.jobs.control(.retry, selector) == 1)
      #expect(try await failOnce() == "scheduled")
      #expect(try await pool.state(job) == "scheduled")
    }
  }

  @Test func `a job whose directory may not be written fails once all its workers were refused`()
    async throws
  {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let (one, other) = (try await pool.worker(), try await pool.worker())
      // Neither of these could have the job.
      _ = try await pool.worker(queues: ["default"])
      let gone = try await pool.worker()
      try await pool.execute(
        "UPDATE haul.worker SET expires_at = clock_timestamp() WHERE id = $1", [gone.caller.worker])
      func refuse(_ worker: TestWorker) async throws -> JobState? {
        try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
        _ = try await pool.jobs.promote(limit: 10)
        return try await worker.end(worker.claimOne(), .failed, "not_permitted")
      }
      #expect(try await refuse(one) == "scheduled")
      #expect(try await refuse(one) == "scheduled")
      #expect(try await pool.value("SELECT count(*) FROM haul.attempt WHERE charged") == 0)
      #expect(try await refuse(other) == "failed")
      #expect(try await pool.value("SELECT message FROM haul.outcome") == "trouble: not_permitted")
      var selector = JobSelector()
      selector.error = "not_permitted"
      #expect(try await pool.jobs.control(.retry, selector) == 1)
      #expect(try await refuse(one) == "scheduled")
      #expect(try await refuse(other) == "failed")
      #expect(try await pool.state(job) == "failed")
    }
  }

  @Test func `interrupted work goes to its instance first and later to anyone`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let other = "00000000-0000-0000-0000-000000000002"
      let otherInstance = try await pool.jobs.initStore(
        name: Pool.name, marker: other, machine: "other", root: "/data")
      let (near, far) = (try await pool.worker(), try await pool.worker(markers: [other]))
      let lease = try await near.claimOne()
      #expect(try await near.checkpoint(lease, bytes: 4096, instance: pool.instance))
      #expect(try await near.end(lease, .released) == "interrupted")
      #expect(try await pool.state(job) == "interrupted")
      #expect(try await far.claim().isEmpty)
      #expect(try await pool.jobs.promote(limit: 10).unheld == 0)

      let again = try await near.claimOne()
      #expect(again.resume == #"{"part": "x"}"#)
      #expect(again.resumeInstance == pool.instance && again.resumeToken == lease.token)
      #expect(try await near.end(again, .released) == "interrupted")

      try await pool.execute("UPDATE haul.ready SET hold_until = clock_timestamp()")
      #expect(try await pool.jobs.promote(limit: 10).unheld == 1)
      let taken = try await far.claimOne()
      #expect(taken.instance == otherInstance && taken.resumeInstance == pool.instance)
      #expect(try await far.end(taken, .completed) == "completed")
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == 0)
    }
  }

  /// What a failure leaves of a job's progress: nothing where no retry can help.
  @Test(
    arguments: [
      ("http_4xx", true), ("redirects", true), ("unverified_length", true), ("digest", false),
      ("length", false), ("disk_full", false), ("timeout", true), ("blocked_address", true),
      ("connect", true),
    ] as [(ErrorClass, Bool)])
  func `a failure that a retry may mend keeps what is durable`(
    _ error: ErrorClass, _ isKept: Bool
  ) async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1, options: JobOptions(maxAttempts: 1, maxHostWait: 1))[0]
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      // Longer than it may wait for a host.
      #expect(try await worker.end(lease, .failed, error, retryAfter: 2) == "failed")
      let parts = [HeartbeatReply.Held(job: job, token: lease.token)]
      let kept: Int64 = isKept ? 1 : 0
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == kept)
      let unneeded = try await JobQueue(worker.work).unneededParts(
        worker.caller, instance: pool.instance, parts)
      #expect(unneeded.isEmpty == isKept)
      // Another job's cancellation leaves it alone.
      try await pool.submit(1)
      var queued = JobSelector()
      queued.state = "queued"
      #expect(try await pool.jobs.control(.cancel, queued) == 1)
      #expect(try await pool.value("SELECT count(*) FROM haul.checkpoint") == kept)
      #expect(
        try await pool.value("SELECT count(*) FROM haul.health WHERE violations <> 0") == 0)
    }
  }

  @Test func `a part is unneeded when its job has ended or holds no checkpoint here`() async throws
  {
    try await Pool.open { pool in
      try await pool.submit(3)
      let worker = try await pool.worker()
      let leases = try await worker.claim(3)
      try await worker.checkpoint(leases[0], instance: pool.instance)
      try await worker.end(leases[0], .released)
      try await worker.end(leases[1], .completed)
      let parts = leases.map { HeartbeatReply.Held(job: $0.job, token: $0.token) }
      let queue = JobQueue(worker.work)
      let gone = HeartbeatReply.Held(job: 999_999, token: 1)
      #expect(
        Set(
          try await queue.unneededParts(
            worker.caller, instance: pool.instance, parts + [gone])) == [parts[1], gone])
      #expect(
        Set(
          try await queue.unneededParts(
            worker.caller, instance: pool.instance + 1, parts)) == [parts[0], parts[1]])
    }
  }
}
