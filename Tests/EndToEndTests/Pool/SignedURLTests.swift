import Foundation
import TestSupport
import Testing

/// URLs with a signature that expires in the middle of a file, and new ones for the same file.
@Suite(.serialized) struct SignedURLTests {
  private static let length: Int64 = 2_000_000
  private static let half: Int64 = 1_000_000

  private static func file(_ seed: UInt64) -> Representation {
    var file = Representation(seed: seed, length: length)
    file.entityTag = nil
    file.lastModified = 784_111_777
    return file
  }

  /// What `?sig=1` and `?id=1` name is there once, up to the middle. `?id=2` is another file with the same time and length.
  private func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      let file = Self.file(request.target.hasSuffix("?id=2") ? 2 : 1)
      guard request.target.hasSuffix("=1") else { return try file.answer(request, reply) }
      if request[field: "Range"] != nil {
        return try reply.head("HTTP/1.1 403 Expired\nContent-Length: 0")
      }
      try file.answer(request, reply, cut: .close(after: Self.half))
    }
  }

  /// The first byte of each request by such a URL.
  private func starts(_ origin: OriginServer, _ suffix: String) -> [Int64?] {
    origin.log.value.exchanges.map(\.request).filter { $0.target.hasSuffix(suffix) }.map {
      request in
      request[field: "Range"].flatMap {
        Int64($0.dropFirst("bytes=".count).prefix { $0 != "-" })
      }
    }
  }

  private func difference(_ path: String, _ seed: UInt64 = 1) throws -> Int64? {
    try FileTree.firstDifference(of: path, from: Pattern(seed: seed), length: Self.length)
  }

  @Test func `a job goes on under the new URL`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/film.iso?sig=1"), to: "film.iso")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.state(of: job) == "failed")
      try await pool.command(
        "submit", origin.url("/film.iso?sig=2"), "--out", "film.iso", "--on-duplicate", "replace")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      #expect(starts(origin, "sig=2") == [Self.half - 65_536])
      #expect(try difference(pool.directory + "/film.iso") == nil)
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `so does haul get, and another file of that name does not`() async throws {
    let (place, origin) = (try await GetPlace(), try origin())
    for (first, second, seed) in [("sig=1", "sig=2", 1), ("id=1", "id=2", 2)] as [(_, _, UInt64)] {
      let failed = try await place.get(origin.url("/film.iso?\(first)"))
      #expect(failed.exit == .code(1))
      let output = try await place.get(origin.url("/film.iso?\(second)"))
      #expect(output.exit == .code(0), "\(output.said)")
      #expect(starts(origin, second).first == Self.half - 65_536)
      #expect(starts(origin, second).count == (seed == 1 ? 1 : 2))
      #expect(try difference(place.directory + "/film.iso", seed) == nil)
      try FileManager.default.removeItem(atPath: place.directory + "/film.iso")
    }
  }
}
