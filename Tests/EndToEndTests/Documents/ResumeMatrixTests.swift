import Foundation
import TestSupport
import Testing

/// `scripts/resume-matrix`, which tells about Haul and others what the README says.
struct ResumeMatrixTests {
  /// The script's table: each case and what became of it, in the order of the tools.
  private func outcomes(of tools: String...) async throws -> [(name: String, outcomes: [String])] {
    let script = repositoryRoot.appending(path: "scripts/resume-matrix").path
    let run = try ChildProcess(
      script,
      tools.flatMap { ["--only", $0] } + ["--markdown", "--haul", HaulProcess.path])
    let output = try await run.result(within: .seconds(400))
    #expect(output.exit == .code(0), "\(output.standardError)")
    return Self.rows(of: output.standardOutput)
  }

  /// The rows of the first table in Markdown, without its head.
  private static func rows(of lines: [String]) -> [(name: String, outcomes: [String])] {
    lines.drop { !$0.hasPrefix("|") }.prefix { $0.hasPrefix("|") }.dropFirst(2).map { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      return (cells[0], Array(cells.dropFirst()))
    }
  }

  /// That curl is found wrong where it splices two versions shows that the script can tell.
  @Test func `Haul is right or refuses in every case, and curl is not`() async throws {
    let rows = try await outcomes(of: "haul", "curl")
    for row in rows {
      #expect(["right", "refused"].contains(row.outcomes.last), "\(row.name)")
    }
    let replaced = rows.first { $0.name == "replaced, same length" }
    #expect(replaced?.outcomes == ["WRONG", "right"])

    let page = try String(
      contentsOf: repositoryRoot.appending(path: "docs/resume-matrix.md"), encoding: .utf8)
    let published = Self.rows(of: page.components(separatedBy: "\n"))
    #expect(published.map(\.name) == rows.map(\.name))
    #expect(published.compactMap(\.outcomes.last) == rows.compactMap(\.outcomes.last))
  }
}
