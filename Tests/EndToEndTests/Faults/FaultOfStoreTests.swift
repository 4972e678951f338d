import Foundation
import Postgres
import TestSupport
import Testing

/// Trouble of a disk is not the job's: the worker claims nothing for that store until it is well, and no attempt is used up.
@Suite(.enabled("mounting takes root and loop devices") { await TestFileSystem.isPossible })
struct FaultOfStoreTests {
  private let small: Int64 = 50_000
  private let large: Int64 = 8 << 20

  /// `/large/…` and `/small/…`
  private func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      try representation(request.path).answer(request, reply)
    }
  }

  private func representation(_ path: String) -> Representation {
    Representation(
      seed: UInt64(path.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) } % 1000),
      length: path.hasPrefix("/large/") ? large : small)
  }

  private func submit(
    _ path: String, of origin: OriginServer, to pool: HaulPool, _ options: String...
  )
    async throws
  {
    let arguments = ["submit", origin.url("/\(path)"), "--out", path] + options
    let output = try await pool.haul(arguments)
    #expect(output.exit == .code(0), "\(output.standardError)")
  }

  /// These files are right, and of `count` jobs each is completed.
  private func expectDone(
    _ paths: [String], on directory: String, _ pool: HaulPool, of count: Int? = nil
  ) async throws {
    #expect(
      try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'")
        == count ?? paths.count)
    #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 0)
    #expect(
      try await pool.value("SELECT count(*) FROM haul.hosts WHERE why_idle = 'blocked'") == 0)
    for path in paths {
      let expected = representation("/\(path)")
      let difference = try FileTree.firstDifference(
        of: "\(directory)/\(path)", from: expected.pattern, length: expected.length)
      #expect(difference == nil, "\(path)")
    }
    #expect(try await pool.violations() == [])
  }

  @Test func `a full disk is waited for`() async throws {
    let (origin, disk) = (try origin(), try await TestFileSystem(tmpfs: 64 << 20))
    let paths = ["large/1", "large/2", "small/1"]
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      let filler = disk.path + "/filler"
      try Data(count: 62 << 20).write(to: URL(filePath: filler))
      for path in paths { try await submit(path, of: origin, to: pool, "--max-attempts", "1") }
      let worker = try pool.worker("--exit-when-idle", on: disk.path)
      let closed = try await worker.event("store.closed")
      #expect(closed[field: "reason"] == "the disk of the store is full")
      try await eventually("the view to tell") {
        try await pool.value(
          "SELECT coalesce(trouble, '') LIKE 'data: the disk of the store is full%' FROM haul.workers"
        )
      }
      let released = try await worker.event("job.released")
      #expect(
        released[field: "message"]?.hasPrefix(
          "the file needs \((large + 1 << 20 - 1) >> 20) MiB, but the disk has only ")
          == true)
      try FileManager.default.removeItem(atPath: filler)
      try await worker.event("store.opened")
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      try await expectDone(paths, on: disk.path, pool)
    }
  }

  @Test func `a worker begins although one of its disks is full`() async throws {
    let (origin, disk) = (try origin(), try await TestFileSystem(tmpfs: 16 << 20))
    let other = try TemporaryDirectory()
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      try await pool.command("store", "init", "other", other.path)
      let filler = disk.fill()
      try await submit("small/1", of: origin, to: pool, "--max-attempts", "1")
      try await submit("small/2", of: origin, to: pool, "--queue", "other")
      let worker = try pool.worker(
        "--store", "other=\(other.path)", "--exit-when-idle", on: disk.path)
      let closed = try await worker.event("store.closed")
      #expect(closed[field: "reason"] == "the disk of the store is full")
      try await worker.event("job.completed")
      #expect(FileManager.default.fileExists(atPath: "\(other.path)/small/2"))
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts") == 1)
      try FileManager.default.removeItem(atPath: filler)
      try await worker.event("store.opened")
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      try await expectDone(["small/1"], on: disk.path, pool, of: 2)
    }
  }

  /// The disk fills up while a file is on its way, on a file system that could not set its room aside.
  @Test func `what is durable when the disk fills up is not fetched again`() async throws {
    let full = Gate("the disk is full")
    let length: Int64 = 24 << 20
    let origin = try OriginServer { request, reply in
      var representation = Representation(seed: 2, length: length)
      if request.number == 1 { representation.gates = [16 << 20: full] }
      try representation.answer(request, reply)
    }
    let disk = try await TestFileSystem(ext2: 64 << 20)
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      let job = try await pool.submit(origin.url("/long"), to: "long")
      let worker = try pool.worker("--exit-when-idle", on: disk.path)
      // Checkpoints come with time as well: one there is before the disk is full.
      try await worker.event("job.checkpoint")
      let filler = disk.fill()
      full.open()
      try await worker.event("store.closed")
      try await pool.wait(for: job, toBe: "interrupted")
      try FileManager.default.removeItem(atPath: filler)
      #expect(try await worker.exit(within: .seconds(90)) == .code(0))
      let resumed: [Int64] = try await pool.values(
        "SELECT resumed_at FROM haul.attempts ORDER BY token")
      #expect(resumed.count == 2)
      #expect((resumed.last ?? 0) >= 8 << 20)
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 0)
      #expect(
        try FileTree.firstDifference(
          of: "\(disk.path)/long", from: Pattern(seed: 2), length: length) == nil)
    }
  }

  @Test func `a disk that has become read-only is waited for`() async throws {
    let (origin, disk) = (try origin(), try await TestFileSystem(ext4: 64 << 20))
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      let worker = try pool.worker(on: disk.path)
      try await worker.event("worker.started")
      try await disk.setReadOnly(true)
      try await submit("small/1", of: origin, to: pool, "--max-attempts", "1")
      let closed = try await worker.event("store.closed")
      #expect(closed[field: "reason"]?.contains("Read-only file system") == true)
      try await disk.setReadOnly(false)
      try await worker.event("store.opened")
      try await worker.event("job.completed")
      try await expectDone(["small/1"], on: disk.path, pool)
    }
  }

  /// Whatever writes to one of two disks waits. Heartbeats and the other store go on: also where the host has not answered yet, and
  /// its first transfer waits for the disk.
  @Test(arguments: [true, false])
  func `a disk that hangs holds up neither heartbeats nor another store`(
    isHostKnown: Bool
  ) async throws {
    let (origin, disk) = (try origin(), try await TestFileSystem(ext4: 64 << 20))
    let other = try TemporaryDirectory()
    let paths = (1...3).map { "small/\($0)" }
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      try await pool.command("store", "init", "other", other.path)
      try await pool.command("host", "set", "*", "--cap", "32")
      let worker = try pool.worker("--store", "other=\(other.path)", on: disk.path)
      try await worker.event("worker.started")
      if isHostKnown {
        try await submit("small/h0", of: origin, to: pool)
        try await worker.event("job.completed")
      }
      let first = isHostKnown ? 0 : 1
      try await disk.frozen {
        // As many as there are threads for the disk, and more.
        for number in 1...20 { try await submit("small/h\(number)", of: origin, to: pool) }
        try await eventually("all leases to be there") {
          try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'running'")
            == (isHostKnown ? 16 : 1)
        }
        for path in paths { try await submit(path, of: origin, to: pool, "--queue", "other") }
        try await eventually("the jobs of the other store to be done", within: .seconds(60)) {
          try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 4
            - first
        }
        let closed = try await worker.event("store.closed")
        #expect(closed[field: "reason"] == "the disk of the store does not answer")
        #expect(try await pool.value("SELECT state FROM haul.workers") == "alive")
      }
      try await worker.event("store.opened")
      try await eventually("all to be done", within: .seconds(60)) {
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 24
          - first
      }
      try await expectDone(
        (first...20).map { "small/h\($0)" }, on: disk.path, pool, of: 24 - first)
    }
  }

  /// More transfers than there are buffers for, all of which wait for one disk, leave some for the other.
  @Test func `large files for a disk that hangs leave buffers to another store`() async throws {
    let gate = Gate("the disk to hang")
    let origin = try OriginServer { request, reply in
      var file = representation(request.path)
      if request.path.hasPrefix("/large/h") { file.gates = [1 << 20: gate] }
      try file.answer(request, reply)
    }
    let (disk, other) = (try await TestFileSystem(ext4: 512 << 20), try TemporaryDirectory())
    let held = (1...30).map { "large/h\($0)" }
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      try await pool.command("store", "init", "other", other.path)
      try await pool.command("host", "set", "*", "--cap", "64")
      let list = held.map { "\(origin.url("/\($0)"))\n  out=\($0)" }.joined(separator: "\n")
      try await pool.command("submit", "-i", try other.write(list, to: "list"))
      let worker = try pool.worker(
        "--store", "other=\(other.path)", "--concurrency", "48", on: disk.path)
      try await eventually("all to have come to the gate") {
        try await pool.value("SELECT count(*) FROM haul.running WHERE bytes >= 786432") == 30
      }
      try await disk.frozen {
        gate.open()
        try await worker.event("store.closed")
        for number in 1...3 {
          try await submit("large/o\(number)", of: origin, to: pool, "--queue", "other")
        }
        try await eventually("the jobs of the other store to be done", within: .seconds(60)) {
          try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 3
        }
      }
      try await eventually("all to be done", within: .seconds(120)) {
        try await pool.value("SELECT count(*) FROM haul.jobs WHERE state = 'completed'") == 33
      }
      try await expectDone(held, on: disk.path, pool, of: 33)
    }
  }
}
