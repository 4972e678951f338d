import Foundation
import TestSupport
import Testing

/// The links of the repository's Markdown pages. `scripts/words` checks how they are written.
struct DocumentTests {
  /// A page by its path, without the lines of fenced code.
  private struct Page {
    let path: String
    let lines: [Substring]

    init(_ path: String) throws {
      self.path = path
      let text = try String(
        contentsOf: repositoryRoot.appending(path: path), encoding: .utf8)
      var isCode = false
      lines = text.split(separator: "\n").filter { line in
        guard line.drop(while: { $0 == " " }).hasPrefix("```") else { return !isCode }
        isCode.toggle()
        return false
      }
    }

    /// The anchors of its headings, as GitHub makes them: the second of two equal ones ends in -1.
    var anchors: Set<String> {
      var counts: [String: Int] = [:]
      return Set(
        lines.compactMap { line in
          guard let heading = line.wholeMatch(of: /#+ (.*)/)?.1 else { return nil }
          let anchor = String(
            heading.lowercased().filter { $0.isLetter || $0.isNumber || " -_".contains($0) }
              .map { $0 == " " ? "-" : $0 })
          defer { counts[anchor, default: 0] += 1 }
          return counts[anchor].map { "\(anchor)-\($0)" } ?? anchor
        })
    }

    /// Its lines without inline code.
    private var texts: [String] { lines.map { String($0.replacing(/`[^`]*`/, with: "")) } }

    /// The targets of its links that lead to other files or to headings.
    var links: [String] {
      texts.flatMap { text in
        text.matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
          + text.matches(of: /^\[[^\]]+\]: (\S+)/).map { String($0.1) }
          + text.matches(of: /(?:href|src|srcset)="([^"]+)"/).map { String($0.1) }
      }.filter { !$0.contains(":") }
    }

    /// The names that links such as `[text][name]` use and no line defines.
    var undefinedNames: Set<String> {
      let used = texts.flatMap { $0.matches(of: /\]\[([^\]]+)\]/).map { String($0.1) } }
      let defined = texts.flatMap { $0.matches(of: /^\[([^\]]+)\]:/).map { String($0.1) } }
      return Set(used).subtracting(defined)
    }
  }

  /// `docs` and the pages of the root.
  private static func pages() throws -> [Page] {
    let docs = try FileManager.default.contentsOfDirectory(
      atPath: repositoryRoot.appending(path: "docs").path
    ).map { "docs/\($0)" }
    let root = try FileManager.default.contentsOfDirectory(atPath: repositoryRoot.path)
    return try (docs + root).filter { $0.hasSuffix(".md") }.sorted().map(Page.init)
  }

  @Test func `every link leads somewhere`() throws {
    let pages = try Self.pages()
    var count = 0
    for page in pages {
      #expect(page.undefinedNames == [], "\(page.path)")
      for link in page.links {
        count += 1
        let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let folder = (page.path as NSString).deletingLastPathComponent
        let target =
          parts[0].isEmpty
          ? page.path
          : NSString.path(withComponents: [folder, String(parts[0])]).replacing(
            "docs/../", with: "")
        #expect(
          FileManager.default.fileExists(atPath: repositoryRoot.appending(path: target).path),
          "\(page.path): \(link)")
        if parts.count == 2 {
          let found = pages.first { $0.path == target }?.anchors.contains(String(parts[1]))
          #expect(found == true, "\(page.path): \(link)")
        }
      }
    }
    #expect(count > 100)
  }

  /// A page that no other page names is never found.
  @Test func `every page of docs is linked from another`() throws {
    let pages = try Self.pages()
    let named = Set(
      pages.filter { $0.path != "CHANGELOG.md" }.flatMap(\.links).map {
        String($0.prefix { $0 != "#" }).replacing("docs/", with: "")
      })
    for page in pages where page.path.hasPrefix("docs/") {
      #expect(named.contains(String(page.path.dropFirst("docs/".count))), "\(page.path)")
    }
  }

  /// `scripts/docs` builds the site, and ends at a page that its navigation leaves out.
  @Test func `the navigation of the site names every page of docs`() throws {
    let file = repositoryRoot.appending(path: "scripts/parts/docs/mkdocs.yml")
    let named = try String(contentsOf: file, encoding: .utf8).matches(
      of: /(?m)^ +- [^:\n]+: (\S+\.md)$/
    ).map { String($0.1) }
    let pages = try Self.pages().map(\.path)
    let expected =
      pages.filter { $0.hasPrefix("docs/") }.map { String($0.dropFirst("docs/".count)) }
      + pages.filter { !$0.hasPrefix("docs/") }.map { $0 == "README.md" ? "index.md" : $0 }
    #expect(named.sorted() == expected.sorted())
  }
}
