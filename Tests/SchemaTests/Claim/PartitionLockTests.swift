import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// How many tables and indexes the calls of a worker lock in a pool with many partitions.
struct PartitionLockTests {
  @Test func `a worker's calls lock as much with many partitions as with one`() async throws {
    let few = try await locks(partitions: 1)
    let many = try await locks(partitions: 60)
    for (call, number) in few {
      let found = try #require(many[call])
      // A claim looks at a few more lanes now and then. A plan that locks the partitions of one table locks 59 more.
      #expect(
        found < number + 50,
        "\(call) locks \(found) relations with 60 partitions, \(number) with 1")
    }
  }

  /// Returns how many tables and indexes each call locks that a worker makes.
  private func locks(partitions: Int) async throws -> [String: Int] {
    var found: [String: Int] = [:]
    try await Pool.open { pool in
      try await pool.execute(
        """
        DO $$
        BEGIN
          FOR i IN 2..\(partitions + 1) LOOP
            PERFORM setval('haul.job_id', i * haul.partition_size() - 1000), haul.ensure_partitions(1);
          END LOOP;
        END
        $$
        """)
      try await pool.submit(20)
      try await pool.submit(4, to: "c.test", batch: "batch")
      try await pool.execute(
        """
        UPDATE haul.job SET options = options || '{"mirrors": ["https://a.test/mirror"]}'
        WHERE host = haul.host_id('https://c.test/')
        """)
      try await pool.jobs.setHost("*", cap: 100)
      let worker = try await pool.worker()
      func count(_ call: String, _ body: () async throws -> Void) async throws {
        // The first call of a session reads the catalogs. The sixth may use a generic plan.
        for _ in 0..<(call == "a heartbeat" ? 7 : 2) {
          try await worker.work.script("BEGIN")
          try await body()
          found[call] = try await worker.work.query(
            "SELECT count(*)::int FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation'"
          ).first?.decode(0)
          try await worker.work.script("COMMIT")
        }
      }
      var held: [Lease] = []
      try await count("a claim") { held += try await worker.claim(8) }
      try await count("a heartbeat") {
        _ = try await JobQueue(worker.work).heartbeat(
          worker.caller, seen: worker.number,
          holding: held.map { Progress(job: $0.job, token: $0.token, bytes: 1, total: 2, rate: 1) })
      }
      try await count("a checkpoint") {
        for lease in held { try await worker.checkpoint(lease, instance: lease.instance) }
      }
      try await count("a completion") { try await worker.end(held.removeLast(), .completed) }
      for error in ["http_404", "http_5xx", "timeout", "not_permitted"] {
        try await count("a failure (\(error))") {
          try await worker.end(held.removeLast(), .failed, ErrorClass(rawValue: error))
        }
      }
      try await count("a release") { try await worker.end(held.removeLast(), .released) }
      try await count("a repeated call") { _ = try await worker.repeatCall() }
      let ending = LeaseEnding(job: held[0].job, token: held[0].token, result: .completed)
      try await worker.call([ending])
      try await count("a repeated completion") { _ = try await worker.repeatCall([ending]) }
      try await count("a second attempt") { held += try await worker.claim(8) }
    }
    return found
  }
}
