import Foundation
import TestSupport
import Testing

/// The built program behind PgBouncer.
@Suite struct PoolerTests {
  static func environment(_ pooler: Pooler) -> [String: String] {
    ["HAUL_DATABASE_URL": pooler.conninfo]
  }

  @Test(arguments: [1, 2])
  func `what needs a session refuses transaction pooling`(size: Int) async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(to: pool.database, .transaction, size: size)
      let commands = [
        ["worker", "--store", "\(HaulPool.store)=\(pool.directory)"], ["coordinator"], ["migrate"],
        ["submit", "http://h.test/a"], ["jobs"], ["check"],
      ]
      for command in commands {
        let output = try await pool.haul(command, environment: Self.environment(pooler))
        #expect(output.exit == .code(78), "\(command): \(output)")
        let told = (output.standardError + output.standardOutput).filter {
          $0.contains("transaction pooling")
        }
        #expect(told.count == 1, "\(command): \(output)")
        #expect(told.first?.contains("session mode (pool_mode = session)") == true)
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
      #expect(try await pool.value("SELECT count(*) FROM haul.worker") == 0)
    }
  }

  @Test func `in session mode a pool works`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 5000).answer(request, reply)
    }
    try await HaulPool.open(.empty) { pool in
      let pooler = try await Pooler(to: pool.database, .session, size: 20)
      let environment = Self.environment(pooler)
      let coordinator = try pool.start(["coordinator"], environment: environment)
      try await coordinator.event("leader.elected")
      let worker = try pool.worker(environment: environment)
      try await worker.event("worker.started")
      for command in [
        ["migrate"], ["submit", origin.url("/a"), "--out", "a", "--wait"], ["jobs"], ["check"],
      ] {
        let output = try await pool.haul(command, environment: environment)
        #expect(output.exit == .code(0), "\(command): \(output)")
      }
      #expect(try FileTree.files(below: pool.directory).contains("a"))
      for process in [worker, coordinator] {
        process.signal(SIGTERM)
        #expect(try await process.exit() == .code(0))
        #expect(process.events("database.lost").isEmpty)
      }
    }
  }
}
