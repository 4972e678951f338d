import Foundation
import Postgres
import TestSupport
import Testing

@testable import EmbeddedPostgres

/// Runs the commands of docs/systemd.md, and checks the units of deploy/systemd.
struct SystemdTests {
  private static let page = repositoryRoot.appending(path: "docs/systemd.md")

  private func block(_ language: String) throws -> String {
    try #require(try ReadmeTests.blocks(language, of: Self.page).first)
  }

  @Test func `the role and the settings let a worker check, work, and no more`() async throws {
    try await HaulPool.open { pool in
      let role = "systemd_\(pool.database.name)"
      let sql = try block("sql").replacingOccurrences(of: "haul_worker_1", with: "\"\(role)\"")
      try await pool.admin.script(sql)
      let settings = try block("env").replacingOccurrences(
        of: "host=db.example.org dbname=haul user=haul_worker_1",
        with: "\(pool.database.conninfo) user=\(role)"
      ).replacingOccurrences(of: "main=/srv/haul", with: "data=\(pool.directory)")
      let place = try TemporaryDirectory()
      try place.write(settings, to: "worker.env")

      let line = try #require(
        try ReadmeTests.blocks("sh", of: Self.page).joined(separator: "\n").split(separator: "\n")
          .first { $0.contains("exec haul check") })
      let check = line.replacingOccurrences(of: "runuser -u haul -- ", with: "")
        .replacingOccurrences(of: "/etc/haul/", with: place.path + "/")
      let found = try await shell(check)
      #expect(found.exit == .code(0))
      #expect(found.standardOutput.contains { $0.contains("Haul can create, sync") })
      #expect(!found.standardOutput.contains { $0.hasPrefix("fail") })

      let file = try GatedFile()
      let job = try await pool.submit(file.origin.url("/small/a"), to: "a")
      let worker = check.replacingOccurrences(
        of: "haul check", with: "haul worker --exit-when-idle --allow-net 127.0.0.0/8")
      #expect(try await shell(worker).exit == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      let cancel = try await shell(
        check.replacingOccurrences(of: "haul check", with: "haul cancel 1"))
      #expect(cancel.exit == .code(77))
      try await pool.admin.script("DROP ROLE \"\(role)\"")
    }
  }

  /// Mounts private directories over the page's places, so that the machine stays unchanged. The user may exist.
  private static let ownMachine = """
    cp -a /etc "$0/etc" && mount --bind "$0/etc" /etc
    sed -i /^haul:/d /etc/passwd /etc/shadow /etc/group /etc/gshadow
    mount -t tmpfs tmpfs /srv && mount -t tmpfs tmpfs /var/lib

    """

  @Test(
    .enabled("becoming another user and mounting take root") {
      guard await OrdinaryUser.isPossible else { return false }
      return await TestFileSystem.isPossible
    })
  func `user, store, settings and unit are made as they stand there`() async throws {
    try await HaulPool.open { pool in
      // That user cannot reach the server's socket.
      let relay = try DatabaseRelay(to: pool.database)
      let blocks = try ReadmeTests.blocks("sh", of: Self.page)
      try #require(blocks.count == 3)
      let settings = try block("env").replacing(/"host=.*"/, with: "\"\(relay.conninfo)\"")
      let initialise = blocks[1].replacing(/"host=.*"/, with: "\"\(relay.conninfo)\"")
      let start = blocks[2].split(separator: "\n").filter {
        !$0.hasPrefix("systemctl ") && !$0.hasPrefix("journalctl ")
      }
      #expect(start.count == 2)
      let place = try TemporaryDirectory()
      let look =
        "stat -c '%U:%G %a %F %n' /srv/haul /var/lib/haul-worker/.pgpass /etc/haul/worker.env"
      let script = """
        \(Self.ownMachine)\(blocks[0])
        cat >/etc/haul/worker.env <<'SETTINGS'
        \(settings)
        SETTINGS
        \(initialise)
        \(start.joined(separator: "\n"))
        cmp deploy/systemd/haul-worker.service /etc/systemd/system/haul-worker.service
        \(look)
        runuser -u haul -- test -r /etc/haul/worker.env
        """
      let programs = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
      let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
      let done = try await ChildProcess.run(
        "unshare", ["--mount", "bash", "-ec", script, place.path],
        environment: ["PATH": "\(programs):\(path):/usr/sbin"], directory: repositoryRoot.path)
      #expect(done.exit == .code(0), "\(done.standardError)")
      #expect(
        done.standardOutput.suffix(3) == [
          "haul:haul 755 directory /srv/haul",
          "haul:haul 600 regular empty file /var/lib/haul-worker/.pgpass",
          "root:haul 640 regular file /etc/haul/worker.env",
        ])
      #expect(done.standardOutput.contains { $0.contains("Haul can create, sync") })
      #expect(!done.standardOutput.contains { $0.hasPrefix("fail") })
    }
  }

  /// `haul get` of root creates a cluster below its state directory, which must belong to root.
  @Test func `the user's home is not where root keeps its state`() throws {
    let home = try #require(try block("sh").firstMatch(of: /--home-dir (\S+)/)?.1)
    let state = try ClusterLocation.directory(environment: [:], isRoot: true)
    #expect(!"\(home)/".hasPrefix("\(state)/") && !"\(state)/".hasPrefix("\(home)/"))
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    #expect(!text.contains("\(state)/"))
    #expect(text.matches(of: /touch (\S+)\/.pgpass/).map(\.1) == [home])
  }

  private func shell(_ line: String) async throws -> ChildProcess.Output {
    let programs = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    return try await ChildProcess.run(
      "sh", ["-c", line], environment: ["PATH": "\(programs):\(path)"])
  }

  private static let hasAnalyzer = FileManager.default.isExecutableFile(
    atPath: "/usr/bin/systemd-analyze")

  @Test(.enabled(if: hasAnalyzer, "systemd-analyze is not there"))
  func `systemd finds nothing wrong with the units`() async throws {
    let place = try TemporaryDirectory()
    for name in ["haul-worker.service", "haul-coordinator.service"] {
      let unit = try String(
        contentsOf: repositoryRoot.appending(path: "deploy/systemd/\(name)"), encoding: .utf8)
      try place.write(
        unit.replacingOccurrences(of: "/usr/bin/haul", with: HaulProcess.path), to: name)
      let output = try await ChildProcess.run(
        "/usr/bin/systemd-analyze", ["verify", place.path(name)])
      #expect(output.exit == .code(0))
      let ours = output.standardError.filter { $0.contains(name) }
      #expect(ours == [])
    }
  }
}
