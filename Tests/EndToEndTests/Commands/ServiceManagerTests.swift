import Foundation
import Glibc
import HaulSystem
import Postgres
import TestSupport
import Testing

/// The socket on which systemd listens to its services. (sd_notify(3))
private final class NotifySocket {
  private let directory: TemporaryDirectory
  private let descriptor: Int32
  private var seen: [String] = []

  var path: String { directory.path("notify") }

  init() throws {
    directory = try TemporaryDirectory()
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0 else { throw POSIXError(.EADDRINUSE) }
  }

  deinit { close(descriptor) }

  /// Waits for a message.
  func message(_ text: String) async throws {
    try await eventually("the message \(text)") { messages().contains(text) }
  }

  /// All messages so far, in their order.
  func messages() -> [String] {
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
      guard count > 0 else { return seen }
      seen.append(String(decoding: buffer.prefix(count), as: UTF8.self))
    }
  }
}

/// What workers and coordinators say to systemd, and how they end if their version does not fit.
@Suite struct ServiceManagerTests {
  @Test(arguments: ["worker", "coordinator"])
  func `the service manager learns of start, life and stop`(name: String) async throws {
    let socket = try NotifySocket()
    try await HaulPool.open { pool in
      let environment = ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "200000"]
      let process =
        name == "worker"
        ? try pool.worker(environment: environment)
        : try pool.start(["coordinator"], environment: environment)
      try await socket.message("READY=1")
      try await process.event("\(name).started")
      try await socket.message("WATCHDOG=1")
      #expect(!socket.messages().contains("STOPPING=1"))
      process.signal(SIGTERM)
      try await socket.message("STOPPING=1")
      #expect(try await process.exit() == .code(0))
      #expect(socket.messages().count { $0 == "READY=1" } == 1)
    }
  }

  @Test func `a worker that cannot start is never ready`() async throws {
    let socket = try NotifySocket()
    try await HaulPool.open { pool in
      let worker = try pool.worker(
        "--queue", "nope", environment: ["NOTIFY_SOCKET": socket.path, "WATCHDOG_USEC": "200000"])
      #expect(try await worker.exit() == .code(78))
      #expect(!socket.messages().contains("READY=1"))
    }
  }

  /// The watchdog may be meant for another process, and a name may be in the abstract namespace.
  @Test func `without a service manager nothing is sent`() async throws {
    for environment in [
      [:], ["NOTIFY_SOCKET": "", "WATCHDOG_USEC": "1"],
      ["NOTIFY_SOCKET": "@", "WATCHDOG_USEC": "x"],
      ["NOTIFY_SOCKET": "@haul-nobody-listens", "WATCHDOG_USEC": "2", "WATCHDOG_PID": "1"],
      ["NOTIFY_SOCKET": "/" + String(repeating: "x", count: 200)],
    ] {
      let manager = ServiceManager(environment: environment, process: 2)
      manager.ready()
      manager.stopping()
      #expect(await manager.watching { true })
    }
  }

  /// systemd restarts after 75, and not after 78: an upgrade ends this error.
  @Test(arguments: [
    "DELETE FROM haul.migration WHERE version = haul.schema_version()",
    """
    INSERT INTO haul.migration (version, name) VALUES (999, 'x');
    CREATE OR REPLACE FUNCTION haul.oldest_served_version() RETURNS integer LANGUAGE sql AS 'SELECT 999'
    """,
  ])
  func `a database of another version is worth another try`(change: String) async throws {
    try await HaulPool.open { pool in
      try await pool.admin.script(change)
      for process in [try pool.worker(), try pool.start(["coordinator"])] {
        #expect(try await process.exit() == .code(75))
        let said = try await process.child.result().standardError.last ?? ""
        #expect(said.contains("the database has schema version"), "\(said)")
      }
      #expect(try await pool.haul(["jobs"]).exit == .code(78))
    }
  }
}
