/// What reading a list gives, in the order of its lines; notices come at the end.
package enum ListItem: Sendable, Equatable {
  case entry(ListEntry)
  /// A line, counted from 1, that is no entry, and why: a clause without its full stop, safe to print.
  case problem(line: Int, String)
  /// What is worth saying once about the whole list: a clause as above.
  case notice(String)
}

/// Turns the lines of a list into entries. An entry may span lines: it is returned with the line
/// that completes it, or at the end.
protocol ListParser: Sendable {
  /// Takes the next line; returns the item that it completes.
  mutating func parse(_ line: ListLine) -> ListItem?

  /// The next of several items that the last line completes; called until there is none.
  mutating func pending() -> ListItem?

  /// No line follows; called until nothing is left to tell.
  mutating func finish() -> ListItem?
}

extension ListParser {
  mutating func pending() -> ListItem? { nil }
  mutating func finish() -> ListItem? { nil }
}

extension ListLine {
  /// What `body` makes of this line's text.
  func item(_ body: (String) throws(ListFault) -> ListEntry?) -> ListItem? {
    do throws(ListFault) {
      return try body(try text.get()).map { .entry($0) }
    } catch {
      return .problem(line: number, error.reason)
    }
  }
}
