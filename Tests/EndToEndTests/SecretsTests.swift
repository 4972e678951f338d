import Foundation
import Glibc
import Postgres
import TestSupport
import Testing

/// What proves who asks is nowhere but in its files and on the way to its origin.
@Suite struct SecretsTests {
  private static let files = [
    "bearer", "basic", "header", "netrc", "cookie", "proxy",
  ].map { "s3cr3t-\($0)" }
  /// In the URL of a job, which the table of jobs keeps, and in that of a redirect.
  private static let inURLs = ["s3cr3t-sign", "s3cr3t-user", "s3cr3t-hop"]

  private func secret(_ text: String, _ name: String, in directory: TemporaryDirectory) throws
    -> String
  {
    let path = try directory.write(text, to: name)
    chmod(path, 0o600)
    return path
  }

  private func found(in text: String, of secrets: [String] = files + inURLs) -> [String] {
    secrets.filter { text.contains($0) }
  }

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
      let directory = try TemporaryDirectory()
      let host = "name.test:\(origin.port)"
      _ = try secret(
        "type: bearer\norigins: http://\(host)\ntoken: s3cr3t-bearer\n", "c/archive", in: directory)
      _ = try secret("type: bearer\ntoken: s3cr3t-bearer\n", "c/broken", in: directory)
      _ = try secret(
        "type: basic\norigins: http://\(host)\nuser: me\npassword: s3cr3t-basic\n", "c/films",
        in: directory)
      _ = try secret(
        "type: header\norigins: http://\(host)\nheader: X-Key: s3cr3t-header\n", "c/maps",
        in: directory)
      let netrc = try secret(
        """
        machine 127.0.0.1:\(proxy.port) login me password s3cr3t-proxy
        machine \(host) login me password s3cr3t-netrc
        """, "netrc", in: directory)
      let cookies = try secret(
        "name.test\tFALSE\t/\tFALSE\t0\tid\ts3cr3t-cookie\n", "cookies", in: directory)
      let signed = "?X-Amz-Signature=s3cr3t-sign"
      for path in ["good", "forbidden", "user", "hop", "broken", "held"] {
        try await pool.command(
          "submit", "http://\(host)/\(path)\(signed)", "--out", path, "--max-attempts", "2")
      }
      for name in ["archive", "films", "maps", "broken", "missing"] {
        try await pool.command(
          "submit", "http://\(host)/\(name)\(signed)", "--out", name, "--credential", name)
      }
      let worker = try pool.worker(
        "--credentials", directory.path("c"), "--netrc", netrc, "--cookies", cookies, "--proxy",
        "http://127.0.0.1:\(proxy.port)", "--log-level", "debug", "--on-complete", "env")
      for path in ["good", "archive", "films", "maps"] { try await wait(pool, path, "completed") }
      for path in ["forbidden", "user", "hop", "broken"] { try await wait(pool, path, "failed") }
      for path in ["missing"] { try await wait(pool, path, "scheduled") }
      try await eventually("the held transfer") {
        try await pool.value(
          "SELECT count(*) FROM haul.jobs WHERE path = 'held' AND state = 'running'")
          == 1
      }

      // Each was in use.
      let heads = proxy.asked.value.map { $0.head + ($0.password ?? "") }.joined()
      #expect(heads.contains("s3cr3t-cookie") && heads.contains("Bearer s3cr3t-bearer"))
      #expect(heads.contains("X-Key: s3cr3t-header"))
      #expect(heads.contains("Basic " + Data("me:s3cr3t-basic".utf8).base64EncodedString()))
      #expect(heads.contains("Basic " + Data("me:s3cr3t-netrc".utf8).base64EncodedString()))
      #expect(heads.contains("Basic " + Data("me:s3cr3t-proxy".utf8).base64EncodedString()))

      #expect(try processes() == [])
      try await requireCleanDatabase(pool)
      for command in [
        ["jobs"], ["jobs", "--json"], ["job", "1", "--json"], ["failures"], ["hosts", "--json"],
        ["workers", "--json"], ["batches", "--json"], ["metrics"], ["check"],
      ] {
        let output = try await pool.haul(command)
        let text = (output.standardOutput + output.standardError).joined()
        #expect(output.exit == .code(0) && found(in: text) == [], "\(command)")
      }
      gate.open()
      worker.signal(SIGTERM)
      #expect(try await worker.exit(within: .seconds(60)) == .code(0))
      let log = worker.child.output.value.standardError
      #expect(log.contains { $0.contains("X-Amz-Signature=***") }, "what the hook prints")
      #expect(log.filter { !found(in: $0).isEmpty } == [])
      #expect(
        log.filter { $0.contains(Data("me:s3cr3t".utf8).base64EncodedString().prefix(10)) } == [])
      try await requireCleanDatabase(pool)
    }
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
