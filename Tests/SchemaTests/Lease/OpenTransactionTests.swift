import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// A session that leaves its transaction open holds up the jobs that it has touched, and no others.
struct OpenTransactionTests {
  private static let holdsLane =
    "SELECT FROM haul.lane l JOIN haul.host_name n ON n.id = l.host WHERE n.name = 'a.test' FOR UPDATE OF l"
  private static let holdsHost = "SELECT FROM haul.host WHERE name = 'a.test' FOR UPDATE"

  private func ending(_ lease: Lease, _ result: LeaseEnding.Result) -> LeaseEnding {
    LeaseEnding(job: lease.job, token: lease.token, result: result)
  }

  @Test(arguments: [
    (holdsLane, LeaseEnding.Result.released), (holdsHost, .released), (holdsHost, .completed),
  ])
  func `a settlement ends the jobs of other hosts, and names the others`(
    held: String, result: LeaseEnding.Result
  ) async throws {
    try await Pool.open { pool in
      let stuck = try await pool.submit(2)
      try await pool.submit(2, to: "b.test")
      let worker = try await pool.worker()
      let leases = try await worker.claim(4)
      let endings = leases.map { ending($0, result) }
      let tokens = leases.filter { stuck.contains($0.job) }.map(\.token)
      #expect(tokens.count == 2)
      try await pool.holding(held) { () async throws in
        let reply = try await worker.call(endings)
        #expect(reply.settled.count == 2)
        #expect(reply.later == tokens)
        // As after a lost reply.
        let again = try await worker.repeatCall(endings)
        #expect(Set(again.settled.map(\.token)) == Set(reply.settled.map(\.token)))
        #expect(again.later == tokens)
      }
      let rest = try await worker.call(endings.filter { tokens.contains($0.token) })
      #expect(rest.settled.map(\.token) == tokens)
      #expect(rest.later == [])
    }
  }

