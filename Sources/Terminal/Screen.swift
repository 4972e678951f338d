internal import Glibc
internal import HaulCLinux
package import HaulSystem

/// What there is to know about the reader of a stream: a person at a terminal, or a program.
package struct Screen: Sendable, Equatable {
  /// Columns of the terminal; nil when the stream is not one, and then nothing is cut.
  package var width: Int?
  /// Rows of the terminal; nil when the stream is not one, or one that writes lines and nothing else
  /// (TERM is dumb or missing).
  package var height: Int?
  /// True where colours may be used: a terminal, unless NO_COLOR (no-color.org) or TERM say no.
  package var hasColors: Bool

  /// A screen as given, for tests and fixed layouts.
  package init(width: Int?, height: Int? = nil, hasColors: Bool = false) {
    self.width = width
    self.height = height
    self.hasColors = hasColors
  }

  /// Looks at `stream` as it is now. A terminal that does not know its size has 80 columns and 24 rows.
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

  /// Whether the locale's characters are UTF-8 (POSIX, environment variables: the first that is set counts).
  package static func hasUnicode(_ environment: [String: String]) -> Bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"]
    let locale = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
    return locale.uppercased().contains("UTF-8") || locale.uppercased().contains("UTF8")
  }

  /// Whether this process may draw on the terminal behind `stream`, as a job in the foreground of its shell, or because no
  /// process group is in the foreground. (tcgetpgrp(3))
  package static func isInForeground(_ stream: StandardStream) -> Bool {
    let foreground = tcgetpgrp(stream.rawValue)
    return foreground < 0 || foreground == getpgrp()
  }

  /// `text` on lines of its own, six columns in.
  package func indented(_ text: String) -> String {
    DisplayWidth.wrapped(text, to: width.map { max($0 - 6, 20) })
      .map { "      \($0)\n" }.joined()
  }

  /// `text` in `style` where there are colours, else as it is.
  package func paint(_ text: String, _ style: Style?) -> String {
    guard hasColors, let style, !text.isEmpty else { return text }
    return "\u{1b}[\(style.rawValue)m\(text)\u{1b}[0m"
  }
}

/// How text stands out; the raw value is its SGR parameter (ECMA-48 §8.3.117).
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
