import HaulSystem
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

  @Test func `of a path the end is left`() {
    let paths = Listing<String>([.init("PATH", key: "path", isName: true, value: { .string($0) })])
    #expect(paths.table(["host/films/a-01.iso"], on: Screen(width: 12)) == "PATH\n…/a-01.iso\n")
  }

  @Test func `on a terminal the widest column is cut until a line fits`() {
    let url = "http://example.org/" + String(repeating: "長", count: 40)
    let table = listing.table([Row(id: 1, url: url)], on: Screen(width: 40))
    #expect(table.contains("http://example.org/長長長長…"))
    for line in table.split(separator: "\n") { #expect(DisplayWidth.of(String(line)) <= 40) }
  }

  @Test func `of a long name the middle is left out`() {
    let url = "https://example.org/a/long/way/to/name.iso"
    #expect(DisplayWidth.shortened(url, to: 42) == url)
    #expect(DisplayWidth.shortened(url, to: 21) == "https://ex…o/name.iso")
    for width in 0...30 {
      for text in [url, String(repeating: "長", count: 20)] {
        let short = DisplayWidth.shortened(text, to: width)
        #expect((max(width - 2, 0)...width).contains(DisplayWidth.of(short)), "\(short)")
      }
    }
  }

  @Test func `figures are not cut, and columns go by their rank where too little room is left`() {
    let figures = Listing<Row>([
      .init("INTERRUPTED", key: "a", .right, value: { .number($0.id) }),
      .init("STORE", key: "b", rank: 1, value: { .string($0.url) }),
      .init("RATE", key: "c", .right, value: { _ in .null }, text: { _ in "123.4 MiB/s" }),
      .init("VERSION", key: "d", rank: 2, value: { .string($0.url) }),
    ])
    for width in 10...60 {
      let table = figures.table([Row(id: 12, url: "a-long-name")], on: Screen(width: width))
      let lines = table.split(separator: "\n").map(String.init)
      #expect(lines[1].contains("12  ") && lines[1].contains("123.4 MiB/s"), "\(width)")
      // 6 and 11 columns of figures, 8 of each text, and 2 between.
      #expect(lines[0].contains("STORE") == (width >= 29), "\(width)")
      #expect(lines[0].contains("VERSION") == (width >= 39), "\(width)")
      for line in lines { #expect(DisplayWidth.of(line) <= max(width, 19), "\(width)") }
    }
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
    ("a b c", 5, "a b c", ""), ("abc def", 3, "abc", "def"), ("abc def", 5, "abc", "def"),
    ("a bcdefghi", 6, "a bcde", "fghi"), ("abcdefgh ij", 5, "abcde", "fgh ij"),
    ("ab  cd", 4, "ab ", "cd"), ("日本語の", 5, "日本", "語の"),
  ])
  func `a line is broken at a space where that is not far`(
    text: String, columns: Int, first: String, rest: String
  ) {
    let broken = DisplayWidth.broken(text, at: columns)
    #expect(broken.first == first && broken.rest == rest, "\(broken)")
  }

  @Test(arguments: [
    ("a  b", 4, ["a  b"]), ("ab cd", 4, ["ab", "cd"]), ("abcde f", 4, ["abcde", "f"]),
    ("日本 語", 5, ["日本", "語"]), ("a b c", nil, ["a b c"]),
  ])
  func `a text is wrapped at its words where it does not fit`(
    text: String, columns: Int?, lines: [String]
  ) {
    #expect(DisplayWidth.wrapped(text, to: columns) == lines)
  }

  @Test(arguments: [("", 1), ("abcd", 1), ("abcde", 2), ("長長", 1), ("a長長", 2), ("長長長", 2)])
  func `a line is wrapped into rows`(line: String, rows: Int) {
    #expect(DisplayWidth.rows(of: line, columns: 4) == rows)
  }

  @Test(arguments: [
    (0, nil, "0 B"), (100, 1000, "100/1000 B"), (300 << 20, 4 << 30, "0.3/4.0 GiB"),
    (4 << 30, 4 << 30, "4.0/4.0 GiB"), (2 << 20, 1 << 20, "2.0/1.0 MiB"), (0, 0, "0 B"),
    (1_046_000, 1_047_000, "1021/1022 KiB"),
  ])
  func `how much of a file is there, in one unit`(bytes: Int64, total: Int64?, text: String) {
    #expect(HumanFormat.bytes(bytes, of: total) == text)
  }

  @Test(arguments: [
    (0, "0s"), (300, "1s"), (59_001, "1m00s"), (8_639_999_000, "99d23h"), (8_640_000_000, nil),
  ])
  func `a time to wait is rounded up, and not said when it is no use`(
    milliseconds: Int, text: String?
  ) {
    #expect(HumanFormat.timeLeft(.milliseconds(milliseconds)) == text)
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

  @Test(arguments: [
    ("2026-11-21T15:30:12.123456+00:00", "2026-11-21 15:30:12"),
    ("2026-11-21T15:30:12+00:00", "2026-11-21 15:30:12"),
    ("2026-11-21T15:30:12Z", "2026-11-21 15:30:12"),
    ("2026-11-21T16:30:12+01:00", "2026-11-21T16:30:12+01:00"), ("infinity", "infinity"),
  ])
  func `times for people`(text: String, shown: String) {
    #expect(HumanFormat.time(text) == shown)
  }

  @Test(arguments: [
    (nil as Int?, ["a bc  def"]), (4, ["a bc", "def"]), (5, ["a bc", "def"]),
    (2, ["a", "bc", "def"]),
  ])
  func `words are wrapped`(columns: Int?, lines: [String]) {
    #expect(DisplayWidth.wrapped("a bc  def", to: columns) == lines)
  }

  @Test func `a note stands below its row, wrapped and safe`() {
    let listing = Listing<Row>(
      [.init("JOB", key: "job", value: { .number($0.id) })], note: { $0.error })
    let rows = [Row(id: 1, url: "", error: "one two\u{1b} three four five"), Row(id: 2, url: "")]
    #expect(
      listing.table(rows, on: Screen(width: 26)) == """
        JOB
        1
              one two\\u001b three
              four five
        2

        """)
  }

  @Test func `ages and rates for people`() {
    #expect(HumanFormat.age(.seconds(59)) == "59s")
    #expect(HumanFormat.age(.seconds(7199)) == "1h")
    #expect(HumanFormat.age(.seconds(86_400 * 5)) == "5d")
    #expect(HumanFormat.rate(12_897_485) == "12.3 MiB/s")
  }
}
