import Foundation
import TestSupport
import Testing

@testable import Arguments
@testable import haul

/// Commands that the pages name within their sentences. `ReadmeTests`, `GuideTests` and `scripts/parts/package/three` run those
/// in blocks.
struct DocumentedCommandTests {
  /// `README.md`, every page of `docs` and those of `deploy`, with its name.
  private static func pages() throws -> [(name: String, text: String)] {
    let docs = try FileManager.default.contentsOfDirectory(
      at: repositoryRoot.appending(path: "docs"), includingPropertiesForKeys: nil)
    let others = ["README.md", "deploy/image/README.md", "deploy/kubernetes/README.md"]
    let pages =
      docs.filter { $0.pathExtension == "md" } + others.map { repositoryRoot.appending(path: $0) }
    return try pages.map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
  }

  /// What stands for a value of the reader's.
  private static let placeholders = [
    "ID": "1", "JOB": "1", "N": "1", "CLASS": "tls", "HOST": "example.org", "BATCH": "films",
  ]

  /// Why a line is none of this program's; nil where it is one, or names a command and says no more than that it needs something.
  private func fault(in line: String) -> String? {
    let words = ShellWords(line).words.dropFirst().map { Self.placeholders[$0] ?? $0 }
    switch Haul.tree.resolve(Array(words), environment: [:]) {
    case .command, .text: return nil
    case .usage(let message, _):
      let isOnlyNamed = message.hasSuffix(" is missing.") || message.contains(" needs a value ")
      return isOnlyNamed ? nil : message
    }
  }

  @Test func `what the pages name is understood`() throws {
    var count = 0
    for (name, text) in try Self.pages() {
      for match in text.matches(of: /`(haul [^`]+)`/) {
        count += 1
        if let fault = fault(in: String(match.1).replacing("\n", with: " ")) {
          Issue.record("\(name): \(match.1): \(fault)")
        }
      }
    }
    #expect(count > 50)
  }

  /// They stand in blocks to copy, and need a pool in trouble to run.
  @Test func `commands of the troubleshooting page are understood`() throws {
    let page = try #require(try Self.pages().first { $0.name == "troubleshooting.md" })
    let blocks = page.text.matches(of: /```sh\n((?s:.*?))```/)
    #expect(blocks.count > 10)
    for line in blocks.flatMap({ $0.1.split(separator: "\n") }) {
      #expect(line.hasPrefix("haul ") && fault(in: String(line)) == nil, "\(line)")
    }
  }

  @Test(arguments: ["haul jbos", "haul retry --eror tls", "haul host set h --cap many"])
  func `what is none is found`(line: String) {
    #expect(fault(in: line) != nil)
  }
}
