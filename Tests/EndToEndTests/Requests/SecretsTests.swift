import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// What proves who asks is nowhere but in its files and on the way to its origin.
@Suite struct SecretsTests {
  private static let files = [
    "bearer", "basic", "header", "netrc", "cookie", "proxy", "sftp", "listen-token",
  ].map { "s3cr3t-\($0)" }
  /// In the URL of a job, which the table of jobs keeps, and in that of a redirect.
  private static let inURLs = ["s3cr3t-sign", "s3cr3t-user", "s3cr3t-hop"]

  /// Knows a worker by its key, which has no passphrase: Haul takes none.
  private let keyServer: SFTPServer
  private let passwordServer: PasswordSFTPServer
  /// All that is looked for: ``files``, ``inURLs`` and the lines of that key.
  private let secrets: [String]

  init() async throws {
    keyServer = try await SFTPServer()
    try keyServer.put("key", [7])
    passwordServer = try await PasswordSFTPServer(password: "s3cr3t-sftp")
    try passwordServer.put("password", [7])
    let key = try String(contentsOfFile: keyServer.key, encoding: .utf8)
    // Of its five lines the first three are of the format and, twice, the public key.
    secrets =
      Self.files + Self.inURLs
      + key.split(separator: "\n").filter { !$0.hasPrefix("-") }.dropFirst(3).map(String.init)
    #expect(secrets.count > Self.files.count + Self.inURLs.count)
  }

  private func secret(_ text: String, _ name: String, in directory: TemporaryDirectory) throws
    -> String
  {
    let path = try directory.write(text, to: name)
    chmod(path, 0o600)
    return path
  }

  private func found(in text: String) -> [String] { secrets.filter { text.contains($0) } }

  /// An origin that answers each path in a way of its own; `/held` waits for the gate.
  private func origin(_ gate: Gate) throws -> OriginServer {
    try OriginServer { request, reply in
      switch request.path {
      case "/forbidden": try reply.head("HTTP/1.1 403 Forbidden\nContent-Length: 0")
      case "/user":
        try reply.head(
          "HTTP/1.1 302 Found\nLocation: http://me:s3cr3t-user@name.test/\nContent-Length: 0")
      case "/hop":
        try reply.head(
          "HTTP/1.1 302 Found\nLocation: /forbidden?X-Amz-Signature=s3cr3t-hop\nContent-Length: 0")
      case "/broken":
        try reply.head("HTTP/1.1 200 OK\nContent-Length: 1000")
        try reply.reset()
      default:
        var whole = Representation(seed: 1, length: 1000)
        if request.path == "/held" { whole.gates = [500: gate] }
        try whole.answer(request, reply)
      }
    }
  }

  @Test func `no secret is in a row, a line, a message or what ps shows`() async throws {
    let gate = Gate("the secrets to be looked for")
    let origin = try origin(gate)
    let proxy = try ProxyServer(.http, password: "me:s3cr3t-proxy")
    try await HaulPool.open { pool in
      // What sessions ask from now on stands in the server's log, with all parameters.
      try await pool.admin.script(
        "ALTER DATABASE \"\(pool.database.name)\" SET log_statement = 'all'")
      let listener = try await pool.database.connect()
      try await listener.listen("haul")
      let directory = try TemporaryDirectory()
      let token = try secret("s3cr3t-listen-token\n", "token", in: directory)
      let page = try await ListeningPage(pool, ["--listen-token-file", token])
      let host = "name.test:\(origin.port)"
      try makeCredentials(for: host, in: directory)
      let netrc = try secret(
        """
        machine 127.0.0.1:\(proxy.port) login me password s3cr3t-proxy
        machine \(host) login me password s3cr3t-netrc
        """, "netrc", in: directory)
      let cookies = try secret(
        "name.test\tFALSE\t/\tFALSE\t0\tid\ts3cr3t-cookie\n", "cookies", in: directory)
      let signed = "?X-Amz-Signature=s3cr3t-sign"
      try await submit(to: pool, host, signed)
      let worker = try pool.worker(
        "--credentials", directory.path("c"), "--netrc", netrc, "--cookies", cookies, "--proxy",
        "http://127.0.0.1:\(proxy.port)", "--log-level", "debug", "--on-complete", "env", "--queue",
        "default")
      let files = try await bringBySFTP(pool, directory)
      for path in ["good", "archive", "films", "maps"] { try await wait(pool, path, "completed") }
      for path in ["forbidden", "user", "hop", "broken"] { try await wait(pool, path, "failed") }
      for path in ["missing"] { try await wait(pool, path, "scheduled") }
      try await untilHeld(pool)
      try requireUse(of: proxy)
      #expect(try processes() == [])
      try await requireCleanDatabase(pool)
      try await requireCleanCommands(pool)
      try await requireCleanPage(page, token: token, in: directory)
      try await requireCleanTop(pool)
      gate.open()
      for worker in [worker, files] {
        worker.signal(SIGTERM)
        #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      }
      let log = worker.child.output.value.standardError
      #expect(found(in: files.child.output.value.standardError.joined()) == [])
      #expect(log.contains { $0.contains("X-Amz-Signature=***") }, "what the hook prints")
      #expect(log.filter { !found(in: $0).isEmpty } == [])
      #expect(
        log.filter { $0.contains(Data("me:s3cr3t".utf8).base64EncodedString().prefix(10)) } == [])
      try await requireCleanDatabase(pool)
      try await pool.stop(page.process)
      #expect(found(in: page.process.child.output.value.standardError.joined()) == [])
      try await requireCleanNotifications(pool, listener)
      try await requireCleanServerLog(pool)
    }
  }

