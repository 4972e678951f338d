/// An item that a reader returns for a list. Items come in the order of the lines, and messages about the whole list
/// come last.
package enum ListItem: Sendable, Equatable {
  case entry(ListEntry)
  /// A line that is not a valid entry: its number, counted from 1, and the reason. The reason is a clause without its full
  /// stop, safe to print.
  case problem(line: Int, String)
  /// A message about the whole list: a clause without its full stop, safe to print.
  case notice(String)
  /// A message that Haul ignores a part of the list: a clause without its full stop, safe to print.
  case ignored(String)
}

/// Converts the lines of a list to entries. If an entry spans several lines, it is returned for the line that completes it, or
/// at the end of the list.
protocol ListParser: Sendable {
  /// Parses the next line. Returns the item that this line completes; nil if it completes none.
  mutating func parse(_ line: ListLine) -> ListItem?

  /// Returns a further item if the last line completed several items. Call this until it returns nil.
  mutating func pending() -> ListItem?

  /// Returns the items that remain after the last line, one per call. Call this until it returns nil.
  mutating func finish() -> ListItem?
}

extension ListParser {
  mutating func pending() -> ListItem? { nil }
  mutating func finish() -> ListItem? { nil }
}

extension ListLine {
  /// Returns the entry that `body` creates from this line's text, or nil if `body` returns nil. If the line has no text or
  /// `body` throws, returns a problem with the reason.
  func item(_ body: (String) throws(ListFault) -> ListEntry?) -> ListItem? {
    do throws(ListFault) {
      return try body(try text.get()).map { .entry($0) }
    } catch {
      return .problem(line: number, error.reason)
    }
  }
}
