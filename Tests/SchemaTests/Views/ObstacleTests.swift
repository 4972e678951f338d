import Foundation
import JobQueue
import Postgres
import TestSupport
import Testing

/// What is said to keep jobs that are waited for from being started.
struct ObstacleTests {
  private static let awaited = AwaitedJobs(batches: ["b"])

  private func kind(_ pool: Pool) async throws -> Obstacle.Kind? {
    try await pool.jobs.obstacle(to: Self.awaited)?.kind
  }

  @Test func `what somebody must mend, then what passes by itself`() async throws {
    try await Pool.open { pool in
      #expect(try await kind(pool) == nil)
      try await pool.submit(1, batch: "b")
      let unserved = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(unserved?.kind == .unserved && unserved?.name == Pool.name)
      let worker = try await pool.steadyWorker()
      #expect(try await kind(pool) == nil)

      for isPaused in [true, false] {
        var settings = QueueSettings()
        settings.paused = isPaused
        try await pool.jobs.setQueue(Pool.name, settings)
        #expect(try await kind(pool) == (isPaused ? .paused : nil))
      }
      try await pool.jobs.blockHost("a.test", for: nil)
      let forbidden = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(forbidden?.kind == .blocked && forbidden?.reason == "operator")
      #expect(forbidden?.seconds == nil)
      try await pool.jobs.unblockHost("a.test")

      try await JobQueue(worker.work).closeStore(worker.caller, Pool.name, because: "read-only")
      let trouble = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(trouble?.kind == .trouble && trouble?.reason == "data: read-only")
      #expect(trouble?.name == "worker \(worker.caller.worker) (machine, pid 1)")
      // Another that can write is enough.
      _ = try await pool.steadyWorker()
      #expect(try await kind(pool) == nil)
      try await JobQueue(worker.work).closeStore(worker.caller, Pool.name, because: nil)

      try await worker.end(try await worker.claimOne(), .failed, "connect", retryAfter: 3600)
      let blocked = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(blocked?.kind == .blocked && blocked?.name == "a.test")
      #expect(blocked?.reason == "connect")
      #expect((3000...3600).contains(blocked?.seconds ?? 0))
      try await pool.jobs.unblockHost("a.test")
      let early = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(early?.kind == .early && early?.reason == "connect")
      #expect((3000...3600).contains(early?.seconds ?? 0))
    }
  }

