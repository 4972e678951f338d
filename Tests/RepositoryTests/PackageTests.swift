import Foundation
import TestSupport
import Testing

/// The files of the Debian package in `deploy/debian`. `scripts/parts/package/test` installs and runs the package, and
/// `DeployedCommandTests` checks the commands and settings.
struct PackageTests {
  private static let root = repositoryRoot.appending(path: "deploy/debian")
  private static let units = ["haul-coordinator.service", "haul-worker@.service"]

  private static func text(_ path: String) throws -> String {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
  }

  @Test func `the package has every file, and every file has a use`() throws {
    let files = try FileManager.default.subpathsOfDirectory(atPath: Self.root.path)
      .filter { !["etc", "source"].contains($0) }
    let installed = try Self.text("haul.install").matches(of: /(?m)^debian\/(\S+) +etc\/haul$/)
      .map { String($0.1) }
    #expect(Set(installed) == Set(files.filter { $0.hasPrefix("etc/") }))
    let others = [
      "control", "copyright", "rules", "source/format", "haul.docs", "haul.install",
      "haul.lintian-overrides", "haul.manpages", "haul.postinst", "haul.postrm", "haul.prerm",
      "haul.sysusers", "haul.tmpfiles",
    ]
    #expect(Set(files) == Set(others + Self.units + installed))
    let script = try String(
      contentsOf: repositoryRoot.appending(path: "scripts/package"), encoding: .utf8)
    for line in try Self.text("haul.install").matches(of: /(?m)^(built\/\S+)/) {
      #expect(script.contains("/\(line.1)"), "\(line.1)")
    }
    for file in try Self.text("haul.docs").split(separator: "\n") {
      #expect(script.contains("\"$top/\(file)\""), "\(file)")
    }
  }

  /// The units, and the maintainer scripts that call them by name.
  @Test(arguments: units) func `a unit supervises its program`(name: String) throws {
    let unit = try Self.text(name)
    for line in [
      "Type=notify", "WatchdogSec=60", "Restart=on-failure", "User=haul",
      "RestartPreventExitStatus=64 77 78", "StartLimitIntervalSec=0",
      "LoadCredential=database:/etc/haul/database", "ProtectSystem=strict", "NoNewPrivileges=true",
    ] {
      #expect(unit.contains("\n\(line)\n"), "\(line)")
    }
    // The connection is in the credential, under the name that the file has in brackets.
    let service = try #require(unit.firstMatch(of: /HAUL_DATABASE_URL=service=(\S+)/)).1
    #expect(try Self.text("etc/database").contains("\n[\(service)]\n"))
    // debhelper installs units by --name, but no templates.
    let isInstalled =
      try Self.text("haul.install").contains("debian/\(name) ")
      || Self.text("rules").contains("--name=\(name.prefix { $0 != "." }) ")
    #expect(isInstalled)
  }

  @Test func `the two units have the same restrictions, but for what a store needs`() throws {
    func restrictions(_ name: String) throws -> [Substring] {
      let lines = try Self.text(name).split(separator: "\n")
      let start = try #require(lines.firstIndex(of: "NoNewPrivileges=true"))
      let end = try #require(lines.firstIndex(of: "[Install]"))
      return lines[start..<end].filter { !$0.hasPrefix("#") }
    }
    let worker = try restrictions("haul-worker@.service")
    let coordinator = try restrictions("haul-coordinator.service")
    #expect(coordinator.filter { $0 != "RestrictSUIDSGID=true" } == worker && worker.count > 20)
    // It blocks openat2(2).
    #expect(!worker.contains("RestrictSUIDSGID=true"))
  }

  @Test func `the user has the home of the manual installation`() throws {
    let home = try #require(
      try Self.text("haul.sysusers").firstMatch(of: /(?m)^u haul .* (\/\S+)$/)
    ).1
    #expect(try Self.text("haul.tmpfiles").contains("\nd \(home) 0750 haul haul -\n"))
    let page = repositoryRoot.appending(path: "docs/systemd.md")
    #expect(try String(contentsOf: page, encoding: .utf8).contains("--home-dir \(home) haul"))
  }

  @Test func `no file has a password`() throws {
    for line in try Self.text("etc/database").split(separator: "\n") {
      #expect(line.hasPrefix("#") || line.hasPrefix("["), "\(line)")
    }
  }

  private static let hasAnalyzer = FileManager.default.isExecutableFile(
    atPath: "/usr/bin/systemd-analyze")

  @Test(.enabled(if: hasAnalyzer, "systemd-analyze is not there"), arguments: units)
  func `systemd finds nothing wrong with a unit, and little to attack`(name: String) async throws {
    let place = try TemporaryDirectory()
    let program = try await ChildProcess.run("sh", ["-c", "command -v true"])
    let path = try #require(program.standardOutput.first)
    let file = try place.write(
      try Self.text(name).replacingOccurrences(of: "/usr/bin/haul", with: path), to: name)
    let verified = try await ChildProcess.run(
      "/usr/bin/systemd-analyze", ["verify", "--man=no", file])
    #expect(verified.exit == .code(0))
    #expect(verified.standardError.filter { $0.contains(name) } == [])
    // In tenths: 2.0 of 10.
    let exposed = try await ChildProcess.run(
      "/usr/bin/systemd-analyze", ["security", "--offline=true", "--threshold=20", file])
    #expect(exposed.exit == .code(0), "\(exposed.standardOutput.last ?? "")")
  }
}
