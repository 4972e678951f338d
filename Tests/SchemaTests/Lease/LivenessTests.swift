import Postgres
import TestSupport
import Testing

@testable import JobQueue

/// Heartbeats, and the rescue of those that send none.
struct LivenessTests {
  @Test func `a heartbeat tells what is lost, unlisted and wanted`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3)
      let worker = try await pool.worker()
      let leases = try await worker.claim(3)
      try await worker.end(leases[0], .released)
      let reply = try await worker.heartbeat([leases[0], leases[1]])
      #expect(reply.lost == [leases[0].token])
      #expect(reply.unlisted == [.init(job: leases[2].job, token: leases[2].token)])
      #expect(reply.expiry == 15 && !reply.draining && reply.commands.isEmpty)
      #expect(try await pool.column("SELECT job FROM haul.progress") == [leases[1].job])
      #expect(try await pool.jobs.drainWorker(worker.caller.worker))
      #expect(try await worker.heartbeat(leases).draining)
      #expect(try await worker.claim().isEmpty)
    }
  }

  @Test func `a lease that the worker has forgotten is found within 30 seconds`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2)
      let worker = try await pool.worker()
      let leases = try await worker.claim(2)
      #expect(try await worker.heartbeat(leases).unlisted.isEmpty)
      #expect(try await worker.heartbeat([leases[0]]).unlisted.isEmpty)
      for time in [
        "clock_timestamp() - interval '31 seconds'", "clock_timestamp() + interval '1 hour'",
      ] {
        try await pool.execute("UPDATE haul.worker SET checked_at = \(time)")
        #expect(try await worker.heartbeat([leases[0]]).unlisted.map(\.job) == [leases[1].job])
      }
      #expect(try await worker.heartbeat([leases[0]]).unlisted.isEmpty)
    }
  }

  @Test func `a heartbeat tells how many others could take the same jobs`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      func peers() async throws -> Int? { try await worker.heartbeat().peers }
      #expect(try await peers() == 0)
      let other = try await pool.worker()
      _ = try await pool.worker(queues: ["default"])
      let named = try await pool.worker(queues: [Pool.name])
      // That of the other queue may still be given one of this name: the first worker takes from any.
      #expect(try await peers() == 3)
      #expect(try await named.heartbeat().peers == 2)
      #expect(try await pool.jobs.drainWorker(other.caller.worker))
      #expect(try await named.heartbeat().peers == 1)
      try await pool.execute(
        "UPDATE haul.worker SET closed_stores = jsonb_build_object(instances[1], 'full') WHERE id = $1",
        [worker.caller.worker])
      #expect(try await named.heartbeat().peers == 0)
      try await pool.execute(
        "UPDATE haul.worker SET closed_stores = NULL, expires_at = clock_timestamp() WHERE id = $1",
        [worker.caller.worker])
      #expect(try await named.heartbeat().peers == 0)
    }
  }

  @Test func `what workers that are heard of receive is shown by worker, queue, batch and in all`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2, batch: "films")
      let (one, two) = (try await pool.worker(), try await pool.worker())
      let lease = try await one.claimOne()
      func beat(_ worker: TestWorker, _ rates: [ReceivedRate]) async throws {
        _ = try await JobQueue(worker.life).heartbeat(
          worker.caller, seen: 0, holding: [], received: rates)
        try await pool.hear(worker)
      }
      func shown() async throws -> [Int64] {
        try await pool.column(
          """
          SELECT (SELECT sum(rate) FROM haul.workers)::bigint UNION ALL
          SELECT (SELECT rate FROM haul.queues WHERE queue = '\(Pool.name)') UNION ALL
          SELECT (SELECT rate FROM haul.batches WHERE batch = 'films') UNION ALL
          SELECT (SELECT rate FROM haul.totals)
          """)
      }
      // A program of before tells what it receives of each job, and no more.
      try await pool.admin.execute(
        "SELECT haul.heartbeat($1, $2, 1, $3::jsonb)",
        [
          one.caller.worker, one.caller.secret,
          #"[{"job": \#(lease.job), "token": \#(lease.token), "bytes": 9, "rate": 7}]"#,
        ])
      try await pool.hear(one)
      #expect(try await shown() == [7, 7, 7, 7])
      let films = ReceivedRate(queue: Pool.name, batch: "films", rate: 1000)
      try await beat(one, [films, ReceivedRate(queue: Pool.name, batch: nil, rate: 10)])
      try await beat(two, [films, ReceivedRate(queue: "gone", batch: "films", rate: 100)])
      #expect(try await shown() == [2110, 2010, 2100, 2110])
      // What no meter measures is no number of the pool's.
      try await beat(two, [ReceivedRate(queue: Pool.name, batch: nil, rate: .max)])
      #expect(try await shown() == [1_000_000_001_010, 1_000_000_001_010, 1000, 1_000_000_001_010])
      // One that is silent has not died yet, but nobody knows what it receives.
      try await pool.silence(two, for: 4)
      #expect(
        try await pool.column("SELECT count(*) FROM haul.workers WHERE state = 'silent'") == [1])
      #expect(try await shown() == [1010, 1010, 1000, 1010])
      try await beat(one, [])
      #expect(try await shown() == [0, 0, 0, 0])
    }
  }

  /// Its reply is under way: the worker cannot list what it has not yet heard of.
  @Test func `leases of a call not yet seen are not unlisted`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.claim()
      let reply = try await JobQueue(worker.life).heartbeat(worker.caller, seen: 0, holding: [])
      #expect(reply.unlisted.isEmpty)
      #expect(try await worker.heartbeat().unlisted.count == 1)
    }
  }

  @Test func `a worker without session and heartbeat is rescued after three seconds`() async throws
  {
    try await Pool.open { pool in
      let job = try await pool.submit(1)[0]
      let worker = try await pool.worker()
      let session = try await pool.connect()
      try await JobQueue(session).attachSession(worker.caller)
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 4)
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      await session.close()
      try await eventually("the end of the worker's session") {
        try await pool.value(
          """
          SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database
          WHERE l.locktype = 'advisory' AND d.datname = current_database()
          """) == 0
      }
      let reply = try await pool.jobs.rescue()
      let rescued = try #require(reply.rescued.first)
      #expect((rescued.job, rescued.token, rescued.state) == (job, lease.token, "queued"))
      #expect(reply.workers == [worker.caller.worker])
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      // It was alive after all: nothing for it until it has heard that its leases are gone.
      #expect(try await worker.claim().isEmpty)
      #expect(try await worker.heartbeat([lease]).lost == [lease.token])
      #expect(try await worker.claimOne().token > lease.token)
    }
  }

  @Test func `a worker with a session is rescued when its leases have expired`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await JobQueue(worker.life).attachSession(worker.caller)
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await pool.endGrace()
      try await pool.silence(worker, for: 14)
      #expect(try await pool.jobs.rescue().rescued.isEmpty)
      try await pool.silence(worker, for: 16)
      #expect(try await pool.jobs.rescue().rescued.map(\.state) == ["interrupted"])
      #expect(try await pool.value("SELECT charged FROM haul.attempt") == false)
    }
  }

  @Test func `a worker that stops in order is rescued at once`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.claim()
      try await pool.endGrace()
      try await JobQueue(worker.work).stopWorker(worker.caller)
      #expect(try await pool.jobs.rescue().rescued.count == 1)
    }
  }

  /// A gap between rounds, or a crash of the server, which empties unlogged tables.
  @Test(arguments: [
    "UPDATE haul.pulse SET round_at = clock_timestamp() - interval '4 seconds'",
    "UPDATE haul.pulse SET server_start = server_start - interval '1 second'",
    "TRUNCATE haul.pulse",
  ])
  func `after a gap nothing is rescued for one expiry`(gap: String) async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      try await worker.claim()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      try await pool.execute(gap)
      #expect(try await pool.jobs.rescue().grace)
      #expect(
        try await pool.value(
          """
          SELECT grace_until - clock_timestamp() BETWEEN interval '10 seconds' AND interval '15 seconds'
          FROM haul.pulse
          """))
      #expect(try await pool.jobs.rescue().grace)
      try await pool.execute(
        "UPDATE haul.pulse SET grace_until = clock_timestamp(), round_at = clock_timestamp()")
      #expect(try await pool.jobs.rescue().rescued.count == 1)
    }
  }

  @Test func `a job that kills its workers stops, one that gets on does not`() async throws {
    try await Pool.open { pool in
      let jobs = try await pool.submit(2)
      for round in 1...4 {
        let worker = try await pool.worker()
        let leases = try await worker.claim(2)
        #expect(leases.count == 2)
        try await worker.checkpoint(
          #require(leases.first { $0.job == jobs[1] }), bytes: Int64(round) * 4096,
          instance: pool.instance)
        try await pool.endGrace()
        try await pool.silence(worker, for: 60)
        #expect(try await pool.jobs.rescue().rescued.count == 2)
      }
      #expect(try await pool.state(jobs[0]) == "failed")
      #expect(try await pool.value("SELECT error FROM haul.outcome") == "rescued_too_often")
      #expect(try await pool.state(jobs[1]) == "interrupted")
    }
  }

  @Test func `one session leads until it is gone`() async throws {
    try await Pool.open { pool in
      let (one, two) = (try await pool.connect(), try await pool.connect())
      #expect(try await JobQueue(one).lead())
      _ = try await JobQueue(one).rescue()
      // However long what follows takes, that round was just now.
      try await pool.execute(
        "UPDATE haul.pulse SET round_at = clock_timestamp() + interval '1 hour'")
      #expect(try await !JobQueue(two).lead())
      await one.close()
      try await eventually("the leader's lock") { try await JobQueue(two).lead() }
    }
  }
}
