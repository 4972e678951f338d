import Arguments
import FoundationEssentials
import HaulSystem
import Terminal

/// The form of the output: for people or for programs.
struct OutputOptions: OptionGroup {
  static let title: String? = nil
  static let options: [Option<Self>] = [
    .flag("json", \.isJSON, "Print JSON for programs, one object per line.")
  ]

  var isJSON = false

  /// Prints rows as a table of `columns`, with `note` below rows that have one. As JSON, it also prints the members of `more`.
  func print<Row>(
    _ rows: [Row], _ columns: [Listing<Row>.Column], json more: [Listing<Row>.Column] = [],
    note: @escaping @Sendable (Row) -> String? = { _ in nil }
  ) throws {
    try StandardStream.output.write(text(rows, columns, more, note))
  }

  private func text<Row>(
    _ rows: [Row], _ columns: [Listing<Row>.Column], _ more: [Listing<Row>.Column],
    _ note: @escaping @Sendable (Row) -> String?
  ) -> String {
    if !isJSON { return Listing(columns, note: note).table(rows, on: Self.screen) }
    let listing = Listing(columns + more)
    return rows.map { Self.json(listing.members($0)) }.joined()
  }

  /// Shows `text` in a pager if it is longer than the terminal. Returns whether it did.
  private static func page(_ text: String) -> Bool {
    guard let height = screen.height, text.utf8.count(where: { $0 == 10 }) >= height,
      Screen.isInForeground(.output),
      let pager = Pager(environment: ProcessInfo.processInfo.environment)
    else { return false }
    return pager.show(text)
  }

  /// Prints rows up to the limit, like ``print(_:_:json:note:)``. Shows a table in the user's pager if it is longer than the
  /// terminal. If the list has more rows, pass one row more than the limit: a message on standard error then says that there
  /// are more. Another message says that a list is empty. Messages begin with `label`. `last` is printed
  /// below the rows of a table, and does not count towards the limit. An empty list does not show it.
  func print<Row>(
    _ rows: [Row], upTo limit: LimitOptions, label: String, _ columns: [Listing<Row>.Column],
    json more: [Listing<Row>.Column] = [], last: Row? = nil,
    note: @escaping @Sendable (Row) -> String? = { _ in nil }
  ) throws {
    let end = isJSON || rows.isEmpty ? [] : [last].compactMap(\.self)
    let text = text(rows.prefix(limit.limit) + end, columns, more, note)
    if isJSON || limit.isWhole || !Self.page(text) { try StandardStream.output.write(text) }
    if rows.isEmpty && !isJSON { StandardStream.say("\(label): none\(ConnectedPool.clause)\n") }
    if rows.count > limit.limit {
      StandardStream.say(
        "\(label): the list has more than the \(limit.limit) rows shown. Use --limit to show more\n"
      )
    }
  }

  /// Prints one object for programs, or a sentence for people.
  func print(_ members: [JSONValue.Member], orSay sentence: String) throws {
    try StandardStream.output.write(
      isJSON ? Self.json(members) : ConnectedPool.advice(sentence) + "\n")
  }

  /// Returns one object on a line of its own. The last member of the object names the pool.
  static func json(_ members: [JSONValue.Member]) -> String {
    JSONValue.object(members + ConnectedPool.members).line + "\n"
  }

  /// The screen to which standard output goes.
  static var screen: Screen {
    Screen(.output, environment: ProcessInfo.processInfo.environment)
  }
}
