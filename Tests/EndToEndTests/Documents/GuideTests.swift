import Foundation
import Postgres
import TestSupport
import Testing

/// The pages of the operator's guide: its certificates, its server's settings, its logins, and then its commands in one
/// shell, in their order. The tests replace only addresses, ports, directories and the user `haul`. Commands that run for
/// ever go to the background.
struct GuideTests {
  private static let password = "password of "
  private static let asUser = "runuser -u haul -- "
  /// Numbers of the small files on the list, which also has one large file and one that the origin lacks.
  private static let small = 1...1000
  private static func length(_ number: Int) -> Int64 { Int64(number * 7) }
  /// SHA-256 of the film in the guide's table.
  private static let digest = "454dca10f0506475141d6e4a91d01f8f3e54001cdbbcd05474ef1115215ca09e"

  /// Home of the user who runs the commands, with the guide's services, passwords and list.
  private let home: TemporaryDirectory
  private let origin: OriginServer
  private let port: UInt16

  init() throws {
    home = try TemporaryDirectory()
    let site = Site(["/a.iso": Representation(seed: 1, length: 300_000)])
    for number in Self.small {
      site["/small/\(number)"] = Representation(seed: UInt64(number), length: Self.length(number))
    }
    // For the guide's other lists, which only 'haul get' reads.
    site["/list/film"] = Representation(seed: 3, length: 5_000)
    for path in ["/list/disc", "/list/1/form", "/list/2/form"] {
      site[path] = Representation(seed: 4, length: 100)
    }
    origin = try OriginServer(handler: site.answer)
    port = try OriginProgram.freePort()
    let paths = ["/a.iso", "/missing"] + Self.small.map { "/small/\($0)" }
    try home.write(paths.map { origin.url($0) + "\n" }.joined(), to: "urls.txt")
    let film = ["3", "film-3", "x", Self.digest, origin.url("/list/film")]
    try home.write(
      "no\tid\tnote\tsha\tfrom\n" + film.joined(separator: "\t") + "\n", to: "mirror.tsv")
    try home.write("<a href='\(origin.url("/list/disc"))'>disc</a>\n", to: "page.html")
    try home.write(
      (1...2).map { origin.url("/list/\($0)/form") + "\n" }.joined(), to: "forms.txt")
    try FileManager.default.createDirectory(
      atPath: home.path("store"), withIntermediateDirectories: false)
  }

  private func block(_ language: String) throws -> String {
    let blocks = try Guide.blocks(language)
    return try #require(blocks.first, "\(language)")
  }

  /// The text with this test's places instead of the guide's.
  private func rewritten(_ text: String) -> String {
    [
      ("host=db.example.org", "host=db.example.org\nhostaddr=127.0.0.1\nport=\(port)"),
      (" example.org", " 127.0.0.1:\(origin.port)"), ("/etc/haul/", home.path + "/"),
      ("/srv/haul", home.path("store")), ("10.0.0.0/8", "127.0.0.0/8"),
      (Self.asUser, ""), (" -o haul -g haul", ""),
    ].reduce(text) { $0.replacingOccurrences(of: $1.0, with: $1.1) }
  }

  /// Runs the lines with `bash`, which stops at the first that fails.
  private func run(_ lines: [String], on server: PrivatePostgres?) async throws
    -> ChildProcess.Output
  {
    let bin = try #require(ProcessInfo.processInfo.environment["HAUL_TEST_PGBIN"])
    let programs = URL(filePath: HaulProcess.path).deletingLastPathComponent().path
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    let output = try await ChildProcess.run(
      "bash", ["-euxc", lines.joined(separator: "\n")],
      environment: [
        "PATH": "\(programs):\(bin):\(path)", "HOME": home.path, "HAUL_ALLOW_NET": "127.0.0.0/8",
        "PGHOST": server?.directory ?? "", "PGPORT": "\(port)", "PGUSER": "postgres",
      ], directory: home.path, within: .seconds(180))
    #expect(output.exit == .code(0), "\(output.standardError.joined(separator: "\n"))")
    return output
  }

