import Foundation
import Glibc
import TestSupport
import Testing

/// A whole pool made of the program's own commands: database, store, worker, origin.
struct SubmitAndWaitTests {
  private func run(
    _ arguments: [String], _ database: TestDatabase
  ) async throws -> ChildProcess.Output {
    try await ChildProcess.run(
      HaulProcess.path, arguments, environment: ["HAUL_DATABASE_URL": database.conninfo])
  }

  @Test func `submit --wait ends with the jobs, and with 1 if some failed`() async throws {
    try await withTestDatabase { database in
      let directory = try TemporaryDirectory()
      let site = Site(["/a": Representation(seed: 1, length: 100_000)])
      let origin = try OriginServer(handler: site.answer)
      _ = try await run(["store", "init", "films", directory.path], database)
      let worker = try HaulProcess(
        [
          "worker", "--store", "films=\(directory.path)", "--allow-net", "127.0.0.1",
          "--log-format", "json",
        ], environment: ["HAUL_DATABASE_URL": database.conninfo])
      try await worker.event("worker.started")

      let good = try await run(["submit", "--wait", origin.url("/a")], database)
      #expect(good.exit == .code(0))
      let file = directory.path("127.0.0.1_\(origin.port)/a")
      #expect(try Data(contentsOf: URL(filePath: file)).count == 100_000)
      let bad = try await run(["submit", "--wait", "--json", origin.url("/absent")], database)
      #expect(bad.exit == .code(1))
      #expect(bad.standardError.count == 2)
      #expect(
        bad.standardError.first
          == "haul submit: http_4xx: 127.0.0.1_\(origin.port)/absent: the server answered 404")
      #expect(
        bad.standardError.last?.hasPrefix(
          "haul submit: 1 job failed (1 http_4xx). For more: haul jobs --batch submit-") == true)

      worker.signal(SIGTERM)
      #expect(try await worker.exit() == .code(0))
    }
  }
}
