import Foundation
import TestSupport
import Testing

@testable import StatusPage

/// A file of a test's own.
struct TemporaryFile {
  private let directory: TemporaryDirectory
  let path: String

  init(_ content: String) throws {
    directory = try TemporaryDirectory()
    path = try directory.write(content, to: "file")
  }
}

struct PageTests {
  private static var state: PageState {
    PageState(
      up: false, trouble: "</script><img src=x onerror=alert(1)> & \"more\"", version: "1",
      leads: true)
  }

  @Test func `what others wrote stands in the page as text and data alone`() throws {
    let page = Page.html(Self.state)
    #expect(!page.contains("<img"))
    #expect(
      page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; &amp; &quot;more&quot;"))
    let first = try #require(page.firstMatch(of: /id="first">(.*)<\/script>/)?.1)
    #expect(!first.contains("<"))
    let data = try JSONDecoder().decode([String: Text].self, from: Data(first.utf8))
    #expect(data["trouble"]?.text == "</script><img src=x onerror=alert(1)> & \"more\"")
  }

  /// U+0600 is drawn together with what follows: `<` after it is no character by itself.
  @Test func `what is drawn together with the next sign hides it from nobody`() {
    var state = Self.state
    state.trouble = "x\u{600}</script><b>"
    let page = Page.html(state)
    for text in ["x\u{600}\\u003c/script", "x\u{600}&lt;/script&gt;&lt;b&gt;"] {
      #expect(page.contains(text))
    }
    let tags = [page, Page.html(Self.state)].map { text in
      text.unicodeScalars.count { $0 == "<" }
    }
    #expect(tags[0] == tags[1])
    let label = (MetricsFormat.escaped("\u{600}\"\r\n"), "\u{600}\\\"\r\\n")
    #expect(label.0 == label.1)
  }

  private struct Text: Decodable {
    let text: String?
    init(from decoder: any Decoder) throws {
      text = try? decoder.singleValueContainer().decode(String.self)
    }
  }

  @Test func `nothing is left to fill in, and nothing is asked of anybody else`() {
    for page in [Page.html(Self.state), Page.login("Wrong.")] {
      #expect(page.firstMatch(of: /\{\{[a-z]+\}\}/) == nil)
      #expect(
        page.matches(of: /(?:src|href|action)="([^"]*)"/).allSatisfy { match in
          ["#", "/login", "data:"].contains { match.1.hasPrefix($0) }
        })
      // The name of SVG's elements is no address that is asked for.
      #expect(!page.replacing("http://www.w3.org/2000/svg", with: "").contains("://"))
    }
  }

  @Test func `the policy allows the page's own style and script and no other`() throws {
    let page = Page.html(Self.state)
    for (tag, directive) in [("style", "style-src"), ("script", "script-src")] {
      let begin = try #require(page.range(of: "<\(tag)>"))
      let end = try #require(page.range(of: "</\(tag)>", range: begin.upperBound..<page.endIndex))
      let sha = try Sha256.base64(of: String(page[begin.upperBound..<end.lowerBound]))
      #expect(Page.policy.contains("\(directive) 'sha256-\(sha)'"))
    }
    #expect(!Page.policy.contains("unsafe") && Page.policy.contains("frame-ancestors 'none'"))
    #expect(!Page.formPolicy.contains("script-src"))
  }
}

/// By openssl, so that the page's own way of digesting is not what it is checked with.
private enum Sha256 {
  static func base64(of text: String) throws -> String {
    let file = try TemporaryFile(text)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/openssl")
    process.arguments = ["dgst", "-sha256", "-binary", file.path]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    process.waitUntilExit()
    return pipe.fileHandleForReading.readDataToEndOfFile().base64EncodedString()
  }
}
