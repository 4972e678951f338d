import JobModel
import JobQueue
import TestSupport
import Testing

/// The database's clock was ahead and is set back: what was written meanwhile lies in the future.
struct ClockStepTests {
  /// Makes all times that the pool holds now those of a clock that is two hours ahead.
  private func written(ahead pool: Pool) async throws {
    for change in [
      "pulse SET round_at = round_at + d.ahead, grace_until = grace_until + d.ahead, watched_since = watched_since + d.ahead",
      "submission SET renewed_at = renewed_at + d.ahead",
      "worker SET heartbeat_at = heartbeat_at + d.ahead, expires_at = expires_at + d.ahead, steady_since = steady_since + d.ahead",
      "host SET next_start = next_start + d.ahead, last_start = last_start + d.ahead, blocked_until = blocked_until + d.ahead, trouble_since = trouble_since + d.ahead",
      "lane SET next_at = next_at + d.ahead", "ready SET hold_until = hold_until + d.ahead",
      "scheduled SET run_at = run_at + d.ahead", "held SET run_at = run_at + d.ahead",
    ] {
      try await pool.execute("UPDATE haul.\(change) FROM (SELECT interval '2 hours' AS ahead) d")
    }
  }

  private func alarm(_ pool: Pool) async throws -> Bool {
    try await pool.value("SELECT alarming FROM haul.vitals WHERE vital = 'clock_step'")
  }

