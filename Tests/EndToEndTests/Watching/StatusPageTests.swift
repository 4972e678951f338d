import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// `haul coordinator --listen`, asked as programs and people ask.
struct StatusPageTests {
  private static let hostile = "<img src=x onerror=alert(1)>"
  @Test func `every address answers what it should`() async throws {
    try await HaulPool.open { pool in
      let page = try await ListeningPage(pool)
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
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
      for line in [
        "haul_up 1", "haul_running_jobs 1", "haul_unfinished_jobs 1",
        "haul_jobs{queue=\"default\",state=\"running\"} 1",
        "haul_jobs{queue=\"default\",state=\"queued\"} 0",
        "haul_ended_jobs{state=\"failed\"} 1", "haul_failed_jobs{error=\"http_404\"} 1",
        "haul_workers{state=\"alive\"} 1", "haul_workers{state=\"dead\"} 0",
        "haul_attempts_total{result=\"failed\"} 1", "haul_hosts{state=\"blocked\"} 0",
        "haul_queue_workers{queue=\"default\"} 1",
        "haul_queue_oldest_job_age_seconds{queue=\"default\"} 0",
        "haul_jobs_ended_total{state=\"completed\"} 0",
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
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
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

  /// Prometheus' own library for Python, in whose repository OpenMetrics has its reference parser.
  private static let library = "/usr/lib/python3/dist-packages/prometheus_client/openmetrics"
  private static let parse = """
    import sys
    from prometheus_client import parser
    from prometheus_client.openmetrics import parser as openmetrics
    kind = openmetrics if sys.argv[1] == 'openmetrics' else parser
    for family in kind.text_string_to_metric_families(sys.stdin.read()):
      assert family.documentation, family.name
      for sample in family.samples: print(sample.name, *sorted(sample.labels.items()), float(sample.value))
    """

  @Test(
    .enabled(if: FileManager.default.fileExists(atPath: library), "prometheus_client is not there"))
  func `another parser reads the same from both kinds of metrics`() async throws {
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
      try await eventually("a first reading") {
        try await page.ask("/metrics").body.contains("haul_running_jobs 1")
      }
      var names: [Set<String>] = []
      for (kind, accept) in [
        ("openmetrics", "application/openmetrics-text"), ("text", "text/plain"),
      ] {
        let directory = try TemporaryDirectory()
        let answer = try await page.ask("/metrics", "-H", "Accept: \(accept)")
        let file = try directory.write(answer.body.joined(separator: "\n") + "\n", to: "metrics")
        let read = try await ChildProcess.run(
          "bash",
          ["-c", "/usr/bin/python3 -c \"$1\" \"$2\" <\"$3\"", "bash", Self.parse, kind, file])
        #expect(read.exit == .code(0), "\(read.standardError.joined(separator: "\n"))")
        #expect(read.standardOutput.contains("haul_running_jobs 1.0"), "\(kind)")
        #expect(
          read.standardOutput.contains("haul_failed_jobs ('error', 'http_404') 1.0"), "\(kind)")
        names.append(Set(read.standardOutput.map { String($0.prefix { $0 != " " }) }))
      }
      #expect(names[0] == names[1] && names[0].count > 25)
    }
  }

  private static let root = ReadmeTests.readme.deletingLastPathComponent()

  @Test func `docs/monitoring.md and the alerts know the metrics that there are`() async throws {
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
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
    for (action, file) in [("check", "haul.rules.yml"), ("test", "haul.rules.test.yml")] {
      let output = try await ChildProcess.run(
        Self.promtool,
        [action, "rules", Self.root.appending(path: "deploy/prometheus/\(file)").path])
      #expect(output.exit == .code(0), "\(output.standardOutput + output.standardError)")
    }
  }

  @Test func `without a fitting database it lives, and says why it is not ready`() async throws {
    try await HaulPool.open { pool in
      let relay = try DatabaseRelay(to: pool.database)
      let page = try await ListeningPage(pool, ["--database", relay.conninfo])
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
      // A later version that serves none as old as this program.
      try await pool.admin.execute("INSERT INTO haul.migration VALUES (999, 'later')")
      try await pool.admin.execute(
        "CREATE OR REPLACE FUNCTION haul.oldest_served_version() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 999'"
      )
      try await eventually("a schema that does not fit") {
        try await page.ask("/readyz").body.first?.contains("use a newer Haul version") == true
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
      #expect(none.exit == .code(78) && none.standardError.last?.contains("cannot read ") == true)
      chmod(file, 0o644)
      let open = try await pool.haul(
        ["coordinator", "--listen", "0.0.0.0:0", "--listen-token-file", file])
      #expect(open.exit == .code(78))
      #expect(
        open.standardError == [
          "haul coordinator: \(file) contains secrets, but other users may read it: run 'chmod 600 \(file)'."
        ])
      chmod(file, 0o600)

      let page = try await ListeningPage(pool, ["--listen-token-file", file], listen: "0.0.0.0:0")
      #expect(try await page.ask("/metrics").status == "401")
      #expect(try await page.ask("/api/state").status == "401")
      #expect(try await page.ask("/healthz").status == "200")
      #expect(
        try await page.ask("/metrics", "-H", "Authorization: Bearer \(secret)").status == "200")
      let lead = try await page.ask("/")
      #expect(lead.status == "303" && lead.fields["location"] == "/login")
      #expect(try await page.ask("/login").body.contains { $0.contains("type=\"password\"") })
      for _ in 1...3 {
        #expect(try await page.ask("/login", "--data-urlencode", "token=wrong").status == "403")
      }
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
      let lines = page.process.child.output.value.standardError
      #expect(lines.count { $0.contains("page.refused") } == 1)
      let log = lines.joined()
      #expect(!log.contains(secret) && !log.contains(pair))
    }
  }

  @Test func `a port that is taken is named`() async throws {
    try await HaulPool.open { pool in
      let page = try await ListeningPage(pool)
      let second = try await pool.haul(["coordinator", "--listen", page.address])
      #expect(second.exit == .code(69))
      #expect(
        second.standardError.last?.contains("another program already listens on \(page.address)")
          == true)
      let foreign = try await pool.haul(["coordinator", "--listen", "127.0.0.1.1:1"])
      #expect(foreign.exit == .code(64))
    }
  }

  @Test(.enabled("any user may listen on all ports") { firstFreePort > 1 })
  func `who may not listen on a port is told so, and no more is wrong`() async throws {
    try await HaulPool.open { pool in
      // Of root's rights this is the one that counts.
      let user = geteuid() == 0 ? ["setpriv", "--bounding-set", "-net_bind_service"] : ["env"]
      let output = try await ChildProcess.run(
        user[0], user.dropFirst() + [HaulProcess.path, "coordinator", "--listen", "127.0.0.1:1"],
        environment: ["HAUL_DATABASE_URL": pool.database.conninfo])
      #expect(output.exit == .code(77))
      #expect(
        output.standardError.last
          == "haul coordinator: cannot listen on 127.0.0.1:1: Permission denied; only root may use ports below 1024: choose another port."
      )
    }
  }

  /// From this one on ports are anybody's.
  private static var firstFreePort: Int {
    let file = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
    let text = try? String(contentsOfFile: file, encoding: .utf8)
    return text.flatMap { Int($0.trimmingCharacters(in: .whitespacesAndNewlines)) } ?? 0
  }
}
