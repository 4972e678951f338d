/// Every URL of a text, whatever stands around it.
struct ExtractedURLs: ListParser {
  /// Found on the last line, in reverse.
  private var found: [ListEntry] = []

  mutating func parse(_ line: ListLine) -> ListItem? {
    guard let text = try? line.text.get() else { return line.item { _ in nil } }
    found = ListURL.all(in: text[...]).reversed().map { ListEntry(line: line.number, url: $0) }
    return pending()
  }

  mutating func pending() -> ListItem? { found.popLast().map { .entry($0) } }
}
