import HaulSystem

/// Parses `ListFormat.csv`: a table with one record per line, with or without a header (RFC 4180, and the variants of
/// spreadsheets and other programs). A quoted field must end on its line, because no value of an entry contains a line ending.
struct TableLines: ListParser {
  private let choices: ListColumns
  /// The way to split lines, or nil until the first line shows it.
  private var fields: TableFields?
  private var header: TableHeader?
  private var isBroken = false
  private var ignored: String?

  init(_ choices: ListColumns, fields: TableFields? = nil) {
    self.choices = choices
    self.fields = fields
  }

  mutating func parse(_ line: ListLine) -> ListItem? {
    if isBroken { return nil }
    do throws(ListFault) {
      let text = try line.text.get()
      if text.isEmpty { return nil }
      guard let header, let fields else { return try begin(text, line) }
      if text.hasPrefix("#") { return nil }
      // In a single column, a comma belongs to the URL.
      let isOne = header.columns.count == 1 && ListURL.isOne(text)
      let cells = isOne ? [text] : try fields.fields(of: text)
      return .entry(try header.entry(cells, line: line.number))
    } catch {
      return .problem(line: line.number, error.reason)
    }
  }

  /// Parses a line before the columns are known. Returns the line's entry if the table has no header; otherwise nil.
  private mutating func begin(_ text: String, _ line: ListLine) throws(ListFault) -> ListItem? {
    if let stated = TableFields.stated(by: text) {
      fields = stated
      return nil
    }
    let fields = fields ?? .shown(by: text, orBlanks: !choices.isEmpty)
    // A header may look like a comment.
    let heading = text.hasPrefix("#") ? String(PlainLines.trimmed(String(text.dropFirst()))) : text
    if heading.count < text.count, !Self.isHeader(heading, fields, choices) { return nil }
    isBroken = true
    let cells = try fields.fields(of: heading)
    let header = try TableHeader(first: cells, choices)
    isBroken = false
    self.fields = fields
    self.header = header
    if !header.leftOut.isEmpty {
      let shown = header.leftOut.prefix(12).map { SafeText.visible($0) }.joined(separator: ", ")
      let rest = header.leftOut.count > 12 ? " and others" : ""
      ignored = "Haul ignores these columns: \(shown)\(rest)"
    }
    return header.isEntry ? .entry(try header.entry(cells, line: line.number)) : nil
  }

  /// Returns whether a first line has the names of columns, including the column of the URLs.
  static func isHeader(_ text: String, _ fields: TableFields, _ choices: ListColumns) -> Bool {
    guard let cells = try? fields.fields(of: text) else { return false }
    let names = choices.url.map(\.description) ?? ListField.url.name
    return cells.contains { PlainLines.trimmed($0).lowercased() == names.lowercased() }
  }

  mutating func finish() -> ListItem? {
    defer { ignored = nil }
    return ignored.map { .ignored($0) }
  }
}
