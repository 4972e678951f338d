import HaulTransfer
import JobModel
import Testing

@testable import ListFormats

private let asCSV = "Haul reads this list as CSV"
private let asTabs = "Haul reads this list as a table with tabs"

/// Lists in the shapes that people keep them in.
struct ListShapesTests {
  /// The entries of a list as `line url > path # digest`, its problems as `line! reason`, and its notices.
  private func read(
    _ text: String, name: String = "list", _ change: (inout ListChoices) -> Void = { _ in }
  ) -> [String] {
    var choices = ListChoices()
    change(&choices)
    return items(Array(text.utf8), choices, name: name).map { item in
      switch item {
      case .entry(let entry):
        "\(entry.line) \(entry.url)" + (entry.path.map { " > \($0)" } ?? "")
          + (entry.options.digest.map { " # \($0)" } ?? "")
      case .problem(let line, let reason): "\(line)! \(reason)"
      case .notice(let text), .ignored(let text): text
      }
    }
  }

  private static let sha256 = String(repeating: "0a", count: 32)

  // MARK: - Tables

  @Test(
    arguments: [
      (
        "urls.tsv", "https://h/a.bin\nhttps://h/b.bin\n",
        ["1 https://h/a.bin", "2 https://h/b.bin"]
      ),
      (
        "urls.csv", "https://h/a.bin\nhttps://h/b.bin\n",
        ["1 https://h/a.bin", "2 https://h/b.bin", asCSV]
      ),
      (
        "list", "URL,Title\nhttps://h/a,\"x, y\"\n",
        ["2 https://h/a", "Haul ignores these columns: Title", asCSV]
      ),
      (
        "list", "sep=;\nname2;Url\nx;https://h/a\n",
        ["3 https://h/a", "Haul ignores these columns: name2", asCSV]
      ),
      (
        "list", "\"title\";\"url\"\r\n\"x; y\";\"https://h/a\"\r\n",
        ["2 https://h/a", "Haul ignores these columns: title", asCSV]
      ),
      (
        "list", "x, https://h/a\ny,https://h/b\n",
        ["1 https://h/a", "2 https://h/b", "Haul ignores these columns: 1", asCSV]
      ),
      (
        "list", "\"https://h/a\",\n\"https://h/b\",\n",
        ["1 https://h/a", "2 https://h/b", "Haul ignores these columns: 2", asCSV]
      ),
      ("list", "https://h/a,b.bin\n", ["1 https://h/a,b.bin"]),
      (
        "list", "https://h/a,\nhttps://h/b;\n",
        ["1", "2"].map {
          $0
            + "! the entry has a comma or semicolon after the URL. Use --extract to ignore this character. Write %2C or %3B if the character belongs to the URL"
        }
      ),
      (
        "urls.tsv", "url\nhttps://h/maps/@35.9,136.1,14z\nhttps://h/b\n",
        ["2 https://h/maps/@35.9,136.1,14z", "3 https://h/b", asCSV]
      ),
      (
        "list", "d/f1.pdf http://h/313192\n",
        [
          "1! the entry has a name before the URL. Use --url-column 2 --name-column 1 to read this list"
        ]
      ),
      (
        "urls.tsv",
        "# 3045 URLs\n# of a board\nts\turl\tcopy\n2014\thttp://h/i?k=1\thttps://w/h/i?k=1\n",
        ["4 http://h/i?k=1", "Haul ignores these columns: ts, copy", asTabs]
      ),
      (
        "list",
        "#Id\tVersion\tUrl\tsha256\nx\t1\thttps://h/a\t\(sha256)\n# y\nz\t2\thttps://h/b\t\n",
        [
          "2 https://h/a # sha-256=\(sha256)", "4 https://h/b",
          "Haul ignores these columns: Id, Version", asTabs,
        ]
      ),
      // As a mirror of packages for bioinformatics has it.
      (
        "urls.tsv",
        "Id\tVersion\tOS\tArch\tUrl\tsha256sum\talt\tExtension\nx\t1\tl\tx64\thttps://h/a\t\(sha256)\t\t.gz\n",
        [
          "2 https://h/a # sha-256=\(sha256)",
          "Haul ignores these columns: Id, Version, OS, Arch, alt, Extension",
          asTabs,
        ]
      ),
      ("urls.tsv", "https://h/a.bin\thttps://m/a.bin\n", ["1 https://h/a.bin"]),
      (
        "list.tsv", "id\tlink2\nx\thttps://h/a\n",
        [
          "1! no column is called url. The columns are 'id' and 'link2'. Use --url-column to choose the one with the URLs",
          asTabs,
        ]
      ),
      (
        "list", "x\thttps://h/a\thttps://h/b\n",
        ["1! columns 2 and 3 contain URLs. Use --url-column to choose one", asTabs]
      ),
      (
        "list", "https://h/a\ta.bin\nhttps://h/b\tb.bin\n",
        ["1 https://h/a", "2 https://h/b", "Haul ignores these columns: 2", asTabs]
      ),
      (
        "list", "https://h/a\nhttps://h/b\tb.bin\n",
        [
          "1 https://h/a",
          "2! the text 'b.bin' after the tab is not a URL. Use --url-column 1 to read the list as a table",
        ]
      ),
    ] as [(String, String, [String])])
  func `a table shows what it is`(name: String, text: String, expected: [String]) {
    #expect(read(text, name: name) == expected)
  }

