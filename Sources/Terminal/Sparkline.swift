import HaulSystem

/// Draws amounts as columns of blocks, `▁▂▅█`, over one or more rows.
package struct Sparkline: Sendable {
  private static let blocks = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
  private static let marks = [".", ":", "|"]

  private let steps: [String]

  /// Creates a sparkline. Without `hasUnicode` it is drawn only with ASCII characters.
  package init(hasUnicode: Bool = true) { steps = hasUnicode ? Self.blocks : Self.marks }

  /// Returns `rows` lines of width `columns`, from the top. Each value takes one column, the newest at the right. The greatest
  /// value shown takes the full height. Zero is blank, and any greater value shows at least the smallest block.
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
