import Glibc
import TestSupport
import Testing

/// Waits until a part file below `directory` has bytes.
func firstPiece(in directory: String) async throws {
  try await eventually("bytes in a part file") {
    ((try? FileTree.files(below: directory)) ?? []).contains { file in
      var found = stat()
      return file.contains(".haul/parts/") && stat("\(directory)/\(file)", &found) == 0
        && found.st_size > 0
    }
  }
}

/// `--limit-rate` and `--limit-rate-per-file`, at one byte a second: the first piece comes, and the rest would take hours.
@Suite(.serialized) struct LimitRateTests {
  private static let length: Int64 = 100_000

  private func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      try Representation(seed: 9, length: Self.length).answer(request, reply)
    }
  }

  @Test(arguments: ["worker", "job"])
  func `a worker's rate and a job's hold it back, and its progress is kept`(
    of whom: String
  ) async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      let worker = try pool.start(
        ["worker", "--store", "data=\(pool.directory)", "--allow-net", "127.0.0.0/8"]
          + (whom == "worker" ? ["--limit-rate", "1B"] : []))
      let submitted = try await pool.haul(
        ["submit", origin.url("/file"), "--out", "file"]
          + (whom == "job" ? ["--limit-rate-per-file", "1B"] : []))
      #expect(submitted.exit == .code(0))
      try await firstPiece(in: pool.directory)
      worker.signal(SIGTERM)
      let released = try await worker.event("job.released")
      #expect(released[field: "state"] == "interrupted")
      #expect(try await worker.exit() == .code(0))
      guard whom == "worker" else { return }

      let other = try pool.worker("--exit-when-idle")
      #expect(try await other.exit() == .code(0))
      let difference = try FileTree.firstDifference(
        of: pool.directory + "/file", from: Pattern(seed: 9), length: Self.length)
      #expect(difference == nil)
    }
  }

  @Test(arguments: ["--limit-rate", "--limit-rate-per-file"])
  func `a get is held back, and goes on without`(option: String) async throws {
    let (place, origin) = (try await GetPlace(), try origin())
    let run = try place.start(option, "1B", origin.url("/file"))
    try await firstPiece(in: place.directory)
    run.signal(SIGINT)
    #expect(try await run.exit() == .code(75))
    #expect(try await place.get(origin.url("/file")).exit == .code(0))
    let difference = try FileTree.firstDifference(
      of: place.directory + "/file", from: Pattern(seed: 9), length: Self.length)
    #expect(difference == nil)
  }
}