  @Test func `a submission that was not committed stops no settlement of other hosts`()
    async throws
  {
    try await Pool.open { pool in
      let stuck = try await pool.submit(1)[0]
      let free = try await pool.submit(1, to: "b.test")[0]
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      let other = try await pool.connect()
      let key = try await other.stage(
        [Pool.line(1, "https://a.test/new", "a.test/new")], queue: Pool.name)
      try await other.script("BEGIN")
      try await other.execute(
        "SELECT haul.submit($1::uuid, $2, NULL, 5::smallint, '{}', NULL, 'skip', false, 10)",
        [key, Pool.name])
      let reply = try await worker.call(leases.map { ending($0, .released) })
      #expect(reply.settled.map(\.job) == [free])
      #expect(reply.later == leases.filter { $0.job == stuck }.map(\.token))
      try await other.script("COMMIT")
      #expect(
        try await worker.call(leases.filter { $0.job == stuck }.map { ending($0, .released) })
          .settled.map(\.job) == [stuck])
      await other.close()
    }
  }

  @Test func `a job that an operator is cancelling holds up no other job of its host`()
    async throws
  {
    try await Pool.open { pool in
      let jobs = try await pool.submit(3)
      let worker = try await pool.worker()
      let leases = try await worker.claim(3)
      try await pool.holding("SELECT haul.cancel(jsonb_build_object('ids', ARRAY[\(jobs[1])]), 10)")
      { () async throws in
        let reply = try await worker.call(leases.map { ending($0, .completed) })
        #expect(reply.settled.map(\.job).sorted() == [jobs[0], jobs[2]])
        #expect(reply.later == leases.filter { $0.job == jobs[1] }.map(\.token))
      }
      let rest = leases.filter { $0.job == jobs[1] }
      #expect(try await worker.call(rest.map { ending($0, .completed) }).settled.count == 1)
    }
  }

  @Test func `what an operator is doing stops no checkpoint`() async throws {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.impatientWorker()
      let lease = try await worker.claimOne()
      for command in ["cancel", "pause"] {
        try await pool.holding(
          "SELECT haul.\(command)(jsonb_build_object('ids', ARRAY[\(job)]), 10)"
        ) { () async throws in
          #expect(try await worker.checkpoint(lease, instance: pool.instance))
        }
      }
      var selector = JobSelector()
      selector.ids = [job]
      _ = try await pool.jobs.control(.pause, selector)
      try await pool.holding("SELECT haul.resume(jsonb_build_object('ids', ARRAY[\(job)]), 10)") {
        () async throws in
        #expect(try await worker.checkpoint(lease, instance: pool.instance))
      }
      try await pool.holding(
        "SELECT haul.prioritize(jsonb_build_object('ids', ARRAY[\(job)]), 2::smallint, 10)"
      ) { () async throws in
        #expect(try await worker.checkpoint(lease, instance: pool.instance))
      }
    }
  }

  @Test(arguments: [holdsLane, holdsHost])
  func `the jobs of a dead worker are taken back, host by host`(held: String) async throws {
    try await Pool.open { pool in
      let stuck = try await pool.submit(1)[0]
      let free = try await pool.submit(1, to: "b.test")[0]
      let dead = try await pool.worker()
      try await dead.claim(2)
      try await pool.endGrace()
      try await pool.silence(dead, for: 60)
      try await pool.holding(held) { () async throws in
        #expect(try await pool.jobs.rescue().rescued.map(\.job) == [free])
        #expect(try await pool.jobs.rescue().rescued.isEmpty)
      }
      #expect(try await pool.jobs.rescue().rescued.map(\.job) == [stuck])
    }
  }

  @Test func `an operator's rescue says how many jobs the worker keeps`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.submit(1, to: "b.test")
      let hung = try await pool.worker()
      try await hung.claim(2)
      try await pool.holding(Self.holdsHost) { () async throws in
        let rescued = try #require(try await pool.jobs.rescueWorker(hung.caller.worker))
        #expect(rescued.jobs == 1 && rescued.kept == 1 && !rescued.hadEnded)
      }
      try await pool.endGrace()
      _ = try await pool.jobs.rescue()
      #expect(try await pool.states() == ["queued": 2])
    }
  }

  @Test func `the worker whose leader looks for due jobs in vain does not lead`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.worker().claim(1)
      try await pool.submit(1, after: .seconds(60))
      _ = try await pool.jobs.rescue()
      try await pool.execute("UPDATE haul.scheduled SET run_at = run_at - interval '1 hour'")
      #expect(try await pool.jobs.lead())
      let other = try await pool.connect()
      try await pool.execute(
        "UPDATE haul.pulse SET promoted_at = NULL, round_at = clock_timestamp() + interval '4 seconds'"
      )
      #expect(try await JobQueue(other).lead())
      try await pool.holding(Self.holdsLane) { () async throws in
        #expect(try await pool.jobs.promote(limit: 9).due == 0)
        #expect(try await JobQueue(other).lead() == false)
      }
      await other.close()
    }
  }

  @Test func `jobs that are due can be claimed, host by host`() async throws {
    try await Pool.open { pool in
      let stuck = try await pool.submit(3, after: .seconds(60))
      let free = try await pool.submit(1, to: "b.test", after: .seconds(90))
      // The lane is there.
      try await pool.submit(1)
      try await pool.worker().claim(1)
      try await pool.execute("UPDATE haul.scheduled SET run_at = run_at - interval '1 hour'")
      let worker = try await pool.worker()
      try await pool.holding(Self.holdsLane) { () async throws in
        // Those of the held host are due first, and fill the limit.
        #expect(try await pool.jobs.promote(limit: 2).due == 1)
        #expect(try await worker.claim(9).map(\.job) == free)
      }
      #expect(try await pool.jobs.promote(limit: 9).due == 3)
      #expect(try await worker.claim(9).map(\.job) == stuck)
    }
  }

  @Test func `interrupted jobs are freed, host by host`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let free = try await pool.submit(1, to: "b.test")
      let first = try await pool.worker()
      for lease in try await first.claim(2) {
        try await first.checkpoint(lease, instance: pool.instance)
        try await first.end(lease, .released)
      }
      try await pool.execute("UPDATE haul.ready SET hold_until = clock_timestamp()")
      try await pool.holding(Self.holdsLane) { () async throws in
        #expect(try await pool.jobs.promote(limit: 9).unheld == 1)
        #expect(
          try await pool.column("SELECT job FROM haul.ready WHERE instance = 0", as: Int64.self)
            == free)
      }
      #expect(try await pool.jobs.promote(limit: 9).unheld == 1)
    }
  }

  @Test func `a sweep that meets a held job lets the sweeps of other batches go on`()
    async throws
  {
    try await Pool.open { pool in
      let stuck = try await pool.submit(1, batch: "first")[0]
      try await pool.submit(1, to: "b.test", batch: "second")
      try await pool.execute(
        """
        SELECT haul.begin_sweep(b.id, 'cancel') FROM haul.batch b ORDER BY b.id
        """)
      try await pool.execute(
        "UPDATE haul.batch SET swept_at = clock_timestamp() - make_interval(mins => 9 - id)")
      try await pool.holding("SELECT FROM haul.ready WHERE job = \(stuck) FOR UPDATE") {
        () async throws in
        try await pool.jobs.sweepOn(limit: 9)
        try await pool.jobs.sweepOn(limit: 9)
        #expect(try await pool.states() == ["queued": 1, "cancelled": 1])
      }
    }
  }

  @Test func `rounds go on while a clock that was set back cannot be mended`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.worker().claim(1)
      try await pool.endGrace()
      let isAhead = "SELECT expires_at > clock_timestamp() + interval '1 hour' FROM haul.worker"
      try await pool.execute(
        "UPDATE haul.pulse SET round_at = round_at + interval '2 hours', grace_until = round_at + interval '2 hours'"
      )
      try await pool.execute("UPDATE haul.worker SET expires_at = expires_at + interval '2 hours'")
      try await pool.holding("SELECT FROM haul.worker FOR UPDATE") { () async throws in
        #expect(try await pool.jobs.rescue().grace == false)
        #expect(try await pool.value(isAhead))
      }
      #expect(try await pool.jobs.rescue().grace)
      #expect(try await pool.value(isAhead) == false)
    }
  }

  @Test(arguments: [holdsLane, holdsHost])
  func `a clock that was set back is mended for the hosts that nobody holds`(held: String)
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2)
      try await pool.submit(2, to: "b.test")
      try await pool.worker().claim(2)
      try await pool.endGrace()
      try await pool.execute("UPDATE haul.pulse SET round_at = round_at + interval '2 hours'")
      try await pool.execute("UPDATE haul.host SET last_start = last_start + interval '2 hours'")
      let ahead =
        "SELECT n.name FROM haul.host h JOIN haul.host_name n USING (id) WHERE h.last_start > clock_timestamp() ORDER BY 1"
      try await pool.holding(held) { () async throws in
        for _ in 1...3 {
          _ = try await pool.jobs.rescue()
          #expect(try await pool.column(ahead) == ["a.test"])
        }
      }
      _ = try await pool.jobs.rescue()
      #expect(try await pool.column(ahead) == [String]())
      #expect(try await pool.value("SELECT count(*) FROM haul.clock_host") == 0)
    }
  }

  @Test func `after 30 s a vital names who holds rows of Haul`() async throws {
    try await Pool.open { pool in
      let vital =
        "SELECT concat_ws(' ', subject, alarming) FROM haul.vitals WHERE vital = 'open_transaction'"
      try await pool.submit(1)
      _ = try await pool.jobs.rescue()
      #expect(try await pool.value(vital) == "f")
      let holder = try await pool.connect()
      try await holder.script("BEGIN; \(Self.holdsHost)")
      let login: String = try await pool.value("SELECT current_user::text")
      let who = "process \(holder.backendPID) of \(login)"
      _ = try await pool.jobs.rescue()
      #expect(try await pool.value(vital) == "\(who) f")
      try await pool.execute(
        """
        UPDATE haul.pulse SET holders = (SELECT jsonb_object_agg(h.key, h.value
          || jsonb_build_object('since', clock_timestamp() - interval '31 seconds')) FROM jsonb_each(holders) h)
        """)
      // Another round keeps the time.
      _ = try await pool.jobs.rescue()
      #expect(try await pool.value(vital) == "\(who) t")
      try await holder.script("ROLLBACK")
      _ = try await pool.jobs.rescue()
      #expect(try await pool.value(vital) == "f")
      await holder.close()
    }
  }

  @Test func `a transaction that has changed the pool may stand idle for so long`() async throws {
    try await Pool.open { pool in
      let session = try await pool.connect()
      let limit = "SELECT current_setting('idle_in_transaction_session_timeout')"
      func limited(by call: String) async throws -> String {
        try await session.script("BEGIN; SELECT haul.\(call)")
        let value: String = try await session.query(limit)[0].decode(0)
        try await session.script("ROLLBACK")
        return value
      }
      let cancel = "cancel('{\"queue\": \"data\"}', 10)"
      #expect(try await limited(by: cancel) == "5min")
      #expect(try await limited(by: "rescue()") == "10s")
      try await session.script("SET idle_in_transaction_session_timeout = '1min'")
      #expect(try await limited(by: cancel) == "1min")
      #expect(try await limited(by: "rescue()") == "10s")
      await session.close()
    }
  }
}
