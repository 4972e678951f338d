import Foundation
import Postgres
import TestSupport
import Testing

@testable import EmbeddedPostgres

/// docs/systemd.md and deploy/systemd: what stands there, done as it stands there.
struct SystemdTests {
  private static let root = ReadmeTests.readme.deletingLastPathComponent()
  private static let page = root.appending(path: "docs/systemd.md")

  private func block(_ language: String) throws -> String {
    try #require(try ReadmeTests.blocks(language, of: Self.page).first)
  }

  @Test func `the role and the settings let a worker check, work, and no more`() async throws {
    try await HaulPool.open { pool in
      let role = "systemd_\(pool.database.name)"
      let sql = try block("sql").replacingOccurrences(of: "haul_worker_1", with: "\"\(role)\"")
      try await pool.admin.script(sql)
      let settings = try block("env").replacingOccurrences(
        of: "host=db.example.org dbname=haul user=haul_worker_1",
        with: "\(pool.database.conninfo) user=\(role)"
      ).replacingOccurrences(of: "main=/srv/haul", with: "data=\(pool.directory)")
      let place = try TemporaryDirectory()
      try place.write(settings, to: "worker.env")

      let line = try #require(
        try ReadmeTests.blocks("sh", of: Self.page).joined(separator: "\n").split(separator: "\n")
          .first { $0.contains("exec haul check") })
      let check = line.replacingOccurrences(of: "runuser -u haul -- ", with: "")
        .replacingOccurrences(of: "/etc/haul/", with: place.path + "/")
      let found = try await shell(check)
      #expect(found.exit == .code(0))
      #expect(found.standardOutput.contains { $0.contains("files can be made, synced") })
      #expect(!found.standardOutput.contains { $0.hasPrefix("fail") })

      let file = try GatedFile()
      let job = try await pool.submit(file.origin.url("/small/a"), to: "a")
      let worker = check.replacingOccurrences(
        of: "haul check", with: "haul worker --exit-when-idle --allow-net 127.0.0.0/8")
      #expect(try await shell(worker).exit == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      let cancel = try await shell(
        check.replacingOccurrences(of: "haul check", with: "haul cancel 1"))
      #expect(cancel.exit == .code(77))
      try await pool.admin.script("DROP ROLE \"\(role)\"")
    }
  }

  /// `haul get` of root makes a cluster below its state's directory, which has to be root's.
  @Test func `the user's home is not where root keeps its state`() throws {
    let home = try #require(try block("sh").firstMatch(of: /--home-dir (\S+)/)?.1)
    let state = try ClusterLocation.directory(environment: [:], isRoot: true)
    #expect(!"\(home)/".hasPrefix("\(state)/") && !"\(state)/".hasPrefix("\(home)/"))
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    #expect(!text.contains("\(state)/"))
    #expect(text.matches(of: /touch (\S+)\/.pgpass/).map(\.1) == [home])
  }

  private func shell(_ line: String) async throws -> ChildProcess.Output {
    let programs = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return try await ChildProcess.run(
      "sh", ["-c", line], environment: ["PATH": "\(programs):\(path)"])
  }

  private static let hasAnalyzer = FileManager.default.isExecutableFile(
    atPath: "/usr/bin/systemd-analyze")

  @Test(.enabled(if: hasAnalyzer, "systemd-analyze is not there"))
  func `systemd finds nothing wrong with the units`() async throws {
    let place = try TemporaryDirectory()
    for name in ["haul-worker.service", "haul-coordinator.service"] {
      let unit = try String(
        contentsOf: Self.root.appending(path: "deploy/systemd/\(name)"), encoding: .utf8)
      try place.write(
        unit.replacingOccurrences(of: "/usr/bin/haul", with: HaulProcess.path), to: name)
      let output = try await ChildProcess.run(
        "/usr/bin/systemd-analyze", ["verify", place.path(name)])
      #expect(output.exit == .code(0))
      let ours = output.standardError.filter { $0.contains(name) }
      #expect(ours == [])
    }
  }
}
