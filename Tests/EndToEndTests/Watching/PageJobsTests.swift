import Foundation
import Glibc
import TestSupport
import Testing

/// Jobs on the page: lists by kind, and one job with its attempts.
@Suite struct PageJobsTests {
  private static let hasChromium = FileManager.default.isExecutableFile(atPath: "/usr/bin/chromium")
  private static let script = ReadmeTests.readme.deletingLastPathComponent().appending(
    path: "scripts/parts/pictures/browse"
  ).path

  private func object(_ answer: PageAnswer) throws -> [String: Any] {
    let data = Data(answer.body.joined(separator: "\n").utf8)
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  @Test func `jobs are found by kind, and one with its attempts`() async throws {
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
      let failed: Int64 = try await pool.value("SELECT job FROM haul.jobs WHERE state = 'failed'")
      func found(_ query: String) async throws -> [Int64] {
        let answer = try await page.ask("/api/jobs?\(query)")
        #expect(answer.status == "200")
        return try (#require(try object(answer)["jobs"] as? [[String: Any]])).compactMap {
          ($0["job"] as? NSNumber)?.int64Value
        }
      }
      #expect(try await found("").count == 2)
      #expect(try await found("state=failed&error=http_404&host=&batch=") == [failed])
      #expect(try await found("before=\(failed)") == [failed - 1])
      #expect(try await found("text=NON") == [failed])
      #expect(try await found("state=cancelled") == [])
      let answer = try object(try await page.ask("/api/job?id=\(failed)"))
      let job = try #require(answer["job"] as? [String: Any])
      let attempts = try #require(answer["attempts"] as? [[String: Any]])
      #expect(job["path"] as? String == "none" && job["state"] as? String == "failed")
      #expect(attempts.count == 1 && attempts[0]["result"] as? String == "failed")
    }
  }

  @Test(arguments: [
    ("/api/jobs?state=odd", "400", "Unknown state."),
    ("/api/jobs?before=x", "400", "A job id is a whole number of at least 1."),
    ("/api/jobs?batch=none", "404", "There is no such job, batch, queue or host."),
    ("/api/job", "400", "A job id is a whole number of at least 1."),
    ("/api/job?id=99", "404", "There is no such job, batch, queue or host."),
  ])
  func `a question that means nothing is answered by a sentence`(
    path: String, status: String, sentence: String
  ) async throws {
    try await HaulPool.open { pool in
      let answer = try await ListeningPage(pool).ask(path)
      #expect(answer.status == status && answer.body == [sentence])
    }
  }

  @Test func `jobs are for those who have the token`() async throws {
    try await HaulPool.open { pool in
      let directory = try TemporaryDirectory()
      let token = try directory.write("0123456789abcdef0123456789abcdef\n", to: "token")
      chmod(token, 0o600)
      let page = try await ListeningPage(pool, ["--listen-token-file", token])
      for path in ["/api/jobs", "/api/job?id=1"] {
        #expect(try await page.ask(path).status == "401")
      }
    }
  }

  @Test(.enabled(if: hasChromium, "chromium is not there"), arguments: [390, 1280])
  func `links lead from a failure to its jobs, to one of them, and back`(
    width: Int
  ) async throws {
    try await ListeningPage.withRunning { pool, _ in
      let page = try await ListeningPage(pool)
      let row = "document.querySelector('#jobs tbody th a')"
      let output = try await ChildProcess.run(
        Self.script,
        [
          page.url("/"), "--width", "\(width)",
          "--until", "!!document.querySelector('#failures tbody th a')",
          "--eval", "document.querySelector('#failures tbody th a').click()",
          "--until", "\(row)?.title === 'none'",
          "--eval", "document.querySelectorAll('#jobs tbody th').length",
          "--eval", "document.querySelector('#filter [name=state]').value",
          "--eval", "document.getElementById('view-pool').hidden",
          "--eval", "document.documentElement.scrollWidth <= innerWidth",
          "--eval", "\(row).click()",
          "--until", "document.querySelectorAll('#attempts tbody th').length === 1",
          "--eval", "document.getElementById('job-facts').textContent.includes('<img')",
          "--eval", "document.images.length + document.querySelectorAll('[onerror]').length",
          "--eval", "document.documentElement.scrollWidth <= innerWidth",
          "--eval", "document.activeElement.id",
          "--eval", "history.go(-2)",
          "--until", "!document.getElementById('view-pool').hidden",
        ])
      #expect(output.exit == .code(0), "\(output.standardOutput) \(output.standardError)")
      let said = output.standardOutput.filter { $0 != "null" }
      #expect(
        said == ["1", "\"failed\"", "true", "true", "true", "0", "true", "\"job-title\"", "[]"])
    }
  }
}
