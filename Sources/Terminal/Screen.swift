internal import Glibc
internal import HaulCLinux
package import HaulSystem

/// Facts about the reader of an output stream: a person at a terminal, or a program.
package struct Screen: Sendable, Equatable {
  /// The number of columns of the terminal. If it is nil, the stream is not a terminal, and no text is cut.
  package var width: Int?
  /// The number of rows of the terminal; nil if the stream is not a terminal, or if the terminal can only write lines (TERM is
  /// dumb or missing).
  package var height: Int?
  /// Whether colours are allowed: only on a terminal, unless NO_COLOR (no-color.org) or TERM forbids them.
  package var hasColors: Bool

  /// Creates a screen with given values, for tests and fixed layouts.
  package init(width: Int?, height: Int? = nil, hasColors: Bool = false) {
    self.width = width
    self.height = height
    self.hasColors = hasColors
  }

  /// Reads the current state of `stream`. A terminal of unknown size counts as 80 columns and 24 rows.
  package init(_ stream: StandardStream, environment: [String: String]) {
    guard isatty(stream.rawValue) == 1 else {
      self.init(width: nil)
      return
    }
    let columns = Int(haul_terminal_columns(stream.rawValue))
    let rows = Int(haul_terminal_rows(stream.rawValue))
    let isDumb = ["", "dumb"].contains(environment["TERM", default: ""])
    self.init(
      width: columns > 0 ? columns : 80, height: isDumb ? nil : rows > 0 ? rows : 24,
      hasColors: !isDumb && environment["NO_COLOR", default: ""] == "")
  }

  /// Returns whether the locale uses UTF-8, from the first locale variable that is set (POSIX, environment variables).
  package static func hasUnicode(_ environment: [String: String]) -> Bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    return locale.uppercased().contains("UTF-8") || locale.uppercased().contains("UTF8")
  }

  /// Returns whether this process may draw on the terminal of `stream`: it is in the foreground of its shell, or no process
  /// group is in the foreground. (tcgetpgrp(3))
  package static func isInForeground(_ stream: StandardStream) -> Bool {
    let foreground = tcgetpgrp(stream.rawValue)
    return foreground < 0 || foreground == getpgrp()
  }

  /// Wraps `text` to the width of the screen, and indents each line by 6 columns.
  package func indented(_ text: String) -> String {
    DisplayWidth.wrapped(text, to: width.map { max($0 - 6, 20) })
      .map { "      \($0)\n" }.joined()
  }

  /// Returns `text` in `style` if colours are allowed; otherwise returns `text` unchanged.
  package func paint(_ text: String, _ style: Style?) -> String {
    guard hasColors, let style, !text.isEmpty else { return text }
    return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
  }
}

/// A text style. The raw value is its SGR parameter (ECMA-48 §8.3.117).
package enum Style: Int, Sendable {
  case bold = 1
  case dim = 2
  case reversed = 7
  case red = 31
  case green = 32
  case yellow = 33
  case blue = 34
  case magenta = 35
  case cyan = 36
}
