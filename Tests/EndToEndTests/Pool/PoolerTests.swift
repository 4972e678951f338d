import Foundation
import TestSupport
import Testing

/// The built program behind PgBouncer.
@Suite struct PoolerTests {
  private static func environment(_ pooler: Pooler) -> [String: String] {
    ["HAUL_DATABASE_URL": pooler.conninfo]
  }

  /// With one process nobody else is served by, the pooler looks like a session.
  @Test(arguments: [1, 2])
  func `what needs a session refuses transaction pooling`(size: Int) async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(to: pool.database, .transaction, size: size)
      let commands = [
        ["worker", "--store", "\(HaulPool.store)=\(pool.directory)"], ["coordinator"], ["migrate"],
      ]
      for command in commands {
        let output = try await pool.haul(command, environment: Self.environment(pooler))
        #expect(output.exit == .code(78), "\(command): \(output)")
        let told = output.standardError.filter { $0.contains("transaction pooling") }
        #expect(told.count == 1, "\(command): \(output)")
        #expect(told.first?.contains("session mode (pool_mode = session)") == true)
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.worker") == 0)
    }
  }

  @Test func `lists and control commands work through transaction pooling`() async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(to: pool.database, .transaction, size: 2)
      try await pool.submit("http://h.test/a", to: "a")
      try await pool.submit("http://h.test/b", to: "b")
      try await pool.command("submit", "http://h.test/c", "--out", "c", "--batch", "b")
      let lines = [
        "jobs", "job 1", "workers --all", "queues", "hosts", "batches", "batch show b", "failures",
        "host policies", "store list", "check", "metrics", "export 1", "pause 1", "resume 1",
        "prioritize 1 --priority 3", "cancel 1", "retry 1", "queue pause data",
        "queue resume data", "queue set data --max-running 3",
        "queue create q --store data", "queue delete q", "host set h.test --cap 2",
        "host unset h.test", "host block h.test", "host unblock h.test", "cancel --batch b",
      ]
      for line in lines {
        let output = try await pool.haul(
          line.split(separator: " ").map(String.init), environment: Self.environment(pooler))
        #expect(output.exit == .code(0), "\(line): \(output)")
      }
      #expect(try await pool.state(of: 3) == "cancelled")
      let check = try await pool.haul(["check"], environment: Self.environment(pooler))
      #expect(
        check.standardOutput.contains {
          $0.split(separator: " ").starts(with: ["warn", "pooler", "in", "transaction"])
        }, "\(check)")
      let wait = try await pool.haul(
        ["batch", "wait", "b"], environment: Self.environment(pooler))
      #expect(wait.exit == .code(1), "\(wait)")
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
        let isTold = output.standardOutput.contains {
          $0.split(separator: " ").starts(with: ["ok", "pooler", "in", "session"])
        }
        #expect(isTold == (command == ["check"]), "\(command): \(output)")
      }
      #expect(try pool.files().contains("a"))
      for process in [worker, coordinator] {
        process.signal(SIGTERM)
        #expect(try await process.exit() == .code(0))
        #expect(process.events("database.lost").isEmpty)
      }
    }
  }

  /// The processes of the pooler end while submissions run, and the leader clears submissions that have broken off.
  @Test func `submissions through transaction pooling lose no line beside a leader`() async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(
        to: pool.database, .transaction, size: 2, settings: ["server_lifetime = 1"])
      let coordinator = try pool.start(["coordinator"])
      try await coordinator.event("leader.elected")
      let lists = try TemporaryDirectory()
      let count = 20_000
      let submissions = try (1...3).map { number in
        let text = (1...count).map { "http://h\(number).test/\($0)\n" }.joined()
        return try pool.start(
          ["submit", "--input", try lists.write(text, to: "\(number)"), "--batch", "b\(number)"],
          environment: Self.environment(pooler))
      }
      for submission in submissions {
        let output = try await submission.child.result(within: .seconds(300))
        #expect(output.exit == .code(0), "\(output)")
        #expect(
          output.standardOutput == ["submitted \(count) jobs, 0 already there, 0 queued again"])
      }
      let jobs: [Int] = try await pool.values(
        "SELECT count(DISTINCT url) FROM haul.jobs GROUP BY batch ORDER BY batch")
      #expect(jobs == [count, count, count])
      for table in ["staging", "submission"] {
        #expect(try await pool.value("SELECT count(*) FROM haul.\(table)") == 0, "\(table)")
      }
      coordinator.signal(SIGTERM)
      try await coordinator.exit()
    }
  }
}
