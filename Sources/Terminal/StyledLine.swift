import HaulSystem

/// A line of a full screen: pieces of text, each with a style.
package struct StyledLine: Sendable, Equatable {
  /// A piece of text in one style. It contains no control characters.
  package struct Piece: Sendable, Equatable {
    package var text: String
    package var style: Style?
  }

  package private(set) var pieces: [Piece] = []
  /// The width of all pieces in columns.
  package private(set) var width = 0
  /// Whether the line is drawn in reverse video to the end of the screen, for a heading or the row under the cursor.
  package var isReversed = false

  /// Creates an empty line.
  package init() {}

  /// Creates a line with one piece.
  package init(_ text: String, _ style: Style? = nil) { append(text, style) }

  /// Appends text from any source. Characters that could control a terminal are escaped.
  package mutating func append(_ text: String, _ style: Style? = nil) {
    if text.isEmpty { return }
    let text = SafeText.visible(text)
    pieces.append(Piece(text: text, style: style))
    width += DisplayWidth.of(text)
  }

  /// Appends the pieces of another line.
  package mutating func append(_ line: StyledLine) {
    pieces += line.pieces
    width += line.width
  }

  /// Appends blanks until the line is `columns` wide. A wider line stays unchanged.
  package mutating func pad(to columns: Int) {
    if width < columns { append(String(repeating: " ", count: columns - width)) }
  }

  /// Returns the beginning of the line, at most `columns` wide. If text was cut, the line ends with `…`.
  package func truncated(to columns: Int) -> StyledLine {
    if width <= columns { return self }
    var line = StyledLine()
    line.isReversed = isReversed
    for piece in pieces {
      let room = columns - line.width
      if room <= 0 { break }
      // If this piece just fits, the pieces after it are missing too.
      let isLast = DisplayWidth.of(piece.text) >= room
      let text = isLast ? DisplayWidth.truncated(piece.text + " ", to: room) : piece.text
      line.append(text, piece.style)
      if isLast { break }
    }
    return line
  }

  /// The line's text without styles.
  package var text: String { pieces.map(\.text).joined() }

  /// Returns the line with the sequences for its styles. Without colours, bold, dim and reversed text remain, because they are
  /// not colours (no-color.org).
  func painted(hasColors: Bool) -> String {
    let base = isReversed ? "\u{1b}[7m" : ""
    let body = pieces.map { piece in
      guard let style = piece.style, hasColors || !style.isColor else { return piece.text }
      // On a reversed line, a text colour would become the background colour.
      if isReversed && style.isColor { return piece.text }
      return "\u{1b}[\(style.rawValue)m\(piece.text)\u{1b}[0m\(base)"
    }
    return base + body.joined() + (isReversed ? "\u{1b}[0m" : "")
  }
}

extension Style {
  fileprivate var isColor: Bool { rawValue >= 30 }
}
