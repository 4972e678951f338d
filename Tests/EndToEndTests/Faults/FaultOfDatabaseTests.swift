import Glibc
import TestSupport
import Testing

/// The database goes down in the middle of everything and comes back.
@Suite struct FaultOfDatabaseTests {
  enum Fault: String, Sendable, CaseIterable { case crash, deadBackend }

  private let length: Int64 = 400_000
  private let half: Int64 = 200_000

  /// Two workers hold four transfers each, every one with a checkpoint at the half, and four jobs wait.
  @Test(arguments: Fault.allCases)
  func `workers outlive the database, and nothing is lost or fetched again`(
    _ fault: Fault
  ) async throws {
    let gate = Gate("half")
    let origins = try (1...2).map { address in
      try OriginServer(address: "127.0.0.\(address)") { request, reply in
        var representation = Representation(
          seed: UInt64(request.path.dropFirst()) ?? 0, length: length)
        representation.gates[half] = gate
        try representation.answer(request, reply)
      }
    }
    let server = try await PrivatePostgres()
    let pool = try await HaulPool(migrating: server.database)
    for number in 1...12 {
      try await pool.submit(origins[number % 2].url("/\(number)"), to: "\(number)")
    }
    let workers = try (1...2).map { _ in try pool.worker("-c", "4", "--exit-when-idle") }
    try await eventually("eight checkpoints at the half") {
      try await pool.value(
        "SELECT count(*) FROM haul.checkpoint WHERE haul.range_bytes(durable) = $1", [half]) == 8
    }
    let last = workers.map { $0.events("job.checkpoint").last }
    switch fault {
    case .crash:
      try await server.crash()
      try await server.start()
    case .deadBackend:
      let pid: Int32 = try await pool.value(
        "SELECT min(pid) FROM pg_stat_activity WHERE application_name = 'haul-worker'")
      try await server.killBackend(pid)
    }
    for (worker, last) in zip(workers, last) {
      try await worker.event("worker.session_restored", after: last)
    }
    gate.open()
    for worker in workers { #expect(try await worker.exit(within: .seconds(90)) == .code(0)) }

    // Another pool on the same database, for its session.
    let after = try await HaulPool(server.database)
    #expect(
      try await after.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 12)
    #expect(try await after.violations() == [])
    #expect(try pool.files().count == 12)
    for number in 1...12 {
      let file = "\(pool.directory)/\(number)"
      let pattern = Pattern(seed: UInt64(number))
      #expect(try FileTree.firstDifference(of: file, from: pattern, length: length) == nil)
    }
    // The sockets stayed open: one request a file, and every byte sent once.
    let exchanges = origins.flatMap { $0.log.value.exchanges }
    #expect(exchanges.count == 12)
    #expect(exchanges.reduce(0) { $0 + $1.sent } == 12 * length)
    #expect(
      try await after.values("SELECT DISTINCT result::text FROM haul.attempts") == ["completed"])
  }
}
