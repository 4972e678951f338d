import Foundation
import TestSupport
import Testing

/// `scripts/words` finds what readers stumble over, and nothing else.
struct WordsTests {
  /// Files of a tree, and what the script prints for them before its last line.
  struct Sample: CustomTestStringConvertible {
    let testDescription: String
    let files: [String: String]
    let findings: [String]

    init(_ name: String, _ files: [String: String], _ findings: String...) {
      (testDescription, self.files, self.findings) = (name, files, findings)
    }
  }

  private static let long = "Haul" + String(repeating: " it", count: 25)
  private static let wide = "Haul " + String(repeating: "x", count: 96)

  private static let phrases = [
    Sample(
      "a phrase on two lines has the line where it begins",
      ["README.md": "# Haul\n\nWorkers go\non with it.\n"],
      #"README.md:3: "go on with" in: Workers go on with it."#),
    Sample(
      "what is released is history",
      ["CHANGELOG.md": "## [Unreleased]\n\n- Anew.\n\n## [1.0.0]\n\n- Anew.\n"],
      #"CHANGELOG.md:3: "Anew" in: Anew."#),
    Sample(
      "an order is no manner",
      ["CONTRIBUTING.md": "In order to sort, list them in order of age. Stop it in order.\n"],
      #"CONTRIBUTING.md:1: "in order" in: Stop it in order."#),
    Sample(
      "code blocks and inline code are skipped, but no part of an item",
      ["docs/a.md": "`anew`\n\n```\nanew\n```\n\n    anew\n\n- a\n\n    anew\n"],
      #"docs/a.md:11: "anew" in: anew"#),
    Sample(
      "a sentence that begins with Of",
      ["docs/a.md": "Some\nOf these. Of\ntwo, one. Of course.\n\n- Of one.\n"],
      #"docs/a.md:2: "Of" in: Of two, one."#, #"docs/a.md:5: "Of" in: Of one."#),
    Sample("no part of a word is a phrase", ["docs/a.md": "The normal case.\n"]),
    Sample(
      "doc comments and strings of Swift, but no other comments and no code",
      [
        "Sources/A/A.swift": """
        /// All
        /// that it does.
        // anew
        let nobody = "\\(nobody): so " + "many"

        """
      ],
      #"Sources/A/A.swift:1: "All that" in: All that it does."#,
      #"Sources/A/A.swift:4: "so many" in: …: so many"#),
    Sample(
      "comments and texts of SQL, but no migrations",
      [
        "Sources/Schema/Views/a.sql":
          "-- Read by nobody.\nCOMMENT ON VIEW a IS 'what is '\n  'there';\n",
        "Sources/Schema/Migrations/1.sql": "-- anew\n",
      ],
      #"Sources/Schema/Views/a.sql:1: "nobody" in: Read by nobody."#,
      #"Sources/Schema/Views/a.sql:2: "what is there" in: what is there"#),
    Sample(
      "the status page",
      ["Sources/StatusPage/Page/page.js": "set(\"Hold still\");\nset(`${n} anew`);\n"],
      #"Sources/StatusPage/Page/page.js:1: "Hold still" in: set("Hold still");"#,
      #"Sources/StatusPage/Page/page.js:2: "anew" in: set(`${n} anew`);"#),
  ]

  private static let sentences = [
    Sample(
      "a sentence of 26 words", ["docs/a.md": "Short. \(long).\n"],
      "docs/a.md:1: 26 words: \(long)."),
    Sample("a sentence of 25 words", ["docs/a.md": "Haul \(long.dropFirst(7)).\n"]),
    Sample("inline code is one word", ["docs/a.md": "Run `\(long)`.\n"]),
    Sample(
      "items are sentences of their own",
      ["docs/a.md": "- \(long.prefix(40))\n- \(long.prefix(50))\n"]),
    Sample(
      "the texts of commands",
      [
        "Sources/haul/A.swift":
          "let a = \"\"\"\n  \(long.prefix(40)) \\\n  \(long.dropFirst(40)).\n  \"\"\"\n"
      ],
      "Sources/haul/A.swift:2: 26 words: \(long)."),
    Sample("no other strings", ["Sources/Reports/A.swift": "let a = \"\(long)\"\n"]),
    Sample(
      "generated pages", ["docs/sql.md": "\(long).\n", "docs/performance.md": "| \(long) |\n"]),
  ]

  private static let columns = [
    Sample("101 columns", ["README.md": "\(wide)\n"], "README.md:1: 101 columns"),
    Sample("100 columns", ["README.md": "\(wide.dropLast())\n"]),
    Sample(
      "what cannot be broken",
      ["README.md": "- \(wide.dropFirst(5))xxxxxxx\n- `\(wide)`\n# \(wide)\n"]),
    Sample("tables and code", ["README.md": "| \(wide) |\n\n```\n\(wide)\n```\n"]),
  ]

  private static let exceptions = [
    Sample(
      "a piece that fits",
      [
        "README.md": "Begin anew. Or anew.\n",
        "scripts/parts/words/exceptions": "# Why.\nREADME.md | Begin anew | a reason\n",
      ], #"README.md:1: "anew" in: Or anew."#),
    Sample(
      "a piece that is gone",
      ["scripts/parts/words/exceptions": "README.md | anew | a reason\n"],
      "scripts/parts/words/exceptions:1: no exception any more: README.md | anew"),
  ]

  @Test(arguments: phrases + sentences + columns + exceptions)
  func `the script prints what it finds`(_ sample: Sample) async throws {
    let directory = try TemporaryDirectory()
    for (name, text) in sample.files { try directory.write(text, to: name) }
    let output = try await ChildProcess.run(
      repositoryRoot.appending(path: "scripts/words").path, [directory.path])
    #expect(output.standardError == [])
    #expect(output.standardOutput.dropLast() == sample.findings[...])
    #expect(output.exit == .code(sample.findings.isEmpty ? 0 : 1))
  }
}
