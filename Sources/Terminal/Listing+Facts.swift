import HaulSystem

extension Listing {
  /// Returns one row for people. Each line has the title of a column and the uncut text. Columns without a value are omitted.
  package func facts(_ row: Row, on screen: Screen) -> String {
    let shown = columns(of: row)
    let width = titleWidth(shown)
    return shown.map { column in
      let padding = String(repeating: " ", count: width - DisplayWidth.of(column.title))
      let text = screen.paint(SafeText.visible(column.text(row)), column.style(row))
      return "\(screen.paint(column.title, .bold))\(padding)  \(text)\n"
    }.joined()
  }

  /// Returns one row as lines for a full screen that is `columns` wide. Long text continues on the next line.
  package func factLines(_ row: Row, columns: Int) -> [StyledLine] {
    let shown = self.columns(of: row)
    let indent = titleWidth(shown) + 2
    return shown.flatMap { column in
      var lines: [StyledLine] = []
      var rest = SafeText.visible(column.text(row))
      repeat {
        let (first, others) = DisplayWidth.broken(rest, at: max(columns - indent, 1))
        var line = lines.isEmpty ? StyledLine(column.title, .bold) : StyledLine()
        line.pad(to: indent)
        line.append(first, column.style(row))
        lines.append(line)
        rest = others
      } while !rest.isEmpty
      return lines
    }
  }

  private func columns(of row: Row) -> [Column] { columns.filter { $0.value(row) != .null } }

  private func titleWidth(_ columns: [Column]) -> Int {
    columns.map { DisplayWidth.of($0.title) }.max() ?? 0
  }
}
