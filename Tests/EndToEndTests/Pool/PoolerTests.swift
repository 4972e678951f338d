import Dispatch
import Foundation
import Glibc
import TestSupport
import Testing

/// The built program behind PgBouncer.
@Suite struct PoolerTests {
  private static func environment(_ pooler: Pooler) -> [String: String] {
    ["HAUL_DATABASE_URL": pooler.conninfo]
  }

  /// With one process nobody else is served by, the pooler looks like a session.
  @Test(arguments: [1, 2])
  func `what needs a session refuses transaction pooling`(size: Int) async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(to: pool.database, .transaction, size: size)
      let commands = [
        ["worker", "--store", "\(HaulPool.store)=\(pool.directory)"], ["coordinator"], ["migrate"],
      ]
      for command in commands {
        let output = try await pool.haul(command, environment: Self.environment(pooler))
        #expect(output.exit == .code(78), "\(command): \(output)")
        let told = output.standardError.filter { $0.contains("transaction pooling") }
        #expect(told.count == 1, "\(command): \(output)")
        #expect(told.first?.contains("session mode (pool_mode = session)") == true)
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.worker") == 0)
    }
  }

  @Test func `statement pooling is refused by all`() async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(to: pool.database, .statement, size: 2)
      for command in [["coordinator"], ["migrate"], ["jobs"], ["submit", "http://h.test/a"]] {
        let output = try await pool.haul(command, environment: Self.environment(pooler))
        #expect(output.exit == .code(78), "\(command): \(output)")
        #expect(
          output.standardError.contains {
            $0.contains("statement pooling") && $0.contains("session mode (pool_mode = session)")
          }, "\(command): \(output)")
      }
      #expect(try await pool.value("SELECT count(*) FROM haul.job") == 0)
    }
  }

  @Test func `lists and control commands work through transaction pooling`() async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(to: pool.database, .transaction, size: 2)
      try await pool.submit("http://h.test/a", to: "a")
      try await pool.submit("http://h.test/b", to: "b")
      try await pool.command("submit", "http://h.test/c", "--out", "c", "--batch", "b")
      let lines = [
        "jobs", "job 1", "workers --all", "queues", "hosts", "batches", "batch show b", "failures",
        "host policies", "store list", "check", "metrics", "export 1", "pause 1", "resume 1",
        "prioritize 1 --priority 3", "cancel 1", "retry 1", "queue pause data",
        "queue resume data", "queue set data --max-running 3",
        "queue create q --store data", "queue delete q", "host set h.test --cap 2",
        "host unset h.test", "host block h.test", "host unblock h.test", "cancel --batch b",
      ]
      for line in lines {
        let output = try await pool.haul(
          line.split(separator: " ").map(String.init), environment: Self.environment(pooler))
        #expect(output.exit == .code(0), "\(line): \(output)")
      }
      #expect(try await pool.state(of: 3) == "cancelled")
      let check = try await pool.haul(["check"], environment: Self.environment(pooler))
      #expect(
        check.standardOutput.contains {
          $0.split(separator: " ").starts(
            with: ["warn", "pooler", "the", "pooler", "is", "in", "transaction"])
        }, "\(check)")
      let wait = try await pool.haul(
        ["batch", "wait", "b"], environment: Self.environment(pooler))
      #expect(wait.exit == .code(1), "\(wait)")
    }
  }

  @Test func `in session mode a pool works`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 5000).answer(request, reply)
    }
    try await HaulPool.open(.empty) { pool in
      let pooler = try await Pooler(to: pool.database, .session, size: 20)
      let environment = Self.environment(pooler)
      let coordinator = try pool.start(["coordinator"], environment: environment)
      try await coordinator.event("leader.elected")
      let worker = try pool.worker(environment: environment)
      try await worker.event("worker.started")
      for command in [
        ["migrate"], ["submit", origin.url("/a"), "--out", "a", "--wait"], ["jobs"], ["check"],
      ] {
        let output = try await pool.haul(command, environment: environment)
        #expect(output.exit == .code(0), "\(command): \(output)")
        let isTold = output.standardOutput.contains {
          $0.split(separator: " ").starts(with: ["ok", "pooler", "each", "connection"])
        }
        #expect(isTold == (command == ["check"]), "\(command): \(output)")
      }
      #expect(try pool.files().contains("a"))
      for process in [worker, coordinator] {
        process.signal(SIGTERM)
        #expect(try await process.exit() == .code(0))
        #expect(process.events("database.lost").isEmpty)
      }
    }
  }

  /// 1. Three lists are half read, and their lines are staged.
  /// 2. The processes of the pooler end, as they do from time to time, and the leader looks for dead submissions.
  /// 3. The rest of the lists comes.
  @Test func `submissions through transaction pooling lose no line beside a leader`() async throws {
    try await HaulPool.open { pool in
      let pooler = try await Pooler(
        to: pool.database, .transaction, size: 2, settings: ["server_lifetime = 1"])
      let coordinator = try pool.start(["coordinator"])
      try await coordinator.event("leader.elected")
      let count = 20_000
      let lists = try (1...3).map { _ in try SlowList() }
      let submissions = try lists.enumerated().map { number, list in
        try pool.start(
          ["submit", "--input", list.path, "--batch", "b\(number)"],
          environment: Self.environment(pooler))
      }
      // The end of a line is known by the next one.
      for (number, list) in lists.enumerated() { list.write(number, 1...10_010) }
      try await eventually("the first lines", within: .seconds(120)) {
        try await pool.value("SELECT count(*) FROM haul.staging") == 30_000
      }
      try await eventually("the end of the pooler's processes") {
        try await pool.value(
          "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'haul' AND datname = current_database()"
        ) == 0
      }
      let time: String = try await pool.value("SELECT clock_timestamp()::text")
      try await eventually("two rounds of the leader") {
        try await pool.value(
          "SELECT round_at > $1::timestamptz + interval '2 seconds' FROM haul.pulse", [time])
      }
      for (number, list) in lists.enumerated() { list.write(number, 10_011...count, isLast: true) }
      for submission in submissions {
        let output = try await submission.child.result(within: .seconds(300))
        #expect(output.exit == .code(0), "\(output)")
        #expect(
          output.standardOutput == ["submitted \(count) jobs, 0 existed already, 0 queued again"])
      }
      let jobs: [Int] = try await pool.values(
        "SELECT count(DISTINCT url) FROM haul.jobs GROUP BY batch ORDER BY batch")
      #expect(jobs == [count, count, count])
      for table in ["staging", "submission"] {
        #expect(try await pool.value("SELECT count(*) FROM haul.\(table)") == 0, "\(table)")
      }
      coordinator.signal(SIGTERM)
      try await coordinator.exit()
    }
  }
}

/// A list that comes bit by bit: a pipe with a name.
private final class SlowList: Sendable {
  let path: String
  private let directory = try? TemporaryDirectory()
  private let pipe: Int32
  private let queue = DispatchQueue(label: "slow list")

  init() throws {
    path = try #require(directory).path("list")
    try #require(mkfifo(path, 0o600) == 0)
    // For both, so that it does not wait for a reader. The reader sees the end when this is closed.
    pipe = open(path, O_RDWR | O_CLOEXEC)
    try #require(pipe >= 0)
  }

  /// Writes lines for the host `number` on a thread that may wait for the reader.
  func write(_ number: Int, _ lines: ClosedRange<Int>, isLast: Bool = false) {
    let text = lines.map { "http://h\(number).test/\($0)\n" }.joined()
    queue.async { [pipe] in
      try? FileHandle(fileDescriptor: pipe).write(contentsOf: Data(text.utf8))
      if isLast { close(pipe) }
    }
  }
}
