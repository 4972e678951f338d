import Postgres
import TestSupport
import Testing

/// A store whose directory was copied together with its marker, as by rsync or with a virtual machine.
@Suite struct CopiedStoreTests {
  /// Milliseconds, instead of two minutes.
  private static let fast = ["HAUL_COPY_DELAY": "1000"]

  @Test func `the newer worker closes a copy, and the older one goes on`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let first = try pool.worker(environment: Self.fast)
      try await signed(pool, 1)
      // With the first one's sign in it.
      let place = try TemporaryDirectory()
      let copied = try await ChildProcess.run("cp", ["-a", "\(pool.directory)/.", place.path])
      #expect(copied.exit == .code(0))
      let second = try pool.worker(on: place.path, environment: Self.fast)
      let closed = try await second.event("store.closed")

      let number = try await first.workerNumber()
      let reason = try #require(closed[field: "reason"])
      #expect(
        reason.hasPrefix(
          "\(place.path) is a copy of the directory that worker \(number) ("), "\(reason)")
      #expect(reason.contains("'haul store init data \(place.path)'"), "\(reason)")
      // Its next heartbeat brings it.
      let closer = try await second.workerNumber()
      try await eventually("the copy to be told in haul.workers") {
        try await pool.value(
          """
          SELECT coalesce(trouble LIKE '%is a copy of the directory%', false)
          FROM haul.workers WHERE worker = $1
          """, [closer])
      }
      try await file.roundTrip(pool, "one")
      #expect(try pool.files() == ["one"])
      #expect(first.events("store.closed").isEmpty)
      #expect(second.events("job.completed").isEmpty)

      // As the sentence says.
      try await second.drain()
      let removed = try await ChildProcess.run("rm", ["-r", "\(place.path)/.haul"])
      #expect(removed.exit == .code(0))
      try await pool.initialise(place.path)
      let third = try pool.worker(on: place.path, environment: Self.fast)
      try await signed(pool, 2)
      try await first.drain()
      try await file.roundTrip(pool, "two")
      #expect(third.events("store.closed").isEmpty)
      try await third.drain()
      for directory in [pool.directory, place.path] {
        let left = try await ChildProcess.run("ls", ["\(directory)/.haul"])
        #expect(left.standardOutput == ["parts", "store.json"])
      }
    }
  }

  @Test func `two workers on one directory find each other's signs`() async throws {
    try await HaulPool.open { pool in
      let workers = try (1...2).map { _ in try pool.worker(environment: Self.fast) }
      try await signed(pool, 2)
      // Long after the delay: both have looked several times.
      try await eventually("signs to be old") {
        try await pool.value(
          """
          SELECT count(*) FROM haul.worker w, jsonb_each(w.signs) AS s(instance, sign)
          WHERE (s.sign ->> 'since')::timestamptz < clock_timestamp() - interval '4 seconds'
            AND s.sign -> 'unseen' = '[]'
          """) == 2
      }
      for worker in workers {
        #expect(worker.events("store.closed").isEmpty)
        try await worker.drain()
      }
    }
  }

  /// Waits until so many workers that run have left their signs.
  private func signed(_ pool: HaulPool, _ count: Int) async throws {
    try await eventually("\(count) signs") {
      try await pool.value(
        "SELECT count(*) FROM haul.worker WHERE signs <> '{}' AND stopped_at IS NULL") == count
    }
  }
}
