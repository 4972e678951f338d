import Foundation
import Postgres
import TestSupport
import Testing

/// Which pool a command speaks of, and whether its workers can do what is asked of it.
@Suite struct WhichPoolTests {
  @Test func `lists and commands name their pool to programs, and check to people`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://a.test/1", "--batch", "b")
      let database: String = try await pool.value("SELECT current_database()")
      let check = try await pool.haul(["check"]).standardOutput
      let first = try #require(check.first)
      #expect(first.hasPrefix("ok    pool          \(database) at /"), "\(first)")
      let name = first.split(separator: " ", maxSplits: 2).last.map { $0.drop { $0 == " " } }
      let member = #","pool":"\#(try #require(name))"}"#
      for words in [
        "jobs --json", "hosts --json", "queues --json", "batches --json", "batch show b --json",
        "job 1 --json",
        "check --json", "store list --json", "why 1 --json", "pause 1 --dry-run --json",
        "pause 1 --json",
        "host block a.test --json", "queue pause default --json", "cancel 1 --json",
      ] {
        let output = try await pool.haul(words.split(separator: " ").map(String.init))
        #expect(!output.standardOutput.isEmpty, "\(words): \(output)")
        #expect(output.standardOutput.allSatisfy { $0.hasSuffix(member) }, "\(words): \(output)")
      }
    }
  }

  @Test func `a submission that no worker can do says so`() async throws {
    try await HaulPool.open { pool in
      func said(_ urls: String...) async throws -> [String] {
        let output = try await pool.haul(["submit"] + urls)
        #expect(output.exit == .code(0))
        return output.standardError
      }
      #expect(try await said("http://a.test/1").first?.contains("no worker serves") == true)
      // There already: nothing new waits.
      #expect(try await said("http://a.test/1").isEmpty)
      let worker = try pool.worker()
      try await worker.event("worker.started")
      #expect(try await said("http://b.test/2").isEmpty)
      let wrong = try await said("ftp://b.test/3", "http://10.0.0.5/4", "http://127.0.0.1:1/5")
      #expect(wrong.count == 2, "\(wrong)")
      #expect(wrong.contains { $0.contains("downloads ftp URLs") })
      #expect(wrong.contains { $0.contains("connects to 10.0.0.5, which is not public") })
      try await worker.drain()
    }
  }
}
