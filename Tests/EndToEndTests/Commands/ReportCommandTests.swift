import Foundation
import Postgres
import TestSupport
import Testing

/// Files and bytes by the command of the program.
struct ReportCommandTests {
  /// Records usage of two queues, and of days that the default leaves out.
  private func fill(_ pool: HaulPool) async throws {
    try await pool.admin.execute(
      """
      INSERT INTO haul.usage (day, kind, name, files, failed, bytes, fetched)
      SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date - n.age, k.kind, k.name, k.files, 1, k.files * 1024, 2048
      FROM (VALUES (0), (1), (20)) n(age) CROSS JOIN (VALUES ('queue', 'films', 3), ('queue', 'data', 4),
        ('batch', 'say "a, b"', 2), ('batch', '', 5)) k(kind, name, files)
      """)
  }

  @Test func `a table ends with a total`() async throws {
    try await HaulPool.open { pool in
      #expect(try await pool.command("report").count == 1)
      try await fill(pool)
      let lines = try await pool.command("report")
      let words = lines.map { $0.split(separator: " ").map(String.init) }
      #expect(words.count == 4, "\(lines)")
      #expect(words[0] == ["QUEUE", "FILES", "FAILED", "BYTES", "FETCHED"])
      #expect(words[1] == ["data", "8", "2", "8.0", "KiB", "4.0", "KiB"])
      #expect(words[2] == ["films", "6", "2", "6.0", "KiB", "4.0", "KiB"])
      #expect(words[3].starts(with: ["total", "since"]), "\(lines)")
      #expect(words[3].dropFirst(3) == ["14", "4", "14.0", "KiB", "8.0", "KiB"], "\(lines)")
      let month = try await pool.command("report", "--since", "30d", "--queue", "films")
      #expect(month[1].hasPrefix("films") && month[1].contains(" 9 "), "\(month)")
      let today = try await pool.command("report", "--since", "0", "--limit", "1")
      #expect(today.count == 3 && today[2].contains(" 7 "), "\(today)")
    }
  }

  @Test func `programs get plain numbers`() async throws {
    try await HaulPool.open { pool in
      try await fill(pool)
      let json = try await pool.command("report", "--by", "batch", "--json")
      #expect(json.count == 2)
      #expect(
        json[0].hasPrefix(#"{"batch":null,"files":10,"failed":2,"bytes":10240,"fetched":4096"#),
        "\(json)")
      let csv = try await pool.command("report", "--by", "batch", "--format", "csv")
        .joined(separator: "\n").replacing("\r\n", with: "\n").replacing("\r", with: "")
      #expect(
        csv.split(separator: "\n") == [
          "batch,files,failed,bytes,fetched", ",10,2,10240,4096",
          #""say ""a, b""",4,2,4096,4096"#,
        ], "\(csv)")
      let days = try await pool.command(
        "report", "--by", "day", "--queue", "films", "--since", "30d", "--json")
      #expect(days.count == 3)
      #expect(days.allSatisfy { $0.contains(#""files":3"#) }, "\(days)")
      #expect(days == days.sorted(by: >))
    }
  }

  @Test func `a worker's file is in the report at once, and the leader adds it up`() async throws {
    try await HaulPool.open { pool in
      let origin = try OriginServer { _, reply in
        try reply.head("HTTP/1.1 200 OK\nContent-Length: 4\nETag: \"1\"")
        try reply.body("test")
      }
      try await pool.command("submit", "--batch", "b", origin.url("/a"))
      let worker = try pool.worker()
      try await pool.wait(for: 1, toBe: "completed")
      let report = try await pool.command("report", "--by", "batch", "--json")
      #expect(
        report.first?.hasPrefix(#"{"batch":"b","files":1,"failed":0,"bytes":4,"fetched":4"#)
          == true, "\(report)")
      try await eventually("a day with the file") {
        try await pool.value("SELECT count(*) FROM haul.usage WHERE files = 1") == 4
      }
      worker.signal(SIGTERM)
      _ = try await worker.exit()
      #expect(try await pool.command("report", "--by", "batch", "--json") == report)
    }
  }

  @Test(arguments: [
    (["--since", "soon"], 64, "haul report: "),
    (["--by", "planet"], 64, "haul report: "),
    (["--format", "xml"], 64, "haul report: "),
    (["--json", "--format", "csv"], 64, "haul report: you cannot use --json and --format csv"),
    (
      ["--queue", "data", "--by", "host"], 64,
      "haul report: --queue works only with --by queue and --by day."
    ),
    (
      ["--queue", "data", "--batch", "b"], 64,
      "haul report: give only one of --queue, --batch and --host."
    ),
    (["--queue", "nowhere"], 65, "haul report: there is no queue \"nowhere\""),
  ])
  func `a wrong wish gets one sentence`(
    _ arguments: [String], _ code: Int32, _ sentence: String
  ) async throws {
    try await HaulPool.open { pool in
      let output = try await pool.haul(["report"] + arguments)
      #expect(output.exit == .code(code), "\(output)")
      #expect(output.standardError.first?.hasPrefix(sentence) == true, "\(output.standardError)")
      #expect(output.standardOutput == [])
    }
  }
}
