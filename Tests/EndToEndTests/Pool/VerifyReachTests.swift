import Foundation
import Postgres
import TestSupport
import Testing

/// Which files `haul verify` compares without being told where they are, and what it leaves behind.
struct VerifyReachTests {
  private func origin(length: Int64 = 5000) throws -> OriginServer {
    try OriginServer { request, reply in
      try Representation(seed: 3, length: length).answer(request, reply)
    }
  }

  /// `3 files match their records: 3 by digest and …`
  private func right(_ byDigest: Int, byLength: Int = 0, notCompared: Int = 0) -> String {
    let count = byDigest + byLength
    return
      "\(count == 1 ? "1 file matches its record" : "\(count) files match their records"): \(byDigest) "
      + "by digest and \(byLength) by length only. "
      + "\(notCompared == 1 ? "1 file was" : "\(notCompared) files were") not compared"
  }

  private func run(_ pool: HaulPool) async throws {
    #expect(try await pool.worker("--exit-when-idle").exit(within: .seconds(60)) == .code(0))
  }

  @Test func `each kind of comparison is counted in stores that nobody names`() async throws {
    let origin = try origin()
    let other = try TemporaryDirectory()
    try await HaulPool.open { pool in
      try await pool.command("store", "init", "other", other.path)
      try await pool.command("submit", origin.url("/a"), origin.url("/b"))
      try await pool.command("submit", origin.url("/c"), "--no-record-digest")
      let content = other.path + "/content"
      try Pattern(seed: 3).write(to: content, length: 5000)
      let line = try await ChildProcess.run("md5sum", [content]).standardOutput[0]
      try await pool.command(
        "submit", origin.url("/d"), "--no-record-digest", "--checksum", "md5=\(line.prefix(32))")
      try await run(pool)
      let verified = try await pool.haul(["verify"])
      #expect(verified.standardOutput == [right(3, byLength: 1)])
      #expect(verified.standardError == [] && verified.exit == .code(0))
      // A marker of another pool is not taken for this one's.
      try FileManager.default.removeItem(atPath: pool.directory + "/.haul/store.json")
      let gone = try await pool.haul(["verify"])
      #expect(gone.exit == .code(0) && gone.standardOutput == [right(0, notCompared: 4)])
      #expect(
        gone.standardError == [
          "haul verify: did not compare 4 files of the store data, which this machine does not mount. Use --store data=DIRECTORY"
        ])
      try FileManager.default.removeItem(atPath: other.path + "/.haul/store.json")
      let nothing = try await pool.haul(["verify"])
      #expect(nothing.exit == .code(78))
      #expect(
        nothing.standardError == [
          "haul verify: Haul found no store of this pool on this machine. Run this command on a machine that mounts a store, or use --store NAME=DIRECTORY. Stores: data, other."
        ])
    }
  }

  @Test func `only files finished since a time are compared`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      for name in ["old", "new"] { try await pool.submit(origin.url("/\(name)"), to: name) }
      try await run(pool)
      try await pool.admin.execute(
        """
        UPDATE haul.outcome o SET finished_at = '2026-01-01 12:00:00Z'
        FROM haul.job j WHERE j.id = o.job AND j.path = 'old'
        """)
      try FileManager.default.removeItem(atPath: pool.directory + "/old")
      #expect(try await pool.command("verify", "--since", "1d") == [right(1)])
      #expect(try await pool.command("verify", "--since", "2026-01-01T12:00:01Z") == [right(1)])
      let all = try await pool.haul(["verify", "--since", "2026-01-01T12:00:00Z"])
      #expect(all.exit == .code(1) && all.standardOutput.count == 2)
      #expect(try await pool.haul(["verify", "--since", "yesterday"]).exit == .code(64))
    }
  }

  @Test func `a sample is a part of the files, another one each time`() async throws {
    let origin = try origin(length: 10)
    try await HaulPool.open { pool in
      let urls = (0..<200).map { origin.url("/\($0)") }
      _ = try await pool.haul(["submit", "--batch", "b"] + urls)
      try await run(pool)
      #expect(try await pool.command("verify", "--sample", "100%") == [right(200)])
      var counts: [Int] = []
      for _ in 0..<3 {
        let part = try await pool.haul(["verify", "--sample", "50%"])
        #expect(
          part.standardError == ["haul verify: compared a random sample of 50% of the files"])
        let count = try #require(part.standardOutput[0].split(separator: " ").first)
        counts.append(try #require(Int(count)))
      }
      // Far outside is less likely than once in 10^20 runs.
      for count in counts { #expect((30...170).contains(count)) }
    }
  }

  @Test func `check recommends it until every store was verified, and counts missing digests`()
    async throws
  {
    let origin = try origin()
    try await HaulPool.open { pool in
      func files() async throws -> [String] {
        try await pool.command("check").filter { $0.contains("  files  ") }
      }
      #expect(try await files() == [])
      try await pool.submit(origin.url("/a"), to: "a")
      try await run(pool)
      let new =
        "ok    files         1 finished file, all with a digest. The files of the store data were never verified. Run 'haul verify' on a machine that mounts this store"
      #expect(try await files() == [new])
      // A part of the pool that somebody chose is not its files.
      try await pool.command("verify", "1")
      // A monitor changes nothing in the database.
      try await pool.database.withLogin("haul_monitor") { monitor in
        let output = try await pool.haul(
          ["verify"], environment: ["HAUL_DATABASE_URL": monitor.conninfo])
        #expect(output.exit == .code(0) && output.standardOutput == [right(1)])
      }
      // Nor can a standby.
      let standby = pool.database.conninfo + " options='-c default_transaction_read_only=on'"
      let output = try await pool.haul(["verify"], environment: ["HAUL_DATABASE_URL": standby])
      #expect(output.exit == .code(0) && output.standardOutput == [right(1)])
      #expect(try await files() == [new])
      try await pool.command("verify")
      let verified = try await files()
      #expect(
        verified.first?.hasPrefix(
          "ok    files         1 finished file, all with a digest; every store was last verified at or after 20"
        ) == true, "\(verified)")
      try await pool.command("submit", origin.url("/b"), "--no-record-digest")
      try await run(pool)
      #expect(
        try await files() == [
          "ok    files         2 finished files, 1 of them without a digest. To check the files, run 'haul verify'. It compares only the length of files without a digest"
        ])
    }
  }

  @Test(.enabled("becoming another user takes root") { await OrdinaryUser.isPossible })
  func `a user who may only read a store verifies it`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      try await pool.submit(origin.url("/a"), to: "a")
      try await run(pool)
      // The server's socket is not that user's to find.
      let relay = try DatabaseRelay(to: pool.database)
      let output = try await OrdinaryUser.run(
        ["verify"], environment: ["HAUL_DATABASE_URL": relay.conninfo])
      #expect(output.exit == .code(0), "\(output.standardError)")
      #expect(output.standardOutput == [right(1)])
    }
  }

  @Test func `on a terminal it shows how far it is, and leaves only the result`() async throws {
    let origin = try origin()
    try await HaulPool.open { pool in
      for name in ["a", "b"] { try await pool.submit(origin.url("/\(name)"), to: name) }
      try await run(pool)
      try FileManager.default.removeItem(atPath: pool.directory + "/b")
      let screen = try await TerminalScreen.shell(
        columns: 80, rows: 24,
        environment: [
          "HAUL_DATABASE_URL": pool.database.conninfo, "HAUL": HaulProcess.path,
        ])
      // It cannot queue the job of b again before this session ends.
      let holder = try await pool.database.connect()
      try await holder.script("BEGIN; SELECT FROM haul.outcome FOR UPDATE")
      try await screen.type("$HAUL verify --requeue; echo \"exit $?\"", "Enter")
      try await screen.wait(for: "the region") { content in
        content.rows.last?.hasPrefix("0 of 2 files") == true
      }
      try await holder.script("ROLLBACK")
      let end = try await screen.wait(for: "the end") { $0.rows.suffix(2).first == "exit 1" }
      #expect(!end.rows.contains { $0.contains("of 2 files ") && $0.contains("%") })
      #expect(
        end.rows.contains { $0.hasPrefix("haul verify: 1 of 2 files does not match its record") })
    }
  }
}
