/// The formats a list of jobs can be in.
package enum ListFormat: String, CaseIterable, Sendable {
  /// One URL a line; blank lines and lines that start with `#` are skipped.
  case lines

  func makeParser() -> any ListParser {
    switch self {
    case .lines: PlainLines()
    }
  }
}

/// Turns the lines of a list into entries. An entry may span lines: it is returned with the line
/// that completes it, or at the end.
protocol ListParser: Sendable {
  /// Takes the next line; returns the entry that it completes.
  mutating func parse(_ line: ListLine) throws(ListError) -> ListEntry?

  /// No line follows; returns the entry that is still open.
  mutating func finish() throws(ListError) -> ListEntry?
}

/// `ListFormat.lines`. White space around a URL is dropped.
struct PlainLines: ListParser {
  func parse(_ line: ListLine) -> ListEntry? {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    var url = line.text.drop(while: isSpace)
    while let last = url.last, isSpace(last) { url.removeLast() }
    if url.isEmpty || url.hasPrefix("#") { return nil }
    return ListEntry(line: line.number, url: String(url))
  }

  func finish() -> ListEntry? { nil }
}
