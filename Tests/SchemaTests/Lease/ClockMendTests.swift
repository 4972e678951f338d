import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// What happens while times are corrected after the database's clock was set back by two hours.
struct ClockMendTests {
  private static let holdsLane =
    "SELECT FROM haul.lane l JOIN haul.host_name n ON n.id = l.host WHERE n.name = 'a.test' FOR UPDATE OF l"

  private static let blockedSeconds =
    "SELECT extract(epoch FROM blocked_until - clock_timestamp())::double precision FROM haul.host WHERE name = 'a.test'"

  /// Submits jobs on `count` hosts that wait ten hours for a retry. Their hosts are blocked as long.
  private func waiting(_ pool: Pool, _ count: Int) async throws -> [Int64] {
    let worker = try await pool.worker()
    var jobs: [Int64] = []
    for host in 1...count { jobs += try await pool.submit(1, to: "\(host).test") }
    for lease in try await worker.claim(count) {
      try await worker.end(lease, .failed, ErrorClass(rawValue: "interrupted"))
    }
    try await pool.endGrace()
    try await pool.execute(
      "UPDATE haul.scheduled SET run_at = clock_timestamp() + interval '10 hours'")
    try await pool.execute(
      "UPDATE haul.host SET block_reason = 'rate_limited', blocked_until = clock_timestamp() + interval '10 hours'"
    )
    return jobs
  }

