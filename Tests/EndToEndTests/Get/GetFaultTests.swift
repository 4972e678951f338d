import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// Hosts, directories and a database that do not do what `haul get` needs.
@Suite(.serialized) struct GetFaultTests {
  /// The wait itself is half a minute: the test moves the beginning of the trouble instead.
  @Test func `a host that refuses connections is given up`() async throws {
    let (place, origin, closed) = (try await GetPlace(), try GetOrigin(), try ClosedPort())
    let url = "http://\(closed.address):\(closed.port)/gone"
    let run = try place.start([url] + origin.urls("one"))
    try await run.child.first("word of the first refusal") { output in
      output.standardError.contains { $0.contains("; next attempt in ") } ? () : nil
    }
    let database = try await place.database()
    try await database.execute(
      """
      UPDATE haul.host SET trouble_since = clock_timestamp() - interval '1 minute', blocked_until = clock_timestamp()
      WHERE trouble_since IS NOT NULL
      """)
    let output = try await run.child.result(within: .seconds(60))
    await database.close()
    #expect(output.exit == .code(1))
    #expect(output.said.last == "haul get: 1 file failed (1 host_unreachable).")
    #expect(try place.wrong("one") == [])
    #expect(try place.files() == ["one"])
  }

  /// An archive sends away who comes while it serves two. Those that it serves wait in the middle until Haul asks for two at
  /// a time, and blames no file.
  @Test func `an archive that allows two sessions at a time gives all its files`() async throws {
    let (open, rest) = (Watched(0), Gate("the rest of those that are served"))
    let refusal = Watched(false)
    let origin = try OriginServer { request, reply in
      let isServed = open.update { open in
        let isServed = open < 2
        open += isServed ? 1 : 0
        return isServed
      }
      guard isServed else {
        try reply.head("HTTP/1.1 503 Service Unavailable\nContent-Length: 0")
        return refusal.update { $0 = true }
      }
      let file = Representation(seed: 3, length: 70_000)
      try reply.head("HTTP/1.1 200 OK\n" + file.fields(of: 0..<file.length))
      try file.send(0..<30_000, reply)
      try reply.wait(for: rest)
      open.update { $0 -= 1 }
      try file.send(30_000..<file.length, reply)
    }
    let place = try await GetPlace()
    let names = (1...8).map { "\($0)" }
    let run = try place.start(names.map { origin.url("/\($0)") })
    try await refusal.first("a third session") { $0 ? () : nil }
    let database = try await place.database()
    try await eventually("a cap of two") {
      let host = try await database.query(
        "SELECT cap::bigint AS cap FROM haul.host WHERE name = $1", [origin.host]
      ).first
      let cap: Int64? = try host?.decode("cap")
      return cap == 2
    }
    let charged = try await database.query("SELECT job FROM haul.attempt WHERE charged")
    #expect(charged.isEmpty)
    await database.close()
    rest.open()
    let output = try await run.child.result(within: .seconds(120))
    #expect(output.exit == .code(0), "\(output.said)")
    #expect(try place.files().sorted() == names)
    for name in names {
      let path = "\(place.directory)/\(name)"
      #expect(try FileTree.firstDifference(of: path, from: Pattern(seed: 3), length: 70_000) == nil)
    }
  }

