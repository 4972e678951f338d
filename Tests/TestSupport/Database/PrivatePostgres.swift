import Foundation
import Glibc
import Synchronization

/// A PostgreSQL server of a test's own, which may be crashed: fsync is on, and only its Unix socket is open unless it is
/// given a port.
///
/// It ends with this object, and its data with it.
package final class PrivatePostgres: Sendable {
  /// Its database `postgres`.
  package let database: TestDatabase
  private let root: TemporaryDirectory
  /// The directory of the server's programs.
  private let programs: String
  /// Where it listens on 127.0.0.1 besides.
  private let port: UInt16?
  private let process = Mutex<ChildProcess?>(nil)

  /// The directory of the programs of the server that `scripts/with-postgres` starts.
  package static var installed: String {
    ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"] ?? ""
  }

  /// That of the newest PostgreSQL, where `scripts/with-postgres` has found one that is newer.
  package static var newest: String? {
    ProcessInfo.processInfo.environment["HAUL_TEST_NEWEST_PGBIN"].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// A new cluster, running, of the server whose programs are in the directory `programs`.
  package convenience init(programs: String = installed) async throws {
    try await self.init(root: TemporaryDirectory(), port: nil, programs: programs)
    try await make()
    try await start()
  }

  /// A new cluster that also listens on `port` of 127.0.0.1, with `settings` added to its postgresql.conf, `access` put in
  /// front of its pg_hba.conf, and copies of `files` in its data directory that nobody else can read.
  package convenience init(
    port: UInt16, settings: String, access: String, files: [String]
  ) async throws {
    try await self.init(root: TemporaryDirectory(), port: port)
    try await make()
    for file in files {
      try await command(
        "install", "--mode", "600", "--owner", getuid() == 0 ? "postgres" : "\(getuid())", file,
        data)
    }
    // In place, so that they stay the server's.
    let (configuration, accessFile) = (data + "/postgresql.conf", data + "/pg_hba.conf")
    try (String(contentsOfFile: configuration, encoding: .utf8) + "\n" + settings + "\n")
      .write(toFile: configuration, atomically: false, encoding: .utf8)
    try (access + "\n" + String(contentsOfFile: accessFile, encoding: .utf8))
      .write(toFile: accessFile, atomically: false, encoding: .utf8)
    try await start()
  }

  private func make() async throws {
    let options = ["--username", "postgres", "--auth", "trust", "--no-sync"]
    let initdb = try ChildProcess(
      "setpriv", asOwner("initdb", ["--pgdata", data, "--locale", "C.UTF-8"] + options))
    guard try await initdb.exit(within: .seconds(60)) == .code(0) else {
      throw CommandFailed(description: initdb.output.value.standardError.joined(separator: "\n"))
    }
  }

  private init(
    root: TemporaryDirectory, port: UInt16?, programs: String = installed
  ) async throws {
    self.root = root
    self.programs = programs
    self.port = port
    let number = port.map { " port=\($0)" } ?? ""
    database = TestDatabase(name: "postgres", server: "host=\(root.path) user=postgres\(number)")
    chmod(root.path, 0o777)
  }

  deinit {
    process.withLock { $0 }?.signal(SIGQUIT)
  }

  /// Another database of it, which is there.
  package func database(_ name: String) -> TestDatabase {
    TestDatabase(name: name, server: database.conninfo)
  }

  /// The directory of its socket.
  package var directory: String { root.path }

  private var data: String { root.path("data") }

  /// Starts the server; returns when it accepts connections, crash recovery included.
  package func start() async throws {
    let settings = [
      "listen_addresses=\(port == nil ? "" : "127.0.0.1")", "port=\(port ?? 5432)",
      "unix_socket_directories=\(root.path)", "shared_buffers=32MB",
      "jit=off", "log_min_messages=log",
    ]
    let server = try ChildProcess(
      "setpriv", asOwner("postgres", ["-D", data] + settings.flatMap { ["-c", $0] }),
      environment: ["LC_MESSAGES": "C"])
    process.withLock { $0 = server }
    try await server.first("PostgreSQL to accept connections", within: .seconds(60)) { output in
      output.standardError.contains { $0.contains("ready to accept") } ? () : nil
    }
  }

  /// A standby of this server, which only reads and follows it: running, and as far as this one is now.
  package func standby() async throws -> PrivatePostgres {
    let standby = try await PrivatePostgres(root: TemporaryDirectory(), port: nil)
    let backup = try ChildProcess(
      "setpriv",
      asOwner(
        "pg_basebackup",
        ["-h", root.path, "-U", "postgres", "-D", standby.data, "-R", "-c", "fast", "--no-sync"]))
    guard try await backup.exit(within: .seconds(60)) == .code(0) else {
      throw CommandFailed(description: backup.output.value.standardError.joined(separator: "\n"))
    }
    try await standby.start()
    return standby
  }

  /// Ends it as a crash would, without a checkpoint (`pg_ctl stop -m immediate`).
  package func crash() async throws {
    guard let server = process.withLock({ $0 }) else { return }
    server.signal(SIGQUIT)
    try await server.exit()
  }

  /// Kills one of its processes; the server then ends all others and recovers. Returns when it
  /// accepts connections again.
  package func killBackend(_ pid: Int32) async throws {
    guard let server = process.withLock({ $0 }) else { return }
    kill(pid, SIGKILL)
    try await server.first("PostgreSQL to recover", within: .seconds(60)) { output in
      let starts = output.standardError.filter { $0.contains("ready to accept connections") }
      return starts.count >= 2 ? () : nil
    }
  }

  /// A server on a copy of the data of this one, which must not be running: running, recovered.
  package func copy() async throws -> PrivatePostgres {
    let copy = try await PrivatePostgres(
      root: TemporaryDirectory(), port: nil, programs: programs)
    try await command("cp", "--archive", data, copy.data)
    try? FileManager.default.removeItem(atPath: copy.data + "/postmaster.pid")
    try await copy.start()
    return copy
  }

  /// PostgreSQL refuses root; the kernel ends it with the test process all the same.
  private func asOwner(_ program: String, _ arguments: [String]) -> [String] {
    let owner =
      getuid() == 0 ? ["--reuid", "postgres", "--regid", "postgres", "--init-groups"] : []
    return owner + ["--pdeathsig", "keep", "\(programs)/\(program)"] + arguments
  }
}
