import JobQueue
import Postgres
import TestSupport
import Testing

/// What a claim may take, and in which order.
struct ClaimTests {
  @Test(arguments: [1, 3, 4])
  func `a host runs exactly its cap`(cap: Int) async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: cap)
      try await pool.submit(10)
      let (one, two) = (try await pool.worker(), try await pool.worker())
      #expect(try await one.claim(2).count == min(cap, 2))
      #expect(try await two.claim(20).count == cap - min(cap, 2))
      #expect(try await one.claim(1).isEmpty)
    }
  }

  @Test func `of the patterns for a host the most specific counts, and * is the least`()
    async throws
  {
    try await Pool.open { pool in
      let hosts = ["a.test", "b.test", "c.example"]
      try await pool.submit(1, to: "b.test")
      for (pattern, cap) in [("*.test", 3), ("*", 2), ("a.test", 1)] {
        try await pool.jobs.setHost(pattern, cap: cap)
      }
      for host in hosts { try await pool.submit(9, to: host) }
      let worker = try await pool.worker()
      func running() async throws -> [Int] {
        _ = try await worker.claim(64)
        return try await pool.column("SELECT in_flight FROM haul.host ORDER BY name")
      }
      #expect(try await running() == [1, 3, 2])
      try await pool.jobs.setHost("*", cap: 5)
      #expect(try await running() == [1, 3, 5])
      await #expect(throws: JobQueueError.self) { try await pool.jobs.setHost("*test", cap: 5) }
    }
  }

  @Test func `room is not exceeded and is filled where it can be`() async throws {
    try await Pool.open { pool in
      for host in ["a.test", "b.test", "c.test"] { try await pool.submit(4, to: host) }
      let worker = try await pool.worker()
      #expect(try await worker.claim(7).count == 7)
      #expect(try await worker.claim(64).count == 5)
      #expect(try await worker.claim(64).isEmpty)
    }
  }

  @Test func `lower priorities wait, within one the oldest goes first`() async throws {
    try await Pool.open { pool in
      let late = try await pool.submit(2, priority: 7)
      let middle = try await pool.submit(2)
      let first = try await pool.submit(2, priority: 0)
      try await pool.jobs.setHost("a.test", cap: 100)
      let worker = try await pool.worker()
      var order: [Int64] = []
      for _ in 0..<6 { order.append(try await worker.claimOne().job) }
      #expect(order == first + middle + late)
    }
  }

  @Test func `a claim goes round the hosts`() async throws {
    try await Pool.open { pool in
      for host in ["a.test", "b.test", "c.test"] {
        try await pool.submit(10, to: host)
        try await pool.jobs.setHost(host, cap: 10)
      }
      let worker = try await pool.worker()
      for _ in 0..<3 {
        #expect(Set(try await worker.claim(3).map(\.host)) == ["a.test", "b.test", "c.test"])
      }
      let six = try await worker.claim(6).map(\.host)
      #expect(Dictionary(grouping: six) { $0 }.mapValues(\.count).values.allSatisfy { $0 == 2 })
    }
  }

  /// As a transaction does that commits long after it has armed a lane.
  @Test func `what was armed where claims have looked already is found by a complete look`()
    async throws
  {
    try await Pool.open { pool in
      for host in ["a.test", "b.test"] { try await pool.submit(1, to: host) }
      let worker = try await pool.worker()
      try await pool.execute(
        """
        UPDATE haul.lane l SET next_at = next_at - interval '1 hour' FROM haul.host h WHERE h.id = l.host AND h.name = 'b.test'
        """)
      // Others' transactions may keep a worker's claims from moving on: it is said how far they have come.
      let place: String = try await pool.value("SELECT max(next_at)::text FROM haul.lane")
      func look(in seconds: Int) async throws -> String {
        try await pool.value(
          """
          UPDATE haul.worker_call SET seen = jsonb_build_object((SELECT q.id::text FROM haul.queue q WHERE q.name = $1),
            jsonb_build_object('from', jsonb_build_object('0:5', $2::text), 'xid', '3', 'at', clock_timestamp(),
              'look_at', clock_timestamp() + make_interval(secs => $3)))
          RETURNING jsonb_path_query_first(seen, '$.*.look_at') #>> '{}'
          """, [Pool.name, place, seconds])
      }
      _ = try await look(in: 59)
      #expect(try await worker.claim(64).map(\.host) == ["a.test"])
      let due = try await look(in: 0)
      #expect(try await worker.claim(64).map(\.host) == ["b.test"])
      #expect(
        try await pool.value(
          """
          SELECT bool_and((s.value ->> 'look_at')::timestamptz >= $1::timestamptz + interval '1 second')
          FROM haul.worker_call c, jsonb_each(c.seen) s
          """, [due]))
    }
  }

  /// The queue with the smaller id always has work: the other one must not starve.
  @Test func `queues of one worker take turns`() async throws {
    try await Pool.open { pool in
      try await pool.submit(40, to: "a.test")
      try await pool.submit(40, to: "b.test", queue: "default")
      try await pool.jobs.setHost("*.test", cap: 100)
      let worker = try await pool.worker()
      var queues: [String: Int] = [:]
      for _ in 0..<40 { queues[try await worker.claimOne().queue, default: 0] += 1 }
      #expect(queues.keys.sorted() == ["data", "default"])
      #expect(try await worker.claim(5, queues: ["default"]).allSatisfy { $0.queue == "default" })
    }
  }

  @Test func `a paused queue and a store that is not mounted give nothing`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      _ = try await pool.jobs.initStore(
        name: "elsewhere", marker: "00000000-0000-0000-0000-000000000001", machine: "m", root: "/e")
      try await pool.submit(1, queue: "elsewhere")
      let worker = try await pool.worker()
      try await pool.execute("UPDATE haul.queue SET paused = true WHERE name = 'data'")
      #expect(try await worker.claim(9).isEmpty)
      try await pool.execute("UPDATE haul.queue SET paused = false")
      #expect(try await worker.claim(9).map(\.queue) == ["data"])
    }
  }

  @Test func `starts on a host keep its interval`() async throws {
    try await Pool.open { pool in
      try await pool.submit(4)
      try await pool.execute("UPDATE haul.host SET min_interval = '1 hour'")
      let worker = try await pool.worker()
      #expect(try await worker.claim(4).count == 1)
      let reply = try await worker.call(room: 4)
      #expect(reply.claimed.isEmpty)
      #expect(try #require(reply.wait) > 3500)
      try await pool.execute("UPDATE haul.host SET next_start = next_start - interval '1 hour'")
      try await pool.execute("UPDATE haul.lane SET next_at = clock_timestamp()")
      #expect(try await worker.claim(4).count == 1)
    }
  }

  @Test func `a repeated call gives the same leases`() async throws {
    try await Pool.open { pool in
      try await pool.submit(10)
      let worker = try await pool.worker()
      let first = try await worker.claim(3)
      #expect(first.count == 3)
      #expect(try await worker.repeatCall(room: 3).claimed == first)
      #expect(try await pool.value("SELECT count(*) FROM haul.lease") == 3)
    }
  }

  /// The reply is lost while the call still runs; the worker asks again on a new session.
  @Test func `a repetition waits for the call it repeats and answers alike`() async throws {
    try await Pool.open { pool in
      try await pool.submit(10)
      let worker = try await pool.worker()
      let held = try await worker.claimOne()
      let second = TestWorker(
        caller: worker.caller, work: try await pool.connect(), life: worker.life)
      var ending = LeaseEnding(job: held.job, token: held.token, result: .failed)
      ending.error = "timeout"
      let endings = [ending]
      try await worker.work.script("BEGIN")
      let first = try await worker.call(endings, room: 2)
      #expect(first.settled.map(\.state) == ["scheduled"])
      async let again = JobQueue(second.work).work(
        worker.caller, number: worker.number, endings: endings, queues: nil, room: 2)
      try await pool.untilBlocked(second.work)
      try await worker.work.script("COMMIT")
      let reply = try await again
      #expect(reply.claimed == first.claimed)
      #expect(reply.settled.map(\.state) == ["scheduled"])
      #expect(reply.settled.first?.delay != nil)
      #expect(try await pool.value("SELECT count(*) FROM haul.attempt") == 1)
    }
  }

  @Test func `a call older than the last is refused`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await worker.call()
      try await worker.call()
      let refused = await #expect(throws: PostgresError.self) {
        try await JobQueue(worker.work).work(
          worker.caller, number: 1, endings: [], queues: nil, room: 0)
      }
      #expect(refused?.sqlState?.rawValue == "HA006")
    }
  }

  @Test func `a worker cannot speak for another`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      for function in [
        "haul.work($1, $2, 1, '[]', NULL, 1)", "haul.heartbeat($1, $2, 0, '[]')",
        "haul.checkpoint($1, $2, '[]')", "haul.is_idle($1, $2, NULL)", "haul.stop_worker($1, $2)",
        "haul.attach_session($1, $2)", "haul.unneeded_parts($1, $2, 1, '[]')",
      ] {
        for id in [worker.caller.worker, 999] {
          let refused = await #expect(throws: PostgresError.self) {
            try await pool.admin.execute("SELECT \(function)", [id, "guess"])
          }
          #expect(refused?.sqlState?.rawValue == "HA001")
        }
      }
    }
  }

  @Test func `another isolation level is refused`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      for level in ["REPEATABLE READ", "SERIALIZABLE"] {
        try await worker.work.script("BEGIN ISOLATION LEVEL \(level)")
        let refused = await #expect(throws: PostgresError.self) { try await worker.call() }
        #expect(refused?.sqlState?.rawValue == "HA005")
        try await worker.work.script("ROLLBACK")
      }
    }
  }

  @Test func `a call is durable on return whatever the session has set`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      try await worker.work.script("SET synchronous_commit = off; BEGIN")
      try await worker.call()
      let setting = try await worker.work.query("SHOW synchronous_commit")
      #expect(try setting[0].decode(0) == "on")
      try await worker.work.script("COMMIT")
    }
  }

  @Test func `idle is only said when nothing waits or runs`() async throws {
    try await Pool.open { pool in
      let worker = try await pool.worker()
      let queue = JobQueue(worker.work)
      #expect(try await queue.isIdle(worker.caller, queues: nil))
      try await pool.submit(1, after: .seconds(60))
      #expect(try await !queue.isIdle(worker.caller, queues: nil))
      try await pool.execute("UPDATE haul.scheduled SET run_at = clock_timestamp()")
      _ = try await pool.jobs.promote(limit: 10)
      #expect(try await !queue.isIdle(worker.caller, queues: nil))
      let lease = try await worker.claimOne()
      #expect(try await !queue.isIdle(worker.caller, queues: nil))
      try await worker.end(lease, .completed)
      #expect(try await queue.isIdle(worker.caller, queues: nil))
      try await pool.submit(1, queue: "default")
      #expect(try await queue.isIdle(worker.caller, queues: ["data"]))
    }
  }

  @Test func `a worker that has closed a store gets nothing for it until it opens it again`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(2)
      let (one, two) = (try await pool.worker(), try await pool.worker())
      try await pool.jobs.closeStore(
        one.caller, Pool.name, because: "the disk of the store is full")
      #expect(try await one.claim(1).isEmpty)
      #expect(try await two.claim(1).count == 1)
      let trouble: [String?] = try await pool.column(
        "SELECT trouble FROM haul.workers ORDER BY worker")
      #expect(trouble == ["\(Pool.name): the disk of the store is full", nil])
      try await pool.jobs.closeStore(one.caller, Pool.name, because: nil)
      #expect(try await one.claim(1).count == 1)
    }
  }
}
