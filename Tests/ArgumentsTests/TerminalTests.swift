import Log
import Testing

@testable import Terminal

private struct Row {
  var id: Int
  var url: String
  var error: String?
}

private let listing = Listing<Row>([
  .init("JOB", key: "job", .right, value: { .number($0.id) }),
  .init("URL", key: "url", value: { .string($0.url) }),
  .init("ERROR", key: "error", value: { .text($0.error) }, style: { $0.error.map { _ in .red } }),
])

struct TerminalTests {
  @Test func `a table aligns its columns and cuts nothing for a program`() {
    let rows = [Row(id: 7, url: "http://h/a"), Row(id: 1234, url: "http://h/長い", error: "dns")]
    #expect(
      listing.table(rows, on: Screen(width: nil)) == """
         JOB  URL            ERROR
           7  http://h/a     -
        1234  http://h/長い  dns

        """)
  }

  @Test func `on a terminal the widest column is cut until a line fits`() {
    let url = "http://example.org/" + String(repeating: "長", count: 40)
    let table = listing.table([Row(id: 1, url: url)], on: Screen(width: 40))
    #expect(table.contains("http://example.org/長長長長…"))
    for line in table.split(separator: "\n") { #expect(DisplayWidth.of(String(line)) <= 40) }
  }

  @Test func `colours mark the heading and styled cells only where there are colours`() {
    let table = listing.table(
      [Row(id: 1, url: "u", error: "e")], on: Screen(width: 80, hasColors: true))
    #expect(table.contains("\u{1b}[31me\u{1b}[0m"))
    #expect(table.contains("\u{1b}[1mJOB\u{1b}[0m"))
  }

  @Test func `hostile text steers no terminal`() {
    let row = Row(id: 1, url: "http://h/\u{1b}]0;x\u{7}\n\u{202e}", error: "\u{9b}2J")
    let shown = listing.table([row], on: Screen(width: 200)) + listing.json(row)
    #expect(!shown.unicodeScalars.contains { $0 != "\n" && SafeText.isUnsafe($0) })
    #expect(shown.split(separator: "\n").count == 3)
  }

  @Test func `a row is one JSON object a line`() {
    #expect(
      listing.json(Row(id: 1, url: "http://h/\"\n", error: nil))
        == #"{"job":1,"url":"http://h/\"\n","error":null}"# + "\n")
    #expect(
      JSONValue.array([.bool(true), .double(1.5), .double(.infinity), .object([])]).line
        == "[true,1.5,null,{}]")
  }

  @Test(arguments: [
    ("abc", 3), ("köln", 4), ("ko\u{308}ln", 4), ("長い", 4), ("ｆ", 2), ("한글", 4), ("🚀", 2),
    ("🇩🇪", 2), ("❤️", 2), ("", 0), ("…", 1),
  ])
  func `width counts columns, not characters`(text: String, width: Int) {
    #expect(DisplayWidth.of(text) == width)
  }

  @Test(arguments: [("abcdef", 4, "abc…"), ("長長長", 4, "長…"), ("abc", 3, "abc"), ("ab", 0, "")])
  func `cut text ends in an ellipsis`(text: String, columns: Int, cut: String) {
    #expect(DisplayWidth.truncated(text, to: columns) == cut)
  }

  @Test(arguments: [
    (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 << 20, "1.5 GiB"),
    (120 << 20, "120 MiB"), ((1 << 20) - 1, "1.0 MiB"), (102_348, "99.9 KiB"), (102_349, "100 KiB"),
    (-1536, "-1.5 KiB"),
    (.max, "8.0 EiB"),
  ])
  func `bytes for people`(bytes: Int64, text: String) {
    #expect(HumanFormat.bytes(bytes) == text)
  }

  @Test(arguments: [
    (0, "0s"), (850, "850ms"), (12_900, "12s"), (184_000, "3m04s"), (7_500_000, "2h05m"),
    (442_800_000, "5d03h"), (-5000, "0s"),
  ])
  func `durations for people`(milliseconds: Int, text: String) {
    #expect(HumanFormat.duration(.milliseconds(milliseconds)) == text)
  }

  @Test func `ages and rates for people`() {
    #expect(HumanFormat.age(.seconds(59)) == "59s")
    #expect(HumanFormat.age(.seconds(7199)) == "1h")
    #expect(HumanFormat.age(.seconds(86_400 * 5)) == "5d")
    #expect(HumanFormat.rate(12_897_485) == "12.3 MiB/s")
  }
}
