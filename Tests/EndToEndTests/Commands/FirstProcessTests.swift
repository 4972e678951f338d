import Foundation
import Glibc
import TestSupport
import Testing

/// A PID namespace of a program's own. (unshare(1))
private enum Namespace {
  /// Followed by the program.
  static let arguments = ["--pid", "--fork", "--mount-proc", "--kill-child"]

  static var isPossible: Bool {
    get async {
      let output = try? await ChildProcess.run("unshare", arguments + ["true"])
      return getuid() == 0 && output?.exit == .code(0)
    }
  }
}

/// The program as the first process of a container that has no init.
@Suite(
  .enabled("a PID namespace takes root, and unshare(1) must be permitted") {
    await Namespace.isPossible
  })
struct FirstProcessTests {
  @Test
  func `it reaps what others leave behind, takes signals and ends as it should`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      // A child of whatever is the first process by then, which has not started it.
      let script = "mkfifo go; (read -r _ <go; : >gone) & exec \"$0\" coordinator"
      let process = try HaulProcess(
        Namespace.arguments + ["bash", "-c", script, HaulProcess.path],
        program: "unshare",
        environment: ["HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_FORMAT": "json"],
        directory: directory.path)
      try await process.event("coordinator.started")
      _ = try await ChildProcess.run("bash", ["-c", "echo >'\(directory.path("go"))'"])
      let first = try #require(try await children(of: process.child.pid).first)
      try await eventually("the child to have ended") {
        FileManager.default.fileExists(atPath: directory.path("gone"))
      }
      try await eventually("nothing to be left of it") { try await isAlone(below: first.pid) }
      #expect(kill(first.pid, SIGTERM) == 0)
      #expect(try await process.exit() == .code(0))
    }
  }

  @Test func `a worker leaves no zombie of what its commands leave behind`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      #expect(mkfifo(directory.path("go"), 0o644) == 0)
      let command = "cd \(directory.path); (read -r _ <go; : >gone) & exit 0"
      let process = try HaulProcess(
        Namespace.arguments + [
          HaulProcess.path, "worker", "--store", "\(HaulPool.store)=\(pool.directory)",
          "--allow-net", "127.0.0.0/8", "--on-complete", command,
        ],
        program: "unshare",
        environment: ["HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_FORMAT": "json"])
      try await pool.submit(origin.url("/a"), to: "a")
      try await process.event("hook.done")
      let first = try #require(try await children(of: process.child.pid).first)
      try await eventually("the first process to have adopted it") {
        try await children(of: first.pid).count == 2
      }
      _ = try await ChildProcess.run("bash", ["-c", "echo >'\(directory.path("go"))'"])
      try await eventually("it to have ended") {
        FileManager.default.fileExists(atPath: directory.path("gone"))
      }
      try await eventually("nothing to be left of it") { try await isAlone(below: first.pid) }
      #expect(kill(first.pid, SIGTERM) == 0)
      #expect(try await process.exit() == .code(0))
    }
  }

  /// Whether the program is the only child of this process, zombies included.
  private func isAlone(below pid: Int32) async throws -> Bool {
    let states = try await ChildProcess.run("ps", ["-o", "stat=,comm=", "--ppid", "\(pid)"])
      .standardOutput
    return states.count == 1 && states.allSatisfy { $0.hasSuffix("haul") }
  }

  private func children(of pid: Int32) async throws -> [(pid: Int32, name: String)] {
    try await ChildProcess.run("ps", ["-o", "pid=,comm=", "--ppid", "\(pid)"]).standardOutput
      .compactMap { line in
        let words = line.split(separator: " ")
        return words.count == 2 ? Int32(words[0]).map { ($0, String(words[1])) } : nil
      }
  }
}
