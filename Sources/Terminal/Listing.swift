import HaulSystem

/// Prints rows as a table for people, or as one JSON object per line for programs. One set of columns describes both forms.
package struct Listing<Row>: Sendable {
  /// A column of the list.
  package struct Column: Sendable {
    package typealias Alignment = TableColumn.Alignment

    let title: String
    /// The name of the JSON member for this column.
    package let key: String
    let alignment: Alignment
    let isName: Bool
    let rank: Int
    /// Returns the value of the JSON member for this column.
    package let value: @Sendable (Row) -> JSONValue
    let text: @Sendable (Row) -> String
    let style: @Sendable (Row) -> Style?

    /// Creates a column with the heading `title` and the JSON member `key`.
    ///
    /// Without `text` the table shows the value itself: strings without quotation marks, null as `-`. Characters in the text
    /// that could control a terminal are escaped. If a table is too wide, the column with the highest `rank` is omitted first.
    /// A column of rank 0 is never omitted. If a name, such as a path or a host, is too long, the table shows the part that
    /// distinguishes the name from others. Other long text loses its end.
    package init(
      _ title: String, key: String, _ alignment: Alignment = .left, isName: Bool = false,
      rank: Int = 0,
      value: @escaping @Sendable (Row) -> JSONValue,
      text: (@Sendable (Row) -> String)? = nil,
      style: @escaping @Sendable (Row) -> Style? = { _ in nil }
    ) {
      self.title = title
      self.key = key
      self.alignment = alignment
      self.isName = isName
      self.rank = rank
      self.value = value
      self.text = text ?? { Self.plain(value($0)) }
      self.style = style
    }

    /// Returns this column for a table that fills a full screen.
    package func column(width: ClosedRange<Int>, rank: Int) -> TableColumn {
      TableColumn(title, alignment, width: width, rank: rank, isName: isName)
    }

    /// Returns the cell of this column for a row.
    package func cell(_ row: Row) -> TableCell { .text(text(row), style(row)) }

    private static func plain(_ value: JSONValue) -> String {
      switch value {
      case .null: "-"
      case .string(let text): text
      default: value.line
      }
    }
  }

  /// The columns, from left to right.
  package let columns: [Column]
  private let note: @Sendable (Row) -> String?

  /// Creates a list with these columns, from left to right. In a table, the text of `note` is indented below its row.
  package init(
    _ columns: [Column], note: @escaping @Sendable (Row) -> String? = { _ in nil }
  ) {
    self.columns = columns
    self.note = note
  }

  /// Returns the row as one JSON object and a line ending. No value is cut.
  package func json(_ row: Row) -> String { JSONValue.object(members(row)).line + "\n" }

  /// Returns the row as members of a JSON object, in the order of the columns.
  package func members(_ row: Row) -> [JSONValue.Member] {
    columns.map { .init($0.key, $0.value(row)) }
  }

  /// Returns a table: a heading, and a line for each row. On a terminal, text is cut to fit if possible. Numbers are never cut.
  package func table(_ rows: [Row], on screen: Screen) -> String {
    let cells = rows.map { row in columns.map { SafeText.visible($0.text(row)) } }
    let widths = fitted(cells, to: screen.width)
    var table = line(columns.map(\.title), styles: columns.map { _ in .bold }, widths, screen)
    let cutters = columns.indices.map { index in
      guard columns[index].isName, let width = widths[index] else { return nil as PathCutter? }
      return PathCutter(cells.map { $0[index] }, in: width)
    }
    for (row, cells) in zip(rows, cells) {
      let cells = cells.indices.map { index in
        guard let cutter = cutters[index], let width = widths[index] else { return cells[index] }
        return cutter.cut(cells[index], to: width)
      }
      table += line(cells, styles: columns.map { $0.style(row) }, widths, screen)
      if let note = note(row) { table += screen.indented(SafeText.visible(note)) }
    }
    return table
  }

  /// Returns the width of each column, or nil for a column that is left out.
  private func fitted(_ cells: [[String]], to width: Int?) -> [Int?] {
    let widest = columns.indices.map { index in
      cells.reduce(0) { max($0, DisplayWidth.of($1[index])) }
    }
    var widths = zip(columns, widest).map { max(DisplayWidth.of($0.title), $1) }
    guard let width else { return widths }
    let least = columns.indices.map { index in
      let isFigure = columns[index].alignment == .right
      return min(
        widths[index],
        isFigure ? max(widest[index], Self.narrowest.title) : Self.narrowest.text)
    }
    let shown = TableLayout.shown(columns.map(\.rank), least: least, in: width)
    var excess = TableLayout.width(of: shown.map { widths[$0] }) - width
    // Narrow the widest column first.
    while excess > 0,
      let index = columns.indices.filter({ shown.contains($0) && widths[$0] > least[$0] })
        .max(by: { widths[$0] < widths[$1] })
    {
      widths[index] -= 1
      excess -= 1
    }
    return widths.indices.map { shown.contains($0) ? widths[$0] : nil }
  }

  /// The minimum width in columns of a text, and of a title above numbers.
  private static var narrowest: (text: Int, title: Int) { (8, 6) }

  private func line(
    _ cells: [String], styles: [Style?], _ widths: [Int?], _ screen: Screen
  ) -> String {
    var line = ""
    let last = widths.lastIndex { $0 != nil }
    for (index, cell) in cells.enumerated() {
      guard let width = widths[index] else { continue }
      let text = DisplayWidth.truncated(cell, to: width)
      let padding = String(repeating: " ", count: width - DisplayWidth.of(text))
      let painted = screen.paint(text, styles[index])
      let isLast = index == last
      switch columns[index].alignment {
      case .left: line += isLast ? painted : painted + padding
      case .right: line += padding + painted
      }
      line += isLast ? "\n" : "  "
    }
    return line
  }
}
