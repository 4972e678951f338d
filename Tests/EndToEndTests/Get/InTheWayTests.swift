import Foundation
import TestSupport
import Testing

/// What stands where a file is to go.
@Suite(.serialized) struct InTheWayTests {
  private static let file = Representation(seed: 3, length: 70_000)

  private static func makeDirectory(_ path: String) throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  @Test(arguments: ["fail", "skip", "replace"])
  func `a directory under the name is noticed before anything is fetched`(policy: String)
    async throws
  {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try Self.makeDirectory(place.directory + "/taken")
    let list = try place.list(origin.urls("one") + [" out=taken"])
    let output = try await place.get("-i", list, "--if-exists", policy)
    #expect(output.exit == .code(1))
    #expect(
      output.said.dropFirst() == [
        "haul get: \(origin.urls("one")[0]): taken is a directory",
        "haul get: 1 file failed (1 path_conflict).",
      ])
    #expect(output.standardOutput == [])
    #expect(origin.requests == 0)
    #expect(try place.files() == [])
  }

  @Test func `beside a directory under the name a file can get a number`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try Self.makeDirectory(place.directory + "/taken")
    let list = try place.list(origin.urls("one") + [" out=taken"])
    let output = try await place.get("-i", list, "--if-exists", "rename")
    #expect(output.exit == .code(0))
    #expect(try place.files() == ["taken.1"])
  }

  @Test func `a file or a link in place of a directory is noticed too`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer(handler: Site(["/a": Self.file]).answer)
      try Data("mine".utf8).write(to: URL(filePath: pool.directory + "/file"))
      try FileManager.default.createSymbolicLink(
        atPath: pool.directory + "/link", withDestinationPath: "/")
      for path in ["file/a", "link/a", "link/b/a"] {
        try await pool.submit(origin.url("/a"), to: path)
      }
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(
        try await pool.values("SELECT error FROM haul.jobs") as [String]
          == Array(repeating: "path_conflict", count: 3))
      #expect(origin.log.value.exchanges.isEmpty)
    }
  }

  @Test func `a file that appears meanwhile is skipped, and is not taken for what was fetched`()
    async throws
  {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start("--json", "--if-exists", "skip", file.origin.url("/file"))
    try await file.origin.sent(GatedFile.half)
    try Data("mine".utf8).write(to: URL(filePath: place.directory + "/file"))
    file.gate.open()
    let output = try await run.child.result()
    #expect(output.exit == .code(0))
    let report = try place.report(output)
    #expect([report["completed"], report["skipped"], report["bytes"]] == [0, 1, 0])
    #expect(try place.files() == ["file"])
  }

  @Test func `of a file that appears meanwhile its own length is recorded`() async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      let worker = try pool.worker()
      try await pool.command(
        "submit", file.origin.url("/file"), "--out", "file", "--if-exists", "skip")
      try await file.origin.sent(GatedFile.half)
      try Data("mine".utf8).write(to: URL(filePath: pool.directory + "/file"))
      file.gate.open()
      try await worker.event("job.completed")
      try await pool.stop(worker)
      #expect(try await pool.value("SELECT bytes FROM haul.jobs WHERE state = 'completed'") == 4)
      let verified = try await pool.command("verify", "--store", "data=\(pool.directory)")
      #expect(
        verified == [
          "1 file matches its record: 0 by digest and 1 by length only. 0 files were not compared"
        ])
      #expect(try pool.parts() == [])
    }
  }

  @Test func `what a file stood in the way of gets past it by a retry that says how`() async throws
  {
    try await HaulPool.open { pool in
      let origin = try OriginServer(handler: Site(["/a": Self.file]).answer)
      try Data("mine".utf8).write(to: URL(filePath: pool.directory + "/a"))
      try await pool.command("submit", origin.url("/a"), "--out", "a", "--batch", "b")
      try await pool.command(
        "submit", origin.url("/none"), origin.url("/nought"), "--batch", "other")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      let failures = try await pool.command("failures", "--batch", "b")
      #expect(failures.count == 3 && failures[1].hasPrefix("exists  127.0.0.1"), "\(failures)")
      let answers = try await pool.command("failures", "--batch", "other")
      #expect(answers.last == "      message of the first job: the server answered 404")
      let unknown = try await pool.haul(["failures", "--batch", "nope"])
      #expect(unknown.exit == .code(65))
      let retry = ["retry", "--error", "exists", "--if-exists"]
      #expect(try await pool.haul(retry + ["burn"]).exit == .code(64))
      #expect(try await pool.haul(retry + ["replace"]).standardOutput == ["1 job queued again"])
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.value("SELECT completed FROM haul.batches WHERE batch = 'b'") == 1)
      #expect(
        try Data(contentsOf: URL(filePath: pool.directory + "/a")).count == Int(Self.file.length))
    }
  }
}
