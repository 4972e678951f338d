import HaulSystem

/// Draws numbers as bars of block characters, `▁▂▅█`, over one or more rows.
package struct Sparkline: Sendable {
  private static let blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  private static let marks = [".", ":", "|"]

  private let steps: [String]

  /// Creates a sparkline. If `hasUnicode` is false, the sparkline has ASCII characters only.
  package init(hasUnicode: Bool = true) { steps = hasUnicode ? Self.blocks : Self.marks }

  /// Returns `rows` lines that are `columns` wide, from the top. Each value takes one column, the newest at the right. The
  /// largest value has the full height. Zero is blank, and any larger value shows at least the smallest block.
  package func lines(_ values: [Double], columns: Int, rows: Int) -> [String] {
    let shown = values.suffix(columns)
    let greatest = shown.max() ?? 0
    let heights = shown.map { value -> Int in
      guard value > 0, greatest > 0 else { return 0 }
      return max(Int(clamped: (value / greatest * Double(rows * steps.count)).rounded()), 1)
    }
    let blank = String(repeating: " ", count: max(columns - shown.count, 0))
    return (0..<rows).reversed().map { row in
      blank
        + heights.map { height in
          let step = min(height - row * steps.count, steps.count)
          return step > 0 ? steps[step - 1] : " "
        }.joined()
    }
  }
}
