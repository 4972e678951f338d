/// Writes lines of CSV (RFC 4180).
package enum CSVLine {
  /// Returns the fields as one line with its line ending. Encloses a field in quotation marks if its text requires them.
  package static func of(_ fields: [String]) -> String {
    fields.map(field).joined(separator: ",") + "\r\n"
  }

  private static func field(_ text: String) -> String {
    guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
    // By Unicode scalar: a quotation mark with a combining mark after it is another Character.
    let doubled = text.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }
    return "\"\(doubled.joined())\""
  }
}

extension Listing {
  /// Returns the rows as CSV with a heading of the JSON names. A null value is an empty field. No value is cut.
  package func csv(_ rows: [Row]) -> String {
    CSVLine.of(columns.map(\.key))
      + rows.map { row in
        CSVLine.of(
          columns.map { column in
            switch column.value(row) {
            case .null: ""
            case .string(let text): text
            case let value: value.line
            }
          })
      }.joined()
  }
}
