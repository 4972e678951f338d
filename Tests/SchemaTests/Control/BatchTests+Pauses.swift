import JobQueue
import Postgres
import TestSupport
import Testing

/// Batches that are paused and cancelled in turn.
extension BatchTests {
  @Test func `a batch that is being paused is resumed as a whole`() async throws {
    try await Pool.open { pool in
      try await pool.jobs.setHost("a.test", cap: 99)
      try await pool.submit(9, batch: "b")
      try await pool.step("pause", limit: 3)
      let worker = try await pool.worker()
      #expect(try await worker.claim(2).isEmpty)
      #expect(try await pool.jobs.control(.resume, Pool.batch("b")) > 0)
      #expect(try await pool.states() == ["queued": 9])
      #expect(try await worker.claim(9).count == 9)
    }
  }

  @Test func `a batch of which many are paused waits for nobody while it runs`() async throws {
    try await Pool.open { pool in
      try await pool.submit(Int(BatchRow.mostHeld), to: "a.test", batch: "b")
      var selector = JobSelector()
      selector.batch = "b"
      #expect(try await pool.jobs.control(.pause, selector) == Int(BatchRow.mostHeld))
      #expect(
        try await pool.jobs.waiting(in: .batch("b"))
          == PoolWaiting(paused: BatchRow.mostHeld))
      try await pool.submit(2, to: "b.test", batch: "b")
      _ = try await pool.worker().claimOne()
      #expect(
        try await pool.jobs.waiting(in: .batch("b"))
          == PoolWaiting(jobs: BatchRow.mostHeld + 1))
    }
  }

  @Test func `a batch is cancelled after it was paused, and in between`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9, batch: "b")
      try await pool.step("pause", limit: 3)
      #expect(try await pool.jobs.control(.cancel, Pool.batch("b")) == 9)
      #expect(try await pool.states() == ["cancelled": 9])
      #expect(try await pool.jobs.batches(limit: 1).map(\.steering) == [nil])
    }
  }

  @Test func `a cancellation is not weakened to a pause`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9, batch: "b")
      try await pool.step("cancel", limit: 3)
      try await pool.step("pause", limit: 3)
      #expect(try await pool.states() == ["cancelled": 6, "queued": 3])
      _ = try await pool.jobs.control(.pause, Pool.batch("b"))
      #expect(try await pool.states() == ["cancelled": 9])
    }
  }

  @Test func `the same word again means what was submitted since`() async throws {
    try await Pool.open { pool in
      try await pool.submit(9, batch: "b")
      try await pool.step("pause", limit: 3)
      try await pool.submit(4, batch: "b")
      #expect(try await pool.jobs.control(.pause, Pool.batch("b")) == 10)
      #expect(try await pool.states() == ["paused": 13])
    }
  }

  /// `haul top` says why no job runs.
  @Test func `jobs that wait in a paused queue are told`() async throws {
    try await Pool.open { pool in
      try await pool.submit(2, batch: "films")
      var settings = QueueSettings()
      for isPaused in [true, false] {
        settings.paused = isPaused
        try await pool.jobs.setQueue(Pool.name, settings)
        for part in [PoolPart.all, .queue(Pool.name), .batch("films")] {
          #expect(
            try await pool.jobs.waiting(in: part)
              == PoolWaiting(jobs: 2, pausedQueue: isPaused ? Pool.name : nil))
        }
      }
    }
  }
}
