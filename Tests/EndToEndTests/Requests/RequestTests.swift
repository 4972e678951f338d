import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// What jobs ask for, and with what identity, from the command line to the origin.
@Suite struct RequestTests {
  private func origin(_ address: String = "127.0.0.1", redirect: String? = nil) throws
    -> OriginServer
  {
    try OriginServer(address: address) { request, reply in
      if let redirect, request.path == "/away" {
        return try reply.head("HTTP/1.1 302 Found\nLocation: \(redirect)\nContent-Length: 0")
      }
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
  }

  private func secret(_ text: String, _ name: String, in directory: TemporaryDirectory) throws
    -> String
  {
    let path = try directory.write(text, to: name)
    chmod(path, 0o600)
    return path
  }

  private func bearer(
    _ origins: String, named name: String, in directory: TemporaryDirectory
  ) throws {
    _ = try secret("type: bearer\norigins: \(origins)\ntoken: hunter2\n", name, in: directory)
  }

  @Test func `headers go to the job's own origin alone`() async throws {
    let other = try origin("127.0.0.2")
    let home = try origin(redirect: other.url("/there"))
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try await pool.command(
        "submit", home.url("/away"), "--header", "X-One: 1", "--header", "User-Agent: me", "--out",
        "a")
      let list = try directory.write(
        "\(home.url("/b"))\n  out=b\n  header=X-Two: 2\n  header=Accept: a/b\n", to: "list.txt")
      try await pool.command("submit", "-q", "-i", list, "--header", "X-One: 1")
      let shown = try await pool.command("job", "1", "--json")
      #expect(shown[0].contains("\"headers\":[\"X-One: 1\",\"User-Agent: me\"]"), "\(shown)")
      let worker = try pool.worker("--exit-when-idle", "--contact", "ops@example.org")
      #expect(try await worker.exit() == .code(0))
      let requests = home.log.value.exchanges.map(\.request)
      let away = try #require(requests.first { $0.path == "/away" })
      #expect(away[field: "X-One"] == "1" && away[field: "User-Agent"] == "me")
      let b = try #require(requests.first { $0.path == "/b" })
      #expect(b[field: "X-Two"] == "2" && b[field: "Accept"] == "a/b" && b[field: "X-One"] == nil)
      #expect(b[field: "User-Agent"] == "haul/0.1.0 (+ops@example.org)")
      let there = try #require(other.log.value.exchanges.first?.request)
      #expect(
        there[field: "X-One"] == nil && there[field: "User-Agent"]?.hasPrefix("haul/") == true)
      #expect(
        try FileTree.files(below: pool.directory).filter { !$0.hasPrefix(".haul") } == ["a", "b"])
    }
  }

  @Test func `a credential goes to its origins, and no redirect takes it along`() async throws {
    let other = try origin("127.0.0.2")
    let home = try origin(redirect: other.url("/there"))
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try bearer("http://\(home.host)", named: "archive", in: directory)
      try await pool.command("submit", home.url("/away"), "--credential", "archive", "--out", "a")
      try await pool.command("submit", other.url("/b"), "--credential", "archive", "--out", "b")
      let worker = try pool.worker("--exit-when-idle", "--credentials", directory.path)
      #expect(try await worker.exit() == .code(0))
      #expect(
        home.log.value.exchanges.map { $0.request[field: "Authorization"] } == ["Bearer hunter2"])
      #expect(other.log.value.exchanges.map(\.request.path) == ["/there"])
      #expect(other.log.value.exchanges[0].request[field: "Authorization"] == nil)
      let rows: [String] = try await pool.values(
        "SELECT path || ' ' || state || ' ' || coalesce(error, '') FROM haul.jobs ORDER BY path")
      #expect(rows == ["a completed ", "b failed blocked_credential"])
    }
  }

  @Test func `a job waits for a worker that has its credential, and pays nothing for it`()
    async throws
  {
    let home = try origin()
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      try await pool.command("queue", "set", "data", "--credential", "archive")
      try await pool.command(
        "submit", home.url("/a"), "--queue", "data", "--out", "a", "--max-attempts", "1")
      let job: Int64 = try await pool.value("SELECT id FROM haul.job")
      let poor = try pool.worker()
      let retry = try await poor.event("job.retry")
      #expect(retry[field: "error"] == "credential")
      #expect(retry[field: "message"]?.contains("without --credentials") == true)
      poor.signal(SIGTERM)
      #expect(try await poor.exit() == .code(0))
      #expect(try await pool.value("SELECT count(*) FROM haul.attempt WHERE charged") == 0)
      #expect(
        try await pool.value("SELECT failures FROM haul.hosts WHERE host = $1", [home.host]) == 0)
      #expect(home.log.value.exchanges.isEmpty)

      try bearer("http://\(home.host)", named: "archive", in: directory)
      let rich = try pool.worker("--credentials", directory.path)
      try await pool.wait(for: job, toBe: "completed", within: .seconds(60))
      #expect(home.log.value.exchanges[0].request[field: "Authorization"] == "Bearer hunter2")
      rich.signal(SIGTERM)
      #expect(try await rich.exit() == .code(0))
      #expect(try await pool.violations() == [])
    }
  }

  @Test func `what is wrong with an option ends the command, and no secret is repeated`()
    async throws
  {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let open = try directory.write("machine h login u password hunter2", to: "open")
      chmod(open, 0o644)
      let junk = try secret("hunter2", "junk", in: directory)
      let worker = ["worker", "--store", "data=\(pool.directory)"]
      let cases: [([String], Int32, String)] = [
        (["submit", "http://h/a", "--header", "Cookie: hunter2"], 64, "use a credential"),
        (["get", "http://h/a", "--header", "Cookie: hunter2"], 64, "Use --cookies for cookies"),
        (
          ["get", "http://h/a", "--header", "Authorization: hunter2"], 64,
          "--credential or --netrc for a login"
        ),
        (
          ["submit", "http://h/a", "--header", "Range: bytes=0-"], 64,
          "Haul sets this header itself"
        ),
        (["submit", "http://h/a", "--credential", "../x"], 64, "the name of a credential"),
        (worker + ["--proxy", "http://me:hunter2@h:1"], 64, "netrc"),
        (worker + ["--netrc", open], 78, "chmod 600"),
        (worker + ["--netrc", junk], 78, "not a netrc file"),
        (worker + ["--cookies", junk], 78, "not a cookie"),
        (worker + ["--ca-file", junk], 78, "no certificate"),
        (
          worker + ["--ca-file", "/nonexistent"], 78,
          "cannot read /nonexistent: No such file or directory."
        ),
        (
          worker + ["--allow-scheme", "sftp", "--known-hosts", "/nonexistent"], 78,
          "cannot read /nonexistent: No such file or directory."
        ),
        (
          worker + ["--credentials", "/nonexistent"], 78,
          "cannot read /nonexistent: No such file or directory."
        ),
        (worker + ["--credentials", junk], 78, "is not a directory of credentials."),
        (worker + ["--contact", "me"], 64, "mail address"),
      ]
      for (arguments, code, says) in cases {
        let output = try await pool.haul(arguments)
        let said = output.standardError.joined(separator: "\n")
        #expect(output.exit == .code(code), "\(arguments): \(said)")
        #expect(said.contains(says) && !said.contains("hunter2"), "\(arguments): \(said)")
      }
      let list = try directory.write(
        "{\"url\":\"http://h/a\",\"headers\":[\"Authorization: hunter2\"]}\n", to: "list.jsonl")
      let output = try await pool.haul(["submit", "-i", list])
      #expect(output.exit == .code(65))
      #expect(
        output.standardError.contains { $0.contains("the header Authorization contains a secret") })
      #expect(!output.standardError.contains { $0.contains("hunter2") })
    }
  }

  @Test func `a worker behind a proxy asks nobody else, whatever the environment says`()
    async throws
  {
    let home = try origin()
    let proxy = try ProxyServer(.http, password: "me:hunter2")
    let closed = try ClosedPort()
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let environment = [
        "http_proxy": "http://127.0.0.1:\(closed.port)",
        "all_proxy": "http://127.0.0.1:\(closed.port)",
        "no_proxy": "*",
      ]
      try await pool.submit(home.url("/direct"), to: "direct")
      let direct = try pool.worker("--exit-when-idle", environment: environment)
      #expect(try await direct.exit() == .code(0))
      #expect(try await pool.value("SELECT state::text FROM haul.jobs") == "completed")

      let netrc = try secret(
        "machine 127.0.0.1:\(proxy.port) login me password hunter2", "netrc", in: directory)
      let url = "http://name.test:\(home.port)/through"
      let job = try await pool.submit(url, to: "through")
      let through = try pool.worker(
        "--exit-when-idle", "--proxy", "http://127.0.0.1:\(proxy.port)", "--netrc", netrc,
        environment: environment)
      #expect(try await through.exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
      #expect(proxy.asked.value.map(\.target) == ["GET \(url)"])

      let socks = try ProxyServer(.socks)
      let other = try await pool.submit("http://name.test:\(home.port)/socks", to: "socks")
      let last = try pool.worker(
        "--exit-when-idle", "--proxy", "socks5h://127.0.0.1:\(socks.port)",
        environment: environment)
      #expect(try await last.exit() == .code(0))
      #expect(try await pool.state(of: other) == "completed")
      #expect(socks.asked.value.map(\.target) == ["SOCKS name.test:\(home.port)"])
    }
  }
}

