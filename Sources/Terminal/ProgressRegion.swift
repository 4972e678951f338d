/// The progress lines at the bottom of a terminal, and the bytes that change them.
///
/// The cursor stays visible at the start of the row below the lines. So the shell's prompt appears in the right place, and
/// nothing needs to be restored when the program ends, even after SIGKILL. The terminal's echo stays on for the same reason. So
/// if the user presses Enter, a line of the region remains above. The control functions are from ECMA-48 (cursor up, erase in
/// line, erase in page). Terminals without synchronized output (private mode 2026) ignore its marks.
struct ProgressRegion {
  /// The lines drawn last, without colours.
  private var plain: [String] = []
  private var drawn: [String] = []
  private var columns = 0

  /// Replaces the region with `lines`, which are narrower than `columns`, and adds `messages` permanently above it. Returns the
  /// bytes to write in one step; empty if the region does not change.
  ///
  /// Old lines are overwritten and the rest of each line is erased, so that no line is ever blank in between. If the terminal
  /// became narrower, it has wrapped the old lines to more rows. All of these rows are overwritten.
  mutating func update(_ lines: [String], messages: [String] = [], columns: Int) -> String {
    if lines == drawn && messages.isEmpty && columns == self.columns { return "" }
    let height = plain.map { DisplayWidth.rows(of: $0, columns: max(columns, 1)) }.reduce(0, +)
    var bytes = "\u{1b}[?2026h" + (height > 0 ? "\r\u{1b}[\(height)A" : "")
    // A message may be as wide as the terminal or wider, so nothing can be erased at its end.
    if !messages.isEmpty { bytes += "\u{1b}[J" }
    for message in messages { bytes += message + "\r\n" }
    for line in lines { bytes += line + "\u{1b}[K\r\n" }
    bytes += "\u{1b}[J\u{1b}[?2026l"
    drawn = lines
    plain = lines.map(Self.withoutColours)
    self.columns = columns
    return bytes
  }

  /// Returns the line without the sequences of `Screen.paint`.
  private static func withoutColours(_ line: String) -> String {
    var plain = ""
    var isSequence = false
    for character in line {
      if character == "\u{1b}" { isSequence = true }
      if !isSequence { plain.append(character) }
      if character == "m" { isSequence = false }
    }
    return plain
  }
}
