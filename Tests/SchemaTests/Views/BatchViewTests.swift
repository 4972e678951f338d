import JobQueue
import TestSupport
import Testing

/// What `haul.batches` shows beside the totals.
struct BatchViewTests {
  @Test func `one without jobs of its own is listed by its name, or where it is asked for`()
    async throws
  {
    try await Pool.open { pool in
      let lines = [Pool.line(1, "https://a.test/1", "a.test/1")]
      for batch in ["b", "again"] {
        _ = try await pool.jobs.submit(Submission(queue: Pool.name, batch: batch), lines)
      }
      let all = try await pool.jobs.batches(includingEmpty: true, limit: 9)
      #expect(all.map(\.batch) == ["again", "b"] && all.map(\.jobs) == [0, 1])
      #expect(
        try await pool.jobs.batches(includingEmpty: true, unfinishedFirst: true, limit: 9)
          .map(\.batch) == ["b", "again"])
      #expect(try await pool.jobs.batches(limit: 1).map(\.batch) == ["b"])
      #expect(try await pool.jobs.batches(["again"], limit: 1).map(\.batch) == ["again"])
      for withJobs in [true, false] {
        #expect(try await pool.jobs.batchCount(withJobs: withJobs) == 1)
      }
    }
  }

  @Test func `bytes that are there do not go when a job stops running, or starts again`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1, batch: "b")
      let worker = try await pool.worker()
      func bytes() async throws -> [Int64] {
        let row = try #require(try await pool.jobs.batches(["b"], limit: 1).first)
        #expect([row.runningParts, row.waitingParts] == (row.running > 0 ? [0.5, 0] : [0, 0.5]))
        return [row.bytes, row.waitingBytes, row.allBytes]
      }
      let lease = try await worker.claimOne()
      // Of unknown length.
      #expect(try await pool.value("SELECT running_parts FROM haul.batches") == 0.0)
      try await worker.checkpoint(lease, instance: pool.instance)
      #expect(try await bytes() == [4096, 0, 4096])
      try await worker.end(lease, .released)
      #expect(try await bytes() == [0, 4096, 4096])
      _ = try await pool.jobs.control(.pause, Pool.batch("b"))
      #expect(try await bytes() == [0, 4096, 4096])
      _ = try await pool.jobs.control(.resume, Pool.batch("b"))
      try await worker.end(worker.claimOne(), .released)
      _ = try await worker.claimOne()
      #expect(try await bytes() == [4096, 0, 4096])
    }
  }

  /// The waiting jobs start only after a command.
  @Test func `no time left is estimated while the queue of the batch is paused`() async throws {
    try await Pool.open { pool in
      try await pool.submit(3, batch: "b")
      let worker = try await pool.worker()
      try await worker.end(worker.claimOne(), .completed)
      let lease = try await worker.claimOne()
      try await worker.heartbeat([lease])
      try await pool.execute("UPDATE haul.progress SET bytes = 1000, total = 3000, rate = 100")
      try await pool.execute(
        "UPDATE haul.worker SET received = '[{\"queue\": \"data\", \"batch\": \"b\", \"rate\": 100}]'"
      )
      var settings = QueueSettings()
      for (isPaused, left) in [(false, 20), (true, nil), (false, 20)] as [(Bool, Double?)] {
        settings.paused = isPaused
        try await pool.jobs.setQueue(Pool.name, settings)
        let row = try #require(try await pool.jobs.batches(["b"], limit: 1).first)
        #expect(row.secondsLeft == left && (row.pausedQueue != nil) == isPaused)
      }
    }
  }
}
