import Foundation
import Glibc
import TestSupport
import Testing

/// The program as the first process of a container that has no init.
@Suite struct FirstProcessTests {
  @Test(.enabled("a PID namespace takes root") { getuid() == 0 })
  func `it reaps what others leave behind, takes signals and ends as it should`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      // A child of whatever is the first process by then, which has not started it.
      let script = "mkfifo go; (read -r _ <go; : >gone) & exec \"$0\" coordinator"
      let process = try HaulProcess(
        [
          "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c", script, HaulProcess.path,
        ],
        program: "unshare",
        environment: ["HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_FORMAT": "json"],
        directory: directory.path)
      try await process.event("coordinator.started")
      _ = try await ChildProcess.run("bash", ["-c", "echo >'\(directory.path("go"))'"])
      let first = try #require(try await children(of: process.child.pid).first)
      try await eventually("the child to have ended") {
        FileManager.default.fileExists(atPath: directory.path("gone"))
      }
      try await eventually("nothing to be left of it") {
        let states = try await ChildProcess.run(
          "ps", ["-o", "stat=,comm=", "--ppid", "\(first.pid)"]
        ).standardOutput
        return states.count == 1 && states.allSatisfy { $0.hasSuffix("haul") }
      }
      #expect(kill(first.pid, SIGTERM) == 0)
      #expect(try await process.exit() == .code(0))
    }
  }

  private func children(of pid: Int32) async throws -> [(pid: Int32, name: String)] {
    try await ChildProcess.run("ps", ["-o", "pid=,comm=", "--ppid", "\(pid)"]).standardOutput
      .compactMap { line in
        let words = line.split(separator: " ")
        return words.count == 2 ? Int32(words[0]).map { ($0, String(words[1])) } : nil
      }
  }
}
