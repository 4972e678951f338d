/// `ListFormat.csv`: RFC 4180 with a header. A field in quotes ends on its line: nothing that an entry can say holds
/// the end of one.
struct CSVLines: ListParser {
  private var columns: [ListField]?
  private var isBroken = false

  mutating func parse(_ line: ListLine) -> ListItem? {
    if isBroken { return nil }
    do throws(ListFault) {
      let text = try line.text.get()
      if text.isEmpty { return nil }
      let fields = try Self.fields(of: text)
      guard let columns else {
        isBroken = true
        columns = try Self.header(fields)
        isBroken = false
        return nil
      }
      return .entry(try Self.entry(fields, columns, line: line.number))
    } catch {
      return .problem(line: line.number, error.reason)
    }
  }

  /// The fields that a header names, which must have `url`.
  static func header(_ fields: [String]) throws(ListFault) -> [ListField] {
    let names = fields.map { String(PlainLines.trimmed($0)) }
    var columns: [ListField] = []
    for column in try ListField.named(names) {
      if columns.contains(column) { throw ListFault("the header names \(column.name) twice") }
      columns.append(column)
    }
    guard columns.contains(.url) else { throw ListFault("the header does not name url") }
    return columns
  }

  private static func entry(
    _ fields: [String], _ columns: [ListField], line: Int
  ) throws(ListFault) -> ListEntry {
    guard fields.count == columns.count else {
      throw ListFault(
        "\(fields.count) \(fields.count == 1 ? "field" : "fields") where the header has \(columns.count)"
      )
    }
    var entry = ListEntry(line: line, url: "")
    for (column, field) in zip(columns, fields) where !field.isEmpty {
      try column.put(field, into: &entry)
    }
    if entry.url.isEmpty { throw ListFault("the url is empty") }
    return entry
  }

  /// The fields of a record that is one line (RFC 4180 §2).
  static func fields(of text: String) throws(ListFault) -> [String] {
    let (quote, comma) = (UInt8(ascii: "\""), UInt8(ascii: ","))
    var fields: [String] = []
    var rest = text.utf8[...]
    while true {
      var field: [UInt8] = []
      if rest.first == quote {
        rest = rest.dropFirst()
        while true {
          guard let end = rest.firstIndex(of: quote) else {
            throw ListFault("a quotation mark is not closed on its line")
          }
          field += rest[..<end]
          rest = rest[end...].dropFirst()
          guard rest.first == quote else { break }
          field.append(quote)
          rest = rest.dropFirst()
        }
        guard rest.isEmpty || rest.first == comma else {
          throw ListFault("after a closing quotation mark a comma must follow")
        }
      } else {
        let end = rest.firstIndex(of: comma) ?? rest.endIndex
        field += rest[..<end]
        rest = rest[end...]
        if field.contains(quote) {
          throw ListFault("a field with a quotation mark must stand in quotation marks")
        }
      }
      fields.append(String(decoding: field, as: UTF8.self))
      if rest.isEmpty { return fields }
      rest = rest.dropFirst()
    }
  }
}
