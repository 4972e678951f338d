import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// A directory that a worker's user may not write in is the worker's trouble: no job fails while another worker could do it.
@Suite(.enabled(if: getuid() == 0, "taking rights away takes root"))
struct StoreRightsTests {
  private static func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      try Representation(seed: 1, length: 10_000).answer(request, reply)
    }
  }

  private static func owner(of path: String) -> uid_t? {
    var found = stat()
    return stat(path, &found) == 0 ? found.st_uid : nil
  }

  /// Root, but with no right to write what is another's.
  private static func limited(_ arguments: [String], of pool: HaulPool) throws -> HaulProcess {
    try HaulProcess(
      ["--bounding-set=-dac_override", HaulProcess.path] + arguments, program: "setpriv",
      environment: ["HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_FORMAT": "json"])
  }

  private static func worker(of pool: HaulPool) throws -> HaulProcess {
    try limited(
      ["worker", "--store", "data=\(pool.directory)", "--allow-net", "127.0.0.0/8"], of: pool)
  }

  @Test(arguments: ["", "/00"])
  func `part directories of another user close the store, and no job fails`(
    below: String
  ) async throws {
    let origin = try Self.origin()
    try await HaulPool.open { pool in
      let id: String = try await pool.value("SELECT haul.pool_id()")
      let parts = "\(pool.directory)/.haul/parts/\(id)"
      try FileManager.default.createDirectory(
        atPath: parts + below, withIntermediateDirectories: true)
      #expect(chown(parts + below, OrdinaryUser.id, OrdinaryUser.id) == 0)
      let check = try await Self.limited(["check", "--store", "data=\(pool.directory)"], of: pool)
        .child.result()
      #expect(check.exit == .code(78))
      #expect(
        check.standardOutput.contains {
          $0.contains("this user has no permission to write to \(parts + below)")
        }, "\(check.standardOutput)")

      try await pool.command("submit", origin.url("/a"), "--out", "a", "--max-attempts", "1")
      let worker = try Self.worker(of: pool)
      let closed = try await worker.event("store.closed")
      let reason = try #require(closed[field: "reason"])
      #expect(
        reason.hasPrefix(
          "this user has no permission to write to \(parts + below): the directory belongs to nobody; "
        ))
      try await eventually("the view to tell") {
        try await pool.value(
          "SELECT coalesce(trouble, '') = $1 FROM haul.workers", ["data: " + reason])
      }
      #expect(chown(parts + below, 0, 0) == 0)
      try await worker.event("store.opened")
      try await worker.event("job.completed")
      #expect(
        try await pool.value("SELECT count(*) FROM haul.attempts WHERE result = 'failed'") == 0)
    }
  }

  @Test func `a final directory of another user fails a job that nobody else can do`() async throws
  {
    let origin = try Self.origin()
    try await HaulPool.open { pool in
      #expect(mkdir(pool.directory + "/docs", 0o755) == 0)
      #expect(chown(pool.directory + "/docs", OrdinaryUser.id, OrdinaryUser.id) == 0)
      let job = try await pool.submit(origin.url("/a"), to: "docs/new/a")
      let worker = try Self.worker(of: pool)
      try await pool.wait(for: job, toBe: "failed")
      let (error, message): (String, String) = (
        try await pool.value("SELECT error FROM haul.jobs"),
        try await pool.value("SELECT message FROM haul.jobs")
      )
      #expect(error == "not_permitted")
      #expect(
        message
          == "cannot move the finished file to docs/new/a: Permission denied; \(pool.directory)/docs belongs to nobody, and this process runs as root"
      )
      // Nothing was fetched in vain.
      #expect(origin.log.value.exchanges.isEmpty)
      try await pool.submit(origin.url("/b"), to: "b")
      try await worker.event("job.completed")
      #expect(worker.events("store.closed").isEmpty)
    }
  }

  @Test func `a final directory of another user leaves the job to a worker that may write there`()
    async throws
  {
    let origin = try Self.origin()
    try await HaulPool.open { pool in
      #expect(mkdir(pool.directory + "/docs", 0o755) == 0)
      #expect(chown(pool.directory + "/docs", OrdinaryUser.id, OrdinaryUser.id) == 0)
      let root = try pool.worker()
      try await root.event("worker.started")
      // It stays alive for as long as its leases hold.
      try await root.stop()
      let job = try await pool.submit(origin.url("/a"), to: "docs/a")
      let other = try Self.worker(of: pool)
      try await other.event("job.retry")
      root.wake()
      try await pool.wait(for: job, toBe: "completed", within: .seconds(90))
      #expect(try await pool.value("SELECT count(*) FROM haul.attempts WHERE charged") == 0)
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a worker of root gives new directories to the owner of the one above`() async throws {
    let origin = try Self.origin()
    try await HaulPool.open { pool in
      for path in ["", "/.haul", "/.haul/parts"] {
        #expect(chown(pool.directory + path, OrdinaryUser.id, OrdinaryUser.id) == 0)
      }
      let job = try await pool.submit(origin.url("/a"), to: "new/deep/a")
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      let id: String = try await pool.value("SELECT haul.pool_id()")
      for path in ["new", "new/deep", ".haul/parts/\(id)", ".haul/parts/\(id)/00"] {
        #expect(Self.owner(of: "\(pool.directory)/\(path)") == OrdinaryUser.id, "\(path)")
      }
    }
  }
}
