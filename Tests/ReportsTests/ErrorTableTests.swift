import Foundation
import HaulTransfer
import JobModel
import Postgres
import Reports
import TestSupport
import Testing
import Worker

/// One table of error classes: what the database decides by and what the documentation shows are the same.
struct ErrorTableTests {
  @Test func `the database decides by the table's words`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      for row in ErrorTable.rows {
        let rows = try await connection.query("SELECT haul.disposition($1)", [row.word.rawValue])
        #expect(
          try rows[0].decode(0, as: String.self) == row.explanation.retry.rawValue, "\(row.word)")
      }
      await connection.close()
    }
  }

  /// A word that only the database knows would stand in no documentation.
  @Test func `the database knows no word that the table has not`() async throws {
    try await withTestDatabase { database in
      let connection = try await database.connect()
      let rows = try await connection.query(
        """
        SELECT DISTINCT m[1] FROM pg_proc p, regexp_matches(p.prosrc, '''([a-z][a-z0-9_]+)''', 'g') m
        WHERE p.oid IN ('haul.disposition'::regproc)
        """)
      let words = try rows.map { try $0.decode(0, as: String.self) }
      let retries = Set(TransferError.Retry.allCases.map(\.rawValue))
      #expect(
        Set(words).subtracting(retries).subtracting(ErrorTable.rows.map(\.word.rawValue)) == [])
      await connection.close()
    }
  }

  @Test func `docs/errors.md shows the table`() throws {
    let page = repositoryRoot.appending(path: "docs/errors.md")
    let shown = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
      .filter { $0.hasPrefix("| `") }
    let expected = ErrorTable.rows.map { row in
      let explanation = row.explanation
      return "| `\(row.word)` | \(explanation.meaning) | \(explanation.advice)"
        + " | \(Self.phrase(explanation.retry)) |"
    }
    #expect(shown.map(String.init) == expected)
  }

  private static func phrase(_ retry: TransferError.Retry) -> String {
    switch retry {
    case .never: "no"
    case .job: "yes"
    case .host: "when the host is well"
    case .worker: "when a worker can"
    case .kept: "no; `haul retry` resumes it"
    }
  }

  @Test func `every class has a sentence of its own, and says what to do`() {
    let rows = ErrorTable.rows
    #expect(Set(rows.map(\.word)).count == rows.count)
    #expect(Set(rows.map(\.explanation.meaning)).count == rows.count)
    for row in rows {
      #expect(row.explanation.meaning.hasSuffix(".") && row.explanation.advice.hasSuffix("."))
      #expect(ErrorTable.advice(on: row.word) == row.explanation.advice)
    }
    #expect(ErrorTable.advice(on: "unheard_of") == nil)
  }
}
