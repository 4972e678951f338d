import HaulSystem

/// A column of a table that fills a screen.
package struct TableColumn: Sendable, Equatable {
  /// Which side of the column text keeps to.
  package enum Alignment: Sendable { case left, right }

  package let title: String
  let alignment: Alignment
  let isName: Bool
  /// The least and the most columns it has.
  let width: ClosedRange<Int>
  /// Where there is too little room, the column of the highest rank goes first; one of 0 never does.
  let rank: Int

  /// A column headed `title`. Where there is too little room a name, such as a path or a host, keeps what tells it from
  /// others; all else loses its end.
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

/// What stands in a column of one row.
package enum TableCell: Sendable, Equatable {
  /// Text from anywhere.
  case text(String, Style? = nil)
  /// How much of something is there, 0...1, as a bar that fills the column; nil draws none.
  case bar(Double?)

  /// The cell's text as people search it.
  package var text: String {
    switch self {
    case .text(let text, _): text
    case .bar: ""
    }
  }
}

/// Which columns of a table a line has room for, and how wide they are; the same for all lines of it. Pure.
package struct TableLayout: Sendable {
  /// Blanks between two columns.
  static let gap = 2
  /// The widths of text grow in such steps, so that not every row that comes and goes moves the rest.
  private static let step = 6

  private let columns: [TableColumn]
  private let bar: ProgressBar
  /// nil for a column that is left out.
  package let widths: [Int?]
  /// For each column that has paths; nil for others.
  private let cutters: [PathCutter?]

  /// For lines of `width` columns, and the rows to be shown.
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

  /// The columns that fit into `width`, by their ranks and least widths. The highest rank is dropped first, 0 never.
  static func shown(_ ranks: [Int], least: [Int], in width: Int) -> Set<Int> {
    var shown = ranks.indices.sorted { ranks[$0] < ranks[$1] }
    while Self.width(of: shown.map { least[$0] }) > width, let last = shown.last, ranks[last] > 0 {
      shown.removeLast()
    }
    return Set(shown)
  }

  /// The width of a line with columns of these widths.
  static func width(of widths: [Int]) -> Int { widths.reduce(gap * (widths.count - 1), +) }

  /// Shares `room` between those that want more, a column each at a time, and three for a path: its name tells rows apart.
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

  /// The titles, `mark` behind that of the column `marked`.
  package func heading(marked: Int, _ mark: String) -> StyledLine {
    line(
      columns.enumerated().map { index, column in
        .text(column.title + (index == marked ? mark : ""))
      }, isHeading: true)
  }

  /// One row.
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
