import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// A store whose mount goes away while a worker runs.
@Suite(.enabled("mounting takes root") { await TestFileSystem.isTmpfsPossible })
struct LostMountTests {
  private static func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      try Representation(seed: 1, length: 10_000).answer(request, reply)
    }
  }

  /// The same share, mounted again, is another file system to the kernel: what was opened below the first one is lost.
  @Test func `nothing is published below a mount that has gone, until it is back`() async throws {
    let (origin, disk) = (try Self.origin(), try await TestFileSystem(tmpfs: 64 << 20))
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      let marker = try Data(contentsOf: URL(filePath: disk.path + "/.haul/store.json"))
      try await pool.submit(origin.url("/a"), to: "a")
      let worker = try pool.worker(on: disk.path)
      try await worker.event("job.completed")

      disk.detach()
      try await pool.command("submit", origin.url("/b"), "--out", "b", "--max-attempts", "1")
      let closed = try await worker.event("store.closed")
      #expect(
        closed[field: "reason"]
          == "\(disk.path) is no longer the directory that this worker opened: check that the share is mounted"
      )
      #expect(worker.events("job.completed").count == 1)

      try await disk.mountAgain()
      mkdir(disk.path + "/.haul", 0o755)
      try marker.write(to: URL(filePath: disk.path + "/.haul/store.json"))
      try await worker.event("store.opened")
      try await eventually("the job to be done") { worker.events("job.completed").count == 2 }
      #expect(FileManager.default.fileExists(atPath: disk.path + "/b"))
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 0)
    }
  }

  /// The mount goes while a file is on its way.
  @Test func `a file whose mount goes while it is fetched is fetched again`() async throws {
    let gate = Gate("the mount to be gone")
    let origin = try OriginServer { request, reply in
      var representation = Representation(seed: 1, length: 1 << 20)
      if request.number == 1 { representation.gates = [1 << 19: gate] }
      try representation.answer(request, reply)
    }
    let disk = try await TestFileSystem(tmpfs: 64 << 20)
    try await HaulPool.open { pool in
      try await pool.initialise(disk.path)
      let marker = try Data(contentsOf: URL(filePath: disk.path + "/.haul/store.json"))
      let job = try await pool.submit(origin.url("/a"), to: "a")
      let worker = try pool.worker(on: disk.path)
      try await eventually("half of it to be there") {
        try await pool.value("SELECT count(*) FROM haul.running WHERE bytes >= 262144") == 1
      }
      disk.detach()
      gate.open()
      try await worker.event("store.closed")
      // Whether something of it was saved before the mount went is a matter of time.
      try await eventually("the job to wait") {
        ["queued", "interrupted"].contains(try await pool.state(of: job))
      }
      try await disk.mountAgain()
      mkdir(disk.path + "/.haul", 0o755)
      try marker.write(to: URL(filePath: disk.path + "/.haul/store.json"))
      try await worker.event("job.completed")
      #expect(
        try FileTree.firstDifference(of: "\(disk.path)/a", from: Pattern(seed: 1), length: 1 << 20)
          == nil)
    }
  }
}
