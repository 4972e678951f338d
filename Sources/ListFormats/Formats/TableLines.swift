import HaulSystem

/// `ListFormat.csv`: a table of a line each, with or without a header (RFC 4180, and what spreadsheets and other programs
/// make of it). A field in quotes ends on its line: nothing that an entry can say holds the end of one.
struct TableLines: ListParser {
  private let choices: ListColumns
  /// How lines are cut; nil until the first one shows it.
  private var fields: TableFields?
  private var header: TableHeader?
  private var isBroken = false
  private var notice: String?

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
      // Where there is a single column, a comma is the URL's own.
      let isOne = header.columns.count == 1 && ListURL.isOne(text)
      let cells = isOne ? [text] : try fields.fields(of: text)
      return .entry(try header.entry(cells, line: line.number))
    } catch {
      return .problem(line: line.number, error.reason)
    }
  }

  /// Takes the first line.
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
      notice = "ignored columns: \(shown)\(rest)"
    }
    return header.isEntry ? .entry(try header.entry(cells, line: line.number)) : nil
  }

  /// Whether a first line has the names of columns, including the column of the URLs.
  static func isHeader(_ text: String, _ fields: TableFields, _ choices: ListColumns) -> Bool {
    guard let cells = try? fields.fields(of: text) else { return false }
    let names = choices.url.map(\.description) ?? ListField.url.name
    return cells.contains { PlainLines.trimmed($0).lowercased() == names.lowercased() }
  }

  mutating func finish() -> ListItem? {
    defer { notice = nil }
    return notice.map { .notice($0) }
  }
}
