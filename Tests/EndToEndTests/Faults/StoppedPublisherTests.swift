import Glibc
import Postgres
import TestSupport
import Testing

/// A worker that stands still, or dies, around the moment in which a file gets its name.
@Suite struct StoppedPublisherTests {
  /// When the worker that stopped before its rename goes on.
  enum Wake: String, Sendable, CaseIterable {
    case beforeAnotherClaims, beforeAnotherPublishes, afterAnotherHasPublished
  }

  struct Stop: Sendable, CustomTestStringConvertible {
    var wake: Wake
    var policy: String
    var hasCheckpoint: Bool
    var sourceChanges = false

    var testDescription: String {
      "\(wake.rawValue), \(policy)" + (hasCheckpoint ? ", with a checkpoint" : "")
        + (sourceChanges ? ", source changed" : "")
    }

    static let all =
      Wake.allCases.flatMap { wake in
        ["fail", "replace", "rename"].map { Stop(wake: wake, policy: $0, hasCheckpoint: false) }
          + ["fail", "rename"].map { Stop(wake: wake, policy: $0, hasCheckpoint: true) }
      } + [
        Stop(
          wake: .beforeAnotherPublishes, policy: "replace", hasCheckpoint: false,
          sourceChanges: true),
        Stop(
          wake: .afterAnotherHasPublished, policy: "replace", hasCheckpoint: false,
          sourceChanges: true),
      ]
  }

  private let length: Int64 = 600_000

  /// Brings a worker to the failpoint `point`, with a checkpoint on the way if wanted.
  private func run(
    _ pool: HaulPool, _ origin: OriginServer, _ gate: Gate, to point: String, hasCheckpoint: Bool
  ) async throws -> HaulProcess {
    let worker = try pool.worker(environment: ["HAUL_FAILPOINT": point])
    if hasCheckpoint {
      try await origin.sent(300_000)
      try await worker.event("job.checkpoint")
    }
    gate.open()
    return worker
  }

