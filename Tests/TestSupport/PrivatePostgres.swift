import Foundation
import Glibc
import Synchronization

/// A PostgreSQL server of a test's own, which may be crashed: fsync is on, and only its Unix socket is open.
///
/// It ends with this object, and its data with it.
package final class PrivatePostgres: Sendable {
  /// Its database `postgres`.
  package let database: TestDatabase
  private let root: TemporaryDirectory
  private let process = Mutex<ChildProcess?>(nil)

  /// A new cluster, running.
  package convenience init() async throws {
    try await self.init(root: TemporaryDirectory())
    let options = ["--username", "postgres", "--auth", "trust", "--no-sync"]
    let initdb = try ChildProcess(
      "setpriv", Self.asOwner("initdb", ["--pgdata", data, "--locale", "C.UTF-8"] + options))
    guard try await initdb.exit(within: .seconds(60)) == .code(0) else {
      throw CommandFailed(description: initdb.output.value.standardError.joined(separator: "\n"))
    }
    try await start()
  }

  private init(root: TemporaryDirectory) async throws {
    self.root = root
    database = TestDatabase(name: "postgres", server: "host=\(root.path) user=postgres")
    chmod(root.path, 0o777)
  }

  deinit {
    process.withLock { $0 }?.signal(SIGQUIT)
  }

  private var data: String { root.path("data") }

  /// Starts the server; returns when it accepts connections, crash recovery included.
  package func start() async throws {
    let settings = [
      "listen_addresses=", "unix_socket_directories=\(root.path)", "shared_buffers=32MB",
      "log_min_messages=log",
    ]
    let server = try ChildProcess(
      "setpriv", Self.asOwner("postgres", ["-D", data] + settings.flatMap { ["-c", $0] }),
      environment: ["LC_MESSAGES": "C"])
    process.withLock { $0 = server }
    try await server.first("PostgreSQL to accept connections", within: .seconds(60)) { output in
      output.standardError.contains { $0.contains("ready to accept connections") } ? () : nil
    }
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
    let copy = try await PrivatePostgres(root: TemporaryDirectory())
    try await command("cp", "--archive", data, copy.data)
    try? FileManager.default.removeItem(atPath: copy.data + "/postmaster.pid")
    try await copy.start()
    return copy
  }

  /// PostgreSQL refuses root; the kernel ends it with the test process all the same.
  private static func asOwner(_ program: String, _ arguments: [String]) -> [String] {
    let directory = ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"] ?? ""
    let owner =
      getuid() == 0 ? ["--reuid", "postgres", "--regid", "postgres", "--init-groups"] : []
    return owner + ["--pdeathsig", "keep", "\(directory)/\(program)"] + arguments
  }
}