  @Test func `a dead worker's jobs are taken over once its lease has run out`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let dead = try await pool.worker()
      let lease = try await dead.claimOne()
      try await dead.heartbeat([lease])
      try await pool.endGrace()
      try await written(ahead: pool)
      #expect(try await alarm(pool) == false)
      // The round that notices gives everybody the time of one lease.
      #expect(try await pool.jobs.rescue().grace)
      #expect(try await alarm(pool))
      #expect(
        try await pool.value(
          "SELECT heartbeat_at <= clock_timestamp() AND expires_at <= clock_timestamp() + haul.lease_expiry() FROM haul.worker"
        ))
      try await pool.execute("UPDATE haul.pulse SET grace_until = '-infinity'")
      try await pool.silence(dead, for: 60)
      #expect(try await pool.jobs.rescue().rescued.map(\.job) == [job])
    }
  }

  /// What was paused, failed or completed while the clock was ahead counts as older than a command.
  @Test func `commands reach jobs that seem to be paused or finished in the future`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      #expect(try await worker.end(leases[0], .failed) == "failed")
      #expect(try await worker.end(leases[1], .completed) == "completed")
      let paused = jobs.filter { job in !leases.contains { $0.job == job } }
      #expect(try await pool.jobs.control(.pause, Pool.ids(paused)) == 1)
      for change in ["held SET held_at = held_at", "outcome SET finished_at = finished_at"] {
        try await pool.execute("UPDATE haul.\(change) + interval '2 hours'")
      }
      #expect(try await pool.jobs.control(.resume, Pool.ids(paused)) == 1)
      #expect(try await pool.jobs.control(.retry, Pool.ids([leases[0].job])) == 1)
      try await pool.execute(
        """
        SELECT haul.arm_jobs(
          haul.refresh_jobs(ARRAY[\(leases[1].job)::bigint], clock_timestamp(), NULL))
        """)
      #expect(try await pool.states() == ["queued": 3])
    }
  }

  /// Its sender died before the clock was set back; two hours later it would be noticed.
  @Test func `a dead submission is cleared no later than without the step`() async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.begin_submission('data', true)")
      try await pool.endGrace()
      try await written(ahead: pool)
      _ = try await pool.jobs.rescue()
      #expect(
        try await pool.value(
          "SELECT renewed_at <= clock_timestamp() AND watched_since <= clock_timestamp() FROM haul.submission, haul.pulse"
        ))
    }
  }

  /// As after the boot of a virtual machine that crashed: no earlier round is remembered.
  @Test func `a clock that was ahead before a crash is noticed after it`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.heartbeat([try await worker.claimOne()])
      try await written(ahead: pool)
      try await pool.execute("TRUNCATE haul.pulse")
      #expect(try await pool.jobs.rescue().grace)
      #expect(try await alarm(pool))
      #expect(
        try await pool.value(
          "SELECT heartbeat_at <= clock_timestamp() AND expires_at <= clock_timestamp() + haul.lease_expiry() FROM haul.worker"
        ))
      #expect(
        try await pool.value("SELECT max(last_start) <= clock_timestamp() FROM haul.host"))
    }
  }

  @Test func `a live worker keeps its jobs`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await written(ahead: pool)
      _ = try await pool.jobs.rescue()
      try await worker.heartbeat([lease])
      try await pool.execute("UPDATE haul.pulse SET grace_until = '-infinity'")
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      #expect(try await worker.end(lease, .completed) == .completed)
    }
  }

  @Test func `jobs that wait can be claimed, whatever made them wait`() async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('slow.test', 4, 1, 1)")
      let slow = try await pool.submit(2, to: "slow.test")
      let retried = try await pool.submit(1, to: "b.test")[0]
      let interrupted = try await pool.submit(1, to: "c.test")[0]
      let blocked = try await pool.submit(2, to: "d.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(9)
      #expect(leases.count == 5)
      for lease in leases {
        switch lease.job {
        case retried: try await worker.end(lease, .failed, ErrorClass(rawValue: "interrupted"))
        case interrupted:
          try await worker.checkpoint(lease, instance: pool.instance)
          try await worker.end(lease, .released)
        case blocked[0]: try await worker.end(lease, .failed, ErrorClass(rawValue: "connect"))
        default: try await worker.end(lease, .completed)
        }
      }
      try await pool.endGrace()
      try await written(ahead: pool)
      #expect(try await worker.claim(9).isEmpty)
      _ = try await pool.jobs.rescue()
      try await pool.hear(worker)
      // What each waits for now is as long as without the step: at most a few seconds.
      #expect(
        try await pool.value(
          "SELECT count(*) FROM haul.scheduled WHERE run_at > clock_timestamp() + interval '10 seconds'"
        ) == 0)
      #expect(
        try await pool.value(
          "SELECT count(*) FROM haul.host WHERE greatest(next_start, blocked_until) > clock_timestamp() + interval '10 seconds'"
        ) == 0)
      var found: Set<Int64> = []
      try await eventually("the claim of all jobs that wait") {
        _ = try await pool.jobs.promote(limit: 100)
        for lease in try await worker.claim(9) {
          found.insert(lease.job)
          try await worker.end(lease, .completed)
        }
        return found == [slow[1], retried, interrupted, blocked[0]]
      }
    }
  }

  /// New jobs have just armed the lane of a host that runs as many transfers as it may.
  @Test func `jobs of a full host start once it has a free place`() async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('*', 1, NULL, NULL)")
      let jobs = try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.execute("UPDATE haul.lane SET next_at = clock_timestamp()")
      try await written(ahead: pool)
      _ = try await pool.jobs.rescue()
      try await pool.hear(worker)
      try await worker.end(lease, .completed)
      try await eventually("the claim of the next job") {
        try await worker.claim(9).map(\.job) == [jobs[1]]
      }
    }
  }

  /// What a lane waits for is over, and only then does the host get a free place.
  @Test(arguments: [
    "SELECT haul.unblock_host('a.test')", "SELECT haul.set_host('a.test', 1, NULL, NULL)",
  ])
  func `a full host does not keep the time that its jobs waited for`(change: String) async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('a.test', 1, 3600, 1)")
      let jobs = try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.execute("SELECT haul.block_host('a.test', '1 hour')")
      try await pool.execute("UPDATE haul.lane SET next_at = clock_timestamp() + interval '1 hour'")
      try await pool.execute(
        "UPDATE haul.host SET blocked_until = clock_timestamp(), next_start = clock_timestamp()")
      try await pool.execute(change)
      try await worker.end(lease, .completed)
      try await pool.execute("UPDATE haul.host SET next_start = clock_timestamp()")
      try await eventually("the claim of the next job") {
        try await worker.claim(9).map(\.job) == [jobs[1]]
      }
    }
  }

  /// So that a million retries do not stop all workers meanwhile.
  @Test func `retries come back in steps, each once`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await pool.execute("SELECT haul.set_host('*', 100, NULL, NULL)")
      let tried = try await pool.submit(5)
      for lease in try await worker.claim(9) {
        try await worker.end(lease, .failed, ErrorClass(rawValue: "interrupted"))
      }
      var selector = JobSelector()
      selector.ids = [tried[3]]
      #expect(try await pool.jobs.control(.pause, selector) == 1)
      let later = try await pool.submit(1, after: .seconds(3600))[0]
      try await pool.endGrace()
      // Their pauses are longer than the step, so that a second time would show.
      for table in ["scheduled", "held"] {
        try await pool.execute(
          "UPDATE haul.\(table) SET run_at = clock_timestamp() + interval '10 hours'")
      }
      try await pool.setClockBack(mendingAtOnce: 2)
      for mended in [2, 4, 5, 5, 5] {
        _ = try await pool.jobs.rescue()
        #expect(
          try await pool.column(
            """
            SELECT w.job FROM (SELECT job, run_at FROM haul.scheduled UNION ALL SELECT job, run_at FROM haul.held) w
            WHERE w.run_at < clock_timestamp() + interval '9 hours' ORDER BY 1
            """) == Array(tried[..<mended]))
      }
      #expect(
        try await pool.value(
          "SELECT min(run_at) > clock_timestamp() + interval '7 hours' FROM haul.scheduled"))
      #expect(
        try await pool.value(
          "SELECT run_at > clock_timestamp() + interval '9 hours' FROM haul.scheduled WHERE job = $1",
          [later]))
    }
  }

  @Test func `hosts and held part files come back in steps, each once`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      for host in 1...5 { try await pool.submit(1, to: "\(host).test") }
      for lease in try await worker.claim(9) {
        try await worker.checkpoint(lease, instance: pool.instance)
        try await worker.end(lease, .released)
      }
      try await pool.endGrace()
      // Their blocks are longer than the step, so that a second time would show.
      try await pool.execute(
        """
        UPDATE haul.host SET block_reason = 'rate_limited', blocked_until = clock_timestamp() + interval '10 hours'
        """)
      try await pool.execute(
        "UPDATE haul.ready SET hold_until = clock_timestamp() + interval '10 hours'")
      try await pool.setClockBack(mendingAtOnce: 2)
      for mended in [2, 4, 5, 5, 5] {
        _ = try await pool.jobs.rescue()
        #expect(
          try await pool.value(
            "SELECT count(*) FROM haul.host WHERE blocked_until < clock_timestamp() + interval '9 hours'"
          ) == mended)
        #expect(
          try await pool.value(
            "SELECT count(*) FROM haul.ready WHERE hold_until < clock_timestamp() + interval '9 hours'"
          ) == mended)
      }
      #expect(
        try await pool.value(
          "SELECT min(blocked_until) > clock_timestamp() + interval '7 hours' FROM haul.host"))
    }
  }

  @Test func `what a person has set stays`() async throws {
    try await Pool.open { pool in
      let later = try await pool.submit(1, after: .seconds(3600))[0]
      try await pool.submit(1, to: "b.test")
      try await pool.execute("SELECT haul.block_host('b.test', '1 hour')")
      let times =
        "SELECT (SELECT run_at FROM haul.scheduled WHERE job = \(later))::text || blocked_until FROM haul.host WHERE name = 'b.test'"
      let before: String = try await pool.value(times)
      try await pool.endGrace()
      try await pool.execute("UPDATE haul.pulse SET round_at = round_at + interval '2 hours'")
      _ = try await pool.jobs.rescue()
      #expect(try await alarm(pool))
      #expect(try await pool.value(times) == before)
    }
  }
}
