import Foundation
import JobModel
import JobQueue
import TestSupport
import Testing

@testable import Reports

/// `docs/troubleshooting.md` quotes what the program prints.
struct TroubleshootingTests {
  /// The first cells of the table below a heading, without the table's head.
  private static func cells(_ heading: String) throws -> [String] {
    let page = repositoryRoot.appending(path: "docs/troubleshooting.md")
    let sections = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n## ")
    let section = try #require(sections.first { $0.hasPrefix(heading + "\n") })
    return section.split(separator: "\n").filter { $0.hasPrefix("| ") }.dropFirst().map { row in
      row.split(separator: "|")[0].trimmingCharacters(in: .whitespaces)
    }
  }

  /// Whether all parts of a quotation are in the text; `…` stands for words that were left out.
  private static func quotes(_ quotation: String, _ text: String) -> Bool {
    quotation.components(separatedBy: "…").allSatisfy { part in
      let words = part.trimmingCharacters(in: .whitespaces)
      return words.isEmpty || text.contains(words)
    }
  }

  @Test func `the page has each cause of haul why, in its words`() throws {
    let asked = AskedJobs(JobSelector(), words: "")
    let causes = [
      Obstacle(.silent, "worker 4 (nas, pid 7)", seconds: 14),
      Obstacle(.lost, "films", start: WorkerStart(store: "main", queue: nil), leaderless: true),
      Obstacle(.unheard, "films"), Obstacle(.paused, "films"), Obstacle(.held, "monday"),
      Obstacle(.unserved, "films"),
      Obstacle(.trouble, "worker 1", reason: "No space left on device"),
      Obstacle(.blocked, "example.org", seconds: 40, reason: "connect", due: 1),
      Obstacle(.full, "example.org", running: 4, places: 4), Obstacle(.interval, "example.org"),
      Obstacle(.limited, "films", running: 40, places: 40), Obstacle(.busy, "films"),
      Obstacle(.away, "films"), Obstacle(.early, "", seconds: 40, reason: "timeout"),
    ].flatMap { asked.causes([$0]) }
    let ends = [
      JobsStanding(counts: [(.queued, 2)]), JobsStanding(counts: [(.running, 1), (.queued, 2)]),
      JobsStanding(counts: [], ended: [(.completed, 1)]), JobsStanding(counts: []),
    ].map { $0.text(of: "") }
    let cells = try Self.cells("Why is my job not running?")
    for cell in cells {
      #expect((causes.map(\.line) + ends).contains { Self.quotes(cell, $0) }, "\(cell)")
    }
    for cause in causes {
      #expect(cells.contains { Self.quotes($0, cause.line) }, "\(cause.line)")
    }
  }

  @Test func `the classes of errors are those that there are`() throws {
    let known = Set(ErrorTable.rows.map(\.word.rawValue))
    let named = try Self.cells("A job fails again and again").flatMap { cell in
      cell.matches(of: /`(\w+)`/).map { String($0.1) }
    }
    #expect(named.count > 15)
    #expect(Set(named).subtracting(known) == [])
  }

  @Test func `the messages about the database are those that there are`() throws {
    let rows = DatabaseErrorTable.rows + [DatabaseErrorTable.unreachable]
    for cell in try Self.cells("The database cannot be reached") {
      #expect(rows.contains { Self.quotes(cell, $0.cause) }, "\(cell)")
    }
  }
}
