import JobModel

/// Parses `ListFormat.tsv`: a heading, then lines of URL, length and MD5 in base64, separated by tabs. Length and MD5 may be
/// missing. A list without the heading is parsed as a table.
struct TSVLines: ListParser {
  static let heading = "TsvHttpData-1.0"

  private let choices: ListColumns
  private var isBegun = false
  /// The parser of a list without the heading; nil if the list has the heading.
  private var table: TableLines?

  init(_ choices: ListColumns) { self.choices = choices }

  mutating func parse(_ line: ListLine) -> ListItem? {
    if !isBegun {
      isBegun = true
      if (try? line.text.get()) == Self.heading { return nil }
      table = TableLines(choices, fields: .tab)
    }
    if table != nil { return table?.parse(line) }
    return line.item { text throws(ListFault) in
      text.isEmpty ? nil : try Self.entry(text, line: line.number)
    }
  }

  mutating func finish() -> ListItem? { table?.finish() }

  private static func entry(_ text: String, line: Int) throws(ListFault) -> ListEntry {
    let fields = text.split(separator: "\t", omittingEmptySubsequences: false)
    guard fields.count <= 3 else {
      throw ListFault(
        "the line has \(fields.count) fields, but the maximum is 3: URL, length and MD5")
    }
    var entry = ListEntry(line: line, url: String(fields[0]))
    if fields.count > 1, !fields[1].isEmpty {
      try ListField.option(.length).put(String(fields[1]), into: &entry)
    }
    if fields.count > 2, !fields[2].isEmpty { entry.options.digest = "md5=\(fields[2])" }
    return entry
  }
}
