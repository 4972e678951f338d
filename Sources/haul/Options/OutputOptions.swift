import Arguments
import FoundationEssentials
import HaulSystem
import Terminal

/// For whom the output is.
struct OutputOptions: OptionGroup {
  static let title: String? = nil
  static let options: [Option<Self>] = [
    .flag("json", \.isJSON, "Print JSON for programs, one object a line.")
  ]

  var isJSON = false

  /// Rows as a table of `columns` with a `note` below those that have one, or as JSON with the members of `more` besides.
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

  /// Whether `text` is longer than the terminal, and the user has read it in a pager.
  private static func page(_ text: String) -> Bool {
    guard let height = screen.height, text.utf8.count(where: { $0 == 10 }) >= height,
      Screen.isInForeground(.output),
      let pager = Pager(environment: ProcessInfo.processInfo.environment)
    else { return false }
    return pager.show(text)
  }

  /// Prints at most as many rows as the limit says, as ``print(_:_:json:note:)`` does, through the user's pager where a table is
  /// longer than the terminal. Pass one row more than the limit if there is one: then a message on standard error, which begins
  /// with `label`, says that there are more. An empty list is reported there too.
  func print<Row>(
    _ rows: [Row], upTo limit: LimitOptions, label: String, _ columns: [Listing<Row>.Column],
    json more: [Listing<Row>.Column] = [],
    note: @escaping @Sendable (Row) -> String? = { _ in nil }
  ) throws {
    let text = text(Array(rows.prefix(limit.limit)), columns, more, note)
    if isJSON || limit.isWhole || !Self.page(text) { try StandardStream.output.write(text) }
    if rows.isEmpty && !isJSON { StandardStream.say("\(label): none\n") }
    if rows.count > limit.limit {
      StandardStream.say(
        "\(label): the list has more than the \(limit.limit) rows shown. Use --limit to show more\n"
      )
    }
  }

  /// One object for programs, or a sentence for people.
  func print(_ members: [JSONValue.Member], orSay sentence: String) throws {
    try StandardStream.output.write(isJSON ? Self.json(members) : sentence + "\n")
  }

  /// One object and a line end. Its last member names the pool.
  static func json(_ members: [JSONValue.Member]) -> String {
    JSONValue.object(members + ConnectedPool.members).line + "\n"
  }

  /// The screen that standard output goes to.
  static var screen: Screen {
    Screen(.output, environment: ProcessInfo.processInfo.environment)
  }
}
