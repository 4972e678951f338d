import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// FTP and SFTP, by workers that are told to.
@Suite struct FileSchemeTests {
  private let pattern = Pattern(seed: 1)

  @Test func `a drained worker's file is gone on with by FTP`() async throws {
    var habits = FTPServer.Habits()
    habits.holdsAt = 1 << 20
    let server = try await FTPServer(habits)
    let content = pattern.bytes(in: 0..<(3 << 20))
    try server.put("a", content)
    try await HaulPool.open { pool in
      let first = try pool.worker("--allow-scheme", "ftp")
      try await first.event("worker.started")
      let job = try await pool.submit(server.url("/a"), to: "a")
      try await eventually("a part of it received") {
        let bytes: [Int64] = try await pool.values("SELECT bytes FROM haul.running")
        return bytes.first ?? 0 >= 512 << 10
      }
      first.signal(SIGTERM)
      #expect(try await first.exit() == .code(0))
      #expect(try await pool.state(of: job) == "interrupted")
      try server.release()
      let second = try pool.worker("--allow-scheme", "ftp", "--exit-when-idle")
      let resumed = try await second.event("job.resumed")
      let offset = try #require(resumed[field: "offset"].flatMap { Int($0) })
      #expect(try await second.exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      #expect(FileManager.default.contents(atPath: pool.directory + "/a") == Data(content))
      #expect(try server.commands(["REST"]) == ["REST \(offset - 4096)"])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a key proves who asks by SFTP, and no line holds where it lies`() async throws {
    let server = try await SFTPServer()
    let content = pattern.bytes(in: 0..<300_000)
    try server.put("a", content)
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let file = try directory.write(
        "type: ssh-key\norigins: sftp://\(server.host)\nuser: \(server.user)\nkey: \(server.key)\n",
        to: "archive")
      chmod(file, 0o600)
      try await pool.command(
        "submit", server.url("a"), "--credential", "archive", "--out", "a")
      let stray = try await FTPServer()
      try await pool.command(
        "submit", stray.url("/a"), "--credential", "archive", "--out", "b")
      let worker = try pool.worker(
        "--allow-scheme", "sftp", "--known-hosts", server.knownHosts, "--credentials",
        directory.path, "--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      let rows: [String] = try await pool.values(
        "SELECT path || ' ' || state || ' ' || coalesce(error, '') FROM haul.jobs ORDER BY path")
      #expect(rows == ["a completed ", "b failed blocked_credential"])
      #expect(FileManager.default.contents(atPath: pool.directory + "/a") == Data(content))
      #expect(try stray.commands(["USER"]) == [])
    }
  }

  @Test func `a worker that is not told to refuses, and says how it can be`() async throws {
    let server = try await FTPServer()
    try server.put("a", [7])
    try await HaulPool.open { pool in
      try await pool.submit(server.url("/a"), to: "a")
      let worker = try pool.worker("--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      let message: String = try await pool.value(
        "SELECT message FROM haul.jobs WHERE error = 'blocked_url'")
      #expect(message.contains("--allow-scheme ftp"), "\(message)")
      #expect(try server.commands(["USER"]) == [])
      let sftp = try pool.worker("--allow-scheme", "sftp")
      #expect(try await sftp.exit() == .code(64))
    }
  }
}
