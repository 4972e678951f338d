import Foundation
import JobModel
import JobQueue
import Postgres
import TestSupport
import Testing

/// A pool beside another one on the same server.
struct SecondPoolTests {
  private func haul(_ line: String, on conninfo: String) async throws -> ChildProcess.Output {
    try await ChildProcess.run(
      HaulProcess.path, line.split(separator: " ").map(String.init),
      environment: ["HAUL_DATABASE_URL": conninfo])
  }

  @Test func `it gets roles of its own, and messages name them`() async throws {
    // The first pool is in a copy of the template.
    try await withTestDatabase { _ in
      try await withTestDatabase(.empty) { database in
        let taken = try await haul("migrate", on: database.conninfo)
        #expect(taken.exit == .code(78))
        let sentence = taken.standardError.joined()
        #expect(sentence.contains("belong to the pool in the database haul_"), "\(sentence)")
        #expect(sentence.hasSuffix("Use --role-prefix NAME to give this pool roles of its own."))

        let prefix = "p" + UUID().uuidString.lowercased().prefix(8)
        let migrated = try await haul("migrate --role-prefix \(prefix)", on: database.conninfo)
        #expect(migrated.exit == .code(0), "\(migrated.standardError)")
        try await database.withLogin("\(prefix)_monitor") { login in
          #expect(try await haul("jobs", on: login.conninfo).exit == .code(0))
          let lines = [
            "submit http://h/a": "submitter", "store init a /nonexistent": "admin",
            "coordinator": "worker",
          ]
          for (line, role) in lines {
            let refused = try await haul(line, on: login.conninfo)
            #expect(refused.exit == .code(77), "\(line): \(refused.standardError)")
            let said = refused.standardError.joined()
            #expect(said.contains("this command needs the role \(prefix)_\(role)."), "\(said)")
          }
        }
        let connection = try await database.connect()
        for role in PoolRole.allCases.map({ $0.name(prefix) }) {
          try await connection.script("DROP OWNED BY \(role) CASCADE; DROP ROLE \(role)")
        }
        await connection.close()
      }
    }
  }

  @Test func `page and help name the roles that are made`() async throws {
    let page = try String(
      contentsOf: repositoryRoot.appending(path: "docs/roles.md"), encoding: .utf8)
    let names = PoolRole.allCases.map { $0.name(RolePrefix.usual) }
    let rows = page.split(separator: "\n").compactMap { line in
      line.wholeMatch(of: /\| `(\w+_\w+)` \| .*/).map { String($0.1) }
    }
    #expect(Set(rows).isSuperset(of: names))
    let help = try await ChildProcess.run(HaulProcess.path, ["migrate", "--help"])
    let text = help.standardOutput.joined(separator: " ").split(separator: " ")
      .joined(separator: " ")
    for prefix in [RolePrefix.usual, "films"] {
      #expect(text.contains(PoolRole.names(prefix)), "\(text)")
    }
  }

  @Test(arguments: ["", "1a", "A", "a-b", "pg", "pg_a", "a\"b"])
  func `a prefix that no role may have is refused`(prefix: String) async throws {
    let output = try await ChildProcess.run(
      HaulProcess.path, ["migrate", "--role-prefix", prefix],
      environment: ["HAUL_DATABASE_URL": "host=/nonexistent"])
    #expect(output.exit == .code(64), "\(output.standardError)")
  }
}
