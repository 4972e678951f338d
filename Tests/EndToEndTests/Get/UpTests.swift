import Foundation
import TestSupport
import Testing

/// `haul up` with a state directory of its own, and the commands that find its database by themselves.
private struct LocalMachine {
  let directory: TemporaryDirectory
  var store: String { directory.path("downloads") }

  init() throws { directory = try TemporaryDirectory() }

  /// Starts a command that runs on.
  func start(_ arguments: [String], format: String = "json", in place: String? = nil) throws
    -> HaulProcess
  {
    try HaulProcess(
      arguments + ["--log-format", format, "--allow-net", "127.0.0.0/8"], environment: environment,
      directory: place ?? directory.path)
  }

  /// Starts `haul up` and waits until commands can find it.
  func up(_ arguments: String...) async throws -> HaulProcess {
    let up = try start(["up"] + arguments)
    try await up.event("database.started")
    return up
  }

  /// Runs a command that must end with 0, and returns what it printed.
  @discardableResult
  func command(_ arguments: String...) async throws -> [String] {
    let output = try await ChildProcess.run(
      HaulProcess.path, arguments, environment: environment, directory: directory.path)
    guard output.exit == .code(0) else { throw HaulFailed(arguments: arguments, output: output) }
    return output.standardOutput
  }

  /// Waits until the file of a gated origin is there, whole.
  func arrival(of file: GatedFile) async throws {
    try await eventually("the job to be completed") {
      try await self.command("jobs", "--json").allSatisfy { $0.contains(#""state":"completed""#) }
    }
    #expect(try file.firstDifference(in: store) == nil)
  }

  /// Waits until no process works for this state directory any more.
  func silence() async throws {
    try await eventually("the database to be gone") { try servers().isEmpty }
  }

  /// Process ids of the database's server.
  func servers() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { process in
      let line = try? String(contentsOfFile: "/proc/\(process)/cmdline", encoding: .utf8)
      return Int(process) != nil && line?.contains("\(directory.path)/state/") ?? false
    }
  }

  var environment: [String: String] {
    ["HAUL_STATE_DIR": directory.path("state")]
  }
}

struct UpTests {
  @Test func `what another terminal submits is downloaded, and Ctrl-C leaves nothing running`()
    async throws
  {
    let machine = try LocalMachine()
    let file = try GatedFile()
    file.gate.open()
    let up = try await machine.up()
    #expect(try !machine.servers().isEmpty)
    try await machine.command("submit", file.origin.url("/file"), "--out", "file")
    try await machine.arrival(of: file)

    up.signal(SIGINT)
    #expect(try await up.exit() == .code(0))
    #expect(up.events("worker.stopped").count == 1)
    #expect(up.events("coordinator.stopped").count == 1)
    try await machine.silence()
  }

  @Test(arguments: [SIGINT, SIGKILL])
  func `what was running goes on with the next start`(signal: Int32) async throws {
    let machine = try LocalMachine()
    let file = try GatedFile()
    let first = try await machine.up()
    try await machine.command("submit", file.origin.url("/file"), "--out", "file")
    _ = try await file.checkpoint(first)
    first.signal(signal)
    #expect(try await first.exit() == (signal == SIGINT ? .code(0) : .signal(SIGKILL)))

    let second = try await machine.up()
    let resumed = try await second.event("job.resumed")
    #expect(resumed[field: "offset"] == "\(GatedFile.half)")
    file.gate.open()
    try await machine.arrival(of: file)
    second.signal(SIGTERM)
    #expect(try await second.exit() == .code(0))
    try await machine.silence()
  }

  /// At one byte a second the first piece comes, and the rest would take hours.
  @Test func `a limit of the rate holds back what all its workers bring`() async throws {
    let machine = try LocalMachine()
    let origin = try OriginServer { request, reply in
      try Representation(seed: 9, length: 100_000).answer(request, reply)
    }
    let up = try await machine.up("--workers", "2", "--limit-rate", "1B")
    try await machine.command("submit", origin.url("/file"))
    try await firstPiece(in: machine.store)
    up.signal(SIGTERM)
    try await up.event("job.released")
    #expect(try await up.exit() == .code(0))
    try await machine.silence()
  }

