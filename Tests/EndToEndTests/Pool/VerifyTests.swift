import Foundation
import Postgres
import TestSupport
import Testing

/// Finished files are compared with what was recorded, and fetched again where they are not the same.
@Suite struct VerifyTests {
  private static let names = ["flipped", "gone", "kept", "short"]

  /// Brings four files, spoils three, looks, and mends them.
  private func run(_ options: String...) async throws {
    try await HaulPool.open { pool in try await run(pool, options) }
  }

  private func run(_ pool: HaulPool, _ options: [String]) async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50_000).answer(request, reply)
    }
    for name in Self.names {
      let submitted = try await pool.haul(
        ["submit", origin.url("/\(name)"), "--out", "d/\(name)"] + options)
      #expect(submitted.exit == .code(0))
    }
    #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
    try spoil(pool)
    try await mend(pool)
  }

  private func spoil(_ pool: HaulPool) throws {
    let file = pool.directory + "/d/"
    let flipped = try #require(FileHandle(forUpdatingAtPath: file + "flipped"))
    try flipped.seek(toOffset: 25_000)
    let byte = try #require(try flipped.read(upToCount: 1)?.first)
    try flipped.seek(toOffset: 25_000)
    try flipped.write(contentsOf: Data([byte ^ 1]))
    try flipped.close()
    try FileManager.default.removeItem(atPath: file + "gone")
    let short = try #require(FileHandle(forUpdatingAtPath: file + "short"))
    try short.truncate(atOffset: 10)
    try short.close()
  }

  private func mend(_ pool: HaulPool) async throws {
    let store = ["--store", "\(HaulPool.store)=\(pool.directory)"]
    let digests: Int64 = try await pool.value(
      "SELECT count(*) FROM haul.jobs WHERE digest LIKE 'sha-256=%'")
    let seen = digests == 4 ? ["flipped", "gone", "short"] : ["gone", "short"]

    let found = try await pool.haul(["verify", "--json"] + store)
    #expect(found.exit == .code(1))
    #expect(found.standardOutput.count == seen.count)
    for name in seen { #expect(found.standardOutput.contains { $0.contains("\"d/\(name)\"") }) }
    #expect(found.standardOutput.contains { $0.contains("10 bytes long, not 50000") })
    let (files, counts) =
      digests == 4
      ? ("1 file matches its record", "1 by digest and 0 by length only")
      : ("2 files match their records", "0 by digest and 2 by length only")
    let rest = " \(files): \(counts). 0 files were not compared."
    #expect(
      found.standardError
        == ["haul verify: \(seen.count) of 4 files do not match their records.\(rest)"])

    let again = try await pool.haul(["verify", "--requeue"] + store)
    #expect(again.exit == .code(1))
    #expect(
      again.standardError.last
        == "haul verify: \(seen.count) of 4 files do not match their records. Haul queued \(seen.count) jobs again.\(rest)"
    )
    #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
    #expect(
      try pool.files().sorted()
        == (Self.names + seen.filter { $0 != "gone" }.map { $0 + ".damaged" }).map { "d/" + $0 }
        .sorted())
    let right = try await pool.haul(["verify"] + store)
    #expect(right.exit == .code(0))
    #expect(
      right.standardOutput == [
        "4 files match their records: "
          + (digests == 4 ? "4 by digest and 0" : "0 by digest and 4")
          + " by length only. 0 files were not compared"
      ])
    #expect(try await pool.violations() == [])
  }

  @Test func `a single bit is noticed, since digests are recorded by default`() async throws {
    try await run()
  }

  @Test func `without a digest the length has to do`() async throws {
    try await run("--no-record-digest")
  }

  /// Two machines' local disks under one name: what is not here is there.
  @Test func `a file that another machine may have is not missing`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50_000).answer(request, reply)
    }
    let other = try TemporaryDirectory()
    try await HaulPool.open { pool in
      try await pool.initialise(other.path)
      try await pool.submit(origin.url("/a"), to: "a")
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      #expect(
        try await pool.command("verify", "--store", "\(HaulPool.store)=\(other.path)", "--requeue")
          == [
            "0 files match their records: 0 by digest and 0 by length only. 1 file was not compared"
          ])
      // Both disks are on this machine, and the file is on one of them.
      #expect(
        try await pool.command("verify") == [
          "1 file matches its record: 1 by digest and 0 by length only. 0 files were not compared"
        ])
      // Whoever names the job knows that it is missed.
      let named = try await pool.haul(
        ["verify", "1", "--requeue", "--store", "\(HaulPool.store)=\(other.path)"])
      #expect(named.exit == .code(1))
      #expect(
        named.standardError == [
          "haul verify: 1 of 1 file does not match its record. Haul queued 1 job again. 0 files match their records: 0 by digest and 0 by length only. 0 files were not compared."
        ])
      #expect(try await pool.state(of: 1) == "queued")
      let waiting = try await pool.haul(
        ["verify", "1", "--store", "\(HaulPool.store)=\(other.path)"])
      #expect(waiting.exit == .code(0))
      #expect(
        waiting.standardError == [
          "haul verify: job 1 has no finished file to compare"
        ])
    }
  }

  @Test func `what a deleted queue has brought is looked at, and what is in other stores is told`()
    async throws
  {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50_000).answer(request, reply)
    }
    let other = try TemporaryDirectory()
    try await HaulPool.open { pool in
      try await pool.command("store", "init", "other", other.path)
      try await pool.command("queue", "create", "films", "--store", HaulPool.store)
      try await pool.command("submit", origin.url("/a"), "--out", "a", "--queue", "films")
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      try await pool.command("queue", "delete", "films")
      let store = ["--store", "\(HaulPool.store)=\(pool.directory)"]
      #expect(
        try await pool.haul(["verify"] + store).standardOutput == [
          "1 file matches its record: 1 by digest and 0 by length only. 0 files were not compared"
        ])
      let elsewhere = try await pool.haul(["verify", "--store", "other=\(other.path)"])
      #expect(
        elsewhere.standardOutput == [
          "0 files match their records: 0 by digest and 0 by length only. 1 file was not compared"
        ])
      #expect(
        elsewhere.standardError == [
          "haul verify: did not compare 1 file of the store data, which this machine does not mount. Use --store data=DIRECTORY"
        ])
      try FileManager.default.removeItem(atPath: pool.directory + "/a")
      let gone = try await pool.haul(["verify", "--requeue"] + store)
      #expect(gone.exit == .code(1))
      #expect(
        gone.standardError == [
          "haul verify: 1 of 1 file does not match its record. Haul did not queue 1 job again, because the queue was deleted. Submit the URL to another queue. 0 files match their records: 0 by digest and 0 by length only. 0 files were not compared."
        ])
    }
  }

  /// A refreshed job waits, and its file of before is there: verify says that it has not looked at it.
  @Test func `files of jobs that wait again are said to be left out`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50).answer(request, reply)
    }
    try await HaulPool.open { pool in
      for name in ["a", "b"] { try await pool.submit(origin.url("/\(name)"), to: name) }
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      try await pool.command(
        "submit", origin.url("/a"), "--out", "a", "--on-duplicate", "refresh")
      let output = try await pool.haul(["verify"])
      #expect(output.exit == .code(0))
      #expect(
        output.standardError == [
          "haul verify: skipped jobs that have not completed: 1 queued"
        ])
    }
  }

  /// What is in a file that cannot be read is unknown, so it is neither renamed nor downloaded again.
  @Test(.enabled("becoming another user takes root") { await OrdinaryUser.isPossible })
  func `a file that cannot be read is reported, and the others are verified`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50_000).answer(request, reply)
    }
    let names = ["right", "closed", "x/hidden", "y/short", "short"]
    let faults = [
      "closed": "unreadable: cannot open closed: Permission denied",
      "x/hidden": "unreadable: cannot open x/hidden: Permission denied",
      "y/short":
        "10 bytes long, not 50000; cannot rename y/short to short.damaged: Permission denied, so the job is not queued again",
      "short": "10 bytes long, not 50000",
    ]
    try await HaulPool.open { pool in
      for name in names { try await pool.submit(origin.url("/\(name)"), to: name) }
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      let root = pool.directory
      for name in ["short", "y/short"] { #expect(truncate("\(root)/\(name)", 10) == 0) }
      #expect(chmod(root + "/closed", 0) == 0 && chmod(root + "/x", 0o700) == 0)
      let user = "\(OrdinaryUser.id)"
      _ = try await ChildProcess.run("chown", [user, root])
      _ = try await ChildProcess.run("chown", ["-R", user, root + "/.haul"])
      // The server's socket is not that user's to find.
      let relay = try DatabaseRelay(to: pool.database)
      let output = try await OrdinaryUser.run(
        ["verify", "--json", "--requeue", "--store", "\(HaulPool.store)=\(root)"],
        environment: ["HAUL_DATABASE_URL": relay.conninfo])
      #expect(output.exit == .code(1))
      #expect(output.standardOutput.count == faults.count, "\(output.standardOutput)")
      for (name, fault) in faults {
        #expect(
          output.standardOutput.contains {
            $0.contains("\"\(name)\"") && $0.contains("\"\(fault)\"")
          },
          "\(output.standardOutput)")
      }
      #expect(
        output.standardError == [
          "haul verify: could not read 2 files",
          "haul verify: 2 of 3 files do not match their records. Haul queued 1 job again. 1 file matches its record: 1 by digest and 0 by length only. 2 files were not compared.",
        ])
      // Of files that cannot be read it is not said that they are damaged.
      let closed: Int64 = try await pool.value("SELECT job FROM haul.jobs WHERE path = 'closed'")
      let unreadable = try await OrdinaryUser.run(
        ["verify", "\(closed)", "--store", "\(HaulPool.store)=\(root)"],
        environment: ["HAUL_DATABASE_URL": relay.conninfo])
      #expect(unreadable.exit == .code(1))
      #expect(
        unreadable.standardError == [
          "haul verify: 1 file cannot be read. 0 files match their records: 0 by digest and 0 by length only. 1 file was not compared."
        ])
      #expect(
        try await pool.values("SELECT path FROM haul.jobs WHERE state = 'queued'") == ["short"])
      #expect(
        try pool.files().sorted() == ["closed", "right", "short.damaged", "x/hidden", "y/short"])
    }
  }

  /// `.damaged` would make the name longer than a file system takes.
  @Test func `a damaged file with the longest name is set aside, and queued again`() async throws {
    let origin = try OriginServer { request, reply in
      try Representation(seed: 3, length: 50_000).answer(request, reply)
    }
    let name = String(repeating: "n", count: 255)
    try await HaulPool.open { pool in
      let job = try await pool.submit(origin.url("/a"), to: name)
      #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
      #expect(truncate("\(pool.directory)/\(name)", 10) == 0)
      let output = try await pool.haul(
        ["verify", "--requeue", "--store", "\(HaulPool.store)=\(pool.directory)"])
      #expect(output.exit == .code(1), "\(output.standardError)")
      #expect(try await pool.state(of: job) == "queued")
      #expect(try pool.files() == [name.dropLast(".damaged".count) + ".damaged"])
    }
  }

  @Test func `only what is completed can be verified, and only in a store`() async throws {
    let other = try TemporaryDirectory()
    try await HaulPool.open { pool in
      try await pool.command("store", "init", "other", other.path)
      let store = ["--store", "\(HaulPool.store)=\(pool.directory)"]
      let refused: [([String], Int32, String)] = [
        (store + ["--state", "failed"], 64, "only completed jobs"),
        (store + ["--batch", "none"], 65, "there is no batch"),
        (["--store", "data=/tmp"], 78, "/tmp has no store marker"),
        (["--store", "data=/tmp/none/here"], 78, "/tmp/none/here does not exist"),
        (["--store", "none=\(pool.directory)"], 65, "there is no store"),
        // Of these files none is there.
        (["--store", "\(HaulPool.store)=\(other.path)", "--requeue"], 78, "Haul compared no file"),
      ]
      for (arguments, code, words) in refused {
        let output = try await pool.haul(["verify"] + arguments)
        #expect(output.exit == .code(code))
        #expect(output.standardError.joined().contains(words), "\(output.standardError)")
      }
    }
  }
}
