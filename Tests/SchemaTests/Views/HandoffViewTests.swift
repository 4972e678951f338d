import JobQueue
import Postgres
import Testing

/// What the view `handoffs` says while the heir is at work and after it.
struct HandoffViewTests {
  /// The heir's own checkpoint replaces the one it went on from: the view said then that nothing had been resumed.
  @Test func `a hand-off says what was resumed, also while the heir saves its own progress`()
    async throws
  {
    try await Pool.open { pool in
      try await pool.submit(1)
      let first = try await pool.worker()
      let heir = try await pool.worker()
      let lease = try await first.claimOne()
      #expect(try await first.checkpoint(lease, bytes: 4096, instance: pool.instance))
      var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
      ending.fetched = 5000
      try await first.call([ending])

      let taken = try await heir.claimOne()
      #expect(try await figures(pool) == [4096, 904])
      // Before its first report.
      #expect(
        try await pool.column("SELECT unnest(ARRAY[bytes, total]) FROM haul.running") == [
          4096, 8192,
        ])
      #expect(try await heir.checkpoint(taken, bytes: 8192, instance: pool.instance))
      #expect(try await figures(pool) == [4096, 904])
      try await heir.end(taken, .completed)
      #expect(try await figures(pool) == [4096, 904])
    }
  }

  /// A killed worker's last report may be older than its last checkpoint.
  @Test func `what a dead worker fetched is no less than what it made durable`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.heartbeat([lease])
      #expect(try await worker.checkpoint(lease, bytes: 4096, instance: pool.instance))
      #expect(try await pool.value("SELECT bytes FROM haul.running", as: Int.self) == 4096)
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      #expect(try await pool.jobs.rescue().rescued.count == 1)
      let fetched = try await pool.value("SELECT fetched FROM haul.attempts", as: Int.self)
      #expect(fetched == 4096)
    }
  }

  /// It went on after its last heartbeat, as in a cut of the network.
  @Test func `what a worker fetched until it found its lease gone counts`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1)
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await pool.endGrace()
      try await pool.silence(worker, for: 60)
      #expect(try await pool.jobs.rescue().rescued.count == 1)
      let heir = try await pool.worker()
      let taken = try await heir.claimOne()
      #expect(try await figures(pool) == [0, 0])
      var ending = LeaseEnding(job: lease.job, token: lease.token, result: .released)
      for fetched: Int64 in [7000, 10] {
        ending.fetched = fetched
        #expect(try await worker.call([ending]).settled.isEmpty)
        #expect(try await figures(pool) == [0, 7000])
      }
      ending.fetched = 8000
      try await worker.work.script("SET lock_timeout = '5s'")
      try await pool.holding("SELECT FROM haul.attempt FOR UPDATE") { () async throws in
        #expect(try await worker.call([ending]).settled.isEmpty)
      }
      // Another worker's word about it does not count.
      ending.fetched = 9000
      #expect(try await heir.call([ending]).settled.isEmpty)
      #expect(try await figures(pool) == [0, 7000])
      try await heir.end(taken, .completed)
    }
  }

  /// A length that nobody has said was taken for the longest that there is: three thousand years were left.
  @Test func `of a transfer of unknown length no time is left to tell`() async throws {
    try await Pool.open { pool in
      try await pool.submit(1, batch: "b")
      let worker = try await pool.worker()
      let lease = try await worker.claimOne()
      try await worker.heartbeat([lease])
      try await pool.execute("UPDATE haul.progress SET bytes = 1000, total = NULL, rate = 100")
      try await pool.execute(
        "UPDATE haul.worker SET received = '[{\"queue\": \"data\", \"batch\": \"b\", \"rate\": 100}]'"
      )
      let left = "SELECT extract(epoch FROM time_left)::float8 FROM haul."
      for view in ["running", "batches"] {
        #expect(try await pool.value("\(left)\(view)", as: Double?.self) == nil, "\(view)")
      }
      try await pool.execute("UPDATE haul.progress SET total = 3000")
      for view in ["running", "batches"] {
        #expect(try await pool.value("\(left)\(view)", as: Double?.self) == 20, "\(view)")
      }
      // Others are quicker, and have ended before this one.
      try await pool.execute(
        "UPDATE haul.worker SET received = '[{\"queue\": \"data\", \"batch\": \"b\", \"rate\": 1000}]'"
      )
      #expect(try await pool.value("\(left)batches", as: Double?.self) == 20)
    }
  }

  private func figures(_ pool: Pool) async throws -> [Int] {
    try await pool.column(
      "SELECT unnest(ARRAY[bytes_resumed, bytes_refetched]) FROM haul.handoffs")
  }
}
