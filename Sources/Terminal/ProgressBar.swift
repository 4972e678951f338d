import HaulSystem

/// A bar that shows a fraction.
struct ProgressBar: Sendable {
  private let symbols: Symbols

  /// Creates a bar. Without `hasUnicode` it is drawn only with ASCII characters.
  init(hasUnicode: Bool = true) { symbols = hasUnicode ? .unicode : .ascii }

  /// The mark for cut text beside the bar.
  var ellipsis: String { symbols.ellipsis }

  /// Returns the filled part for `fraction` (0...1) and the rest. Together they are `width` columns wide.
  func parts(_ fraction: Double, _ width: Int) -> (full: String, rest: String) {
    let halves = Int(clamped: fraction * Double(2 * width))
    let full =
      String(repeating: symbols.full, count: halves / 2) + (halves % 2 == 1 ? symbols.half : "")
    return (full, String(repeating: symbols.rest, count: width - (halves + 1) / 2))
  }

  /// Returns the bar as a piece of a full screen. Empty if `fraction` is nil.
  func line(_ fraction: Double?, _ width: Int) -> StyledLine {
    var line = StyledLine()
    guard let fraction else { return line }
    let parts = parts(fraction, width)
    line.append(parts.full, .green)
    line.append(parts.rest, .dim)
    return line
  }

  /// The characters for bars and for cut text.
  private struct Symbols {
    let full: String
    let half: String
    let rest: String
    let ellipsis: String

    static let unicode = Symbols(full: "━", half: "╸", rest: "─", ellipsis: "…")
    static let ascii = Symbols(full: "#", half: "=", rest: "-", ellipsis: "...")
  }
}
