/// Finds every URL in a text of any kind.
struct ExtractedURLs: ListParser {
  /// The URLs of the line that was parsed most recently and that ``pending()`` has not returned yet. The next one is at the end.
  private var found: [ListEntry] = []

  mutating func parse(_ line: ListLine) -> ListItem? {
    guard let text = try? line.text.get() else { return line.item { _ in nil } }
    found = ListURL.all(in: text[...]).reversed().map { ListEntry(line: line.number, url: $0) }
    return pending()
  }

  mutating func pending() -> ListItem? { found.popLast().map { .entry($0) } }
}