  @Test(
    arguments: [
      ("a\tb\nx\thttps://h/a\n", "b", nil, nil, ["2 https://h/a"]),
      ("a\tB\nx\thttps://h/a\n", "b", "A", nil, ["2 https://h/a > x"]),
      ("x\thttps://h/a\n", "2", "1", nil, ["1 https://h/a > x"]),
      (
        "#Id\tVersion\tOS\tArch\tUpstream Url\tExt\tsha256sum\tOther Url\nx\t1\tl\tx64\thttps://h/a\t.gz\t\(sha256)\t\n",
        "upstream url", "Id", "7", ["2 https://h/a > x # sha-256=\(sha256)"]
      ),
      ("id\tlink\nx\thttps://h/a\n", "2", "1", nil, ["2 https://h/a > x"]),
      (
        "https://h/a a2.bin\nhttps://h/b b2.bin\n", "1", "2", nil,
        ["1 https://h/a > a2.bin", "2 https://h/b > b2.bin"]
      ),
      ("\(sha256)  https://h/a\n", "2", nil, "1", ["1 https://h/a # sha-256=\(sha256)"]),
      (
        "url,sha\nhttps://h/a,sha256:\(sha256)\nhttps://h/b,NA\n", nil, nil, "sha",
        ["2 https://h/a # sha256=\(sha256)", "3 https://h/b"]
      ),
      (
        "url,MD5\nhttps://h/a,wHENa08V36iPYAsOa2JAdw==\n", nil, nil, "md5",
        ["2 https://h/a # md5=wHENa08V36iPYAsOa2JAdw=="]
      ),
      ("url,size\nhttps://h/a,1.5 GB\n", "url", nil, nil, ["2 https://h/a"]),
      (
        "url,size\nhttps://h/a,1.5 GB\n", "adress", nil, nil,
        ["1! no column is called 'adress'. The columns are 'url' and 'size'"]
      ),
      ("x,https://h/a,https://h/b\n", "3", nil, nil, ["1 https://h/b"]),
      (
        "{\"a\":\"https://h/a\",\"n\":\"x\",\"z\":[{}]}\n", "a", "n", nil,
        ["1 https://h/a > x"]
      ),
      (
        "[{\"a\":\"https://h/a\"}]", "2", nil, nil,
        ["1! members of JSON objects have names, not numbers such as 2"]
      ),
    ] as [(String, String?, String?, String?, [String])])
  func `columns are chosen by name or number`(
    text: String, url: String?, name: String?, digest: String?, expected: [String]
  ) {
    let found = read(text) {
      $0.columns.url = url.flatMap { ListColumn($0) }
      $0.columns.name = name.flatMap { ListColumn($0) }
      $0.columns.digest = digest.flatMap { ListColumn($0) }
    }
    #expect(
      found.filter {
        !$0.hasPrefix("Haul ignores ") && !$0.hasPrefix("Haul reads ")
      } == expected)
  }

  @Test func `a column is a name or a number from 1`() {
    #expect(ListColumn("3") == .number(3) && ListColumn(" a b ") == .named("a b"))
    #expect(ListColumn("") == nil && ListColumn("0") == nil && ListColumn("99999") == nil)
  }

  /// Links and boxes of Markdown begin as arrays do.
  @Test(arguments: ["[l](https://h/a)", "[ ] https://h/a", "[1] https://h/a", "[x] https://h/a"])
  func `a line that begins with a bracket is no JSON`(line: String) {
    for text in [line, line + "\n" + line + "\n"] {
      #expect(
        read(text).first
          == "1! the entry contains more than a URL. Use --extract to extract every URL")
    }
  }

  // MARK: - JSON

  @Test(
    arguments: [
      ("[\"https://h/a\",\"https://h/b\"]", ["1 https://h/a", "1 https://h/b"]),
      (
        "[\n  \"https://h/a\",\n  {\"url\": \"https://h/b\",\n \"path\": \"x,]\"}\n]\n",
        ["2 https://h/a", "3 https://h/b > x,]"]
      ),
      (
        "\u{feff}\n{\n\"n\": 2,\n\"files\": [{\"url\":\"https://h/\\u0061\"}]\n}\n",
        ["4 https://h/a"]
      ),
      ("{\"files\":[\"https://h/a\"],\"n\":{}}", ["1 https://h/a"]),
      (
        "{\"meta\":{\"c\":1},\"files\":[{\"url\":\"https://h/a\"}]}", ["1 https://h/a"]
      ),
      (
        "[{\"url\":\"https://h/a\"}] https://h/b",
        ["1 https://h/a", "1! the list contains more text after the end of the JSON"]
      ),
      ("{\"n\":1,\"files\":[\"https://h/a\"]}\n", ["1 https://h/a"]),
      ("[]", []), ("[\n]\n", []),
      ("[\"https://h/a\"", ["1! the JSON is not complete"]),
      (
        "[\"https://h/a\", 5, {\"url\":\"https://h/b\",\"cheksum\":1}]",
        [
          "1 https://h/a", "1! the entry is not a JSON object",
          "1! 'cheksum' is not the name of a field. Did you mean 'digest'? Use --digest-column 'cheksum' to read this field as digest",
        ]
      ),
      (
        "{\n\"a\":[\"https://h/a\"],\n\"b\":[]}",
        ["2 https://h/a", "3! the JSON contains more than one list. Use jq to extract one of them"]
      ),
      (
        "{\n\"a\":{\"b\":[]}}",
        ["2! the JSON contains no list. It must be an array, or an object with one array"]
      ),
    ] as [(String, [String])])
  func `a JSON document is a list too`(text: String, expected: [String]) {
    for size in [1, 3, 1000] {
      var found: [String] = []
      for item in items(Array(text.utf8), ListChoices(), piece: size) {
        switch item {
        case .entry(let entry):
          found.append("\(entry.line) \(entry.url)" + (entry.path.map { " > \($0)" } ?? ""))
        case .problem(let line, let reason): found.append("\(line)! \(reason)")
        case .notice, .ignored: break
        }
      }
      #expect(found == expected)
    }
  }

  @Test func `an element may be longer than a piece, but not than 64 KiB`() {
    let long = String(repeating: "a", count: 64 << 10)
    #expect(
      read("[\"https://h/a\",\"\(long)\",\"https://h/b\"]") == [
        "1 https://h/a", "1! the element is longer than 64 KiB", "1 https://h/b",
        "Haul reads this list as JSON",
      ])
  }

  // MARK: - Lines

  @Test(
    arguments: [
      ("https://h/a # the first\nhttps://h/b\t# x\n", ["1 https://h/a", "2 https://h/b"]),
      ("https://h/My File.bin\n", ["1 https://h/My File.bin"]),
      ("https://h/a?q=x.y z\n", ["1 https://h/a?q=x.y z"]),
      (
        "https://h/a.bin a2.bin\n",
        [
          "1! the entry has a space after the URL. Use --url-column 1 --name-column 2 if a file name follows. Write %20 for a space in the URL"
        ]
      ),
    ] as [(String, [String])])
  func `a line is a URL, perhaps with a comment`(text: String, expected: [String]) {
    #expect(read(text) == expected)
    #expect(read(text) { $0.format = .plain }.first == expected.first)
  }

  private static let shapes = """
    - https://h/a.bin
    1. https://h/b.bin
    [link](https://h/c_(1).bin) and <https://h/d.bin>, "https://h/e.bin";
    wget -c 'https://h/f.bin' -O x
    <a href="https://h/g?x=1&amp;y=2">https://h/g</a>
    see (https://h/i.bin). {"u":"https:\\/\\/h\\/j.bin"}
    nothing here: x://y, mailto:a@h
    | `https://h/k.bin` |https://h/l.bin|

    """

  @Test func `every URL of a text is taken out of it`() {
    #expect(
      read(Self.shapes) { $0.extractsURLs = true } == [
        "1 https://h/a.bin", "2 https://h/b.bin", "3 https://h/c_(1).bin", "3 https://h/d.bin",
        "3 https://h/e.bin", "4 https://h/f.bin", "5 https://h/g?x=1&y=2", "5 https://h/g",
        "6 https://h/i.bin", "6 https://h/j.bin", "8 https://h/k.bin", "8 https://h/l.bin",
      ])
    let long = String(repeating: " https://h/a", count: 10_000)
    #expect(read(long) { $0.extractsURLs = true }.count == 10_000)
  }

  @Test(
    arguments: [
      ("- https://h/a", "the entry contains more than a URL. Use --extract"),
      ("1. https://h/a", "the entry contains more than a URL. Use --extract"),
      ("wget -c https://h/a", "the entry contains more than a URL. Use --extract"),
      ("https://h/a https://h/b", "the entry contains more than a URL. Use --extract"),
      ("<html>", "the line is HTML or XML. Use --extract to extract every URL"),
      ("\(sha256)  a.bin", "the line is from a digest list such as SHA256SUMS"),
      ("SHA256 (a.bin) = \(sha256)", "the line is from a digest list such as SHA256SUMS"),
    ])
  func `a line of another kind names the way out`(line: String, reason: String) {
    guard case .problem(line: 1, let found)? = items(line + "\n", as: nil).first else {
      Issue.record("taken")
      return
    }
    #expect(found.hasPrefix(reason), "\(found)")
  }

  @Test func `options of aria2 become headers, and a directory from the root is left out`() {
    let text = """
      https://h/a
        dir=/home/u/films
        out=x.iso
        referer=https://h/
        user-agent=Mozilla/5.0 (X)
        all-proxy=http://proxy.example.org:3128

      """
    guard case .entry(let entry)? = items(text, as: nil).first else {
      Issue.record("refused")
      return
    }
    #expect(entry.path == "x.iso")
    #expect(entry.options.headers == ["Referer: https://h/", "User-Agent: Mozilla/5.0 (X)"])
    #expect(
      items(text, as: nil).last
        == .ignored("Haul ignores these options of aria2: dir with an absolute path, all-proxy")
    )
  }
}
