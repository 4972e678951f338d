/// The lines at the bottom of a terminal that show progress, and the bytes that change them.
///
/// The cursor rests at the start of the row below them, visible: however the program ends, by SIGKILL too,
/// the shell's prompt comes where it belongs and nothing has to be restored. The terminal's echo stays on for
/// the same reason, so that Enter, typed meanwhile, leaves a line of the region above. Control functions are those of
/// ECMA-48 (cursor up, erase in line, erase in page), and synchronized output (private mode 2026), which
/// terminals without it ignore.
struct ProgressRegion {
  /// The lines drawn last, without colours.
  private var plain: [String] = []
  private var drawn: [String] = []
  private var columns = 0

  /// Replaces what is shown by `lines`, which are narrower than `columns`, with `messages` above that stay
  /// for good, and returns what to write in one piece; empty when nothing changes.
  ///
  /// Old lines are overwritten and what is left of each erased, so that nothing is ever blank in between.
  /// A terminal that has become narrower since has wrapped them: then they take more rows than they have
  /// lines, and all of those are overwritten.
  mutating func update(_ lines: [String], messages: [String] = [], columns: Int) -> String {
    if lines == drawn && messages.isEmpty && columns == self.columns { return "" }
    let height = plain.map { DisplayWidth.rows(of: $0, columns: max(columns, 1)) }.reduce(0, +)
    var bytes = "\u{1b}[?2026h" + (height > 0 ? "\r\u{1b}[\(height)A" : "")
    // A message may be as wide as the terminal or wider: nothing can be erased at its end.
    if !messages.isEmpty { bytes += "\u{1b}[J" }
    for message in messages { bytes += message + "\r\n" }
    for line in lines { bytes += line + "\u{1b}[K\r\n" }
    bytes += "\u{1b}[J\u{1b}[?2026l"
    drawn = lines
    plain = lines.map(Self.withoutColours)
    self.columns = columns
    return bytes
  }

  /// Without the sequences of `Screen.paint`.
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
