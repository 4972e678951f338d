import Foundation
import TestSupport
import Testing

/// The built program as logins that are members of one role each.
struct RoleProgramTests {
  private func haul(_ line: String, as login: TestLogin) async throws -> ChildProcess.Output {
    try await ChildProcess.run(
      HaulProcess.path, line.split(separator: " ").map(String.init),
      environment: ["HAUL_DATABASE_URL": login.conninfo])
  }

  /// Runs a command that must end with 0.
  @discardableResult
  private func done(_ line: String, as login: TestLogin) async throws -> [String] {
    let output = try await haul(line, as: login)
    #expect(output.exit == .code(0), "\(line): \(output.standardError)")
    return output.standardOutput
  }

  private func refused(_ line: String, as login: TestLogin) async throws {
    let output = try await haul(line, as: login)
    #expect(output.exit == .code(77), "\(line): \(output.standardError)")
  }

  private static let watching = [
    "jobs", "jobs --state completed --json", "job 1", "workers --all", "queues", "hosts", "batches",
    "batch show b",
    "batch wait b", "failures", "history", "host policies", "store list", "check",
  ]
  private static let submitting = [
    "submit http://h.test/x", "export 1", "pause 1", "resume 1", "cancel 1",
    "retry 1",
    "prioritize 1 --priority 3",
  ]
  private static let administering = [
    "drain 1", "rescue worker 1", "queue create q --store data", "queue set data --max-running 3",
    "queue pause data",
    "queue resume data", "queue delete q", "host set h.test --cap 2", "host unset h.test",
    "host block h.test", "host unblock h.test",
  ]

  @Test func `worker, coordinator, submitter and monitor need one role each`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      try await pool.database.withLogin("haul_worker") { worker in
        try await pool.database.withLogin("haul_submitter") { submitter in
          let coordinator = try pool.start(
            ["coordinator"], environment: ["HAUL_DATABASE_URL": worker.conninfo])
          try await coordinator.event("leader.elected")
          let process = try pool.worker(environment: ["HAUL_DATABASE_URL": worker.conninfo])
          try await process.event("worker.started")
          try await done(
            "submit \(file.origin.url("/small/a")) --queue data --batch b --wait", as: submitter)
          for line in Self.watching + ["workers"] { try await done(line, as: submitter) }
          for line in Self.watching { try await done(line, as: worker) }
          for running in [process, coordinator] {
            running.signal(SIGTERM)
            #expect(try await running.exit() == .code(0))
            #expect(running.events("database.lost").isEmpty)
          }
        }
      }
      try await pool.database.withLogin("haul_monitor") { monitor in
        let rows = try await done("jobs --state completed --json", as: monitor)
        #expect(rows.count == 1)
        for line in Self.watching { try await done(line, as: monitor) }
      }
      #expect(try await pool.violations() == [])
    }
  }

  /// What is damaged gets another name before its job is queued again.
  @Test func `who may not queue jobs again changes no file`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 5000).answer(request, reply)
    }
    try await HaulPool.open { pool in
      try await pool.submit(origin.url("/a"), to: "a")
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      try Data("other".utf8).write(to: URL(filePath: pool.directory + "/a"))
      try await pool.database.withLogin("haul_monitor") { monitor in
        let line = "verify --store \(HaulPool.store)=\(pool.directory) --requeue"
        let output = try await haul(line, as: monitor)
        #expect(output.exit == .code(77))
        #expect(output.standardError.last?.contains("haul_submitter") == true)
      }
      #expect(try pool.files() == ["a"])
      #expect(try await pool.state(of: 1) == "completed")
    }
  }

  @Test func `every command that a role may not is refused with what it needs`() async throws {
    let new = try TemporaryDirectory()
    try await HaulPool.open { pool in
      try await pool.submit("http://h.test/1", to: "1")
      let place = "data=\(pool.directory)"
      let others = [
        "haul_monitor": Self.submitting + Self.administering + [
          "worker --store \(place)", "coordinator",
        ],
        "haul_worker": Self.submitting + Self.administering,
        "haul_submitter": Self.administering + ["worker --store \(place)", "coordinator"],
      ]
      for (role, lines) in others {
        try await pool.database.withLogin(role) { login in
          for line in lines + ["store init other \(pool.directory)", "migrate"] {
            try await refused(line, as: login)
          }
          try await refused("store init new \(new.path)", as: login)
          #expect(try FileManager.default.contentsOfDirectory(atPath: new.path) == [])
        }
      }
      let state = try await pool.state(of: 1)
      #expect(state == "queued")
    }
  }

  /// What each role may is all that a list, a submission, a worker asks for: `haul check` says so in one line.
  @Test(arguments: [
    ("haul_worker", "run workers and watch the pool, but not submit jobs or administer the pool"),
    (
      "haul_submitter", "submit jobs and watch the pool, but not run workers or administer the pool"
    ),
    ("haul_monitor", "watch the pool, but not run workers, submit jobs or administer the pool"),
    ("haul_admin", "run workers, submit jobs, watch the pool and administer the pool"),
  ])
  func `check tells what a role may`(role: String, rights: String) async throws {
    try await HaulPool.open { pool in
      try await pool.database.withLogin(role) { login in
        let lines = try await done("check", as: login)
        #expect(
          lines.contains { $0.contains("all four roles exist; \(login.name) may \(rights)") },
          "\(lines)")
      }
    }
  }
}
