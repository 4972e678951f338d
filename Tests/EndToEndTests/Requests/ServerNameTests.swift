import Foundation
import Glibc
import TestSupport
import Testing

/// Files under the names that servers give them: `--content-disposition`.
@Suite(.serialized) struct ServerNameTests {
  private static let length: Int64 = 600_000

  /// `/get?id=N` is file N. Its name comes with the first response of each connection's request for the whole, not with ranges.
  private func origin(_ name: String, gate: Gate? = nil) throws -> OriginServer {
    try OriginServer { request, reply in
      let seed = UInt64(request.target.last.flatMap { $0.wholeNumberValue } ?? 1)
      var file = Representation(seed: seed, length: Self.length)
      if let gate { file.gates = [Self.length / 2: gate] }
      if request[field: "Range"] == nil {
        file.contentType = "text/plain\nContent-Disposition: attachment; filename=\"\(name)\""
      }
      try file.answer(request, reply)
    }
  }

  private func difference(_ path: String, _ seed: UInt64) throws -> Int64? {
    try FileTree.firstDifference(of: path, from: Pattern(seed: seed), length: Self.length)
  }

  @Test func `get names the file as the server does, and knows it again`() async throws {
    let place = try await GetPlace()
    let origin = try origin("../the film.iso")
    let command = ["--content-disposition", origin.url("/get?id=1")]
    #expect(try await place.get(command).exit == .code(0))
    #expect(try difference(place.directory + "/the film.iso", 1) == nil)
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: place.directory) == ["the film.iso"])
    let requests = origin.log.value.exchanges.count
    #expect(try await place.get(command).exit == .code(0))
    #expect(origin.log.value.exchanges.count == requests)
  }

  @Test func `without the option the name is the URL's`() async throws {
    let place = try await GetPlace()
    let origin = try origin("other.iso")
    #expect(try await place.get([origin.url("/get?id=1")]).exit == .code(0))
    #expect(try difference(place.directory + "/get", 1) == nil)
  }

  @Test(arguments: ["fail", "replace", "rename", "skip"])
  func `a file that stands there is never replaced`(policy: String) async throws {
    let place = try await GetPlace()
    let origin = try origin("film.iso")
    try FileManager.default.createDirectory(
      atPath: place.directory, withIntermediateDirectories: true)
    try Pattern(seed: 9).write(to: place.directory + "/film.iso", length: Self.length)
    let output = try await place.get([
      "--content-disposition", "--if-exists", policy, origin.url("/get?id=1"),
      origin.url("/get?id=2"),
    ])
    #expect(output.exit == .code(policy == "fail" ? 1 : 0), "\(output.said)")
    #expect(try difference(place.directory + "/film.iso", 9) == nil)
    let files = try FileManager.default.contentsOfDirectory(atPath: place.directory).sorted()
    let isNumbered = policy == "replace" || policy == "rename"
    #expect(files == (isNumbered ? ["film.1.iso", "film.2.iso", "film.iso"] : ["film.iso"]))
  }

  @Test func `a file with a server's name is not replaced by one with its own`() async throws {
    let origin = try OriginServer { request, reply in
      var file = Representation(seed: request.path == "/film.iso" ? 2 : 1, length: Self.length)
      if request.path != "/film.iso" {
        file.contentType = "text/plain\nContent-Disposition: attachment; filename=film.iso"
      }
      try file.answer(request, reply)
    }
    let place = try await GetPlace()
    let output = try await place.get([
      "-j", "1", "--content-disposition", "--if-exists", "replace", origin.url("/get"),
      origin.url("/film.iso"),
    ])
    #expect(output.exit == .code(0), "\(output.said)")
    let seeds: [UInt64] = [1, 2]
    for name in ["film.iso", "film.1.iso"] {
      let path = "\(place.directory)/\(name)"
      #expect(try seeds.contains { try difference(path, $0) == nil })
    }
  }

  /// The file that stands there is the user's, also for a later look at the source.
  @Test func `a skipped file is not refreshed`() async throws {
    let origin = try origin("film.iso")
    try await HaulPool.open { pool in
      try Pattern(seed: 9).write(to: pool.directory + "/film.iso", length: Self.length)
      let submit = [
        "submit", "-q", origin.url("/get?id=1"), "--out", "x", "--content-disposition",
        "--if-exists", "skip",
      ]
      for command in [submit, submit + ["--on-duplicate", "refresh"]] {
        #expect(try await pool.haul(command).exit == .code(0))
        #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
        #expect(try await pool.state(of: 1) == "completed")
        #expect(try difference(pool.directory + "/film.iso", 9) == nil)
      }
      #expect(try await pool.value("SELECT source IS NULL FROM haul.outcome"))
    }
  }

  /// 1. A worker saves half of the file, then gets the rest and gives it the server's name, and dies.
  /// 2. Another finds the file by the name that the first had recorded.
  @Test func `a name outlives the worker that learned it`() async throws {
    let gate = Gate("half")
    let origin = try origin("film.iso", gate: gate)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let one = try await workerWithHalf(pool, origin, ["HAUL_FAILPOINT": "after_rename=kill"])
      gate.open()
      #expect(try await one.exit() == .signal(SIGKILL))
      try await finish(pool, after: one)
      try await coordinator.drain()
      #expect(try await pool.value("SELECT path FROM haul.jobs") == "d/film.iso")
      #expect(origin.log.value.exchanges.count == 1)
      #expect(try await pool.violations() == [])
    }
  }

  /// The response to the range does not repeat the name.
  @Test func `a name outlives a worker that was killed in the middle`() async throws {
    let gate = Gate("half")
    let origin = try origin("film.iso", gate: gate)
    try await HaulPool.open { pool in
      let coordinator = try await pool.coordinator()
      let one = try await workerWithHalf(pool, origin)
      one.signal(SIGKILL)
      #expect(try await one.exit() == .signal(SIGKILL))
      gate.open()
      try await finish(pool, after: one)
      try await coordinator.drain()
    }
  }

  /// A worker that has saved half of the file.
  private func workerWithHalf(
    _ pool: HaulPool, _ origin: OriginServer, _ environment: [String: String] = [:]
  ) async throws -> HaulProcess {
    try await pool.command(
      "submit", origin.url("/get?id=1"), "--out", "d/x", "--content-disposition")
    let worker = try pool.worker(environment: environment)
    try await origin.sent(Self.length / 2)
    try await worker.event("job.checkpoint")
    return worker
  }

  /// Lets another worker complete the job of the dead worker `one`, and looks at the file.
  private func finish(_ pool: HaulPool, after one: HaulProcess) async throws {
    try await pool.expire(one.workerNumber())
    let two = try pool.worker()
    try await two.event("job.completed")
    try await two.drain()
    #expect(try pool.files() == ["d/film.iso"])
    #expect(try difference(pool.directory + "/d/film.iso", 1) == nil)
  }
}