  /// A server with the guide's settings, database and logins.
  private func server(_ blocks: [String]) async throws -> PrivatePostgres {
    _ = try await run([blocks[1]], on: nil)
    try home.write(rewritten(try block("ini")), to: ".pg_service.conf")
    let passwords = try home.write(try block("pgpass"), to: ".pgpass")
    #expect(chmod(passwords, 0o600) == 0)
    let server = try await PrivatePostgres(
      port: port, settings: try block("conf").replacingOccurrences(of: "'*'", with: "'127.0.0.1'"),
      access: rewritten(try block("hba")),
      files: ["server.crt", "server.key", "ca.crt"].map { home.path($0) })
    _ = try await run([blocks[0]], on: server)
    let admin = try await Connection.connect(
      ConnectionConfiguration(
        conninfo: "\(server.database.conninfo) dbname=haul", applicationName: "haul-tests"))
    try await admin.script(try block("sql"))
    for line in try block("psql").split(separator: "\n") {
      let login = try #require(line.split(separator: " ").last)
      try await admin.execute("ALTER ROLE \(login) PASSWORD '\(Self.password)\(login)'")
    }
    await admin.close()
    return server
  }

  @Test func `the guide's commands make a pool, steer it, back it up and upgrade it`() async throws
  {
    let blocks = try Guide.blocks("sh")
    let server = try await server(blocks)
    var lines: [String] = []
    for line in blocks.dropFirst(2).joined(separator: "\n").split(separator: "\n") {
      let command = rewritten(
        String(line.prefix { $0 != "#" }).trimmingCharacters(in: .whitespaces))
      if command.hasSuffix("haul coordinator") {
        lines.append("\(command) & coordinator=$!")
      } else if command.contains("--queue archive ") {
        lines.append("\(command) & archive=$!")
      } else if command.contains("haul worker ") {
        lines.append("\(command) & worker=$!")
      } else if command.hasSuffix("haul batch wait monday") {
        // The origin lacks one of the files.
        lines += ["\(command) || [ $? -eq 1 ]", "! ps -ww -eo args | grep '[p]assword of haul'"]
      } else if command == "haul watch monday" {
        // Until the test has looked at the pool in other ways.
        lines += [command, "mkfifo seen; touch watched; read -r _ <seen"]
      } else if command.hasPrefix("haul drain") {
        lines += [command, "wait $worker"]
      } else {
        lines.append(command)
      }
    }
    for command in [
      "haul submit", "haul retry", "haul host unblock", "pg_restore", "haul queue set",
    ] {
      #expect(lines.contains { $0.contains(command) }, "\(command)")
    }
    // However the commands end, the test does not wait for them in vain.
    let all =
      ["trap 'touch watched' EXIT"] + lines + [
        "kill $coordinator $archive; wait $coordinator && wait $archive"
      ]
    async let running = run(all, on: server)
    do {
      try await poolIsShown()
    } catch {
      try await goOn()
      _ = try await running
      throw error
    }
    try await goOn()
    let output = try await running
    #expect(!output.standardError.contains { $0.contains(Self.password) })
    try filesAreComplete()
    let names = ["film-3", "disc", "form", "form.1"]
    #expect(names.filter { !FileManager.default.fileExists(atPath: home.path($0)) } == [])
    // `haul check` looked at the invariants of both pools.
    #expect(
      output.standardOutput.contains { $0.hasPrefix("ok") && $0.contains("no errors found in") })
    try await databaseIsRestored(server)
    try await serverIsClosed(server)
    try await wrongFilesAreNamed()
    try await missingServicesAreNamed()
  }

  /// Workers are not root, so they cannot change what root creates in a store.
  @Test func `commands that open a store or work run as the pool's user`() throws {
    let lines = try Guide.blocks("sh").joined(separator: "\n")
      .split(separator: "\n").filter { line in
        ["/srv/haul", "haul worker ", "haul coordinator"].contains { line.contains($0) }
      }
    #expect(lines.count == 6)
    for line in lines { #expect(line.contains(Self.asUser + "haul "), "\(line)") }
  }

  /// Every file of the list is in the store, with the bytes of the origin.
  private func filesAreComplete() throws {
    let directory = home.path("store") + "/127.0.0.1_\(origin.port)"
    var wanted = [("a.iso", UInt64(1), Int64(300_000))]
    wanted += Self.small.map { ("small/\($0)", UInt64($0), Self.length($0)) }
    let there = try FileTree.files(below: directory)
    #expect(Set(there) == Set(wanted.map(\.0)))
    for (name, seed, length) in wanted {
      let difference = try FileTree.firstDifference(
        of: "\(directory)/\(name)", from: Pattern(seed: seed), length: length)
      #expect(difference == nil, "\(name)")
    }
  }

  /// While the guide's pool runs, a monitor sees the batch in `haul top`, on the page and in the metrics.
  private func poolIsShown() async throws {
    try await eventually("haul watch to be through", within: .seconds(150)) {
      FileManager.default.fileExists(atPath: home.path("watched"))
    }
    let screen = try await TerminalScreen(
      columns: 160, rows: 45,
      environment: ["HOME": home.path, "HAUL_DATABASE_URL": "service=haul_monitor"],
      HaulProcess.path, ["top"])
    try await screen.type("5")
    try await screen.wait(for: "the batch in haul top") { content in
      content.rows.contains { $0.contains("monday") && $0.contains("\(Self.small.count + 2)") }
    }
    try await screen.type("q")
    let address = try OriginProgram.freePort()
    let page = try HaulProcess(
      try listening(at: address),
      environment: ["HOME": home.path, "HAUL_DATABASE_URL": "service=haul_worker"])
    for (path, sign) in [
      ("", "<html"), ("api/state", "\"monday\""),
      ("metrics", "haul_ended_jobs{state=\"completed\"} 1001"),
    ] {
      try await eventually("\(sign) at /\(path)") {
        let answer = try await ChildProcess.run(
          "curl", ["-sS", "http://127.0.0.1:\(address)/\(path)"])
        return answer.standardOutput.contains { $0.contains(sign) }
      }
    }
    page.signal(SIGTERM)
    #expect(try await page.exit() == .code(0))
    try await ftpWorkerServesItsQueue()
  }

  /// Lets the guide's commands go on after ``poolIsShown()``.
  private func goOn() async throws {
    let told = try await ChildProcess.run("bash", ["-c", "echo >'\(home.path("seen"))'"])
    #expect(told.exit == .code(0))
  }

  /// The worker with FTP gets the FTP jobs, although the other worker looks for work too.
  private func ftpWorkerServesItsQueue() async throws {
    let server = try await FTPServer()
    for name in "abcdefgh" { try server.put("\(name)", [7]) }
    for command in [
      ["submit", "--queue", "archive", "--batch", "files"]
        + "abcdefgh".map { server.url("/\($0)") },
      ["batch", "wait", "files"],
    ] {
      let output = try await ChildProcess.run(
        HaulProcess.path, command,
        environment: ["HOME": home.path, "HAUL_DATABASE_URL": "service=haul_submitter"],
        within: .seconds(60))
      #expect(output.exit == .code(0), "\(output.standardError)")
    }
  }

  /// The arguments of the guide's coordinator that listens, on another port.
  private func listening(at port: UInt16) throws -> [String] {
    let command = try #require(
      try Guide.text().firstMatch(of: /`haul (coordinator --listen 127\.0\.0\.1:)9464`/))
    return "\(command.1)\(port)".split(separator: " ").map(String.init)
  }

  /// The database has its rights and settings again, and only its owner can read the dump.
  private func databaseIsRestored(_ server: PrivatePostgres) async throws {
    let admin = try await server.database.connect()
    let settings = try await admin.query(
      """
      SELECT d.datname, concat_ws(' ', d.datacl::text, s.setconfig::text) FROM pg_database d
      LEFT JOIN pg_db_role_setting s ON s.setdatabase = d.oid
      WHERE d.datname IN ('haul', 'haul_restored') ORDER BY 1
      """
    ).map { try $0.decode(1, as: String.self) }
    await admin.close()
    #expect(settings.count == 2 && settings.first == settings.last)
    #expect(settings.first?.contains("{jit=off,idle_in_transaction_session_timeout=1min}") == true)
    let dump = try FileManager.default.attributesOfItem(atPath: home.path("haul.dump"))
    #expect(dump[.posixPermissions] as? Int == 0o600)
  }

  /// Connections fail without a certificate, without TLS, or to a server of another name.
  private func serverIsClosed(_ server: PrivatePostgres) async throws {
    for (change, words) in [
      ("", nil), ("user=haul_submit_1", nil),
      ("sslcert=/nonexistent", "connection requires a valid client certificate"),
      ("sslmode=disable", "rejects connection"),
      ("user=grafana sslmode=disable", "rejects connection"),
      ("host=other.example.org", "does not match host name"),
    ] {
      let output = try await ChildProcess.run(
        HaulProcess.path, ["check", "--database", "service=haul_worker \(change)"],
        environment: ["HOME": home.path])
      let said = output.standardOutput.joined(separator: "\n")
      #expect(
        output.exit == .code(0) ? words == nil : words.map { said.contains($0) } == true,
        "\(change): \(said)")
    }
  }

  /// A missing service, and a service whose file is missing.
  private func missingServicesAreNamed() async throws {
    for (service, file) in [
      ("nosuch", home.path(".pg_service.conf")), ("haul_worker", "/nonexistent"),
    ] {
      let output = try await ChildProcess.run(
        HaulProcess.path, ["jobs", "--database", "service=\(service)"],
        environment: ["HOME": home.path, "PGSERVICEFILE": file])
      #expect(output.exit == .code(78) && output.standardError.count == 1)
      let said = output.standardError.joined()
      #expect(said.contains("service"), "\(said)")
      #expect(
        said.hasSuffix(
          "Check the name of the service in ~/.pg_service.conf (or the file that PGSERVICEFILE names) and in the system's pg_service.conf (on Debian in /etc/postgresql-common)."
        ),
        "\(said)")
    }
  }

  /// Wrong files of libpq are configuration errors with one sentence.
  private func wrongFilesAreNamed() async throws {
    let open = try home.write(
      try String(contentsOfFile: home.path("client.key"), encoding: .utf8), to: "open.key")
    #expect(chmod(open, 0o644) == 0)
    let garbage = try home.write("no certificate\n", to: "garbage.crt")
    for (change, reason) in [
      ("sslrootcert=/nonexistent", "root certificate file \"/nonexistent\" does not exist"),
      ("sslrootcert=\(garbage)", "could not read root certificate file \"\(garbage)\""),
      ("sslkey=\(open)", "private key file \"\(open)\" has group or world access"),
      ("sslkey=/nonexistent", "but not private key file \"/nonexistent\""),
      ("sslcert=\(garbage)", "could not read certificate file \"\(garbage)\": no start line."),
      ("sslcert=\(home.path)", "could not read certificate file \"\(home.path)\": Is a directory."),
    ] {
      let output = try await ChildProcess.run(
        HaulProcess.path, ["jobs", "--database", "service=haul_worker \(change)"],
        environment: ["HOME": home.path])
      #expect(output.exit == .code(78), "\(change)")
      #expect(output.standardError.count == 1 && output.standardOutput == [], "\(change)")
      let said = output.standardError.joined()
      #expect(said.contains(reason), "\(change): \(said)")
      #expect(said.hasSuffix("--database, HAUL_DATABASE_URL or the service file."), "\(change)")
    }
  }
}
