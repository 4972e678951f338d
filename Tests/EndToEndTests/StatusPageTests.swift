import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// `haul coordinator --listen`, asked as programs and people ask.
struct StatusPageTests {
  private static let hostile = "<img src=x onerror=alert(1)>"

  /// A coordinator that listens on a port of its own.
  private struct Page {
    let process: HaulProcess
    let address: String

    init(_ pool: HaulPool, _ arguments: [String] = [], listen: String = "127.0.0.1:0") async throws
    {
      process = try pool.start(["coordinator", "--listen", listen] + arguments)
      let line = try await process.event("page.listening")
      address = try #require(line[field: "address"]).replacing("0.0.0.0", with: "127.0.0.1")
    }

    func url(_ path: String) -> String { "http://\(address)\(path)" }

    /// Status line, fields and body, as curl shows them.
    func ask(_ path: String, _ options: String...) async throws -> Answer {
      let output = try await ChildProcess.run(
        "curl", ["-sS", "-i", "--max-time", "20"] + options + [url(path)])
      #expect(output.exit == .code(0), "\(output.standardError)")
      return Answer(output.standardOutput.map { $0.replacing("\r", with: "") })
    }
  }

  private struct Answer {
    let status: String
    let fields: [String: String]
    let body: [String]

    init(_ lines: [String]) {
      status = lines.first.map { String($0.dropFirst("HTTP/1.1 ".count).prefix(3)) } ?? ""
      let head = lines.dropFirst().prefix { !$0.isEmpty }.map {
        $0.split(separator: ": ", maxSplits: 1)
      }
      fields = Dictionary(
        head.map { ($0[0].lowercased(), String($0.last ?? "")) },
        uniquingKeysWith: { first, _ in first })
      body = Array(lines.drop { !$0.isEmpty }.dropFirst())
    }
  }

  /// A pool with a transfer that stands half-way, whose path is a trap for a careless page, and a failed one.
  private func withRunning(_ body: (HaulPool, GatedFile) async throws -> Void) async throws {
    try await HaulPool.open { pool in
      let file = try GatedFile()
      try await pool.command(
        "submit", file.origin.url("/file"), "--out", "a/\(Self.hostile)", "--batch", Self.hostile)
      let failed = try await pool.submit(file.origin.url("/none"), to: "none")
      let worker = try pool.worker()
      _ = try await file.checkpoint(worker)
      try await pool.wait(for: failed, toBe: "failed")
      try await pool.admin.execute(
        "UPDATE haul.outcome SET message = $1 WHERE job = $2", [Self.hostile, failed])
      try await pool.admin.execute("UPDATE haul.worker SET machine = $1", [Self.hostile])
      try await body(pool, file)
      file.gate.open()
      try await pool.stop(worker)
    }
  }

  @Test func `every address answers what it should`() async throws {
    try await HaulPool.open { pool in
      let page = try await Page(pool)
      for (path, status, type) in [
        ("/", "200", "text/html; charset=utf-8"), ("/api/state", "200", "application/json"),
        ("/metrics", "200", "text/plain; version=0.0.4; charset=utf-8"),
        ("/healthz", "200", "text/plain; charset=utf-8"),
        ("/readyz", "200", "text/plain; charset=utf-8"),
        ("/none", "404", "text/plain; charset=utf-8"),
        ("/login", "404", "text/plain; charset=utf-8"),
        ("/?a=b", "200", "text/html; charset=utf-8"),
      ] {
        let answer = try await page.ask(path)
        #expect(answer.status == status, "\(path)")
        #expect(answer.fields["content-type"] == type, "\(path)")
        #expect(answer.fields["cache-control"] == "no-store")
        #expect(answer.fields["x-content-type-options"] == "nosniff")
        #expect(answer.fields["referrer-policy"] == "no-referrer")
        let policy = answer.fields["content-security-policy"] ?? ""
        #expect(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"))
      }
      let head = try await page.ask("/", "--head")
      #expect(head.status == "200" && head.body == [] && head.fields["content-length"] != "0")
      let post = try await page.ask("/", "--data", "a=b")
      #expect(post.status == "405" && post.fields["allow"] == "GET, HEAD")
      #expect(try await page.ask("/", "-H", "Host: haul.example.org").status == "403")
      #expect(try await page.ask("/", "-H", "Host: localhost").status == "200")
      let large = try await page.ask("/", "-H", "X: \(String(repeating: "a", count: 60_000))")
      #expect(large.status.hasPrefix("4"))
      page.process.signal(SIGTERM)
      #expect(try await page.process.exit() == .code(0))
    }
  }

