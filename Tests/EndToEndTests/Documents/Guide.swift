import Foundation
import TestSupport

/// The operator's guide: its index, and the pages of its numbered list in their order.
enum Guide {
  /// The pages, in the order in which their commands run.
  static func pages() throws -> [URL] {
    let docs = repositoryRoot.appending(path: "docs")
    let index = try String(contentsOf: docs.appending(path: "guide.md"), encoding: .utf8)
    return index.matches(of: /(?m)^\d+\. \[[^\]]+\]\((\w+\.md)\)/).map {
      docs.appending(path: String($0.1))
    }
  }

  /// The text of all pages, one after the other.
  static func text() throws -> String {
    try pages().map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n")
  }

  /// The fenced blocks of `language` on all pages, in their order.
  static func blocks(_ language: String) throws -> [String] {
    try pages().flatMap { try ReadmeTests.blocks(language, of: $0) }
  }
}
