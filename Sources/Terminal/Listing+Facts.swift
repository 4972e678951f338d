import HaulSystem

extension Listing {
  /// One row for people, a line a column: its title and its text, uncut. Columns without a value are
  /// left out.
  package func facts(_ row: Row, on screen: Screen) -> String {
    let shown = columns(of: row)
    let width = titleWidth(shown)
    return shown.map { column in
      let padding = String(repeating: " ", count: width - DisplayWidth.of(column.title))
      let text = screen.paint(SafeText.visible(column.text(row)), column.style(row))
      return "\(screen.paint(column.title, .bold))\(padding)  \(text)\n"
    }.joined()
  }

  /// The same for a full screen of that width in columns: a text that is too long continues on the next line.
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