  /// What is typed may be private; what a stranger's redirect says may not.
  @Test func `a redirect to another private address is refused`() async throws {
    let (place, target) = (try await GetPlace(), try GetOrigin())
    let stranger = try OriginServer(address: "127.0.0.2") { request, reply in
      try reply.head(
        "HTTP/1.1 302 Found\nLocation: \(target.server.url("/d/one"))\nContent-Length: 0")
    }
    let output = try await place.get(stranger.url("/one"))
    #expect(output.exit == .code(1))
    #expect(output.said.last == "haul get: 1 file failed (1 blocked_address).")
    #expect(target.requests == 0)
    #expect(output.said.contains { $0.contains("'haul get' with --allow-net 127.0.0.1/32") })
    let allowed = try await place.get(stranger.url("/one"), "--allow-net", "127.0.0.1/32")
    #expect(allowed.exit == .code(0))
    #expect(try place.wrong("one") == [])
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `on a full disk it stops and says so, and goes on when there is room`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let disk = try await TestFileSystem(tmpfs: 8 << 20)
    let filler = disk.path + "/filler"
    try Data(count: (8 << 20) - 65536).write(to: URL(filePath: filler))
    let output = try await place.get(origin.urls("one", "two"), to: disk.path)
    #expect(output.exit == .code(74))
    #expect(output.said.last?.contains("the disk of the store is full") == true)
    #expect(
      output.said.last?.hasSuffix(
        "Repair this problem, then run the same command again to continue.")
        == true)
    try FileManager.default.removeItem(atPath: filler)
    let again = try await place.get(origin.urls("one", "two"), to: disk.path)
    #expect(again.exit == .code(0), "\(again.said)")
    #expect(try FileTree.files(below: disk.path).sorted() == ["one", "two"])
  }

  @Test func `a list that cannot be read is named`() async throws {
    let place = try await GetPlace()
    let output = try await place.get("-i", place.path("none.txt"))
    #expect(output.exit == .code(74))
    #expect(output.said.count == 1)
    #expect(output.said.last?.contains("none.txt") == true)
    #expect(!FileManager.default.fileExists(atPath: place.directory))
  }

  @Test func `a file where the directory should be is named, and is kept`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try Data("mine".utf8).write(to: URL(filePath: place.directory))
    let output = try await place.get(origin.urls("one"))
    #expect(output.exit == .code(64))
    #expect(
      output.said.first?.contains("--dir needs a directory, but \(place.directory) is a file.")
        == true)
    #expect(try Data(contentsOf: URL(filePath: place.directory)) == Data("mine".utf8))

    let below = try await place.get(origin.urls("one"), to: place.directory + "/below")
    #expect(below.exit == .code(78))
    #expect(below.said == ["haul get: \(place.directory) is not a directory."])
  }

  @Test(.enabled("mounting takes root") { await TestFileSystem.isPossible })
  func `a disk mounted read-only is told before the database is started`() async throws {
    let (place, disk) = (try await GetPlace(), try await TestFileSystem(tmpfs: 1 << 20))
    try await disk.setReadOnly(true)
    for directory in [disk.path, disk.path + "/new/a"] {
      let output = try await place.get("http://h/a", to: directory)
      #expect(output.exit == .code(74))
      #expect(
        output.said == ["haul get: cannot write to \(directory): Read-only file system."])
      #expect(place.server == nil)
    }
  }

  /// Root may write anywhere but into a file system mounted read-only: `/proc` is like one.
  @Test func `a directory that cannot be written is named`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    let output = try await place.get(origin.urls("one"), to: "/proc/self")
    #expect(output.exit == .code(77))
    #expect(output.said.count == 1)
    #expect(output.said.last?.contains("/proc/") == true)
    #expect(output.said.last?.hasSuffix(": name another directory with --dir DIR.") == true)
    try await place.serverGone()
  }

  @Test func `the marker of a store that is one already survives`() async throws {
    let (place, origin) = (try await GetPlace(), try GetOrigin())
    try await HaulPool.open { pool in
      try await pool.initialise(pool.directory)
      let marker = try Data(contentsOf: URL(filePath: pool.directory + "/.haul/store.json"))
      #expect(try await place.get(origin.urls("one"), to: pool.directory).exit == .code(0))
      let left = try Data(contentsOf: URL(filePath: pool.directory + "/.haul/store.json"))
      #expect(left == marker)
      #expect(try pool.files() == ["one"])
      // And the store serves its pool as before.
      let job = try await pool.submit(origin.urls("two")[0], to: "two")
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
    }
  }

  /// The postmaster dies in the middle of a transfer: it is started again, and the transfer goes on.
  @Test func `a database that dies is started again`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(run)
    let server = try #require(place.server)
    kill(server, SIGKILL)
    try await eventually("another server") { place.server.map { $0 != server } ?? false }
    try await run.event("worker.session_restored", after: run.events("job.checkpoint").last)
    file.gate.open()
    #expect(try await run.exit(within: .seconds(60)) == .code(0))
    #expect(try file.firstDifference(in: place.directory) == nil)
    #expect(try place.files() == ["file"])
    #expect(file.origin.log.value.exchanges.count == 1)
    try await place.serverGone()
  }

  /// Nobody can mend that while it runs: it must end, and the next run go on.
  @Test func `a database that cannot be started again ends the run`() async throws {
    let (place, file) = (try await GetPlace(), try GatedFile())
    let run = try place.start(file.origin.url("/file"), log: "debug")
    _ = try await file.checkpoint(run)
    let (data, away) = (place.state + "/data/global/pg_control", place.path("pg_control"))
    try FileManager.default.moveItem(atPath: data, toPath: away)
    kill(try #require(place.server), SIGKILL)
    let code = try await run.exit(within: .seconds(60))
    #expect(code == .code(69))
    let last = run.child.output.value.said.last
    #expect(
      last?.contains("the embedded database does not start") == true,
      "\(run.child.output.value.said.suffix(5))")

    try FileManager.default.moveItem(atPath: away, toPath: data)
    file.gate.open()
    #expect(try await place.get(file.origin.url("/file")).exit == .code(0))
    #expect(try file.firstDifference(in: place.directory) == nil)
    #expect(file.origin.log.value.exchanges.last?.status == 206)
  }
}
