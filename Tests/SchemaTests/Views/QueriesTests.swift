import Foundation
import Postgres
import TestSupport
import Testing

/// docs/queries.md: each of its queries, asked of a lively pool by a login that may only look.
struct QueriesTests {
  private static let page = repositoryRoot.appending(path: "docs/queries.md")

  /// Heading and query.
  private func queries() throws -> [(question: String, sql: String)] {
    let text = try String(contentsOf: Self.page, encoding: .utf8)
    return text.components(separatedBy: "\n## ").dropFirst().map { section in
      let sql = section.components(separatedBy: "```sql\n").dropFirst().first?
        .components(separatedBy: "```").first
      return (String(section.prefix { $0 != "\n" }), sql ?? "")
    }
  }

  /// The rows that a question must bring; `*` is a value that is there, at the end of one any rest, and an empty one is NULL.
  private static let answers: [String: [String]] = [
    "What is running, and how far is it?": [
      "4|1|machine|fast.test|fast.test/4|6000|8192|0|",
      "9|1|machine|full.test|full.test/9|0||0|",
      "3|1|machine|slow.test|slow.test/3|3000000|8000000|50000|00:01:40",
    ],
    "Who holds this job?": ["1|machine|1|*|*|*|"],
    "What has happened to this job so far?": ["1|2|machine|released|*|0|5000|||"],
    "What is stuck, and why?": [
      "refusing.test|blocked|0|2|*|rate_limited|1", "cold.test|unserved|0|4|||0",
      "full.test|full|1|1|||0",
    ],
    "Which jobs can no worker take?": ["cold|cold|1|f|0"],
    "What would draining worker 1 hand over?": [
      "3|slow.test|slow.test/3|3000000|2000000|1000000",
      "4|fast.test|fast.test/4|6000|4096|1904", "9|full.test|full.test/9|0|0|0",
    ],
    "Which workers died or fell silent?": ["2|machine|1|dead|*"],
    "Which workers have trouble with a store?": ["3|machine|{data}|data: No space left on device"],
    "Which hosts refuse us?": ["refusing.test|rate_limited|*|1|2|4|f"],
    "Which hosts were slowest today?": [
      "slow.test|1|1000000|10000", "fast.test|1|1000000|1000000",
    ],
    "What failed in the last 24 hours?": [
      "http_4xx|1|1|trouble: http_4xx", "timeout|1|1|trouble: timeout",
    ],
    "Which failures are worth a retry?": ["timeout|flaky.test|1|t"],
    "Which URLs of a batch failed for good?": [
      "7|https://gone.test/7|gone.test/7|http_4xx|trouble: http_4xx"
    ],
    "How long until a batch is done?": ["films|4|3|5006000|50000|*|*"],
    "How far is each batch?": ["films|7|2|1|0|43|"],
    "How old is the oldest waiting job of each queue?": ["data|6|*", "cold|11|*"],
    "Which jobs wait for a retry, and why?": ["5|refusing.test|*|rate_limited"],
    "Which jobs fail again and again?": ["8|2|1|{timeout,NULL}"],
    "How many bytes did resuming save this week?": ["released|2|4096|904"],
    "How long do jobs wait between two workers?": ["released|2|*|*"],
    "How much was completed, minute by minute?": ["*|2|2|2000000|33333"],
    "Which files of a batch did a refresh change today?": ["1|fast.test/1|1000000|*"],
    "Which part files wait for a worker on their machine?": [
      "12|other.test|other.test/12|7000|14000"
    ],
    "Which stores does no worker mount?": ["cold|2|nas|/cold"],
    "What needs attention?": ["stranded_lanes|cold|1|lanes|*"],
    "Which session keeps dead rows from being removed?": ["process *|*"],
    "Do all invariants hold?": ["host_in_flight|1|*"],
  ]

  /// What is there for one question alone: how it comes, and how it goes.
  private static let staged = [
    "Do all invariants hold?": (
      "UPDATE haul.host SET in_flight = 7 WHERE name = 'full.test'",
      "UPDATE haul.host SET in_flight = 1 WHERE name = 'full.test'"
    ),
    "Which files of a batch did a refresh change today?": (
      """
      INSERT INTO haul.attempt (job, token, worker, result, charged, started_at, ended_at)
      SELECT job, -1, worker, 'completed', false, started_at, ended_at FROM haul.attempt
      WHERE job = 1 AND result = 'completed'
      """, "DELETE FROM haul.attempt WHERE token = -1"
    ),
  ]

  private func fits(_ row: [String?], _ pattern: String) -> Bool {
    let wanted = pattern.components(separatedBy: "|")
    return wanted.count == row.count
      && zip(wanted, row).allSatisfy { pattern, value in
        guard pattern.last == "*" else { return pattern == value ?? "" }
        return value?.hasPrefix(pattern.dropLast()) == true
      }
  }

  @Test func `every question has its answer`() async throws {
    try await Pool.open { pool in
      try await LivelyPool.fill(pool)
      try await pool.database.withLogin("haul_monitor") { login in
        let connection = try await login.connect()
        // A session that forgot to end its transaction.
        let forgotten = try await pool.connect()
        try await forgotten.script("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")
        let queries = try queries()
        #expect(queries.count >= 20)
        #expect(Set(queries.map(\.question)) == Set(Self.answers.keys))
        for (question, sql) in queries {
          let staged = Self.staged[question]
          if let staged { try await pool.execute(staged.0) }
          let rows = try await connection.query(sql)
          let texts = try rows.map { row in
            try rows.columns.indices.map { try row.decode($0, as: String?.self) }
          }
          if let staged { try await pool.execute(staged.1) }
          let wanted = Self.answers[question] ?? []
          let said = texts.map { $0.map { $0 ?? "" }.joined(separator: "|") }
          #expect(
            wanted.count == texts.count && zip(texts, wanted).allSatisfy(fits),
            "\(question)\n\(said.joined(separator: "\n"))")
        }
        try await forgotten.script("COMMIT")
        await connection.close()
      }
    }
  }
}
