import Glibc
import TestSupport
import Testing

/// What a finished file looks like besides its bytes.
@Suite(.serialized) struct ResultFileTests {
  private static let modified: Int64 = 784_111_777

  private func origin() throws -> OriginServer {
    try OriginServer { request, reply in
      var representation = Representation(seed: 9, length: 1000)
      representation.lastModified = Self.modified
      try representation.answer(request, reply)
    }
  }

  private func status(_ path: String) throws -> stat {
    var found = stat()
    try #require(stat(path, &found) == 0)
    return found
  }

  @Test(arguments: [(0o027, 0o640, 0o750), (0o002, 0o664, 0o775)] as [(UInt32, UInt32, UInt32)])
  func `its rights are what the umask leaves`(
    umask: UInt32, file: UInt32, directory: UInt32
  ) async throws {
    let (place, origin) = (try await GetPlace(), try origin())
    let run = try HaulProcess(
      [
        "-c", "umask \(String(umask, radix: 8)); exec \"$0\" \"$@\"", HaulProcess.path, "get",
        "--tree", "-d", place.directory, origin.url("/a/file"),
      ], program: "/bin/sh", environment: ["HAUL_STATE_DIR": place.state])
    #expect(try await run.exit() == .code(0))
    let tree = "\(place.directory)/127.0.0.1_\(origin.port)/a"
    #expect(try status(tree + "/file").st_mode & 0o7777 == file)
    #expect(try status(tree).st_mode & 0o7777 == directory)
  }

  @Test func `it has the source's time where that is asked for`() async throws {
    let (place, origin) = (try await GetPlace(), try origin())
    #expect(try await place.get("--remote-time", origin.url("/with")).exit == .code(0))
    #expect(try await place.get(origin.url("/without")).exit == .code(0))
    #expect(try status(place.directory + "/with").st_mtim.tv_sec == Self.modified)
    #expect(try status(place.directory + "/without").st_mtim.tv_sec != Self.modified)
  }

  @Test func `a job may demand the type of its file`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer { request, reply in
      var file = Representation(seed: 9, length: 1000)
      file.contentType = request.path == "/page" ? "text/html" : "application/zip"
      try file.answer(request, reply)
    }
    let command = ["--expect-type", "application/zip"]
    #expect(try await place.get(command + [origin.url("/file")]).exit == .code(0))
    let output = try await place.get(command + [origin.url("/page")])
    #expect(output.exit == .code(1))
    #expect(output.said.joined().contains("text/html, but application/zip was expected"))
    #expect(try FileTree.files(below: place.directory).count == 1)
  }

  /// Without a validator the digest alone proves that the pieces belong together.
  @Test func `with a digest a server that cuts each response gives the file piece by piece`()
    async throws
  {
    let place = try await GetPlace()
    var file = Representation(seed: 9, length: 1_000_000)
    file.entityTag = nil
    let origin = try OriginServer { [file] request, reply in
      try file.answer(request, reply, cut: .close(after: 300_000))
    }
    let directory = try TemporaryDirectory()
    let copy = directory.path("copy")
    try Pattern(seed: 9).write(to: copy, length: file.length)
    let sum = try await ChildProcess.run("sha256sum", [copy]).standardOutput
    let digest = try #require(sum.first?.prefix(64))
    let output = try await place.get("--checksum", "sha-256=\(digest)", origin.url("/file"))
    #expect(output.exit == .code(0), "\(output.said)")
    let difference = try FileTree.firstDifference(
      of: place.directory + "/file", from: Pattern(seed: 9), length: file.length)
    #expect(difference == nil)
    let whole = origin.log.value.exchanges.count { $0.request[field: "Range"] == nil }
    #expect(whole == 1)
  }

  @Test func `what came as a web page, or without a time, is told`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer { _, reply in
      try reply.head("HTTP/1.1 200 OK\nContent-Type: text/html; charset=utf-8\nContent-Length: 4")
      try reply.body("oops")
    }
    let warnings = [
      "haul get: film.zip: the server sent a web page, not a .zip file. Check whether the page is an error or a login page. Use --expect-type to refuse web pages.",
      "haul get: 1 file has the time of the download, because the server sent no modification time",
    ]
    let output = try await place.get("--remote-time", origin.url("/film.zip"))
    #expect(output.exit == .code(0))
    #expect(output.said.filter(warnings.contains) == warnings, "\(output.said)")
    // -q hides no warnings.
    let quiet = try await place.get(
      "-q", "--remote-time", "--if-exists", "replace", origin.url("/film.zip"))
    #expect(quiet.exit == .code(0))
    #expect(quiet.standardOutput == [] && quiet.standardError == warnings)
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/film.zip"), to: "film.zip")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(
        try await pool.value("SELECT media_type FROM haul.jobs WHERE job = \(job)") == "text/html")
    }
  }

  /// What is noted on it has room in an inode of ext4.
  @Test func `a small file takes one block of 4 KiB`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      try await pool.command("submit", origin.url("/file"), "--out", "file")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try status(pool.directory + "/file").st_blocks <= 8)
    }
  }

  @Test func `a job that asks for it gets it`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      try await pool.command("submit", origin.url("/file"), "--out", "file", "--remote-time")
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      #expect(try status(pool.directory + "/file").st_mtim.tv_sec == Self.modified)
    }
  }
}
