import HaulSystem

/// A column of a table that fills a full screen.
package struct TableColumn: Sendable, Equatable {
  /// The side of the column on which its text is aligned.
  package enum Alignment: Sendable { case left, right }

  package let title: String
  let alignment: Alignment
  let isName: Bool
  /// The smallest and largest width in columns.
  let width: ClosedRange<Int>
  /// The column's rank. If there is too little room, the column with the highest rank is left out first. A column of rank 0 is
  /// never left out.
  let rank: Int

  /// Creates a column with the heading `title`. If a name, such as a path or a host, is too long, the column shows the part
  /// that distinguishes the name from others. Other long text loses its end.
  package init(
    _ title: String, _ alignment: Alignment = .left, width: ClosedRange<Int>, rank: Int,
    isName: Bool = false
  ) {
    self.title = title
    self.alignment = alignment
    self.width = width
    self.rank = rank
    self.isName = isName
  }
}

/// The content of a column in one row.
package enum TableCell: Sendable, Equatable {
  /// A text from any source.
  case text(String, Style? = nil)
  /// A bar that fills the given fraction of the column, from 0 to 1. Nil draws no bar.
  case bar(Double?)

  /// The text that a search compares; empty for a bar.
  package var text: String {
    switch self {
    case .text(let text, _): text
    case .bar: ""
    }
  }
}

/// The columns of a table that fit on a line, with their widths. All lines of the table use the same layout.
package struct TableLayout: Sendable {
  /// The number of blanks between two columns.
  static let gap = 2
  /// The step in which widths of text grow, so that the columns do not move each time a row comes or goes.
  private static let step = 6

  private let columns: [TableColumn]
  private let bar: ProgressBar
  /// The width of each column; nil for a column that is omitted.
  package let widths: [Int?]
  /// The cutter of each column of names, or nil for other columns.
  private let cutters: [PathCutter?]

  /// Computes the layout of the table. Lines are `width` columns wide, and `rows` are the rows to show.
  package init(
    _ columns: [TableColumn], _ rows: [[TableCell]], width: Int, hasUnicode: Bool = true
  ) {
    self.columns = columns
    bar = ProgressBar(hasUnicode: hasUnicode)
    let least = columns.map(\.width.lowerBound)
    let shown = Self.shown(columns.map(\.rank), least: least, in: width)
    let widths = Self.grown(
      columns, shown, rows, room: width - Self.width(of: shown.map { least[$0] }))
    self.widths = widths
    cutters = columns.indices.map { index in
      guard columns[index].isName, let width = widths[index] else { return nil }
      return PathCutter(rows.map { SafeText.visible($0[index].text) }, in: width)
    }
  }

  /// Returns the columns that fit into `width`. The column with the highest rank is dropped first. Columns of rank 0 are never
  /// dropped. `least` are the minimum widths.
  static func shown(_ ranks: [Int], least: [Int], in width: Int) -> Set<Int> {
    var shown = ranks.indices.sorted { ranks[$0] < ranks[$1] }
    while Self.width(of: shown.map { least[$0] }) > width, let last = shown.last, ranks[last] > 0 {
      shown.removeLast()
    }
    return Set(shown)
  }

  /// Returns the width of a line with columns of these widths.
  static func width(of widths: [Int]) -> Int { widths.reduce(gap * (widths.count - 1), +) }

  /// Returns the widths of the columns after `room` has been distributed among those that need more. In each round, each such
  /// column becomes wider by one, but a column of names by three, because names distinguish the rows.
  private static func grown(
    _ columns: [TableColumn], _ shown: Set<Int>, _ rows: [[TableCell]], room: Int
  ) -> [Int?] {
    var widths = columns.indices.map { shown.contains($0) ? columns[$0].width.lowerBound : nil }
    let wanted = columns.indices.map { wish(columns[$0], rows.map { [index = $0] in $0[index] }) }
    var room = room
    while room > 0 {
      let wanting = columns.indices.filter { index in
        widths[index].map { $0 < wanted[index] } ?? false
      }
      if wanting.isEmpty { break }
      for index in wanting {
        let width = widths[index] ?? 0
        let more = min(columns[index].isName ? 3 : 1, wanted[index] - width, room)
        widths[index] = width + more
        room -= more
      }
    }
    return widths
  }

  private static func wish(_ column: TableColumn, _ cells: [TableCell]) -> Int {
    let widest =
      cells.map { cell in
        switch cell {
        case .text(let text, _): DisplayWidth.of(SafeText.visible(text))
        case .bar: column.width.upperBound
        }
      }.max() ?? 0
    let stepped = (max(widest, DisplayWidth.of(column.title)) + step - 1) / step * step
    return min(stepped, column.width.upperBound)
  }

  /// Returns the line with the titles, with `mark` after the title of the column `marked`.
  package func heading(marked: Int, _ mark: String) -> StyledLine {
    line(
      columns.enumerated().map { index, column in
        .text(column.title + (index == marked ? mark : ""))
      }, isHeading: true)
  }

  /// Returns the line of a row with these cells.
  package func line(_ cells: [TableCell]) -> StyledLine { line(cells, isHeading: false) }

  private func line(_ cells: [TableCell], isHeading: Bool) -> StyledLine {
    var line = StyledLine()
    for (index, cell) in cells.enumerated() {
      guard let width = widths[index] else { continue }
      if line.width > 0 { line.pad(to: line.width + Self.gap) }
      let start = line.width
      switch cell {
      case .bar(let fraction): line.append(bar.line(fraction, width))
      case .text(let text, let style):
        let column = columns[index]
        let text = SafeText.visible(text)
        let cut =
          (isHeading ? nil : cutters[index])?.cut(text, to: width)
          ?? DisplayWidth.truncated(text, to: width)
        if column.alignment == .right { line.pad(to: start + width - DisplayWidth.of(cut)) }
        line.append(cut, style)
      }
      line.pad(to: start + width)
    }
    return line
  }
}
