/// Chooses a parser by the list's name and its first significant line. At the end it reports the format in a notice.
struct AnyLines: ListParser {
  let name: String
  let columns: ListColumns
  private var parser: (any ListParser)?
  private var notice: String?

  init(name: String, columns: ListColumns = ListColumns()) {
    self.name = name
    self.columns = columns
  }

  mutating func parse(_ line: ListLine) -> ListItem? {
    if parser == nil {
      guard let text = try? line.text.get() else { return line.item { _ in nil } }
      let content = PlainLines.trimmed(text)
      if content.isEmpty { return nil }
      if content.first == "#", !isHeading(content.dropFirst()) { return nil }
      let format = ListFormat.recognised(name: name, line: text, columns)
      parser = format?.parser ?? Aria2Lines(isCertain: false)
      notice = format.map { "Haul reads this list as \($0.title)" }
    }
    return parser?.parse(line)
  }

  /// Returns whether a comment contains the names of columns.
  private func isHeading(_ comment: Substring) -> Bool {
    let text = String(PlainLines.trimmed(String(comment)))
    let fields = TableFields.shown(by: text, orBlanks: !columns.isEmpty)
    return text.utf8.contains { $0 == fields.separator }
      && TableLines.isHeader(text, fields, columns)
  }

  mutating func pending() -> ListItem? { parser?.pending() }

  mutating func finish() -> ListItem? {
    if let item = parser?.finish() { return item }
    defer { notice = nil }
    return notice.map { .notice($0) }
  }
}

extension ListFormat {
  /// Returns the format of the list `name`. `line` is its first line that is not blank and not a comment. Returns nil for lines
  /// of URLs, perhaps with options of aria2.
  ///
  /// The content of the line determines the format. The file extension counts only if the content allows several formats.
  static func recognised(
    name: String, line: String, _ columns: ListColumns = ListColumns()
  ) -> (title: String, parser: any ListParser)? {
    let ending = name.lastIndex(of: ".").map { name[$0...].dropFirst().lowercased() }
    if line == TSVLines.heading { return (ListFormat.tsv.title, TSVLines(columns)) }
    if ["jsonl", "ndjson"].contains(ending) || PlainLines.trimmed(line).first == "{" {
      return (ListFormat.jsonl.title, JSONLines(columns))
    }
    let fields = TableFields.shown(by: line, orBlanks: !columns.isEmpty)
    let isTable =
      !columns.isEmpty || TableFields.stated(by: line) != nil || ending == "csv"
      || TableLines.isHeader(line.hasPrefix("#") ? String(line.dropFirst()) : line, fields, columns)
      || isRow(line, fields) || (ending == "tsv" && fields == .tab && !ListURL.beginning(line[...]))
    if !isTable { return nil }
    let title = fields == .tab ? "a table with tabs" : ListFormat.csv.title
    return (title, TableLines(columns))
  }

  /// Returns whether a line is a row of a table: at least one field is a URL, and at least one is not. A comma may be a part of
  /// a URL, so a line that begins with a URL is a row only if tabs separate its fields. URLs separated by tabs are mirrors, not
  /// a row.
  private static func isRow(_ line: String, _ fields: TableFields) -> Bool {
    guard fields == .tab || !ListURL.beginning(line[...]), let cells = try? fields.fields(of: line)
    else { return false }
    let trimmed = cells.map { PlainLines.trimmed($0) }
    // Whether the line has only mirrors, perhaps followed by a comment.
    let areURLs = trimmed.allSatisfy {
      $0.isEmpty || $0.hasPrefix("#") || ListURL.beginning($0)
    }
    if fields == .tab, areURLs { return false }
    let urls = trimmed.count { ListURL.isOne(String($0)) }
    return urls > 0 && urls < cells.count
  }
}
