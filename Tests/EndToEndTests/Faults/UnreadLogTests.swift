import Foundation
import Glibc
import TestSupport
import Testing

/// Nobody reads what a worker says: a pager that was left open, a log shipper that hangs.
@Suite struct UnreadLogTests {
  /// It used to hold its leases and do nothing, and not even a second SIGTERM ended it.
  @Test func `a worker whose log is not read goes on, and ends when it is told to`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("log")
    #expect(mkfifo(path, 0o600) == 0)
    // Read and write: opening it waits for nobody.
    let log = open(path, O_RDWR | O_CLOEXEC)
    try #require(log >= 0)
    defer { close(log) }
    // It has room for a page. (fcntl(2): F_SETPIPE_SZ)
    #expect(fcntl(log, 1031, 4096) == 4096)
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    try await HaulPool.open { pool in
      let worker = try HaulProcess(
        [
          "-c", "exec \"$0\" \"$@\" 2>'\(path)'", HaulProcess.path, "worker", "--store",
          "\(HaulPool.store)=\(pool.directory)", "--allow-net", "127.0.0.0/8",
        ],
        program: "/bin/sh",
        environment: [
          "HAUL_DATABASE_URL": pool.database.conninfo, "HAUL_LOG_LEVEL": "debug",
          "HAUL_LOG_FORMAT": "json",
        ])
      // Far more lines than the log has room for.
      let submitted = try await pool.haul(
        ["submit", "--wait"] + (1...20).map { origin.url("/\($0)") })
      #expect(submitted.exit == .code(0), "\(submitted.standardError)")
      var room = pollfd(fd: log, events: Int16(POLLOUT), revents: 0)
      #expect(poll(&room, 1, 0) == 0)
      worker.signal(SIGTERM)
      #expect(try await worker.exit() == .code(0))
      #expect(try await pool.violations() == [])
    }
  }
}