  @Test func `workers of other terminals do the work of a pool without any`() async throws {
    let machine = try LocalMachine()
    let file = try GatedFile()
    let up = try await machine.up("--workers", "0", "--store", machine.store)
    try await machine.command("submit", file.origin.url("/file"), "--out", "file")
    let mount = ["--store", "main=\(machine.store)"]
    let first = try machine.start(["worker"] + mount)
    _ = try await file.checkpoint(first)
    let second = try machine.start(["worker"] + mount)
    try await second.event("worker.started")
    first.signal(SIGKILL)
    try await second.event("job.resumed")
    file.gate.open()
    try await machine.arrival(of: file)

    second.signal(SIGTERM)
    #expect(try await second.exit() == .code(0))
    #expect(up.events("worker.registered").isEmpty)
    up.signal(SIGTERM)
    #expect(try await up.exit() == .code(0))
    try await machine.silence()
  }

  @Test func `a signal while the database is being made ends that too`() async throws {
    let machine = try LocalMachine()
    let up = try machine.start(["up"])
    try await up.event("database.starting")
    up.signal(SIGINT)
    #expect(try await up.exit() == .code(75))
    #expect(up.events("database.started").isEmpty)
    try await machine.silence()
  }

  @Test func `two in one place are refused, and the first goes on`() async throws {
    let machine = try LocalMachine()
    let first = try await machine.up()
    let other = try machine.start(["up", "--store", machine.directory.path("other")])
    let refused = try await other.child.result()
    #expect(refused.exit == .code(75))
    #expect(
      refused.standardError.last
        == "haul up: 'haul up' is already running with the data in \(machine.directory.path("state")). "
        + "Add workers to that pool with 'haul worker --store main=DIR'.")
    #expect(!FileManager.default.fileExists(atPath: machine.directory.path("other")))
    #expect(try await machine.command("queues", "--json").count == 2)
    first.signal(SIGTERM)
    #expect(try await first.exit() == .code(0))
    try await machine.silence()
  }

  @Test func `started elsewhere it serves the directory it served, and says which`() async throws {
    let machine = try LocalMachine()
    let file = try GatedFile()
    let first = try await machine.up()
    try await machine.command("submit", file.origin.url("/file"), "--out", "file")
    _ = try await file.checkpoint(first)
    first.signal(SIGINT)
    #expect(try await first.exit() == .code(0))

    let elsewhere = machine.directory.path("elsewhere")
    try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
    let other = try machine.start(["up", "--store", "films"], in: elsewhere)
    try await other.event("database.started")
    _ = try await other.child.first("word of the file left behind") { output in
      output.standardError.first {
        $0.hasPrefix("haul up: found 1 interrupted file in \(machine.store). ")
      }
    }
    other.signal(SIGINT)
    #expect(try await other.exit() == .code(0))

    let second = try machine.start(["up"], in: elsewhere)
    let resumed = try await second.event("job.resumed")
    #expect(resumed[field: "offset"] == "\(GatedFile.half)")
    _ = try await second.child.first("the directory") { output in
      output.standardError.first {
        $0.hasPrefix("Files go to \(machine.store), as in the last run")
      }
    }
    file.gate.open()
    try await machine.arrival(of: file)
    second.signal(SIGTERM)
    #expect(try await second.exit() == .code(0))
    try await machine.silence()
  }