  @Test func `metrics say what runs, and that it is the leader`() async throws {
    try await withRunning { pool, _ in
      let page = try await Page(pool)
      for line in [
        "haul_up 1", "haul_running_jobs 1", "haul_unfinished_jobs 1",
        "haul_jobs{queue=\"default\",state=\"running\"} 1",
        "haul_jobs{queue=\"default\",state=\"queued\"} 0",
        "haul_ended_jobs{state=\"failed\"} 1", "haul_failed_jobs{error=\"http_4xx\"} 1",
        "haul_workers{state=\"alive\"} 1", "haul_workers{state=\"dead\"} 0",
        "haul_attempts_total{result=\"failed\"} 1", "haul_hosts{state=\"blocked\"} 0",
        "haul_queue_workers{queue=\"default\"} 1", "haul_jobs_ended_total{state=\"completed\"} 0",
      ] {
        try await eventually("\(line)") { try await page.ask("/metrics").body.contains(line) }
      }
      let open = try await page.ask("/metrics", "-H", "Accept: application/openmetrics-text")
      #expect(
        open.fields["content-type"]?.hasPrefix("application/openmetrics-text; version=1.0.0")
          == true)
      #expect(open.body.last == "# EOF")
      // No label for what there may be many of.
      for answer in [open, try await page.ask("/metrics")] {
        #expect(!answer.body.contains { $0.contains("127.0.0.1") || $0.contains("img") })
      }
      let once = try await pool.command("metrics")
      #expect(once.contains("haul_running_jobs 1") && !once.contains("# EOF"))
    }
  }

  private static let promtool = "/usr/bin/promtool"

  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: promtool), "promtool is not there"))
  func `promtool finds nothing wrong with the metrics`() async throws {
    try await withRunning { pool, _ in
      let page = try await Page(pool)
      _ = try await page.ask("/metrics")
      let checked = try await ChildProcess.run(
        "bash",
        [
          "-c",
          "set -o pipefail; curl -sS '\(page.url("/metrics"))' | \(Self.promtool) check metrics",
        ])
      #expect(checked.exit == .code(0))
      #expect(checked.standardOutput + checked.standardError == [])
      let once = try await pool.command("metrics").joined(separator: "\n") + "\n"
      let directory = try TemporaryDirectory()
      let file = try directory.write(once, to: "haul.prom")
      let again = try await ChildProcess.run(
        "bash", ["-c", "\(Self.promtool) check metrics <'\(file)'"])
      #expect(again.exit == .code(0) && again.standardOutput + again.standardError == [])
    }
  }

  private static let root = ReadmeTests.readme.deletingLastPathComponent()

  @Test func `docs/monitoring.md and the alerts know the metrics that there are`() async throws {
    try await withRunning { pool, _ in
      let page = try await Page(pool)
      _ = try await page.ask("/metrics")
      let types = try await page.ask("/metrics").body.filter { $0.hasPrefix("# TYPE ") }
      let metrics = Set(types.map { String($0.split(separator: " ")[2]) })
      #expect(metrics.count > 25)
      let name = /haul_[a-z_]+/
      let table = try String(
        contentsOf: Self.root.appending(path: "docs/monitoring.md"), encoding: .utf8)
      let told = table.matches(of: name).map { String($0.output) }.filter { $0 != "haul_monitor" }
      #expect(Set(told) == metrics)
      let rules = try String(
        contentsOf: Self.root.appending(path: "deploy/prometheus/haul.rules.yml"), encoding: .utf8)
      #expect(Set(rules.matches(of: name).map { String($0.output) }).subtracting(metrics) == [])
    }
  }

  @Test(
    .enabled(if: FileManager.default.isExecutableFile(atPath: promtool), "promtool is not there"))
  func `promtool finds nothing wrong with the alerts`() async throws {
    let checked = try await ChildProcess.run(
      Self.promtool,
      ["check", "rules", Self.root.appending(path: "deploy/prometheus/haul.rules.yml").path])
    #expect(checked.exit == .code(0))
  }

  @Test func `without a fitting database it lives, and says why it is not ready`() async throws {
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      let page = try await Page(pool, ["--database", relay.conninfo])
      try await eventually("readiness") { try await page.ask("/readyz").status == "200" }
      relay.partition()
      try await eventually("no readiness") { try await page.ask("/readyz").status == "503" }
      #expect(try await page.ask("/healthz").status == "200")
      let metrics = try await page.ask("/metrics")
      #expect(metrics.status == "200" && metrics.body.contains("haul_up 0"))
      #expect(try await page.ask("/").status == "200")
      #expect(try await page.ask("/api/state").body.joined().contains("\"up\":false"))
      relay.restore()
      try await eventually("readiness again") { try await page.ask("/readyz").status == "200" }
      try await pool.admin.execute("INSERT INTO haul.migration VALUES (999, 'later')")
      try await eventually("a schema that does not fit") {
        try await page.ask("/readyz").body.first?.contains("use a newer haul") == true
      }
    }
  }

  /// The page reads what the metrics are made of; its coordinator needs the rights to keep house besides.
  @Test func `the metrics need no more than the rights of a monitor`() async throws {
    try await HaulPool.open { pool in
      let role = "monitor_\(pool.database.name)"
      try await pool.admin.script(
        "CREATE ROLE \"\(role)\" LOGIN; GRANT haul_monitor TO \"\(role)\"")
      let conninfo = "\(pool.database.conninfo) user=\(role)"
      #expect(try await pool.command("metrics", "--database", conninfo).contains("haul_up 1"))
      try await pool.admin.script("DROP ROLE \"\(role)\"")
    }
  }

  @Test func `other addresses than loopback need a token, and then every visitor does`()
    async throws
  {
    try await HaulPool.open { pool in
      let secret = "a-secret-of-some-length"
      let directory = try TemporaryDirectory()
      let file = try directory.write(secret + "\n", to: "token")
      let bare = try await pool.haul(["coordinator", "--listen", "0.0.0.0:0"])
      #expect(bare.exit == .code(78))
      #expect(bare.standardError.last?.contains("--listen-token-file") == true)
      let none = try await pool.haul(
        ["coordinator", "--listen", "0.0.0.0:0", "--listen-token-file", directory.path("none")])
      #expect(none.exit == .code(78) && none.standardError.last?.contains("cannot be read") == true)
      chmod(file, 0o644)
      let open = try await pool.haul(
        ["coordinator", "--listen", "0.0.0.0:0", "--listen-token-file", file])
      #expect(open.exit == .code(78))
      #expect(
        open.standardError == [
          "haul coordinator: \(file) holds secrets and others may read it: run 'chmod 600 \(file)'."
        ])
      chmod(file, 0o600)

      let page = try await Page(pool, ["--listen-token-file", file], listen: "0.0.0.0:0")
      #expect(try await page.ask("/metrics").status == "401")
      #expect(try await page.ask("/api/state").status == "401")
      #expect(try await page.ask("/healthz").status == "200")
      #expect(
        try await page.ask("/metrics", "-H", "Authorization: Bearer \(secret)").status == "200")
      let lead = try await page.ask("/")
      #expect(lead.status == "303" && lead.fields["location"] == "/login")
      #expect(try await page.ask("/login").body.contains { $0.contains("type=\"password\"") })
      #expect(try await page.ask("/login", "--data-urlencode", "token=wrong").status == "403")
      try await page.process.event("page.refused")
      let login = try await page.ask("/login", "--data-urlencode", "token=\(secret)")
      let cookie = try #require(login.fields["set-cookie"])
      #expect(login.status == "303" && cookie.contains("; HttpOnly; SameSite=Strict"))
      #expect(!cookie.contains(secret))
      let pair = String(cookie.prefix { $0 != ";" })
      #expect(try await page.ask("/", "--cookie", pair).status == "200")
      #expect(try await page.ask("/", "--cookie", pair + "0").status == "303")
      let long = try await page.ask(
        "/login", "--data", "token=" + String(repeating: "a", count: 5000))
      #expect(long.status == "413")
      let log = page.process.child.output.value.standardError.joined()
      #expect(!log.contains(secret) && !log.contains(pair))
    }
  }

  @Test func `a port that is taken is named`() async throws {
    try await HaulPool.open { pool in
      let page = try await Page(pool)
      let second = try await pool.haul(["coordinator", "--listen", page.address])
      #expect(second.exit == .code(69))
      #expect(
        second.standardError.last?.contains("another program listens on \(page.address)") == true)
      let foreign = try await pool.haul(["coordinator", "--listen", "127.0.0.1.1:1"])
      #expect(foreign.exit == .code(64))
    }
  }

  private static let hasChromium = FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium")
  private static let script = root.appending(path: "scripts/browse").path

  @Test(.enabled(if: hasChromium, "chromium is not there"), arguments: [390, 1280])
  func `a browser shows what runs, as text, and has nothing to complain of`(width: Int) async throws
  {
    try await withRunning { pool, _ in
      let page = try await Page(pool)
      // The second load begins with what the first had to ask for.
      for _ in 1...2 {
        let output = try await ChildProcess.run(
          Self.script,
          [
            page.url("/"), "--width", "\(width)",
            "--until", "document.querySelector('#running progress')?.value === 50",
            "--until",
            "document.querySelectorAll('#failures tbody th, #workers tbody th').length === 2",
            "--eval", "document.querySelector('#running tbody th .file').textContent",
            "--eval", "document.querySelector('#batches tbody th .name').textContent",
            "--eval",
            "document.querySelector('#workers tbody th .name').textContent.includes('<img')",
            "--eval", "document.querySelector('#failures tbody td:last-child span').textContent",
            "--eval", "document.images.length + document.querySelectorAll('[onerror]').length",
            "--eval", "document.documentElement.scrollWidth <= innerWidth",
            "--eval", "document.querySelector('#running progress').getAttribute('aria-label')",
            "--until", "document.getElementById('link').textContent === 'Live'",
          ])
        #expect(output.exit == .code(0), "\(output.standardOutput) \(output.standardError)")
        let hostile = "\"\(Self.hostile)\""
        #expect(
          output.standardOutput == [
            hostile, hostile, "true", hostile, "0", "true", "\"Progress of a/\(Self.hostile)\"",
            "[]",
          ])
      }
    }
  }

  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser says when the database is away, and what has become of a batch`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer(
        handler: Site(["/a": Representation(seed: 1, length: 9)]).answer)
      for path in ["/a", "/none"] {
        try await pool.command("submit", origin.url(path), "--batch", "b")
      }
      #expect(try await pool.worker("--exit-when-idle").exit() == .code(0))
      try await pool.command("submit", origin.url("/later"), "--batch", "b")
      try await pool.command("pause", "--batch", "b")
      try await pool.command("submit", origin.url("/never"), "--batch", "c")
      try await pool.command("cancel", "--batch", "c")
      let relay = try DatabaseRelay(to: pool.database)
      let page = try await Page(pool, ["--database", relay.conninfo])
      let browser = try ChildProcess(
        Self.script,
        [
          page.url("/"), "--until", "document.getElementById('link').textContent === 'Live'",
          "--until", "document.querySelector('#batches progress.some-bad') !== null",
          "--until", Self.batch(is: "paused", at: 66),
          "--until", Self.batch(is: "cancelled", at: 0),
          "--eval",
          "document.querySelector('#batches .some-bad').style.getPropertyValue('--good')",
          "--until",
          "document.getElementById('link').textContent === 'No answer from the database'",
          "--eval", "document.getElementById('link').className",
          "--until", "document.getElementById('link').textContent === 'Live'",
          "--eval", "document.body.classList.contains('stale')",
        ])
      try await browser.first("a live page", within: .seconds(60)) {
        $0.standardOutput.contains("\"50%\"") ? () : nil
      }
      relay.partition()
      try await browser.first("the loss", within: .seconds(60)) {
        $0.standardOutput.contains("\"link lost\"") ? () : nil
      }
      relay.restore()
      let output = try await browser.result(within: .seconds(90))
      #expect(output.exit == .code(0))
      #expect(output.standardOutput.prefix(3) == ["\"50%\"", "\"link lost\"", "false"])
    }
  }

  /// A batch of which the page says so, with the bar at so many of a hundred.
  private static func batch(is word: String, at value: Int) -> String {
    """
    [...document.querySelectorAll('#batches tr')].some((row) =>
      row.lastChild.textContent === '\(word)' && row.querySelector('progress').value === \(value))
    """
  }

  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser says when nobody answers any more`() async throws {
    try await HaulPool.open { pool in
      let page = try await Page(pool)
      let browser = try ChildProcess(
        Self.script,
        [
          page.url("/"), "--until", "document.getElementById('link').textContent === 'Live'",
          "--eval", "'live'",
          "--until", "document.getElementById('link').textContent.startsWith('Disconnected')",
          "--eval", "document.body.classList.contains('stale')",
          // What says so is not faded like the rest.
          "--eval", "getComputedStyle(document.getElementById('notes')).opacity",
          "--until", "Number(getComputedStyle(document.querySelector('.counts')).opacity) < 0.7",
        ])
      try await browser.first("a live page", within: .seconds(60)) {
        $0.standardOutput.contains("\"live\"") ? () : nil
      }
      page.process.signal(SIGKILL)
      let output = try await browser.result(within: .seconds(90))
      #expect(output.exit == .code(0))
      #expect(Array(output.standardOutput.dropFirst().prefix(2)) == ["true", "\"1\""])
    }
  }

  /// One that no job waits for is nobody's trouble.
  @Test(.enabled(if: hasChromium, "chromium is not there"))
  func `a browser names the blocked host where jobs wait, and counts several`() async throws {
    try await HaulPool.open { pool in
      let waiting = "waiting.mirrors.example.org"
      try await pool.command("submit", "http://\(waiting)/a", "http://done/a")
      try await pool.command("cancel", "2")
      for host in [waiting, "done"] { try await pool.command("host", "block", host) }
      let page = try await Page(pool)
      let who = "The host \(waiting), which jobs wait for, is"
      let name =
        "[...document.querySelectorAll('#hosts .name')].find((e) => e.title === '\(waiting)')"
      let one = try await ChildProcess.run(
        Self.script,
        [
          page.url("/"), "--width", "390", "--until", Self.note("\(who) blocked"),
          // More than one line of it, and each label on one.
          "--eval", "\(name).offsetHeight > 1.5 * parseFloat(getComputedStyle(\(name)).lineHeight)",
          "--eval", "\(name).textContent", "--eval", Self.rows(of: name),
        ])
      #expect(one.exit == .code(0), "\(one.standardOutput) \(one.standardError)")
      #expect(
        one.standardOutput == ["true", "\"\(waiting)\"", "[1, 1, 1, 1]", "[]"])
      try await pool.command("submit", "http://other/a")
      try await pool.command("host", "block", "other")
      let two = try await ChildProcess.run(
        Self.script,
        [page.url("/"), "--until", Self.note("2 hosts with jobs that wait are blocked")])
      #expect(two.exit == .code(0), "\(two.standardOutput) \(two.standardError)")
    }
  }

  /// That the page says so.
  private static func note(_ text: String) -> String {
    let text = "\(text): nothing starts there for now."
    return
      "[...document.querySelectorAll('#notes li')].some((note) => note.textContent === '\(text)')"
  }

  /// How many lines each text of an element takes.
  private static func rows(of element: String) -> String {
    """
    [...\(element).childNodes].filter((node) => node.nodeType === 3).map((node) => {
      const range = document.createRange();
      range.selectNode(node);
      return range.getClientRects().length;
    })
    """
  }
}
