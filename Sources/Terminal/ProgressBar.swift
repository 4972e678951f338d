import HaulSystem

/// A bar of some width: how much of something is there.
struct ProgressBar: Sendable {
  private let symbols: Symbols

  /// Without `hasUnicode` it is drawn with ASCII alone.
  init(hasUnicode: Bool = true) { symbols = hasUnicode ? .unicode : .ascii }

  /// What marks a cut of text drawn beside it.
  var ellipsis: String { symbols.ellipsis }

  /// The filled part for `fraction`, 0...1, and the rest; together `width` columns.
  func parts(_ fraction: Double, _ width: Int) -> (full: String, rest: String) {
    let halves = Int(clamped: fraction * Double(2 * width))
    let full =
      String(repeating: symbols.full, count: halves / 2) + (halves % 2 == 1 ? symbols.half : "")
    return (full, String(repeating: symbols.rest, count: width - (halves + 1) / 2))
  }

  /// The bar as a piece of a full screen; empty for nil.
  func line(_ fraction: Double?, _ width: Int) -> StyledLine {
    var line = StyledLine()
    guard let fraction else { return line }
    let parts = parts(fraction, width)
    line.append(parts.full, .green)
    line.append(parts.rest, .dim)
    return line
  }

  /// What bars and cuts are drawn with.
  private struct Symbols {
    let full: String
    let half: String
    let rest: String
    let ellipsis: String

    static let unicode = Symbols(full: "━", half: "╸", rest: "─", ellipsis: "…")
    static let ascii = Symbols(full: "#", half: "=", rest: "-", ellipsis: "...")
  }
}