@Suite(.serialized) struct GetRequestTests {
  @Test func `get goes through a proxy at a socket of the Unix domain`() async throws {
    let (place, directory) = (try await GetPlace(), try TemporaryDirectory())
    let home = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    let path = directory.path("s")
    let proxy = try ProxyServer(.socks, at: path)
    let output = try await place.get(
      "--proxy", "socks5h://localhost\(path)", "http://name.test:\(home.port)/a")
    #expect(output.exit == .code(0), "\(output.said)")
    #expect(proxy.asked.value.map(\.target) == ["SOCKS name.test:\(home.port)"])
  }

  @Test func `get sends the credential of a file to its origins alone`() async throws {
    let place = try await GetPlace()
    let answer: OriginServer.Handler = { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    let home = try OriginServer(handler: answer)
    let other = try OriginServer(address: "127.0.0.2", handler: answer)
    let directory = try TemporaryDirectory()
    let file = try directory.write(
      "type: bearer\norigins: http://\(home.host)\ntoken: hunter2\n", to: "films.token")
    chmod(file, 0o600)
    let output = try await place.get(
      "--credential", file, home.url("/a"), other.url("/b"))
    #expect(output.exit == .code(0), "\(output.standardError)")
    #expect(
      home.log.value.exchanges.first?.request[field: "Authorization"] == "Bearer hunter2")
    #expect(other.log.value.exchanges.map { $0.request[field: "Authorization"] } == [nil])
    let stray = try await place.get("--credential", file, other.url("/c"))
    #expect(stray.exit == .code(65))
    #expect(
      stray.said == [
        "haul get: the 'origins' in \(file) match none of the URLs. Nothing was downloaded."
      ])
    // In the environment it may be meant for other commands.
    for url in [other.url("/e"), home.url("/f")] {
      let exported = try await ChildProcess.run(
        HaulProcess.path, ["get", "-d", place.directory, url],
        environment: ["HAUL_STATE_DIR": place.state, "HAUL_CREDENTIAL": file])
      #expect(exported.exit == .code(0), "\(exported.said)")
    }
    #expect(
      home.log.value.exchanges.last?.request[field: "Authorization"] == "Bearer hunter2")
    chmod(file, 0o644)
    let open = try await place.get("--credential", file, home.url("/d"))
    #expect(open.exit == .code(78), "\(open.said)")
    #expect(open.said.count == 1 && open.said[0].contains("the credential films.token"))
    #expect(!open.said.contains { $0.contains("hunter2") })
  }

  /// A typed URL names the host that the entry is for. Whoever submits a job to a pool chooses its host.
  @Test func `the default entry of a netrc is for the host that was typed alone`() async throws {
    let answer: OriginServer.Handler = { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    let other = try OriginServer(address: "127.0.0.2", handler: answer)
    let home = try OriginServer { request, reply in
      if request.path == "/away" {
        return try reply.head(
          "HTTP/1.1 302 Found\nLocation: \(other.url("/there"))\nContent-Length: 0")
      }
      try answer(request, reply)
    }
    func sent(to origin: OriginServer) -> [String?] {
      origin.log.value.exchanges.map { $0.request[field: "Authorization"] }
    }
    let directory = try TemporaryDirectory()
    let netrc = try directory.write("default login me password word", to: "netrc")
    chmod(netrc, 0o600)
    let place = try await GetPlace()
    let output = try await place.get(
      "--allow-net", "127.0.0.2/32", "--netrc", netrc, home.url("/away"))
    #expect(output.exit == .code(0), "\(output.said)")
    #expect(sent(to: home) == ["Basic bWU6d29yZA=="])
    #expect(sent(to: other) == [nil])
    try await HaulPool.open { pool in
      let job = try await pool.submit(home.url("/a"), to: "a")
      let worker = try pool.worker("--exit-when-idle", "--netrc", netrc)
      #expect(try await worker.exit() == .code(0))
      #expect(try await pool.state(of: job) == "completed")
    }
    #expect(sent(to: home).last == .some(nil))
  }

  @Test func `get goes through the proxy of the environment, but for the hosts that it names`()
    async throws
  {
    let place = try await GetPlace()
    let home = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    let proxy = try ProxyServer(.http, password: "me:word")
    let url = "http://name.test:\(home.port)/a"
    let environment = [
      "HAUL_STATE_DIR": place.state, "http_proxy": "http://me:word@127.0.0.1:\(proxy.port)",
      "no_proxy": "127.0.0.1",
    ]
    for url in [url, home.url("/b")] {
      let output = try await ChildProcess.run(
        HaulProcess.path, ["get", "-d", place.directory, url], environment: environment)
      #expect(output.exit == .code(0), "\(output.said)")
    }
    #expect(proxy.asked.value.map(\.target) == ["GET \(url)"])
    #expect(home.log.value.exchanges.count == 2)
  }

  @Test func `get takes headers, cookies and a netrc along`() async throws {
    let place = try await GetPlace()
    let origin = try OriginServer { request, reply in
      try Representation(seed: 1, length: 1000).answer(request, reply)
    }
    let directory = try TemporaryDirectory()
    let netrc = try directory.write(
      "machine \(origin.host) login me password word default login x password y", to: "netrc")
    let cookies = try directory.write(
      "\u{feff}no cookie\n127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tme\n", to: "cookies")
    for path in [netrc, cookies] { chmod(path, 0o600) }
    let output = try await place.get(
      "--header", "X-One: 1", "--netrc", netrc, "--cookies", cookies, "--contact",
      "https://example.org/", origin.url("/a"))
    #expect(output.exit == .code(0), "\(output.standardError)")
    #expect(
      output.said.contains(
        "haul: \(cookies): ignored line 1, which is not a cookie in Netscape format"))
    let request = try #require(origin.log.value.exchanges.first?.request)
    #expect(request[field: "X-One"] == "1")
    #expect(request[field: "Authorization"] == "Basic bWU6d29yZA==")
    #expect(request[field: "Cookie"] == "id=me")
    #expect(request[field: "User-Agent"] == "haul/0.1.0 (+https://example.org/)")
  }
}
