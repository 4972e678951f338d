import TestSupport
import Testing

/// A parent may leave SIGCHLD ignored, as `trap '' CHLD` in a shell does. The kernel then keeps no child's exit status:
/// wait(2).
@Suite struct IgnoredSignalTests {
  private func arguments(_ arguments: String...) -> [String] {
    ["--ignore-signal=CHLD", HaulProcess.path] + arguments
  }

  @Test func `a worker learns how its commands ended`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.submit(origin.url("/a"), to: "a")
      let worker = try HaulProcess(
        arguments(
          "worker", "--store", "\(HaulPool.store)=\(pool.directory)", "--allow-net", "127.0.0.0/8",
          "--exit-when-idle", "--on-complete", "exit 3"),
        program: "env",
        environment: ["HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_FORMAT": "json"])
      #expect(try await worker.exit() == .code(0))
      #expect(worker.events("hook.failed").map { $0[field: "code"] } == ["3"])
      #expect(worker.events("hook.done").isEmpty)
    }
  }

  @Test func `haul get learns that initdb has failed`() async throws {
    let directory = try TemporaryDirectory()
    for (name, script) in [
      ("postgres", "echo 'postgres (PostgreSQL) 99.0'"),
      ("initdb", "echo 'initdb: error: no luck'; exit 1"),
    ] {
      let source = try directory.write("#!/bin/sh\n\(script)\n", to: "\(name).source")
      // Another process writes it: a program that somebody has open for writing cannot be run.
      _ = try await ChildProcess.run(
        "install", ["-D", "-m", "755", source, directory.path("programs/\(name)")])
    }
    let output = try await ChildProcess.run(
      "env", arguments("get", "http://127.0.0.1:1/a", "-d", directory.path("files")),
      environment: [
        "HAUL_STATE_DIR": directory.path("state"),
        "PATH": "\(directory.path("programs")):/usr/bin:/bin",
      ])
    #expect(output.exit == .code(69))
    #expect(output.standardError.last?.contains("no luck") == true, "\(output.standardError)")
  }
}
