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

  /// After half of the file everything that has the old signature gets 403. What is there stays for the new one.
  @Test(arguments: [true, false])
  func `a 403 in the middle costs nothing`(_ isReplaced: Bool) async throws {
    let isExpired = Watched(true)
    let origin = try OriginServer { request, reply in
      if request.number == 1 {
        return try Self.file(1).answer(request, reply, cut: .close(after: Self.half))
      }
      if isExpired.value, request.target.hasSuffix("=1") {
        return try reply.head("HTTP/1.1 403 Expired\nContent-Length: 0")
      }
      try Self.file(1).answer(request, reply)
    }
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/film.iso?sig=1"), to: "film.iso")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.value("SELECT error FROM haul.jobs") == "http_403")
      #expect(try pool.parts().count == 1)
      isExpired.update { $0 = isReplaced }
      let replace = [
        "submit", origin.url("/film.iso?sig=2"), "--out", "film.iso", "--on-duplicate", "replace",
      ]
      _ = try await pool.haul(isReplaced ? replace : ["retry", "\(job)"])
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      #expect(try difference(pool.directory + "/film.iso") == nil)
      let last = starts(origin, isReplaced ? "sig=2" : "sig=1").last
      #expect(last == Self.half - (isReplaced ? 65_536 : 4096))
      #expect(try await pool.violations() == [])
    }
  }

  /// It is shorter than what is there of the first, and has a tag of its own.
  @Test func `another file under another query replaces what there is of the first`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer { request, reply in
      if request.target.hasSuffix("=2") {
        return try Representation(seed: 5, length: 100_000).answer(request, reply)
      }
      if request[field: "Range"] != nil {
        return try reply.head("HTTP/1.1 403 Expired\nContent-Length: 0")
      }
      try Self.file(1).answer(request, reply, cut: .close(after: Self.half))
    }
    #expect(try await place.get(origin.url("/get?id=1")).exit == .code(1))
    let output = try await place.get(origin.url("/get?id=2"))
    #expect(output.exit == .code(0), "\(output.said)")
    let difference = try FileTree.firstDifference(
      of: place.directory + "/get", from: Pattern(seed: 5), length: 100_000)
    #expect(difference == nil)
  }

  /// What the second path has.
  enum OtherPath: CaseIterable { case sameFile, sameTag, otherTag, text }

  /// The part of one path is used for another under the same strong tag, if 64 KiB of it agree.
  @Test(arguments: OtherPath.allCases)
  func `another path for the same name goes on only with the same tag and bytes`(
    _ kind: OtherPath
  ) async throws {
    let first = Representation(seed: 1, length: Self.length)
    var second = first
    if kind == .sameTag || kind == .otherTag { second.pattern = Pattern(seed: 2) }
    if kind == .otherTag { second.entityTag = "\"2\"" }
    if kind == .text { second = Representation(seed: 3, length: 300) }
    let file = second
    let origin = try OriginServer { request, reply in
      if request.path.hasPrefix("/two") {
        guard kind == .text else { return try file.answer(request, reply) }
        try reply.head("HTTP/1.1 200 OK\nContent-Type: text/plain\nContent-Length: 300")
        return try reply.body(file.bytes(in: 0..<300))
      }
      if request[field: "Range"] != nil {
        return try reply.head("HTTP/1.1 403 Expired\nContent-Length: 0")
      }
      try first.answer(request, reply, cut: .close(after: Self.half))
    }
    let place = try await GetPlace()
    #expect(try await place.get(origin.url("/one/film.iso")).exit == .code(1))
    let output = try await place.get(origin.url("/two/film.iso"))
    #expect(output.exit == .code(0), "\(output.said)")
    let difference = try FileTree.firstDifference(
      of: place.directory + "/film.iso", from: file.pattern, length: file.length)
    #expect(difference == nil)
    let start = Self.half - 65_536
    // The tag comes with other bytes: the overlap shows it, and all is asked for.
    #expect(starts(origin, "/two/film.iso") == [start] + (kind == .sameTag ? [nil] : []))
  }

  @Test func `a file of new URLs is for the jobs of a batch`() async throws {
    let (origin, gate) = (try origin(), Gate("second half"))
    let slow = try OriginServer { request, reply in
      var file = Self.file(3)
      if request.target.hasSuffix("=1") { file.gates = [Self.half: gate] }
      try file.answer(request, reply)
    }
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let list = try directory.write(
        [
          origin.url("/failed?sig=1"), slow.url("/running?sig=1"), origin.url("/done?sig=0"),
          origin.url("/other?id=1"),
        ].joined(separator: "\n"), to: "list.txt")
      try await pool.command("submit", "-q", "-i", list, "--batch", "b", "--max-attempts", "2")
      let worker = try pool.worker()
      for (job, state) in [(1, "failed"), (3, "completed"), (4, "failed")] as [(Int64, _)] {
        try await pool.wait(for: job, toBe: state)
      }
      let map = try directory.write(
        """
        # Of the first, the second has ended while it was signed anew.
        \(origin.url("/failed?sig=2"))
        \(slow.url("/running?sig=2"))
        \(origin.url("/other?id=1"))\t\(origin.url("/another?x=2"))
        \(origin.url("/done?sig=2"))

        """, to: "map.txt")
      let refused = try await pool.haul(["replace-url", "--batch", "b", "--map", map])
      #expect(refused.exit == .code(65))
      #expect(
        refused.standardError == [
          "haul replace-url: \(map):5: no unfinished job of the batch has the old URL, or this URL with a different query. Nothing was changed."
        ])
      let said = try await pool.command(
        "replace-url", "--batch", "b", "--map", map, "--skip-bad")
      #expect(said == ["3 jobs got new URLs"])
      for job in [1, 2, 4] as [Int64] { try await pool.wait(for: job, toBe: "completed") }
      let again = try await pool.command(
        "replace-url", "--batch", "b", "--map", map, "--skip-bad", "-q")
      #expect(again == ["0 jobs got new URLs"])
      #expect(starts(origin, "sig=2") == [Self.half - 65_536])
      #expect(starts(slow, "sig=2").count == 1)
      let tree = "\(pool.directory)/127.0.0.1_\(origin.port)"
      #expect(try FileTree.files(below: tree).count == 3)
      try await pool.stop(worker)
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
