/// The content of a full screen. It computes the bytes that change the screen, and writes nothing itself.
///
/// The bytes overwrite only changed lines, from left to right, so that no line is ever blank during an update. The bytes are
/// marked as synchronized output (private mode 2026). Terminals that do not support this mode ignore the marks. The control
/// functions are from ECMA-48 (cursor position, erase in line, erase in page, select graphic rendition).
package struct FullScreen: Sendable {
  /// Switches to the terminal's alternate page, hides the cursor and clears the page (xterm: private modes 1049 and 25).
  static let opening = "\u{1b}[?1049h\u{1b}[?25l\u{1b}[2J"
  /// Restores the previous page and the cursor.
  static let closing = "\u{1b}[0m\u{1b}[?25h\u{1b}[?1049l"

  private let hasColors: Bool
  private var drawn: [StyledLine] = []
  private var size = (columns: 0, rows: 0)

  /// Creates a screen whose content is unknown.
  package init(hasColors: Bool) { self.hasColors = hasColors }

  /// Forgets the content, so that the next update writes every line.
  package mutating func invalidate() { size = (0, 0) }

  /// Replaces the content with `lines`, from the top, cut to `columns` and `rows`. Returns the bytes to write in one step;
  /// empty if the content does not change.
  package mutating func update(_ lines: [StyledLine], columns: Int, rows: Int) -> String {
    var lines = lines.prefix(rows).map { $0.truncated(to: columns) }
    for index in lines.indices where lines[index].isReversed { lines[index].pad(to: columns) }
    let isNew = size != (columns, rows)
    var bytes = ""
    for index in lines.indices where isNew || index >= drawn.count || lines[index] != drawn[index] {
      bytes += "\u{1b}[\(index + 1);1H" + lines[index].painted(hasColors: hasColors)
      // After text in the last column, the cursor is still on that column, so erasing from the cursor would erase that text.
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
