import HaulSystem

extension Listing {
  /// One row for people, a line a column: its title and its text, uncut. Columns without a value are
  /// left out.
  package func facts(_ row: Row, on screen: Screen) -> String {
    let shown = columns.filter { $0.value(row) != .null }
    let width = shown.map { DisplayWidth.of($0.title) }.max() ?? 0
    return shown.map { column in
      let padding = String(repeating: " ", count: width - DisplayWidth.of(column.title))
      let text = screen.paint(SafeText.visible(column.text(row)), column.style(row))
      return "\(screen.paint(column.title, .bold))\(padding)  \(text)\n"
    }.joined()
  }
}
