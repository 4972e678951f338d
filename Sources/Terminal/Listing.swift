internal import Log

/// A list of rows for people (a table) and for programs (one JSON object a line), from one table
/// of columns.
package struct Listing<Row>: Sendable {
  /// One column.
  package struct Column: Sendable {
    package typealias Alignment = TableColumn.Alignment

    let title: String
    /// The name of its JSON member.
    package let key: String
    let alignment: Alignment
    let isPath: Bool
    /// The value of its JSON member.
    package let value: @Sendable (Row) -> JSONValue
    let text: @Sendable (Row) -> String
    let style: @Sendable (Row) -> Style?

    /// A column headed `title` whose JSON member is `key`. Without `text` the table shows the
    /// value itself: strings bare, null as `-`. Text may come from anywhere: what could steer a
    /// terminal is escaped. Where there is too little room a path, or a host, keeps what tells it from others; all else
    /// loses its end.
    package init(
      _ title: String, key: String, _ alignment: Alignment = .left, isPath: Bool = false,
      value: @escaping @Sendable (Row) -> JSONValue,
      text: (@Sendable (Row) -> String)? = nil,
      style: @escaping @Sendable (Row) -> Style? = { _ in nil }
    ) {
      self.title = title
      self.key = key
      self.alignment = alignment
      self.isPath = isPath
      self.value = value
      self.text = text ?? { Self.plain(value($0)) }
      self.style = style
    }

    /// The same column of a table that fills a screen.
    package func column(width: ClosedRange<Int>, rank: Int) -> TableColumn {
      TableColumn(title, alignment, width: width, rank: rank, isPath: isPath)
    }

    /// What stands there in it.
    package func cell(_ row: Row) -> TableCell { .text(text(row), style(row)) }

    private static func plain(_ value: JSONValue) -> String {
      switch value {
      case .null: "-"
      case .string(let text): text
      default: value.line
      }
    }
  }

  let columns: [Column]
  private let note: @Sendable (Row) -> String?

  /// A list with these columns, from left to right; in a table, `note` stands indented below its row.
  package init(
    _ columns: [Column], note: @escaping @Sendable (Row) -> String? = { _ in nil }
  ) {
    self.columns = columns
    self.note = note
  }

  /// The row as one JSON object and a line end. Nothing is cut.
  package func json(_ row: Row) -> String { JSONValue.object(members(row)).line + "\n" }

  /// The members of the row's JSON object, in the order of the columns.
  package func members(_ row: Row) -> [JSONValue.Member] {
    columns.map { .init($0.key, $0.value(row)) }
  }

  /// A heading and a line a row. On a terminal the widest columns are cut until a line fits.
  package func table(_ rows: [Row], on screen: Screen) -> String {
    let cells = rows.map { row in columns.map { SafeText.visible($0.text(row)) } }
    let widths = fitted(widths(of: cells), to: screen.width)
    var table = line(columns.map(\.title), styles: columns.map { _ in .bold }, widths, screen)
    let cutters = columns.indices.map { index in
      columns[index].isPath ? PathCutter(cells.map { $0[index] }, in: widths[index]) : nil
    }
    for (row, cells) in zip(rows, cells) {
      let cells = cells.indices.map { index in
        cutters[index]?.cut(cells[index], to: widths[index]) ?? cells[index]
      }
      table += line(cells, styles: columns.map { $0.style(row) }, widths, screen)
      if let note = note(row) { table += screen.indented(SafeText.visible(note)) }
    }
    return table
  }

  private func widths(of cells: [[String]]) -> [Int] {
    var widths = columns.map { DisplayWidth.of($0.title) }
    for row in cells {
      for (index, cell) in row.enumerated() {
        widths[index] = max(widths[index], DisplayWidth.of(cell))
      }
    }
    return widths
  }

  /// Takes from the widest column what is too much, but no column below 6.
  private func fitted(_ widths: [Int], to width: Int?) -> [Int] {
    guard let width else { return widths }
    var widths = widths
    var excess = widths.reduce(0, +) + 2 * (widths.count - 1) - width
    while excess > 0, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }),
      widths[widest] > 6
    {
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }

  private func line(
    _ cells: [String], styles: [Style?], _ widths: [Int], _ screen: Screen
  ) -> String {
    var line = ""
    for (index, cell) in cells.enumerated() {
      let text = DisplayWidth.truncated(cell, to: widths[index])
      let padding = String(repeating: " ", count: widths[index] - DisplayWidth.of(text))
      let painted = screen.paint(text, styles[index])
      let isLast = index == cells.count - 1
      switch columns[index].alignment {
      case .left: line += isLast ? painted : painted + padding
      case .right: line += padding + painted
      }
      line += isLast ? "\n" : "  "
    }
    return line
  }
}