  /// 1. A has everything, is sure of its lease and stops before the rename.
  /// 2. Its lease ends.
  /// 3. A goes on and renames: before B claims the job, before B renames, or after.
  @Test(arguments: Stop.all)
  func `a worker stopped before its rename makes no second file`(_ stop: Stop) async throws {
    let gate = Gate("half")
    var representation = Representation(seed: 1, length: length)
    representation.gates[300_000] = gate
    let site = Site(["/file": representation])
    let origin = try OriginServer(handler: site.answer)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      try await pool.command(
        "submit", origin.url("/file"), "--out", "file", "--if-exists", stop.policy)
      let one = try await run(
        pool, origin, gate, to: "before_rename=stop", hasCheckpoint: stop.hasCheckpoint)
      try await one.stopped()
      if stop.sourceChanges { site["/file"] = Representation(seed: 2, length: length) }
      try await pool.expire(one.workerNumber())
      // Once awake it takes no further job, which would be this one.
      _ = try await pool.admin.query(
        "UPDATE haul.worker SET draining = true WHERE id = $1", [try await one.workerNumber()])

      if stop.wake == .beforeAnotherClaims {
        one.wake()
        try await one.gaveUp()
      }
      let holds = stop.wake == .beforeAnotherPublishes
      let two = try pool.worker(
        environment: holds ? ["HAUL_FAILPOINT": "before_rename=stop"] : [:])
      if holds {
        try await two.stopped()
        one.wake()
        try await one.gaveUp()
        two.wake()
      }
      try await two.event("job.completed")
      if stop.wake == .afterAnotherHasPublished {
        one.wake()
        try await one.gaveUp()
      }
      try await one.drain()
      try await two.drain()
      try await coordinator.drain()

      #expect(try await pool.attempts(at: 1) == ["rescued", "completed"])
      #expect(try pool.files() == ["file"])
      let pattern = Pattern(seed: stop.sourceChanges ? 2 : 1)
      let file = pool.directory + "/file"
      #expect(try FileTree.firstDifference(of: file, from: pattern, length: length) == nil)
      #expect(try await pool.value("SELECT path FROM haul.jobs") == "file")
      #expect(try await pool.violations() == [])
    }
  }

  struct Death: Sendable, CustomTestStringConvertible {
    var point: String
    var policy: String
    var hasCheckpoint: Bool

    var testDescription: String {
      "\(point), \(policy)" + (hasCheckpoint ? ", with a checkpoint" : "")
    }

    static let all = ["after_sync", "before_rename", "after_rename", "before_settle"].flatMap {
      point in
      [true, false].flatMap { hasCheckpoint in
        ["fail", "rename"].map { Death(point: point, policy: $0, hasCheckpoint: hasCheckpoint) }
      }
    }
  }

  /// Another file has the name already where the policy is `rename`, so that the file's name is not the job's path.
  @Test(arguments: Death.all)
  func `what a worker did before it died is found by the next`(_ death: Death) async throws {
    let gate = Gate("half")
    var representation = Representation(seed: 1, length: length)
    representation.gates[300_000] = gate
    let origin = try OriginServer(handler: Site(["/file": representation]).answer)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let isTaken = death.policy == "rename"
      if isTaken { try Pattern(seed: 9).write(to: pool.directory + "/file", length: length) }
      try await pool.command(
        "submit", origin.url("/file"), "--out", "file", "--if-exists", death.policy)
      let one = try await run(
        pool, origin, gate, to: "\(death.point)=kill", hasCheckpoint: death.hasCheckpoint)
      #expect(try await one.exit() == .signal(SIGKILL))
      try await pool.expire(one.workerNumber())
      let two = try pool.worker()
      try await two.event("job.completed")
      try await two.drain()
      try await coordinator.drain()

      let name = isTaken ? "file.1" : "file"
      #expect(try await pool.attempts(at: 1) == ["rescued", "completed"])
      #expect(try pool.files() == (isTaken ? ["file", name] : [name]))
      let file = "\(pool.directory)/\(name)"
      #expect(
        try FileTree.firstDifference(of: file, from: Pattern(seed: 1), length: length) == nil)
      #expect(try await pool.value("SELECT path FROM haul.jobs") == name)
      #expect(try await pool.value("SELECT bytes FROM haul.jobs") == length)
      let sum = try await ChildProcess.run("sha256sum", [file]).standardOutput[0].prefix(64)
      #expect(try await pool.value("SELECT digest FROM haul.jobs") == "sha-256=\(sum)")
      #expect(try await pool.violations() == [])
      // With all of it durable and named, nothing is asked for again.
      let isKnown = death.hasCheckpoint && death.point != "after_sync"
      #expect(origin.log.value.exchanges.count == (isKnown ? 1 : 2))
    }
  }

  /// The file under its name is then equal to nothing that can be fetched. Also after a cancellation, which forgets what is
  /// durable.
  @Test(arguments: ["fail", "rename", "skip"], [false, true])
  func `a file that a dead worker has named is replaced when the source has changed`(
    policy: String, isCancelled: Bool
  ) async throws {
    let site = Site(["/file": Representation(seed: 1, length: length)])
    let origin = try OriginServer(handler: site.answer)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let isTaken = policy == "rename"
      if isTaken { try Pattern(seed: 9).write(to: pool.directory + "/file", length: length) }
      try await pool.command("submit", origin.url("/file"), "--out", "file", "--if-exists", policy)
      let one = try pool.worker(environment: ["HAUL_FAILPOINT": "after_rename=kill"])
      #expect(try await one.exit() == .signal(SIGKILL))
      let name = isTaken ? "file.1" : "file"
      #expect(try pool.files() == (isTaken ? ["file", name] : [name]))
      site["/file"] = Representation(seed: 2, length: length)
      if isCancelled { try await pool.command("cancel", "1") }
      try await pool.expire(one.workerNumber())
      if isCancelled {
        try await eventually("the job is cancelled") {
          try await pool.value("SELECT state FROM haul.jobs") == "cancelled"
        }
        try await pool.command("retry", "1")
      }
      let two = try pool.worker()
      try await two.event("job.completed")
      try await two.drain()
      try await coordinator.drain()
      #expect(try pool.files() == (isTaken ? ["file", name] : [name]))
      for (file, seed) in isTaken ? [("file", 9), (name, 2)] : [(name, 2)] {
        #expect(
          try FileTree.firstDifference(
            of: "\(pool.directory)/\(file)", from: Pattern(seed: UInt64(seed)), length: length)
            == nil)
      }
      #expect(try await pool.value("SELECT path FROM haul.jobs") == name)
      #expect(try await pool.violations() == [])
    }
  }

  /// Twenty files of one directory are published together, and one of them cannot be. The worker dies at one step of one of
  /// the others.
  @Test(arguments: ["after_sync", "before_rename", "after_rename", "before_settle"])
  func `of files published together none is lost, doubled or spoilt`(_ point: String) async throws {
    let names = (0..<20).map { "/d/f\($0)" }
    let site = Site()
    for (number, name) in names.enumerated() {
      site[name] = Representation(seed: UInt64(number), length: 16_384)
    }
    let origin = try OriginServer(handler: site.answer)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let folder = origin.host.replacing(":", with: "_")
      let lists = try TemporaryDirectory()
      let list = try lists.write(names.map(origin.url).joined(separator: "\n"), to: "list")
      try await pool.command("host", "set", origin.host, "--cap", "20")
      try await pool.command("submit", "-i", list)
      for part in [folder, "\(folder)/d"] {
        #expect(mkdir("\(pool.directory)/\(part)", 0o777) == 0)
      }
      try Pattern(seed: 99).write(to: "\(pool.directory)/\(folder)/d/f3", length: 5)
      let which = point == "before_settle" ? "" : "@\(folder)/d/f10"
      let one = try pool.worker(
        "--concurrency", "20", environment: ["HAUL_FAILPOINT": "\(point)=kill\(which)"])
      #expect(try await one.exit() == .signal(SIGKILL))
      try await pool.expire(one.workerNumber())
      let two = try pool.worker("--concurrency", "20", "--exit-when-idle")
      #expect(try await two.exit() == .code(0))
      try await coordinator.drain()

      for (number, name) in names.enumerated() where number != 3 {
        #expect(
          try FileTree.firstDifference(
            of: "\(pool.directory)/\(folder)\(name)", from: Pattern(seed: UInt64(number)),
            length: 16_384) == nil)
      }
      #expect(try pool.files().count == 20)
      #expect(
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 19)
      #expect(
        try await pool.value("SELECT error FROM haul.jobs WHERE state = 'failed'") == "exists")
      #expect(try await pool.violations() == [])
    }
  }
}
