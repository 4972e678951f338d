import Foundation
import Postgres
import TestSupport
import Testing

/// A line of `haul check --json`.
private struct Line: Decodable, Sendable {
  var verdict: String
  var what: String
  var detail: String
  var advice: String?
}

/// `haul check` by the built program, in good and broken situations.
struct CheckTests {
  /// How it ended, and what it found.
  private func check(
    _ arguments: [String] = [], on conninfo: String
  ) async throws -> (exit: ChildProcess.Exit?, lines: [Line]) {
    let output = try await ChildProcess.run(
      HaulProcess.path, ["check", "--json"] + arguments,
      environment: ["HAUL_DATABASE_URL": conninfo])
    #expect(output.standardError == [])
    let lines = try output.standardOutput.map {
      try JSONDecoder().decode(Line.self, from: Data($0.utf8))
    }
    for line in lines { #expect((line.advice == nil) == (line.verdict == "ok"), "\(line)") }
    return (output.exit, lines)
  }

  /// What did not come out ok: `fail schema: …`. Without the time-outs of logins, which other tests make on the same server.
  private func troubles(_ lines: [Line]) -> [String] {
    lines.filter { $0.verdict != "ok" && !$0.detail.hasSuffix(" free") && $0.what != "time-outs" }
      .map { "\($0.verdict) \($0.what): \($0.detail)" }
  }

  @Test func `a pool in order passes, and is left as it was`() async throws {
    try await HaulPool.open { pool in
      let before = try FileTree.files(below: pool.directory)
      for arguments in [[], ["--store", "data=\(pool.directory)"]] {
        let (exit, lines) = try await check(arguments, on: pool.database.conninfo)
        #expect(exit == .code(0))
        #expect(troubles(lines) == [])
        for what in [
          "libraries", "connection", "roles", "clock", "schema", "queue", "vitals", "health",
        ] {
          #expect(lines.contains { $0.what == what }, "\(what)")
        }
        #expect(lines.contains { $0.detail == "Haul can create, sync and rename files" })
      }
      #expect(try FileTree.files(below: pool.directory) == before)
    }
  }

  @Test func `what the pool lives on is read, and nothing is told twice`() async throws {
    try await HaulPool.open { pool in
      let worker = try pool.worker()
      try await worker.event("leader.elected")
      try await worker.drain()
      // Lanes that nobody serves are vitals too.
      try await pool.command("submit", "http://h.test/a")
      try await pool.admin.execute(
        "UPDATE haul.pulse SET round_at = clock_timestamp() - interval '1 hour'")
      let found = try await troubles(check(on: pool.database.conninfo).lines)
      #expect(found.count == 2)
      #expect(found.first == "warn queue: default: 1 waiting job, 0 live workers")
      #expect(found.last?.hasPrefix("warn vitals: last round: 360") == true)
    }
  }

  @Test func `jobs that no worker can take are warned of until one comes`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h.test/a", "--not-before", "1h")
      let alone = try await check(on: pool.database.conninfo)
      #expect(
        troubles(alone.lines) == [
          "warn queue: default: 1 waiting job, 0 live workers"
        ])
      // One of the store that claims from another queue takes nothing of it.
      try await pool.command("queue", "create", "films", "--store", "data")
      let other = try pool.worker("--queue", "films")
      try await other.event("worker.started")
      let avoided = try await check(on: pool.database.conninfo)
      #expect(troubles(avoided.lines) == ["warn queue: default: 1 waiting job, 0 live workers"])
      #expect(
        avoided.lines.contains {
          $0.advice?.contains(/haul worker --store data=\/.+ --queue default/) == true
        },
        "\(avoided.lines)")
      let worker = try pool.worker()
      try await worker.event("worker.started")
      let served = try await check(on: pool.database.conninfo)
      #expect(troubles(served.lines) == [])
      worker.signal(SIGTERM)
      #expect(try await worker.exit() == .code(0))
      #expect(worker.events("worker.session_restored").isEmpty)
    }
  }

  @Test func `without schema, with a newer one, or with broken invariants it fails`() async throws {
    try await withTestDatabase(.empty) { database in
      let (exit, lines) = try await check(on: database.conninfo)
      #expect(exit == .code(78))
      #expect(troubles(lines).contains("fail schema: the database has no Haul schema"))
    }
    try await HaulPool.open { pool in
      try await pool.command("submit", "http://h.test/a")
      try await pool.admin.execute("UPDATE haul.host SET in_flight = 1")
      let broken = try await check(on: pool.database.conninfo)
      #expect(broken.exit == .code(78))
      #expect(troubles(broken.lines).contains { $0.hasPrefix("fail health: host_in_flight: 1 ") })
      try await pool.admin.execute("UPDATE haul.host SET in_flight = 0")
      try await pool.admin.execute("INSERT INTO haul.migration (version, name) VALUES (999, 'x')")
      let served = try await check(on: pool.database.conninfo)
      #expect(served.exit == .code(0))
      #expect(
        troubles(served.lines).contains {
          $0.hasPrefix("warn schema: the schema has version 999, which")
        })
      try await pool.admin.execute(
        "CREATE OR REPLACE FUNCTION haul.oldest_served_version() RETURNS integer LANGUAGE sql AS 'SELECT 999'"
      )
      let newer = try await check(on: pool.database.conninfo)
      #expect(newer.exit == .code(78))
      #expect(
        troubles(newer.lines).contains {
          $0.hasPrefix("fail schema: the schema has version 999, but this")
        })
    }
  }

  @Test func `an unreachable database does not keep stores from being looked at`() async throws {
    try await HaulPool.open { pool in
      let bare = try TemporaryDirectory()
      let (exit, lines) = try await check(
        [
          "--store", "data=\(pool.directory)", "--store", "bare=\(bare.path)", "--store",
          "gone=\(bare.path)/gone",
        ], on: "host=/nonexistent")
      #expect(exit == .code(69))
      #expect(
        lines.contains {
          $0.detail
            == "\(pool.directory) has a store marker, but Haul could not ask the database whether the marker belongs to this pool"
        }
      )
      #expect(
        Array(troubles(lines).dropFirst()) == [
          "fail store bare: \(bare.path) has no store marker",
          "fail store gone: \(bare.path)/gone does not exist",
        ])
      let advice = "Haul checks the stores without the database."
      #expect(lines.first { $0.what == "connection" }?.advice == advice)
      let alone = try await check(on: "host=/nonexistent")
      #expect(alone.exit == .code(69))
      #expect(troubles(alone.lines).count == 1)
      #expect(
        alone.lines.last?.advice
          == "Haul cannot find the stores of this machine without the database. It still checks the stores that you give with --store."
      )
    }
  }

  @Test func `a store of another name, of another pool, or with parts of one is told`()
    async throws
  {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let stranger = UUID().uuidString.lowercased()
      try directory.write("{\"instance\":\"\(stranger)\"}", to: ".haul/store.json")
      try directory.write("x", to: ".haul/parts/\(stranger)/07/7.1")
      let (exit, lines) = try await check(
        ["--store", "other=\(pool.directory)", "--store", "data=\(directory.path)"],
        on: pool.database.conninfo)
      #expect(exit == .code(78))
      #expect(
        troubles(lines) == [
          "fail store other: \(pool.directory) is a directory of the store data",
          "fail store data: \(directory.path) has a store marker that this pool does not know",
          "warn store data: the store has 1 part file of another pool, \(stranger)",
        ])
    }
  }

  @Test func `an instance of this machine that is not mounted is warned of`() async throws {
    try await HaulPool.open { pool in
      try await pool.admin.execute("UPDATE haul.store_instance SET root = '/nonexistent'")
      let (exit, lines) = try await check(on: pool.database.conninfo)
      #expect(exit == .code(0))
      #expect(
        troubles(lines) == [
          "warn store data: the directory /nonexistent of this store (instance 1) is not mounted"
        ])
    }
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `a disk that is small is warned of, one that is read-only or full fails`() async throws {
    try await HaulPool.open { pool in
      let disk = try await TestFileSystem(tmpfs: 8 << 20)
      try await pool.initialise(disk.path)
      let store = ["--store", "data=\(disk.path)"]
      let small = try await check(store, on: pool.database.conninfo)
      #expect(small.exit == .code(0))
      #expect(
        small.lines.contains { $0.verdict == "warn" && $0.detail.hasSuffix(" of 8.0 MiB free") })
      let fill = try await ChildProcess.run(
        "dd", ["if=/dev/zero", "of=\(disk.path)/fill", "bs=64k"])
      #expect(fill.exit == .code(1))
      let full = try await check(store, on: pool.database.conninfo)
      #expect(full.exit == .code(78))
      #expect(troubles(full.lines).contains { $0.contains("No space left on device") })
      let remount = try await ChildProcess.run("mount", ["-o", "remount,ro", disk.path])
      #expect(remount.exit == .code(0))
      let readOnly = try await check(store, on: pool.database.conninfo)
      #expect(readOnly.exit == .code(78))
      #expect(troubles(readOnly.lines).contains { $0.contains("Read-only file system") })
    }
  }

  @Test func `a monitor gets nearly everything, a stranger is told what is missing`() async throws {
    try await HaulPool.open { pool in
      let (monitor, stranger) = ("monitor_\(pool.database.name)", "none_\(pool.database.name)")
      try await pool.admin.script(
        "CREATE ROLE \"\(monitor)\" LOGIN IN ROLE haul_monitor; CREATE ROLE \"\(stranger)\" LOGIN")
      let seen = try await check(on: "\(pool.database.conninfo) user=\(monitor)")
      #expect(seen.exit == .code(0))
      #expect(
        troubles(seen.lines) == [])
      let limit = "ALTER ROLE \"\(monitor)\" SET idle_in_transaction_session_timeout = '1min'"
      #expect(seen.lines.contains { $0.what == "time-outs" && $0.advice?.contains(limit) == true })
      #expect(!seen.lines.contains { $0.advice?.contains("ALTER ROLE \"\(stranger)\" ") == true })
      try await pool.admin.execute(limit)
      let limited = try await check(on: "\(pool.database.conninfo) user=\(monitor)")
      #expect(!limited.lines.contains { $0.advice?.contains(limit) == true })
      let unseen = try await check(on: "\(pool.database.conninfo) user=\(stranger)")
      #expect(unseen.exit == .code(78))
      #expect(
        troubles(unseen.lines) == [
          "fail roles: all four roles exist, but \(stranger) has no rights in this pool",
          "warn schema: this user is not allowed to see this information",
        ])
      try await pool.admin.script("DROP ROLE \"\(monitor)\"; DROP ROLE \"\(stranger)\"")
    }
  }

  /// Root may write anywhere; without `CAP_DAC_OVERRIDE` it may not.
  @Test(arguments: ["", "/.haul", "/.haul/parts"])
  func `a directory that this user may not write is told before any job fails there`(
    below: String
  ) async throws {
    try await HaulPool.open { pool in
      let closed = pool.directory + below
      #expect(chmod(closed, 0o555) == 0)
      defer { chmod(closed, 0o755) }
      let store = "data=\(pool.directory)"
      for (line, code) in [
        (["check", "--store", store], 78 as Int32), (["worker", "--store", store], 77),
        (["store", "init", "data", pool.directory], 77),
      ] {
        let drop = getuid() == 0 ? ["setpriv", "--bounding-set=-dac_override"] : []
        let words = drop + [HaulProcess.path] + line
        let output = try await ChildProcess.run(
          words[0], Array(words.dropFirst()),
          environment: ["HAUL_DATABASE_URL": pool.database.conninfo])
        #expect(output.exit == .code(code), "\(line)")
        let said = (output.standardOutput + output.standardError).joined(separator: "\n")
        #expect(said.contains("this user has no permission to write to \(closed): "), "\(said)")
        #expect(said.contains(": run 'chmod u+rwx \(closed)'"), "\(said)")
      }
    }
  }

  @Test func `nobody is told to give a directory away that is no store`() async throws {
    try await HaulPool.open { pool in
      let output = try await pool.haul(["store", "init", "other", "/proc/self"])
      #expect(output.exit == .code(77))
      #expect(
        output.standardError == [
          "haul store init: this user has no permission to write to /proc/self: name a directory that this user owns."
        ])
    }
  }

  /// As root makes it in a store of the pool's user, say with 'haul check'.
  @Test(.enabled(if: getuid() == 0))
  func `what another user has made in a store is to be given to the store's owner`() async throws {
    try await HaulPool.open { pool in
      let (store, own) = (pool.directory, pool.directory + "/.haul")
      let stranger = ["setpriv", "--bounding-set=-dac_override", HaulProcess.path, "worker"]
      for (path, advice) in [
        (
          own,
          "the directory belongs to nobody; as root, run 'chown -R --reference=\(store) \(own)'"
        ),
        (store, "run haul as the user that owns the directory"),
      ] {
        #expect(chown(path, 65_534, 65_534) == 0 && chmod(path, 0o755) == 0)
        let output = try await ChildProcess.run(
          stranger[0], Array(stranger.dropFirst()) + ["--store", "data=\(store)"],
          environment: ["HAUL_DATABASE_URL": pool.database.conninfo])
        #expect(output.exit == .code(77))
        #expect(
          output.standardError.last?.hasSuffix(
            "this user has no permission to write to \(path): \(advice).") == true,
          "\(output.standardError)")
      }
    }
  }

  @Test func `a store whose queue's name is taken has none, and says so`() async throws {
    try await HaulPool.open { pool in
      try await pool.command("queue", "create", "nas", "--store", "data")
      let other = try TemporaryDirectory()
      #expect(
        try await pool.command("store", "init", "nas", other.path) == [
          "\(other.path) is a directory of the store nas (instance 2); no queue uses this store yet, because the queue nas belongs to another store. Create a queue with: "
            + "haul queue create NAME --store nas"
        ])
    }
  }

  @Test func `who holds a snapshot open is named`() async throws {
    try await HaulPool.open { pool in
      let holder = try await pool.database.connect(applicationName: "forgotten")
      try await holder.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
      let (_, lines) = try await check(on: pool.database.conninfo)
      #expect(
        lines.contains {
          $0.what == "snapshots" && $0.detail.contains("process \(holder.backendPID) (forgotten, ")
        })
      await holder.close()
    }
  }
}