  /// A crash empties unlogged tables. `seen`: hosts that are not corrected yet show the step once more.
  @Test(arguments: [false, true])
  func `a crash between two steps loses no correction and repeats none`(seen: Bool) async throws {
    try await Pool.open { pool in
      let jobs = try await waiting(pool, 5)
      if seen {
        try await pool.execute("UPDATE haul.host SET last_start = last_start + interval '2 hours'")
      }
      try await pool.setClockBack(mendingAtOnce: 2)
      for mended in [2, 4, 5, 5, 5] {
        _ = try await pool.jobs.rescue()
        #expect(
          try await pool.column(
            "SELECT job FROM haul.scheduled WHERE run_at < clock_timestamp() + interval '9 hours' ORDER BY job"
          ) == Array(jobs[..<mended]))
        #expect(
          try await pool.value(
            "SELECT count(*) FROM haul.host WHERE blocked_until < clock_timestamp() + interval '9 hours'"
          ) == mended)
        try await pool.execute("TRUNCATE haul.pulse")
      }
      #expect(
        try await pool.value(
          """
          SELECT least((SELECT min(run_at) FROM haul.scheduled), (SELECT min(blocked_until) FROM haul.host))
            > clock_timestamp() + interval '7 hours'
          """))
      #expect(
        try await pool.value("SELECT max(last_start) <= clock_timestamp() FROM haul.host"))
    }
  }

  /// `ahead`: the host had a block of a few seconds when the clock was set back.
  @Test(arguments: [false, true])
  func `a block that begins after the step keeps its length`(ahead: Bool) async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.execute("UPDATE haul.host SET last_start = last_start + interval '2 hours'")
      if ahead {
        try await pool.execute(
          "UPDATE haul.host SET block_reason = 'connect', blocked_until = clock_timestamp() + interval '121 minutes'"
        )
      }
      try await pool.setClockBack()
      try await pool.holding(Self.holdsLane) { () async throws in
        _ = try await pool.jobs.rescue()
        try await worker.end(lease, .failed, "rate_limited", retryAfter: 3600)
      }
      _ = try await pool.jobs.rescue()
      let seconds: Double = try await pool.value(Self.blockedSeconds)
      #expect(seconds > 3000 && seconds <= 3600, "\(seconds) s")
    }
  }

  /// 1. Another session has locked a job when the job's turn comes. 2. All others are corrected. 3. The lock goes.
  @Test func `a job that was locked is corrected once it is free`() async throws {
    try await Pool.open { pool in
      let jobs = try await waiting(pool, 3)
      let other = try await pool.connect()
      try await other.execute("BEGIN")
      try await other.execute("SELECT FROM haul.scheduled WHERE job = \(jobs[1]) FOR UPDATE")
      try await pool.setClockBack()
      let corrected =
        "SELECT job FROM haul.scheduled WHERE run_at BETWEEN clock_timestamp() + interval '7 hours' "
        + "AND clock_timestamp() + interval '9 hours' ORDER BY job"
      for _ in 0..<3 {
        _ = try await pool.jobs.rescue()
        #expect(try await pool.column(corrected) == [jobs[0], jobs[2]])
      }
      try await other.execute("COMMIT")
      for _ in 0..<2 {
        _ = try await pool.jobs.rescue()
        #expect(try await pool.column(corrected) == jobs)
        #expect(try await pool.value("SELECT count(*) FROM haul.clock_wait") == 0)
      }
    }
  }

  @Test func `an operator's block is not longer because the clock was ahead`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await pool.worker().claim(1)
      try await pool.endGrace()
      try await pool.execute(
        "UPDATE haul.host SET block_reason = 'connect', blocked_until = clock_timestamp() + interval '121 minutes'"
      )
      try await pool.setClockBack()
      try await pool.holding(Self.holdsLane) { () async throws in
        _ = try await pool.jobs.rescue()
        try await pool.execute("SELECT haul.block_host('a.test', '30 minutes')")
      }
      _ = try await pool.jobs.rescue()
      let seconds: Double = try await pool.value(Self.blockedSeconds)
      #expect(seconds > 1500 && seconds <= 1800, "\(seconds) s")
    }
  }

  @Test func `a host that could not be corrected in time makes up for both steps`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await pool.worker().claim(1)
      try await pool.endGrace()
      try await pool.execute(
        "UPDATE haul.host SET block_reason = 'connect', blocked_until = clock_timestamp() + interval '10 hours'"
      )
      try await pool.holding(Self.holdsLane) { () async throws in
        for _ in 1...2 {
          try await pool.setClockBack()
          _ = try await pool.jobs.rescue()
        }
      }
      _ = try await pool.jobs.rescue()
      let hours: Double = try await pool.value(Self.blockedSeconds) / 3600
      #expect(hours > 5.5 && hours <= 6.1, "\(hours) h")
    }
  }

  /// The first round corrects no job beyond the first.
  @Test func `a start that a person sets after the step stays`() async throws {
    try await Pool.open { pool in
      let jobs = try await waiting(pool, 3)
      try await pool.execute("UPDATE haul.host SET blocked_until = NULL")
      try await pool.setClockBack(mendingAtOnce: 1)
      _ = try await pool.jobs.rescue()
      let line = Pool.line(1, "https://3.test/3", "3.test/3")
      var submission = Submission(queue: Pool.name, after: .seconds(3 * 3600))
      submission.onDuplicate = .replace
      _ = try await pool.jobs.submit(submission, [line])
      for _ in 1...4 { _ = try await pool.jobs.rescue() }
      #expect(
        try await pool.value(
          "SELECT run_at > clock_timestamp() + interval '2 hours' FROM haul.scheduled WHERE job = $1",
          [jobs[2]]))
    }
  }

  /// The wait of the last job began between the two steps.
  @Test func `each job makes up for the steps after which its wait began`() async throws {
    try await Pool.open { pool in
      let jobs = try await waiting(pool, 3)
      try await pool.setClockBack(mendingAtOnce: 1)
      _ = try await pool.jobs.rescue()
      try await pool.execute(
        "UPDATE haul.attempt SET ended_at = clock_timestamp() WHERE job = $1", [jobs[2]])
      try await pool.execute("UPDATE haul.pulse SET round_at = clock_timestamp()")
      // The clock is ahead by two hours once more.
      for change in ["attempt SET ended_at = ended_at", "clock_step SET stepped_at = stepped_at"] {
        try await pool.execute("UPDATE haul.\(change) + interval '2 hours'")
      }
      try await pool.setClockBack()
      for _ in 1...2 { _ = try await pool.jobs.rescue() }
      let hours: [Int] = try await pool.column(
        "SELECT ceil(extract(epoch FROM run_at - clock_timestamp()) / 3600)::bigint FROM haul.scheduled ORDER BY job"
      )
      #expect(hours == [6, 6, 8])
    }
  }

  @Test func `a command on a batch whose operator is gone goes on`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, batch: "b")
      try await pool.execute("SELECT haul.begin_sweep(b.id, 'cancel') FROM haul.batch b")
      try await pool.endGrace()
      try await pool.execute("UPDATE haul.batch SET swept_at = swept_at + interval '2 hours'")
      try await pool.setClockBack()
      _ = try await pool.jobs.rescue()
      #expect(try await pool.value("SELECT swept_at <= clock_timestamp() FROM haul.batch"))
    }
  }

  /// A start on a host with an interval, and a part file that waits for its worker.
  @Test(arguments: [
    "SELECT next_start::text FROM haul.host WHERE name = 'b.test'",
    "SELECT hold_until::text FROM haul.ready WHERE instance <> 0",
  ])
  func `what begins after the step is not corrected`(written: String) async throws {
    try await Pool.open { pool in
      try await pool.execute("SELECT haul.set_host('b.test', 4, 3600, 1)")
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.submit(2, to: "b.test")
      try await pool.endGrace()
      try await pool.execute(
        "UPDATE haul.host SET last_start = clock_timestamp() + interval '2 hours'")
      try await pool.setClockBack(mendingAtOnce: 1)
      _ = try await pool.jobs.rescue()
      try await pool.hear(worker)
      _ = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      let before: String = try await pool.value(written)
      #expect(try await pool.value("SELECT count(*) FROM haul.clock_host") == 1)
      for _ in 1...3 { _ = try await pool.jobs.rescue() }
      #expect(try await pool.value("SELECT count(*) FROM haul.clock_host") == 0)
      #expect(try await pool.value(written) == before)
    }
  }
}