  @Test func `where interrupted work has gone with its directory it does not begin anew by itself`()
    async throws
  {
    let machine = try LocalMachine()
    let file = try GatedFile()
    let first = try await machine.up()
    try await machine.command("submit", file.origin.url("/file"), "--out", "file")
    _ = try await file.checkpoint(first)
    first.signal(SIGINT)
    #expect(try await first.exit() == .code(0))
    try FileManager.default.moveItem(atPath: machine.store, toPath: machine.directory.path("moved"))
    let refused = try await machine.start(["up"]).child.result()
    #expect(refused.exit == .code(78))
    #expect(
      refused.standardError.last?.hasPrefix(
        "haul up: \(machine.store), the directory of the last run, is missing")
        == true)
    #expect(!FileManager.default.fileExists(atPath: machine.store))
    try await machine.silence()
  }

  @Test func `variables that lead elsewhere are named, with the line that works`() async throws {
    let machine = try LocalMachine()
    let up = try HaulProcess(
      ["up", "--workers", "0"],
      environment: machine.environment.merging(
        ["HAUL_DATABASE_URL": "postgresql://elsewhere.test/haul", "PGUSER": "me"]) { $1 },
      directory: machine.directory.path)
    let lines = try await up.child.first("the last line of the banner") { output in
      output.standardError.contains { $0.hasPrefix("Ctrl-C") } ? output.standardError : nil
    }
    #expect(lines.contains("'haul up' ignores HAUL_DATABASE_URL and PGUSER."))
    #expect(lines.contains { $0.hasPrefix("  env -u HAUL_DATABASE_URL -u PGUSER haul submit URL") })
    #expect(
      lines.contains {
        $0.hasPrefix("Haul downloads at most 4 files at the same time from one host")
      })
    #expect(lines.contains("Haul blocks private networks (use --allow-net to allow some of them)."))
    try await machine.command("submit", "http://a.test/1")
    // A user alone leads to another server, where nothing is.
    let astray = try await HaulProcess(
      ["jobs"],
      environment: machine.environment.merging(["PGUSER": "me", "PGPORT": "1"]) { $1 },
      directory: machine.directory.path
    ).child.result()
    #expect(astray.exit == .code(69))
    #expect(
      astray.standardError.last?.hasSuffix(
        "A pool of 'haul up' runs on this machine. To use that pool, unset PGPORT and PGUSER.")
        == true, "\(astray.standardError)")
    up.signal(SIGTERM)
    #expect(try await up.exit() == .code(0))
    try await machine.silence()
  }

  @Test func `lines about many jobs are counted, about the few shown`() async throws {
    let machine = try LocalMachine()
    let origin = try OriginServer { request, reply in
      try Representation(seed: 9, length: 10).answer(request, reply)
    }
    let up = try machine.start(["up"], format: "text")
    _ = try await up.child.first("the address") { output in
      output.standardError.first { $0.hasPrefix("Files go to") }
    }
    let list = try machine.directory.write(
      (1...60).map { origin.url("/\($0)") + "\n" }.joined(), to: "list.txt")
    try await machine.command("submit", "-i", list, "--wait")
    up.signal(SIGINT)
    let said = try await up.child.result().standardError
    let shown = said.count { $0.contains("job.completed") }
    let counted = said.compactMap {
      $0.firstMatch(of: /lines not shown in 5 s: .*?([0-9]+) completed/)?.1
    }
    #expect(shown < 30)
    #expect(shown + counted.compactMap { Int($0) }.reduce(0, +) == 60)
    try await machine.silence()
  }

  @Test func `at its end it says how many failed, and how to see them`() async throws {
    let machine = try LocalMachine()
    let file = try GatedFile()
    let up = try await machine.up()
    let urls = ["/small/one", "/none", "/nowhere"].map { file.origin.url($0) }
    let list = try machine.directory.write(urls.map { $0 + "\n" }.joined(), to: "list.txt")
    try await machine.command("submit", "-i", list)
    try await eventually("the end of the jobs") {
      try await machine.command("jobs", "--json").allSatisfy {
        $0.contains(#""state":"completed""#) || $0.contains(#""state":"failed""#)
      }
    }
    up.signal(SIGINT)
    let output = try await up.child.result()
    #expect(output.exit == .code(0))
    #expect(
      output.standardError.last
        == "haul up: 2 failures (2 http_404). While 'haul up' runs, 'haul failures' shows the causes, and 'haul retry --state failed' retries the failed jobs."
    )
    try await machine.silence()
  }

  @Test func `a store that cannot be made ends it with a sentence`() async throws {
    let machine = try LocalMachine()
    // That nothing can be made there shows when it is tried.
    let link = machine.directory.path("link")
    symlink("nowhere", link)
    let up = try machine.start(["up", "--store", link])
    let output = try await up.child.result()
    #expect(output.exit == .code(78))
    #expect(output.standardError.last == "haul up: \(link) is not a directory.")
    try await machine.silence()
  }

  @Test func `drained of its only worker it says so and ends`() async throws {
    let machine = try LocalMachine()
    let up = try await machine.up()
    try await up.event("worker.started")
    try await machine.command("drain", "1")
    let output = try await up.child.result()
    #expect(output.exit == .code(0))
    #expect(
      output.standardError.contains(
        "haul up: all workers were drained. The pool stops."))
    try await machine.silence()
  }
}
