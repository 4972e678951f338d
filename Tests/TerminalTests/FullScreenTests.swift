import TestSupport
import Testing

@testable import Terminal

struct FullScreenTests {
  private func lines(_ texts: String...) -> [StyledLine] { texts.map { StyledLine($0, .green) } }

  @Test func `only lines that differ are written`() {
    var screen = FullScreen(hasColors: false)
    let first = screen.update(lines("one", "two"), columns: 20, rows: 5)
    #expect(first.contains("one") && first.contains("two") && first.contains("\u{1b}[3;1H\u{1b}[J"))
    #expect(screen.update(lines("one", "two"), columns: 20, rows: 5) == "")
    #expect(
      screen.update(lines("one", "2"), columns: 20, rows: 5)
        == "\u{1b}[?2026h\u{1b}[2;1H2\u{1b}[K\u{1b}[?2026l")
    #expect(screen.update(lines("one", "2"), columns: 21, rows: 5).contains("one"))
    screen.invalidate()
    #expect(screen.update(lines("one", "2"), columns: 21, rows: 5).contains("one"))
  }

  @Test func `a terminal shows the lines, whatever stood there before`() async throws {
    let pane = try await Pane(columns: 30, rows: 6)
    pane.write("before\n" + FullScreen.opening)
    var screen = FullScreen(hasColors: true)
    let full = String(repeating: "x", count: 30)
    let wide = "動画" + String(repeating: "y", count: 40)
    let show = { (screen: inout FullScreen, texts: [String], rows: [String], what: String) in
      pane.write(screen.update(texts.map { StyledLine($0, .cyan) }, columns: 30, rows: 6))
      try await pane.screen.wait(for: what) { $0.rows == rows && !$0.hasCursor }
    }
    try await show(
      &screen, ["a", full, "c", "", "e", "f"], ["a", full, "c", "", "e", "f"], "six lines")
    try await show(&screen, [full, "b"], [full, "b"], "two lines")
    try await show(
      &screen, [wide, "evil\u{1b}[2J\u{7}"],
      ["動画" + String(repeating: "y", count: 25) + "…", "evil\\u001b[2J\\u0007"],
      "what is too wide and what is evil")
    pane.write(FullScreen.closing)
    try await pane.expect(["before"], "the page of before")
  }

  @Test func `without colours a reversed line is still one`() {
    var line = StyledLine("a", .bold)
    line.append(" b", .red)
    line.isReversed = true
    #expect(line.painted(hasColors: false) == "\u{1b}[7m\u{1b}[1ma\u{1b}[0m\u{1b}[7m b\u{1b}[0m")
    #expect(line.painted(hasColors: true) == "\u{1b}[7m\u{1b}[1ma\u{1b}[0m\u{1b}[7m b\u{1b}[0m")
    line.isReversed = false
    #expect(line.painted(hasColors: false) == "\u{1b}[1ma\u{1b}[0m b")
    #expect(line.painted(hasColors: true) == "\u{1b}[1ma\u{1b}[0m\u{1b}[31m b\u{1b}[0m")
  }

  @Test func `a line is cut at any width`() {
    var line = StyledLine("動画", .bold)
    line.append("abc", .red)
    let texts = (0...8).map { line.truncated(to: $0).text }
    #expect(texts == ["", "…", "…", "動…", "動…", "動画…", "動画a…", "動画abc", "動画abc"])
    for columns in 0...8 { #expect(line.truncated(to: columns).width <= columns) }
  }
}

struct SparklineTests {
  static let table: [(values: [Double], columns: Int, rows: Int, lines: [String])] = [
    ([], 4, 1, ["    "]),
    ([0, 0], 4, 1, ["    "]),
    ([1, 2, 4, 8], 4, 1, ["▁▂▄█"]),
    ([1, 1, 8, 4], 2, 1, ["█▄"]),
    ([0.001, 0, 1000], 5, 1, ["  ▁ █"]),
    ([4, 8, 16], 3, 2, ["  █", "▄██"]),
    ([5], 0, 1, [""]),
  ]

  @Test(arguments: table)
  func `amounts as blocks`(values: [Double], columns: Int, rows: Int, lines: [String]) {
    #expect(Sparkline().lines(values, columns: columns, rows: rows) == lines)
  }

  @Test func `with ASCII alone`() {
    #expect(Sparkline(hasUnicode: false).lines([1, 2, 3, 0], columns: 5, rows: 1) == [" .:| "])
  }
}

struct TableLayoutTests {
  private let columns = [
    TableColumn("NAME", width: 6...20, rank: 0, isName: true),
    TableColumn("", width: 4...8, rank: 2),
    TableColumn("SIZE", .right, width: 6...6, rank: 1),
    TableColumn("NOTE", width: 4...12, rank: 3),
  ]
  private let rows: [[TableCell]] = [
    [.text("directory/a.bin"), .bar(0.5), .text("12 B", .red), .text("動画")],
    [.text("evil\u{1b}[m"), .bar(nil), .text("1 B"), .text("")],
  ]

  static let table: [(width: Int, widths: [Int?])] = [
    (100, [18, 8, 6, 6]), (44, [18, 8, 6, 6]), (40, [15, 7, 6, 6]), (36, [12, 6, 6, 6]),
    (26, [6, 4, 6, 4]), (25, [10, 5, 6, nil]), (20, [6, 4, 6, nil]), (19, [11, nil, 6, nil]),
    (13, [13, nil, nil, nil]), (6, [6, nil, nil, nil]), (3, [6, nil, nil, nil]),
  ]

  @Test(arguments: table)
  func `columns share the room, and the least important go first`(width: Int, widths: [Int?]) {
    #expect(TableLayout(columns, rows, width: width).widths == widths)
  }

  @Test func `lines of a table`() {
    let layout = TableLayout(columns, rows, width: 30)
    let texts = [layout.heading(marked: 2, "▼").text] + rows.map { layout.line($0).text }
    #expect(
      texts == [
        "NAME               SIZE▼  NOTE",
        "…/a.bin    ━━╸──    12 B  動画",
        "evil…1b[m            1 B      ",
      ])
    let ascii = TableLayout(columns, rows, width: 30, hasUnicode: false).line(rows[0]).text
    #expect(ascii == "…/a.bin    ##=--    12 B  動画")
  }
}

struct OrderOfValuesTests {
  @Test func `null, truth, numbers, text`() {
    let sorted: [JSONValue] = [
      .null, .bool(false), .bool(true), .int(-1), .double(0.5), .int(2), .int(10), .string("a"),
      .string("b"),
    ]
    for (index, value) in sorted.enumerated() {
      for (other, second) in sorted.enumerated() {
        #expect(value.precedes(second) == (index < other), "\(value) \(second)")
      }
    }
  }
}
