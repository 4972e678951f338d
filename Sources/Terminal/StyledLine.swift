import HaulSystem

/// A line of a full screen: pieces of text, each in its style.
package struct StyledLine: Sendable, Equatable {
  /// Text in one style; free of control characters.
  package struct Piece: Sendable, Equatable {
    package var text: String
    package var style: Style?
  }

  package private(set) var pieces: [Piece] = []
  /// Columns of all pieces.
  package private(set) var width = 0
  /// Dark on light, to the end of the screen: a heading, or the row that the cursor is on.
  package var isReversed = false

  /// An empty line.
  package init() {}

  /// One piece.
  package init(_ text: String, _ style: Style? = nil) { append(text, style) }

  /// Adds text, which may come from anywhere: what could steer a terminal is escaped.
  package mutating func append(_ text: String, _ style: Style? = nil) {
    if text.isEmpty { return }
    let text = SafeText.visible(text)
    pieces.append(Piece(text: text, style: style))
    width += DisplayWidth.of(text)
  }

  /// Adds the pieces of another line.
  package mutating func append(_ line: StyledLine) {
    pieces += line.pieces
    width += line.width
  }

  /// Adds blanks until the line is `columns` wide; nothing where it is already.
  package mutating func pad(to columns: Int) {
    if width < columns { append(String(repeating: " ", count: columns - width)) }
  }

  /// The line, cut to at most `columns`; ends with `…` where something is missing.
  package func truncated(to columns: Int) -> StyledLine {
    if width <= columns { return self }
    var line = StyledLine()
    line.isReversed = isReversed
    for piece in pieces {
      let room = columns - line.width
      if room <= 0 { break }
      // What follows a piece that just fits is missing, too.
      let isLast = DisplayWidth.of(piece.text) >= room
      let text = isLast ? DisplayWidth.truncated(piece.text + " ", to: room) : piece.text
      line.append(text, piece.style)
      if isLast { break }
    }
    return line
  }

  /// The line's text without styles.
  package var text: String { pieces.map(\.text).joined() }

  /// With the sequences that style it. Without colours, bold, dim and reversed text stays: these are none (no-color.org).
  func painted(hasColors: Bool) -> String {
    let base = isReversed ? "\u{1b}[7m" : ""
    let body = pieces.map { piece in
      guard let style = piece.style, hasColors || !style.isColor else { return piece.text }
      // Colours on a reversed line would be those of its ground.
      if isReversed && style.isColor { return piece.text }
      return "\u{1b}[\(style.rawValue)m\(piece.text)\u{1b}[0m\(base)"
    }
    return base + body.joined() + (isReversed ? "\u{1b}[0m" : "")
  }
}

extension Style {
  fileprivate var isColor: Bool { rawValue >= 30 }
}