  /// Credentials of each kind for `host`, and a broken one.
  private func makeCredentials(for host: String, in directory: TemporaryDirectory) throws {
    _ = try secret(
      "type: bearer\norigins: http://\(host)\ntoken: s3cr3t-bearer\n", "c/archive", in: directory)
    _ = try secret("type: bearer\ntoken: s3cr3t-bearer\n", "c/broken", in: directory)
    _ = try secret(
      "type: basic\norigins: http://\(host)\nuser: me\npassword: s3cr3t-basic\n", "c/films",
      in: directory)
    _ = try secret(
      "type: header\norigins: http://\(host)\nheader: X-Key: s3cr3t-header\n", "c/maps",
      in: directory)
  }

  /// A job for each way in which a secret is given.
  private func submit(to pool: HaulPool, _ host: String, _ signed: String) async throws {
    for path in ["good", "forbidden", "user", "hop", "broken", "held"] {
      try await pool.command(
        "submit", "http://\(host)/\(path)\(signed)", "--out", path, "--max-attempts", "2",
        "--batch", "all")
    }
    for name in ["archive", "films", "maps", "broken", "missing"] {
      try await pool.command(
        "submit", "http://\(host)/\(name)\(signed)", "--out", name, "--credential", name)
    }
  }

  private func untilHeld(_ pool: HaulPool) async throws {
    try await eventually("the held transfer") {
      try await pool.value(
        "SELECT count(*) FROM haul.jobs WHERE path = 'held' AND state = 'running'")
        == 1
    }
  }

  /// Each secret has been sent.
  private func requireUse(of proxy: ProxyServer) throws {
    #expect(try passwordServer.passwords() == ["user s3cr3t-sftp"])
    let heads = proxy.asked.value.map { $0.head + ($0.password ?? "") }.joined()
    #expect(heads.contains("s3cr3t-cookie") && heads.contains("Bearer s3cr3t-bearer"))
    #expect(heads.contains("X-Key: s3cr3t-header"))
    #expect(heads.contains("Basic " + Data("me:s3cr3t-basic".utf8).base64EncodedString()))
    #expect(heads.contains("Basic " + Data("me:s3cr3t-netrc".utf8).base64EncodedString()))
    #expect(heads.contains("Basic " + Data("me:s3cr3t-proxy".utf8).base64EncodedString()))
  }

  /// Has a worker without a proxy, which SFTP does not go through, bring a file from each server; it runs on.
  private func bringBySFTP(
    _ pool: HaulPool, _ directory: TemporaryDirectory
  ) async throws -> HaulProcess {
    try await pool.command("queue", "create", "files", "--store", HaulPool.store)
    for (url, name) in [
      (keyServer.url("key"), "key"), (passwordServer.url("password"), "password"),
    ] {
      try await pool.command(
        "submit", url, "--out", name, "--credential", name, "--queue", "files")
    }
    let worker = try pool.worker(
      "--queue", "files", "--allow-scheme", "sftp", "--known-hosts", try knownHosts(in: directory),
      "--credentials", directory.path("c"), "--log-level", "debug")
    for path in ["key", "password"] { try await wait(pool, path, "completed") }
    return worker
  }

  /// Credentials for both SFTP servers, and a file of both their keys.
  private func knownHosts(in directory: TemporaryDirectory) throws -> String {
    _ = try secret(
      "type: ssh-key\norigins: sftp://\(keyServer.host)\nuser: \(keyServer.user)\nkey: \(keyServer.key)\n",
      "c/key", in: directory)
    _ = try secret(
      "type: basic\norigins: sftp://\(passwordServer.host)\nuser: user\npassword: s3cr3t-sftp\n",
      "c/password", in: directory)
    return try directory.write(
      [keyServer.knownHosts, passwordServer.knownHosts]
        .map { try String(contentsOfFile: $0, encoding: .utf8) }.joined(), to: "known_hosts")
  }

