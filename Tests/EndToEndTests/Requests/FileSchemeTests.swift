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

  @Test(arguments: ["ftp", "sftp"])
  func `a killed worker's file is gone on with at its checkpoint`(_ scheme: String) async throws {
    let (ftp, sftp) = (try await FTPServer(), try await SFTPServer())
    let length: Int64 = 32 << 20
    let content = pattern.bytes(in: 0..<length)
    try ftp.put("a", content)
    try sftp.put("a", content)
    let directory = try TemporaryDirectory()
    try sftp.writeCredential(in: directory)
    try await HaulPool.open { pool in
      let url = scheme == "ftp" ? ftp.url("/a") : sftp.url("a")
      let credential = scheme == "ftp" ? [] : ["--credential", "archive"]
      let submitted = try await pool.haul(["submit", url, "--out", "a"] + credential)
      #expect(submitted.exit == .code(0))
      let job: Int64 = try await pool.value("SELECT id FROM haul.job")
      func worker(_ more: String) throws -> HaulProcess {
        try pool.worker(
          "--allow-scheme", "ftp", "--allow-scheme", "sftp", "--known-hosts", sftp.knownHosts,
          "--credentials", directory.path, more)
      }
      // A minute's worth: it is killed in the middle, however late that is.
      let first = try worker("--limit-rate=512KiB")
      try await first.event("job.checkpoint")
      first.signal(SIGKILL)
      #expect(try await first.exit() == .signal(SIGKILL))

      // Where nobody has kept house for 3 s, a whole expiry of grace comes first.
      let second = try worker("--exit-when-idle")
      let resumed = try await second.event("job.resumed", within: .seconds(60))
      let offset = try #require(resumed[field: "offset"].flatMap { Int64($0) })
      #expect(try await second.exit() == .code(0))
      #expect(offset > 0 && offset < length)
      #expect(
        try await pool.attempts(of: job)
          == [Attempt("rescued", from: 0), Attempt("completed", from: offset)])
      let kept: [Int64] = try await pool.values("SELECT bytes_resumed FROM haul.handoffs")
      #expect(kept == [offset])
      let path = pool.directory + "/a"
      #expect(try FileTree.firstDifference(of: path, from: pattern, length: length) == nil)
      if scheme == "ftp" { #expect(try ftp.commands(["REST"]) == ["REST \(offset - 4096)"]) }
      #expect(try pool.parts() == [])
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `a key proves who asks by SFTP, and no line holds where it lies`() async throws {
    let server = try await SFTPServer()
    let content = pattern.bytes(in: 0..<300_000)
    try server.put("a", content)
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try server.writeCredential(in: directory)
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

  @Test func `a password proves who asks by SFTP, and no line holds it`() async throws {
    let server = try await PasswordSFTPServer()
    let content = pattern.bytes(in: 0..<300_000)
    try server.put("a", content)
    let directory = try TemporaryDirectory()
    let file = try directory.write(
      "type: basic\norigins: sftp://\(server.host)\nuser: user\npassword: hunter2\n", to: "archive")
    chmod(file, 0o600)
    try await HaulPool.open { pool in
      try await pool.command("submit", server.url("a"), "--credential", "archive", "--out", "a")
      let worker = try pool.worker(
        "--allow-scheme", "sftp", "--known-hosts", server.knownHosts, "--credentials",
        directory.path, "--exit-when-idle")
      #expect(try await worker.exit() == .code(0))
      #expect(FileManager.default.contents(atPath: pool.directory + "/a") == Data(content))
      #expect(!worker.child.output.value.standardError.contains { $0.contains("hunter") })
      #expect(try server.passwords() == ["user hunter2"])
    }
  }

  @Test func `a job that names no credential fails at once where the server wants a user`()
    async throws
  {
    var habits = FTPServer.Habits()
    habits.wantsUser = true
    let (sftp, ftp) = (try await SFTPServer(), try await FTPServer(habits))
    try sftp.put("a", [7])
    try ftp.put("a", [7])
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try sftp.writeCredential(in: directory)
      try await pool.submit(sftp.url("a"), to: "a")
      try await pool.submit(ftp.url("/a"), to: "b")
      func work() async throws {
        let worker = try pool.worker(
          "--allow-scheme", "sftp", "--allow-scheme", "ftp", "--known-hosts", sftp.knownHosts,
          "--credentials", directory.path, "--exit-when-idle")
        #expect(try await worker.exit() == .code(0))
      }
      try await work()
      let rows: [String] = try await pool.values(
        "SELECT path || ' ' || error || ' ' || message FROM haul.jobs ORDER BY path")
      #expect(rows.map { String($0.prefix(15)) } == ["a no_credential", "b no_credential"])
      let machines = [sftp.url(""), ftp.url("")].compactMap { URL(string: $0)?.port }
      for (row, port) in zip(rows, machines) {
        #expect(row.contains("--credential"))
        #expect(row.hasSuffix("with a --netrc file that has 'machine 127.0.0.1:\(port)'"), "\(row)")
      }
      // As the table of error classes advises.
      try await pool.command(
        "submit", sftp.url("a"), "--credential", "archive", "--out", "a", "--on-duplicate",
        "replace")
      try await work()
      #expect(FileManager.default.contents(atPath: pool.directory + "/a") == Data([7]))
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

extension SFTPServer {
  /// The credential `archive`, which proves by the key who asks.
  fileprivate func writeCredential(in directory: TemporaryDirectory) throws {
    let file = try directory.write(
      "type: ssh-key\norigins: sftp://\(host)\nuser: \(user)\nkey: \(key)\n", to: "archive")
    chmod(file, 0o600)
  }
}
