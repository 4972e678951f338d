/// What stands on a full screen, and the bytes that change it. Pure.
///
/// Only lines that differ are written, in place and from left to right, between the marks of synchronized output (private mode
/// 2026, which terminals without it ignore), so that nothing is ever blank in between. Control functions are those of ECMA-48
/// (cursor position, erase in line, erase in page, select graphic rendition).
package struct FullScreen: Sendable {
  /// Takes the terminal's other page, hides the cursor and blanks the page (xterm: private modes 1049 and 25).
  static let opening = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J"
  /// Gives the page back as it was, with the cursor.
  static let closing = "\u{1b}[0m\u{1b}[?25h\u{1b}[?1049l"

  private let hasColors: Bool
  private var drawn: [StyledLine] = []
  private var size = (columns: 0, rows: 0)

  /// Nothing is known of what stands there.
  package init(hasColors: Bool) { self.hasColors = hasColors }

  /// Forgets what stands there: the next update writes all of it.
  package mutating func invalidate() { size = (0, 0) }

  /// Replaces what stands there by `lines`, from the top, cut to a screen of that size, and returns what to write in one
  /// piece; empty when nothing changes.
  package mutating func update(_ lines: [StyledLine], columns: Int, rows: Int) -> String {
    var lines = lines.prefix(rows).map { $0.truncated(to: columns) }
    for index in lines.indices where lines[index].isReversed { lines[index].pad(to: columns) }
    let isNew = size != (columns, rows)
    var bytes = ""
    for index in lines.indices where isNew || index >= drawn.count || lines[index] != drawn[index] {
      bytes += "\u{1b}[\(index + 1);1H" + lines[index].painted(hasColors: hasColors)
      // Behind the last column the cursor stands on it still, and would erase it.
      if lines[index].width < columns { bytes += "\u{1b}[K" }
    }
    if lines.count < rows && (isNew || lines.count < drawn.count) {
      bytes += "\u{1b}[\(lines.count + 1);1H\u{1b}[J"
    }
    drawn = lines
    size = (columns, rows)
    return bytes.isEmpty ? "" : "\u{1b}[?2026h\(bytes)\u{1b}[?2026l"
  }
}