  private func requireCleanCommands(_ pool: HaulPool) async throws {
    for command in [
      ["jobs"], ["jobs", "--json"], ["job", "1", "--json"], ["failures"], ["hosts", "--json"],
      ["workers", "--json"], ["batches", "--json"], ["metrics"], ["check"], ["queues"],
      ["queues", "--json"], ["batch", "show", "all"], ["batch", "show", "all", "--json"],
    ] {
      let output = try await pool.haul(command)
      let text = (output.standardOutput + output.standardError).joined()
      #expect(output.exit == .code(0) && found(in: text) == [], "\(command)")
    }
  }

  /// What the page shows, and the metrics, to who has the token; curl reads it from a file, as ps would show it.
  private func requireCleanPage(
    _ page: ListeningPage, token: String, in directory: TemporaryDirectory
  ) async throws {
    let field = try secret("Authorization: Bearer s3cr3t-listen-token\n", "field", in: directory)
    for (path, sign) in [("/api/state", "\"held\""), ("/metrics", "haul_up 1"), ("/", "<html")] {
      try await eventually("\(sign) at \(path)") {
        try await page.ask(path, "-H", "@\(field)").body.contains { $0.contains(sign) }
      }
      let answer = try await page.ask(path, "-H", "@\(field)")
      let fields = answer.fields.values.joined(separator: "\n")
      #expect(found(in: answer.body.joined(separator: "\n") + fields) == [], "\(path)")
      #expect(try await page.ask(path).status != "200")
    }
  }

  /// Each of the lists of `haul top`, with what it tells of the row that is chosen.
  private func requireCleanTop(_ pool: HaulPool) async throws {
    let screen = try await TerminalScreen(
      columns: 200, rows: 50, environment: ["HAUL_DATABASE_URL": pool.database.conninfo],
      HaulProcess.path, ["top"])
    for (pane, sign) in [
      ("1", "held"), ("2", "default"), ("3", "name.test"), ("4", "alive"), ("5", "all"),
      ("6", "http_403"),
    ] {
      try await screen.type(pane)
      let content = try await screen.wait(for: "'\(sign)' in list \(pane)") { content in
        content.rows.dropFirst(2).contains { $0.contains(sign) }
      }
      #expect(found(in: content.description) == [], "\(content)")
    }
    try await screen.type("q")
  }

  /// What any login may listen to.
  private func requireCleanNotifications(_ pool: HaulPool, _ listener: Connection) async throws {
    try await pool.admin.script("NOTIFY haul, 'last'")
    var payloads: [String] = []
    for await notification in listener.notifications {
      if notification.payload == "last" { break }
      payloads.append(notification.payload)
    }
    await listener.close()
    #expect(payloads.contains { $0.hasPrefix("queues:") })
    #expect(found(in: payloads.joined(separator: "\n")) == [])
  }

  /// What PostgreSQL writes of every statement; a job's own URL comes by COPY, whose lines it does not write. Needs the server
  /// that scripts/with-postgres makes, whose log stands beside its socket, and reads what all tests beside this one have caused too.
  private func requireCleanServerLog(_ pool: HaulPool) async throws {
    let directory: String = try await pool.value(
      "SELECT current_setting('unix_socket_directories')")
    let log = String(
      decoding: try Data(contentsOf: URL(filePath: directory + "/log")), as: UTF8.self)
    #expect(log.contains("haul.work(") && log.contains("parameters: $1 = "))
    #expect(found(in: log) == [])
  }

  private func wait(_ pool: HaulPool, _ path: String, _ state: String) async throws {
    try await eventually("\(path) to be \(state)", within: .seconds(60)) {
      try await pool.value("SELECT state::text FROM haul.jobs WHERE path = $1", [path]) == state
    }
  }

  /// Command lines and environments of all processes that can be looked at, and show a secret.
  private func processes() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int32($0) != nil }
      .flatMap { pid in
        ["cmdline", "environ"].filter { name in
          let text = FileManager.default.contents(atPath: "/proc/\(pid)/\(name)") ?? Data()
          return !found(in: String(decoding: text, as: UTF8.self)).isEmpty
        }.map { "\(pid)/\($0)" }
      }
  }

  /// No table and no view of the schema shows a secret; a job's own URL is kept by the table of jobs alone.
  private func requireCleanDatabase(_ pool: HaulPool) async throws {
    let relations: [String] = try await pool.values(
      """
      SELECT c.relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = 'haul' AND c.relkind IN ('r', 'p', 'v', 'm') ORDER BY 1
      """)
    #expect(relations.count > 20)
    for relation in relations {
      let rows: [String] = try await pool.values("SELECT t::text FROM haul.\"\(relation)\" t")
      let secrets = Set(rows.flatMap { found(in: $0) })
      let isOfJobs = relation == "job" || relation.hasPrefix("job_")
      #expect(secrets == (isOfJobs && !rows.isEmpty ? ["s3cr3t-sign"] : []), "\(relation)")
    }
  }
}
