import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// A manifest of a pool's files, and copies that are compared with it without the pool.
@Suite struct ManifestTests {
  private static let names = [
    "d/flipped", "d/gone", "d/short", "back\\slash", "quote\"d", "com,ma", "ünï çødé", "-",
  ]
  private static let sentence =
    "8 files match their records: 8 by digest and 0 by length only. 0 files were not compared"

  private func withFiles(_ body: (HaulPool, OriginServer) async throws -> Void) async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50_000).answer(request, reply)
    }
    try await HaulPool.open { pool in
      for (number, name) in Self.names.enumerated() {
        let output = try await pool.haul([
          "submit", origin.url("/\(number)?sig=secret"), "--out", name, "--batch", "b",
        ])
        #expect(output.exit == .code(0), "\(output.standardError)")
      }
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      try await body(pool, origin)
    }
  }

  /// Runs a command without any database, in `directory`.
  private func alone(_ arguments: [String], in directory: String) async throws
    -> ChildProcess.Output
  {
    try await ChildProcess.run(
      HaulProcess.path, arguments,
      environment: ["HAUL_DATABASE_URL": "host=/nonexistent", "HAUL_STORES": "data=/nonexistent"],
      directory: directory)
  }

  @Test func `others can check their copies in each format`() async throws {
    let lists = try TemporaryDirectory()
    try await withFiles { pool, _ in
      for format in ["sha256sums", "jsonl", "csv"] {
        let written = try await pool.haul(["export", "--batch", "b", "--manifest", format])
        #expect(written.exit == .code(0) && written.standardError == [])
        let lines = written.standardOutput
        #expect(lines.count == Self.names.count + (format == "csv" ? 1 : 0))
        #expect(!lines.contains { $0.contains("secret") })
        let list = try lists.write(lines.joined(separator: "\n") + "\n", to: format)
        if format == "sha256sums" {
          let sums = try await ChildProcess.run(
            "sha256sum", ["--check", "--strict", list], directory: pool.directory)
          #expect(sums.exit == .code(0), "\(sums.standardError)")
          #expect(sums.standardOutput.count == Self.names.count)
        } else {
          #expect(lines.last?.contains("sha-256=") == true)
          #expect(lines.last?.contains("?sig=…") == true)
        }
        let right = try await alone(["verify", "--manifest", list, pool.directory], in: lists.path)
        #expect(right.exit == .code(0), "\(right.standardError)")
        #expect(right.standardOutput == [Self.sentence])
        let extra = try await alone(
          ["verify", "--manifest", list, "--extra"], in: pool.directory)
        #expect(extra.exit == .code(0) && extra.standardOutput == [Self.sentence])
      }
      let complete = try await pool.command("export", "--manifest", "csv", "--complete-urls")
      #expect(complete.count == 9 && complete[1].contains("?sig=secret"))
      try spoil(pool)
      for format in ["sha256sums", "jsonl", "csv"] {
        try await faultsAreFound(pool, lists.path(format), knowsLength: format != "sha256sums")
      }
    }
  }

  private func spoil(_ pool: HaulPool) throws {
    let flipped = try #require(FileHandle(forUpdatingAtPath: pool.directory + "/d/flipped"))
    try flipped.seek(toOffset: 25_000)
    let byte = try #require(try flipped.read(upToCount: 1)?.first)
    try flipped.seek(toOffset: 25_000)
    try flipped.write(contentsOf: Data([byte ^ 1]))
    try flipped.close()
    try FileManager.default.removeItem(atPath: pool.directory + "/d/gone")
    #expect(truncate(pool.directory + "/d/short", 10) == 0)
    try Data("new".utf8).write(to: URL(filePath: pool.directory + "/d/new"))
  }

  private func faultsAreFound(_ pool: HaulPool, _ list: String, knowsLength: Bool) async throws {
    let found = try await alone(
      ["verify", "--manifest", list, "--extra", "--json", pool.directory], in: "/")
    #expect(found.exit == .code(1))
    #expect(found.standardOutput.count == 4, "\(found.standardOutput)")
    for (path, fault) in [
      ("d/gone", "\"missing\""), ("d/flipped", "\"sha-256="), ("d/new", "\"not in the manifest\""),
      ("d/short", knowsLength ? "\"10 bytes long, not 50000\"" : "\"sha-256="),
    ] {
      #expect(
        found.standardOutput.contains {
          $0.contains("\"path\":\"\(path)\"") && $0.contains("\"fault\":\(fault)")
        }, "\(path): \(found.standardOutput)")
    }
    #expect(
      found.standardError == [
        "haul verify: 3 of 8 files do not match their records. 1 file is not in the manifest. 5 files match their records: 5 by digest and 0 by length only. 0 files were not compared."
      ])
  }

  @Test func `paths that leave the directory are refused, and links are not followed`()
    async throws
  {
    let place = try TemporaryDirectory()
    try place.write("test", to: "outside")
    try FileManager.default.createDirectory(
      atPath: place.path("copy"), withIntermediateDirectories: false)
    try place.write("test", to: "copy/inside")
    for (name, target) in [("link", "../outside"), ("up", "..")] {
      try FileManager.default.createSymbolicLink(
        atPath: place.path("copy/\(name)"), withDestinationPath: target)
    }
    let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    try place.write(
      ["../outside", place.path("outside"), "inside"].map { "\(hex)  \($0)\n" }.joined(),
      to: "sums")
    let refused = try await alone(["verify", "--manifest", "sums", "copy"], in: place.path)
    #expect(refused.exit == .code(65))
    #expect(
      refused.standardError == [
        "sums:1: a component of the path is '.' or '..'.", "sums:2: the path begins with '/'.",
        "haul verify: 2 lines of the manifest are wrong. 1 file matches its record: 1 by digest and 0 by length only. 2 files were not compared.",
      ])
    try place.write("\(hex)  link\n\(hex)  up/outside\n", to: "links")
    let links = try await alone(
      ["verify", "--manifest", "links", "--json", "copy"], in: place.path)
    #expect(links.exit == .code(1))
    #expect(links.standardOutput.count == 2)
    #expect(links.standardOutput.allSatisfy { $0.contains("symbolic link") })
    #expect(!links.standardOutput.contains { $0.contains("\"missing\"") })
    let empty = try await ChildProcess.run(
      "bash", ["-c", "'\(HaulProcess.path)' verify --manifest - copy </dev/null"],
      directory: place.path)
    #expect(empty.exit == .code(65))
    #expect(empty.standardError == ["haul verify: standard input: the manifest names no file."])
  }

  @Test func `files without a SHA-256 are counted, and options that do not fit are refused`()
    async throws
  {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50).answer(request, reply)
    }
    try await HaulPool.open { pool in
      for name in ["a", "b"] {
        let options = name == "a" ? ["--no-record-digest"] : []
        _ = try await pool.haul(["submit", origin.url("/\(name)"), "--out", name] + options)
      }
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      let sums = try await pool.haul(["export", "--manifest", "sha256sums", "--state", "completed"])
      #expect(sums.exit == .code(0) && sums.standardOutput.count == 1)
      #expect(
        sums.standardError == [
          "haul export: left out 1 file without a recorded SHA-256. Use --manifest jsonl or csv to list every file"
        ])
      let stored = try await pool.command(
        "export", "--manifest", "jsonl", "--store", HaulPool.store)
      #expect(stored.count == 2)
      for (line, code, words) in [
        ("export --manifest csv --left", 64, "Remove --left."),
        ("export --manifest csv --state failed", 64, "only completed jobs"),
        ("export --manifest csv --format csv", 64, "use either --format"),
        ("export --store data", 64, "--store needs --manifest."),
        ("export --complete-urls", 64, "--complete-urls needs --manifest."),
        ("export --manifest csv --store none", 65, "there is no store \"none\". Stores: data."),
        ("export --format sha256sums", 64, "use --manifest sha256sums."),
        ("verify --extra", 64, "--extra needs --manifest."),
        ("verify x", 64, "operand <id> must be a whole number, not 'x'."),
        ("verify --manifest x --requeue", 64, "does not accept --requeue."),
        ("verify --manifest x --batch b", 64, "without a pool"),
        ("verify --manifest x a b", 64, "compares one directory, but 2 are given."),
        ("verify --manifest /nonexistent", 74, "/nonexistent: No such file or directory."),
        ("verify --manifest x /nonexistent", 74, "the directory /nonexistent does not exist."),
      ] as [(String, Int32, String)] {
        let output = try await pool.haul(line.split(separator: " ").map(String.init))
        #expect(output.exit == .code(code), "\(line)")
        #expect(
          output.standardError.first?.contains(words) == true, "\(line): \(output.standardError)")
      }
    }
  }
}
