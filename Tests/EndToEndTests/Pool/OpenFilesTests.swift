import Foundation
import TestSupport
import Testing

/// The limit of open files: raised at the start, and a fault of nobody's when it is reached.
@Suite struct OpenFilesTests {
  /// Starts a command of `haul` in a shell that has set limits before.
  private func start(_ limits: String, _ arguments: [String], of pool: HaulPool) throws
    -> HaulProcess
  {
    try HaulProcess(
      ["-c", limits + "; exec \"$0\" \"$@\"", HaulProcess.path] + arguments, program: "/bin/sh",
      environment: [
        "HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_FORMAT": "json",
        "HAUL_STATE_DIR": pool.directory + "/state",
      ])
  }

  private func limit(_ process: HaulProcess, to soft: Int) async throws {
    let output = try await ChildProcess.run(
      "prlimit", ["--pid", "\(process.child.pid)", "--nofile=\(soft):"])
    try #require(output.exit == .code(0))
  }

  @Test func `a worker raises its soft limit to what its jobs need`() async throws {
    try await HaulPool.open { pool in
      let worker = try start(
        "ulimit -Sn 128",
        ["worker", "--store", "data=\(pool.directory)", "--concurrency", "20"], of: pool)
      try await worker.event("worker.started")
      let limits = try String(contentsOfFile: "/proc/\(worker.child.pid)/limits", encoding: .utf8)
      let line = limits.split(separator: "\n").first { $0.hasPrefix("Max open files") }
      #expect(line?.split(separator: " ").dropFirst(3).first == "540")
      try await pool.stop(worker)
    }
  }

  @Test(arguments: [
    ["worker", "--store", "data=/tmp", "-c", "1024"], ["up", "-c", "1024"],
    ["get", "-j", "256", "http://127.0.0.1/a"],
  ])
  func `more jobs than the hard limit has files for are refused`(arguments: [String]) async throws {
    try await HaulPool.open { pool in
      let refused = try start("ulimit -n 2048", arguments, of: pool)
      let output = try await refused.child.result()
      #expect(output.exit == .code(78))
      let needed = arguments[0] == "get" ? 64 + 11 * 320 + 256 : 64 + 11 * 1024 + 256
      let said = output.standardError.joined(separator: "\n")
      #expect(said.contains("needs \(needed) open files, but this process may open only 2048"))
      #expect(said.contains("LimitNOFILE=\(needed)"))
    }
  }

  /// libdispatch, on which Swift's tasks run, ends a process that has no file to open in the moment when it looks at its
  /// threads (`/proc/self/task`). Whether it looks is chance: then the same once more.
  @Test func `a job that finds no file to open goes back uncharged, and goes on when there is one`()
    async throws
  {
    var isThrough = false
    for _ in 1...5 where !isThrough { isThrough = try await hasGoneOn() }
    #expect(isThrough)
  }

  /// False where libdispatch has ended the worker.
  private func hasGoneOn() async throws -> Bool {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      file.gate.open()
      let worker = try pool.worker()
      try await worker.event("worker.started")
      try await file.roundTrip(pool, "first")
      do {
        try await starve(worker, of: pool, file)
      } catch  where worker.child.output.value.exit == .signal(SIGILL) {
        return false
      }
      try await pool.stop(worker)
      return true
    }
  }

  private func starve(_ worker: HaulProcess, of pool: HaulPool, _ file: GatedFile) async throws {
    try await limit(worker, to: 4)
    let job = try await file.submit(to: pool)
    let closed = try await worker.event("store.closed")
    #expect(closed[field: "reason"]?.contains("its limit of open files") == true)
    #expect(try await pool.state(of: job) != "failed")
    try await limit(worker, to: 1024)
    try await worker.event("store.opened", within: .seconds(60))
    try await pool.wait(for: job, toBe: "completed")

    #expect(try file.firstDifference(in: pool.directory) == nil)
    let charged: Int64 = try await pool.value(
      "SELECT count(*) FROM haul.attempts WHERE job = $1 AND charged", [job])
    #expect(charged == 0)
  }
}
