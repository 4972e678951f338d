import Testing

@testable import Arguments
@testable import haul

/// The pages of the manual, which say what help says.
struct ManualPageTests {
  private static let pages = Haul.tree.manualPages(date: "2026-11-22")

  /// Every command that help shows, groups too, with its page's name.
  private static func nodes(
    _ node: CommandNode = Haul.tree.root, name: String = "haul"
  ) -> [(name: String, node: CommandNode)] {
    [(name, node)]
      + node.children.filter { !$0.isHidden }.flatMap { nodes($0, name: "\(name)-\($0.name)") }
  }

  @Test func `every command has a page with its options, operands and examples`() throws {
    #expect(Self.pages.map(\.fileName) == Self.nodes().map { "\($0.name).1" })
    for (page, (name, node)) in zip(Self.pages, Self.nodes()) {
      let plain = page.text.replacing("\\-", with: "-").replacing("\\(aq", with: "'")
      for option in node.options {
        #expect(plain.contains("\\fB--\(option.long)\\fR"), "\(name) --\(option.long)")
      }
      for operand in node.operands { #expect(plain.contains("<\(operand.name)>"), "\(name)") }
      #expect(!plain.contains("__complete"))
    }
  }

  @Test func `what is text is no request and keeps its characters`() throws {
    let tree = CommandTree(
      name: "tool", version: "1.0", "Do .things.",
      discussion: """
        .SH is no heading here, nor is 'this'; C:\\dir ~ ^ `x` "y".

          $ kept  as it is
          .too
        """, [])
    let page = try #require(tree.manualPages(date: "2026-11-22").first)
    let lines = page.text.split(separator: "\n").map(String.init)
    #expect(lines.first == #".TH TOOL 1 2026-11-22 "tool 1.0""#)
    #expect(
      lines.contains(
        #"\&.SH is no heading here, nor is \(aqthis\(aq; C:\edir \(ti \(ha \(gax\(ga \(dqy\(dq."#))
    #expect(lines.contains("  $ kept  as it is") && lines.contains("  .too"))
  }
}
