import Foundation
import Postgres
import TestSupport
import Testing

/// Several pools in one database, each with its own `--schema`.
@Suite struct SeveralPoolsTests {
  @Test func `two pools of a database download side by side`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 5000).answer(request, reply)
    }
    try await HaulPool.open { one in
      var database = one.database
      database.schema = try #require(
        SchemaName("p_" + UUID().uuidString.lowercased().prefix(8)))
      let two = try await HaulPool(database)
      let name = database.schema.name
      let missing = try await two.haul(["queues"])
      #expect(missing.exit == .code(78))
      #expect(
        missing.standardError == [
          "haul queues: the database has no pool in the schema \(name): run 'haul migrate --schema \(name)' first."
        ])
      try await two.command("migrate")
      try await two.initialise(two.directory)

      let jobs = [
        try await one.submit(origin.url("/a"), to: "a"),
        try await two.submit(origin.url("/b"), to: "b"),
      ]
      let workers = [try one.worker(), try two.worker()]
      let coordinator = try two.start(["coordinator"])
      try await one.wait(for: jobs[0], toBe: "completed")
      try await two.wait(for: jobs[1], toBe: "completed")
      #expect(try one.files() == ["a"])
      #expect(try two.files() == ["b"])

      for pool in [one, two] {
        let listed = try await pool.command("jobs", "--json")
        #expect(listed.count == 1)
        for command in [
          ["queues"], ["batches"], ["workers"], ["hosts"], ["failures"], ["history"], ["why"],
          ["report"], ["metrics"], ["check"], ["migrate", "--check"], ["job", "a"],
          ["verify", "--store", "\(HaulPool.store)=\(pool.directory)"],
          ["pause", "--queue", HaulPool.store], ["resume", "--queue", HaulPool.store],
        ] {
          let output = try await pool.haul(command)
          let isOther = command == ["job", "a"] && pool === two
          #expect(
            (output.exit == .code(0)) == !isOther, "\(command): \(output.standardError)")
        }
        #expect(try await pool.violations() == [])
      }
      #expect(
        try await two.haul(["queues", "--json"]).standardOutput.allSatisfy { $0.contains(name) })
      for process in workers + [coordinator] {
        process.child.signal(SIGTERM)
        #expect(try await process.exit(within: .seconds(60)) == .code(0))
      }
    }
  }

  @Test func `advice names the schema unless the environment does`() async throws {
    try await withTestDatabase(.empty) { database in
      let name = "p_" + UUID().uuidString.lowercased().prefix(8)
      func said(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> String
      {
        let output = try await ChildProcess.run(
          HaulProcess.path, arguments,
          environment: ["HAUL_DATABASE_URL": database.conninfo].merging(environment) { $1 })
        return (output.standardOutput + output.standardError).joined(separator: "\n")
      }
      let check = try await said(["migrate", "--check", "--schema", name])
      #expect(check.hasSuffix("there is no schema. Run: HAUL_SCHEMA=\(name) haul migrate"))
      #expect(
        try await said(["check", "--schema", name]).contains("'HAUL_SCHEMA=\(name) haul migrate'"))
      let told = try await said(["migrate", "--check"], ["HAUL_SCHEMA": name])
      #expect(told.hasSuffix("there is no schema. Run: haul migrate"))
      _ = try await said(["migrate", "--schema", name])
      let why = try await said(["host", "set", "a.test", "--cap", "2", "--schema", name])
      #expect(
        why.contains("HAUL_SCHEMA=\(name) haul host unset") || !why.contains("haul host unset"))
      #expect(try await said(["check", "--schema", name]).contains(", schema \(name)"))
    }
  }

  @Test(arguments: ["Films", "pg_films", "user", "a b", ""])
  func `a name that is no schema's is refused`(name: String) async throws {
    let output = try await ChildProcess.run(HaulProcess.path, ["queues", "--schema", name])
    #expect(output.exit == .code(64))
    #expect(output.standardError.count == 2)
  }
}