  @Test func `a queue that live workers of its store do not claim from`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.createQueue("films", store: Pool.name)
      _ = try await pool.jobs.submit(
        Submission(queue: "films", batch: "b"), [Pool.line(1, "ftp://a.test/x", "a.test/x")])
      func seen() async throws -> String {
        try await pool.value(
          """
          SELECT concat_ws(' ', (SELECT string_agg(q.queue || '=' || q.workers, ' ' ORDER BY q.queue COLLATE "C")
              FROM haul.queues q WHERE q.queue <> 'default'),
            (SELECT h.why_idle FROM haul.hosts h WHERE h.host = 'a.test'),
            (SELECT v.value FROM haul.vitals v WHERE v.vital = 'stranded_lanes' AND v.subject = 'films'))
          """)
      }
      let alone = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(
        alone?.start
          == WorkerStart(store: Pool.name, queue: nil, schemes: ["ftp"], roots: Pool.roots))
      let other = try await pool.steadyWorker(queues: [Pool.name])
      #expect(try await seen() == "data=1 films=0 unserved 1")
      let unserved = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(unserved?.kind == .unserved && unserved?.name == "films")
      #expect(
        unserved?.start
          == WorkerStart(store: Pool.name, queue: "films", schemes: ["ftp"], roots: Pool.roots))
      let serves = try await pool.steadyWorker(queues: [Pool.name, "films"])
      #expect(try await seen() == "data=2 films=1 0")
      #expect(try await kind(pool) == nil)
      // That the other could write does not help.
      try await JobQueue(serves.work).closeStore(serves.caller, Pool.name, because: "full")
      #expect(try await kind(pool) == .trouble)
      #expect(try await seen() == "data=2 films=1 unserved 1")
      try await JobQueue(serves.work).closeStore(serves.caller, Pool.name, because: nil)
      // One that drains takes nothing any more.
      #expect(try await pool.jobs.drainWorker(serves.caller.worker))
      #expect(try await kind(pool) == .unserved)
      #expect(try await seen() == "data=1 films=0 unserved 1")
      try await JobQueue(serves.work).stopWorker(serves.caller)
      #expect(try await kind(pool) == .unserved)
      let rows = try await pool.jobs.workers(includingGone: true)
      #expect(rows.map(\.queues) == [[Pool.name], [Pool.name, "films"]])
      #expect(rows.first?.worker == other.caller.worker)
    }
  }

  @Test func `what passes by itself counts where it keeps all, and a short interval keeps nobody`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1, batch: "b")
      try await pool.submit(1, to: "b.test", batch: "b")
      _ = try await pool.steadyWorker()
      try await pool.jobs.blockHost("a.test", for: nil)
      #expect(try await kind(pool) == nil)
      try await pool.jobs.blockHost("b.test", for: .seconds(60))
      #expect(try await kind(pool) == .blocked)
      for host in ["a.test", "b.test"] { try await pool.jobs.unblockHost(host) }
      for (interval, kind) in [(0.06, nil), (60, .interval)] as [(Double, Obstacle.Kind?)] {
        for host in ["a.test", "b.test"] {
          try await pool.jobs.setHost(host, interval: .seconds(interval))
        }
        try await pool.execute(
          "UPDATE haul.host SET next_start = clock_timestamp() + interval '2 minutes'")
        #expect(try await self.kind(pool) == kind)
      }
    }
  }

  @Test func `a part file is on a machine whose workers are gone`() async throws {
    try await Pool.open { pool in
      let elsewhere = UUID().uuidString
      _ = try await pool.jobs.initStore(
        name: Pool.name, marker: elsewhere, machine: "nas", root: "/srv")
      try await pool.submit(1, batch: "b")
      let worker = try await pool.steadyWorker()
      let lease = try await worker.claimOne()
      try await worker.checkpoint(lease, instance: pool.instance)
      try await worker.end(lease, .released)
      #expect(try await kind(pool) == nil)
      let other = try await pool.steadyWorker(markers: [elsewhere])
      try await pool.execute(
        "UPDATE haul.worker SET stopped_at = clock_timestamp() WHERE id = $1",
        [worker.caller.worker])
      #expect(try await other.claim().isEmpty)
      let away = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(away?.kind == .away && away?.name == Pool.name)
      // Nothing is stranded where nothing waits any more.
      func stranded() async throws -> Double {
        try await pool.value(
          "SELECT value FROM haul.vitals WHERE vital = 'stranded_lanes' AND subject = $1",
          [Pool.name])
      }
      #expect(try await stranded() == 1)
      _ = try await pool.jobs.control(.cancel, Pool.batch("b"))
      #expect(try await stranded() == 0)
    }
  }

  @Test func `jobs of others fill a host or the workers`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      try await pool.submit(1, batch: "b")
      let worker = try await pool.steadyWorker(concurrency: 1)
      try await pool.jobs.setHost("a.test", cap: 1)
      let other = try await worker.claimOne()
      let full = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(full?.kind == .full && full?.name == "a.test")
      try await pool.jobs.setHost("a.test", cap: 2)
      var settings = QueueSettings()
      settings.maxRunning = .some(1)
      try await pool.jobs.setQueue(Pool.name, settings)
      let limited = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(limited?.kind == .limited && limited?.name == Pool.name)
      settings.maxRunning = .some(nil)
      try await pool.jobs.setQueue(Pool.name, settings)
      let busy = try await pool.jobs.obstacle(to: Self.awaited)
      #expect(busy?.kind == .busy && busy?.name == Pool.name)
      try await worker.end(other, .completed)
      #expect(try await kind(pool) == nil)
    }
  }
}
